"""Planning a release: the mechanism's own noise law and the library's own inference, before any data is opened."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from discreet.accounting.noise_distribution import NoiseLaw
from discreet.analyst.bound_costs import bound_costs
from discreet.analyst.equations.model_columns import declared_models
from discreet.analyst.equations.normal import check_moments
from discreet.analyst.model import read_model
from discreet.analyst.planning.assumptions import Assume, Assumptions, Correlation, read_assumptions
from discreet.analyst.planning.expected import (
    Asked,
    Plan,
    expected_release,
    planned,
    planned_inside,
    planned_width,
    read_off,
    smallest,
    without_noise,
)
from discreet.analyst.planning.simulation import settled
from discreet.design.design import Design
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.errors import PrivacyNotice, SpecError, shown
from discreet.mechanisms.protocol import Mechanism
from discreet.mechanisms.registry import AUTO, DECLARED, HOMES, chosen_mechanism, predicted_error
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.checks import is_number
from discreet.releases.fields import centred
from discreet.releases.reference_law import checked_level
from discreet.releases.release import Release
from discreet.tables.source import CancelToken, checking

__all__ = [
    "Plan",
    "SecondRelease",
    "bound_savings",
    "compare_mechanisms",
    "noise_law_for",
    "plan",
    "predicted_error",
    "second_release",
    "smallest_epsilon",
    "smallest_rows",
]

_EPSILON_SPAN = (1e-3, 20.0)
_ROWS_SPAN = (10.0, 1e12)


def plan(
    design: Design,
    *,
    rows: float,
    epsilon: float,
    delta: float = 0.0,
    rsquared: float | None = None,
    spread: float | None = None,
    target_spread: float | None = None,
    assume: Assume | None = None,
    correlation: Correlation | None = None,
    level: float = 0.95,
    mechanism: str = AUTO,
    moments: str = "plain",
    robust_models: Sequence[str] | None = None,
    settings: Mapping[str, object] | None = None,
    allow_weak_privacy: bool = False,
    cancel: CancelToken | None = None,
) -> Plan:
    """What accuracy to expect of the full model, from declarations and stated assumptions alone.

    Sums of such a table and the noise of the release are drawn 300 times (fewer for more than 30 columns) from a fixed
    seed. A coefficient is estimable if at least 90% of the draws give it a bounded interval, and its numbers are
    medians.

    A mechanism that publishes coefficients has no widths that are known; then the plan gives its noise and says so,
    and, where that noise is added to the coefficients themselves, the `privacy_sd` of each of them.

    Parameters
    ----------
    design
        The declarations of the release to be made.
    rows
        Expected number of rows that count: with persons, at most `max_rows` of each.
    epsilon, delta, mechanism, moments, robust_models, settings, allow_weak_privacy
        As for `discreet.release`.
    rsquared
        Share of the target's variance that the model explains; 0.5 unless given.
    spread, target_spread
        Standard deviation of every numeric regressor, and of the target, whose own is not stated: as a share of the
        largest that its bounds allow, which for a mean in the middle is half their width. 0.577 unless given: a column
        that fills its bounds evenly.
    assume
        By column: `{"mean": 40, "sd": 12}` of a number, either or both, in its own units and after clipping to its
        bounds; `{"share": 0.02}` of a boolean; `{"share": {"north": 0.7, "south": 0.3}}` of levels. Unless stated, a
        number lies in the middle of its bounds, a boolean is half true and levels are equally frequent. A column with a
        formula follows from the columns it uses; only if it is the target is its own mean and sd stated. For any
        regressor but a spline also `"slope"`, the assumed coefficient, as in the table of a fit (of levels and of
        interactions by level, `{"south": 2, "east": 0}`); those that are not stated share what `rsquared` leaves. The
        mean of a date is a date.
    correlation
        One number for every pair of numeric columns besides the target, or `{("age", "hours"): 0.9}` for pairs of
        numeric or boolean ones; 0 unless given.
    level
        Of the intervals.
    cancel
        With which another thread may stop it: it then ends with `Cancelled`. One token serves any number of plans.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> made = plan(design, rows=10_000, epsilon=1.0, delta=1e-6)
    >>> made.estimable, [coefficient.name for coefficient in made.coefficients]
    (True, ['Intercept', 'x'])
    >>> narrow = plan(design, rows=10_000, epsilon=1.0, delta=1e-6, assume={"x": {"mean": 1.0, "sd": 0.2}})
    >>> narrow.coefficients[1].std_error > 5 * made.coefficients[1].std_error
    True
    """
    kind, law, asked, assumptions = _question(
        design,
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        rsquared=rsquared,
        spread=spread,
        target_spread=target_spread,
        assume=assume,
        correlation=correlation,
        level=level,
        mechanism=mechanism,
        moments=moments,
        robust_models=robust_models,
        settings=settings,
        allow_weak_privacy=allow_weak_privacy,
    )
    check = checking(cancel)
    if kind == "coefficients":
        return planned_inside(design, law, asked)
    return planned(expected_release(design, law, assumptions), asked, check)


def _question(
    design: Design,
    *,
    rows: float,
    epsilon: float,
    delta: float = 0.0,
    level: float = 0.95,
    mechanism: str = AUTO,
    moments: str = "plain",
    robust_models: Sequence[str] | None = None,
    settings: Mapping[str, object] | None = None,
    allow_weak_privacy: bool = False,
    **assumed: Any,  # noqa: ANN401  # what is assumed of the table
) -> tuple[str, NoiseLaw, Asked, Assumptions]:
    """What a plan is asked for: the kind of the mechanism, its noise and the assumptions, all of them checked."""
    if not isinstance(design, Design):
        raise SpecError(f"expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")
    _check_known(design)
    assumptions = settled(design, read_assumptions(design, rows, **assumed))
    chosen, law = _chosen(
        design,
        epsilon,
        delta,
        mechanism,
        moments,
        settings,
        robust_models=robust_models,
        allow_weak_privacy=allow_weak_privacy,
    )
    asked = Asked(epsilon, delta, rows, checked_level(level), chosen.name, assumptions)
    return chosen.kind, law, asked, assumptions


def noise_law_for(
    design: Design,
    epsilon: float,
    delta: float,
    *,
    mechanism: str = AUTO,
    moments: str = "plain",
    robust_models: Sequence[str] | None = None,
    settings: Mapping[str, object] | None = None,
    clip_counts: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    scaling: str = DECLARED,
) -> NoiseLaw:
    """The noise that a release with this budget will have, statistic by statistic; options as in `discreet.release`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> law = discreet.planning.noise_law_for(design, 1.0, 1e-6)
    >>> law.sd("cross") < discreet.planning.noise_law_for(design, 0.5, 1e-6).sd("cross")
    True
    """
    return _chosen(
        design,
        epsilon,
        delta,
        mechanism,
        moments,
        settings,
        grid_bits,
        robust_models=robust_models,
        clip_counts=clip_counts,
        scaling=scaling,
    )[1]


def compare_mechanisms(
    design: Design,
    *,
    rows: float,
    epsilon: float,
    delta: float = 0.0,
    **options: Any,  # noqa: ANN401  # those of plan
) -> dict[str, Plan | str]:
    """The plan of every mechanism at one budget, by name, or why a mechanism refuses the design or the budget.

    `options` are those of `plan`, without `mechanism` and `settings`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> found = discreet.planning.compare_mechanisms(design, rows=10_000, epsilon=1.0, delta=1e-6)
    >>> found["gaussian"].coefficients[1].width < found["laplace"].coefficients[1].width
    True
    """
    for name in ("mechanism", "settings"):
        if name in options:
            raise SpecError(f"got {name}; every mechanism is compared, each with its own settings: leave it out")
    # what is wrong for all of them is refused once
    others = {name: value for name, value in options.items() if name != "cancel"}
    _question(design, rows=rows, epsilon=epsilon, delta=delta, **others)
    found: dict[str, Plan | str] = {}
    for name in HOMES:
        try:
            found[name] = plan(design, rows=rows, epsilon=epsilon, delta=delta, mechanism=name, **options)
        except SpecError as refused:
            found[name] = str(refused)
    return found


def bound_savings(
    design: Design,
    *,
    rows: float,
    epsilon: float,
    delta: float = 0.0,
    rsquared: float | None = None,
    spread: float | None = None,
    target_spread: float | None = None,
    assume: Assume | None = None,
    correlation: Correlation | None = None,
    mechanism: str = AUTO,
    moments: str = "plain",
    allow_weak_privacy: bool = False,
) -> dict[str, float]:
    """Which declared bounds cost most: the share of the privacy noise in predictions that half the width would save.

    Half as wide bounds help only where the rows stay inside them, which is for public knowledge to say. Options are
    those of `plan`; the costliest column is first, and there is none for a mechanism that publishes coefficients.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> list(discreet.planning.bound_savings(design, rows=10_000, epsilon=1.0, delta=1e-6))
    ['y', 'x']
    """
    kind, law, _, assumptions = _question(
        design,
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        rsquared=rsquared,
        spread=spread,
        target_spread=target_spread,
        assume=assume,
        correlation=correlation,
        mechanism=mechanism,
        moments=moments,
        allow_weak_privacy=allow_weak_privacy,
    )
    if kind == "coefficients" or design.weights is not None:
        return {}
    expected = expected_release(design, law, assumptions)
    model, _ = read_model(expected, None, None, None)
    return {one.name: one.saved for one in bound_costs(expected, model)}


def _chosen(
    design: Design,
    epsilon: float,
    delta: float,
    mechanism: str,
    moments: str = "plain",
    settings: Mapping[str, object] | None = None,
    grid_bits: int = DEFAULT_GRID_BITS,
    *,
    robust_models: object = None,
    clip_counts: bool = False,
    allow_weak_privacy: bool = False,
    scaling: str = DECLARED,
) -> tuple[Mechanism, NoiseLaw]:
    if not isinstance(moments, str) or moments not in ("plain", "robust"):
        raise SpecError.unknown_name("moments", moments, ("plain", "robust"))
    _check_known(design)
    budget = PrivacyBudget(epsilon, delta)
    for notice in check_strength(budget, allow_weak_privacy):
        warnings.warn(notice, PrivacyNotice, stacklevel=3)
    domain = RowDomain.of(design, grid_bits)
    robust = moments == "robust"
    chosen, _, law = chosen_mechanism(
        mechanism,
        design,
        domain,
        budget,
        settings,
        robust=robust,
        models=() if robust_models is None else declared_models(design, robust_models, robust=robust),
        clip_counts=clip_counts,
        scaling=scaling,
    )
    return chosen, law


def _check_known(design: Design) -> None:
    """Refuse bounds that only a release finds: what it gives depends on them."""
    if design.searched:
        names = ", ".join(map(repr, design.searched))
        raise SpecError(
            f"the bounds of {names} are private, and what a release gives depends on those that it finds; declare for "
            "the plan the bounds that you expect; the search takes 5% of mu^2, or of epsilon without delta"
        )


def smallest_epsilon(
    design: Design,
    coefficient: str,
    width: float,
    *,
    delta: float,
    **options: Any,  # noqa: ANN401  # those of plan
) -> float | None:
    """The smallest epsilon, at most 20, at which a coefficient's interval is as narrow as wanted; `None` if none is.

    `options` are those of `plan`, without epsilon.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> round(discreet.planning.smallest_epsilon(design, "x", 0.4, delta=1e-6, rows=10_000), 2)
    0.04
    """
    _check_width(width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        return smallest(
            lambda epsilon: _width_at(design, coefficient, epsilon=epsilon, delta=delta, **options),
            width,
            _EPSILON_SPAN,
        )


def smallest_rows(
    design: Design,
    coefficient: str,
    width: float,
    *,
    epsilon: float,
    **options: Any,  # noqa: ANN401  # those of plan
) -> float | None:
    """The smallest number of rows at which a coefficient's interval is as narrow as wanted; `None` if none is.

    `options` are those of `plan`, without rows.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> round(discreet.planning.smallest_rows(design, "x", 0.4, epsilon=1.0, delta=1e-6), -1)
    630.0
    """
    _check_width(width)
    return smallest(
        lambda rows: _width_at(design, coefficient, rows=rows, epsilon=epsilon, **options),
        width,
        _ROWS_SPAN,
    )


def _width_at(
    design: Design,
    coefficient: str,
    *,
    cancel: CancelToken | None = None,
    **options: Any,  # noqa: ANN401  # those of plan
) -> float | None:
    """The width that a plan gives for one coefficient; the others are not looked at."""
    _, law, asked, assumptions = _question(design, **options)
    if "target_square" not in law.sigma:
        made = plan(design, **options)
        raise SpecError(
            f"no budget and no number of rows gives a width: {made.coefficients[0].reason}. Leave the width out"
        )
    return planned_width(expected_release(design, law, assumptions), asked, coefficient, checking(cancel))


class SecondRelease(NamedTuple):
    """What a release gives now, what a second one of the same table would give, and what both together would."""

    now: Plan
    second: Plan
    both: Plan


def second_release(
    release: Release,
    *,
    epsilon: float,
    delta: float,
    level: float = 0.95,
    mechanism: str = AUTO,
    settings: Mapping[str, object] | None = None,
    allow_weak_privacy: bool = False,
) -> SecondRelease:
    """What the full model of a release gives now, and what another release of the same table is expected to give.

    The sums of the first are used for those of the table; the second would spend its own budget on top. `both`: every
    sum is the mean of the two, weighted with the inverse of its variance.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0] * 4000, "y": [2.0, 4.0, 6.0] * 4000}
    >>> first = discreet.release(table, design, epsilon=1.0, delta=1e-6)
    >>> plans = discreet.planning.second_release(first, epsilon=2.0, delta=1e-6)
    >>> plans.both.epsilon
    3.0
    """
    from discreet.analyst.planning.expected import both_laws, with_law

    guarantee = release.guarantee
    if guarantee is None:
        raise SpecError(
            "this release is NOT PRIVATE: it spent no budget, so a second release cannot be compared with it"
        )
    check_moments(release, "a plan for a second release")
    chosen, law = _chosen(
        release.design,
        epsilon,
        delta,
        mechanism,
        settings=settings,
        grid_bits=release.noise.grid_bits,
        allow_weak_privacy=allow_weak_privacy,
    )
    if chosen.kind == "coefficients":
        raise SpecError(
            f"the mechanism {chosen.name!r} publishes coefficients, which cannot be combined with the sums of this "
            "release; plan a second release with a mechanism of kind 'moments'"
        )
    rows = float(centred(release).moments[0, 0])
    spent = Asked(guarantee.epsilon, guarantee.delta, rows, level, release.mechanism)
    more = Asked(epsilon, delta, rows, level, chosen.name)
    # the losses of two releases add up
    total = Asked(
        guarantee.epsilon + epsilon, guarantee.delta + delta, rows, level, f"{spent.mechanism}, {chosen.name}"
    )
    sums = without_noise(centred(release))
    return SecondRelease(
        now=read_off(release, spent),
        second=planned(with_law(sums, law), more),
        both=planned(with_law(sums, both_laws(release.noise, law)), total),
    )


def _check_width(width: object) -> None:
    if not is_number(width) or not width > 0:
        raise SpecError(f"the wanted width is {shown(width)}; give a positive number in units of the coefficient")
