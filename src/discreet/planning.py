"""Plan a release before reading data: predict its accuracy from the mechanism's noise and stated assumptions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.analyst.bound_costs import bound_costs
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
    planned_widths,
    read_off,
    refused_plan,
    smallest,
    supposed_coefficients,
    without_noise,
)
from discreet.analyst.planning.simulation import settled
from discreet.design.design import Design
from discreet.errors import PrivacyNotice, SpecError, shown
from discreet.mechanisms.registry import HOMES, predicted_error
from discreet.options import (
    AUTO,
    DEFAULT_MECHANISM,
    DEFAULT_OPTIONS,
    ONE_PASS,
    ReleaseKeywords,
    ReleaseOptions,
    options_of,
    takes_options,
)
from discreet.privacy.checks import is_number
from discreet.release_request import ReleaseRequest, check_design, checked_budget
from discreet.releases.fields import centred
from discreet.releases.reference_distribution import checked_level
from discreet.releases.release import Release
from discreet.simulated_releases import expected_bounds, simulated_plan
from discreet.tables.source import CancelToken, checking
from discreet.wording import Call, Message

__all__ = [
    "Plan",
    "SecondRelease",
    "bound_savings",
    "compare_mechanisms",
    "noise_distribution_for",
    "plan",
    "predicted_error",
    "second_release",
    "smallest_epsilon",
    "smallest_rows",
]

_EPSILON_SPAN = (1e-3, 20.0)
_ROWS_SPAN = (10.0, 1e12)


@takes_options()
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
    cancel: CancelToken | None = None,
    **options: Unpack[ReleaseKeywords],
) -> Plan:
    """Predict the accuracy of the full model from declarations and stated assumptions only.

    The sums of a table that satisfies the assumptions, and the noise of the release, are drawn 300 times (fewer for
    more than 30 columns) from a fixed seed. A coefficient is estimable if at least 90% of the draws give it a bounded
    interval. Its results are medians over the draws.

    With the mechanism `staged`, 25 releases of synthetic rows are simulated (10 for more than 32 columns), including
    their searches. Numeric columns follow a beta distribution within their bounds, and the target
    is linear in the regressors plus normal errors. The results are medians over the releases. For a column with private
    bounds, state its mean and sd in `assume`. The column is assumed to be normal, and its bounds are those that the
    expected counts would give.

    A plan for `staged` also gives the widths that a release by `gaussian` would have, and names the coefficients for
    which they are narrower.

    For a mechanism that publishes coefficients, interval widths are unknown. The plan then describes the noise and, if
    noise is added to the coefficients, gives the `privacy_sd` of each coefficient.

    Parameters
    ----------
    design
        The declarations of the planned release.
    rows
        Expected number of included rows. If the unit has an id, count at most `max_rows` rows per person.
    epsilon, delta
        As for `discreet.release`.
    **options
        As for `discreet.release`.
    rsquared
        Fraction of the target's variance that the model explains; 0.5 by default.
    spread, target_spread
        Standard deviation of every numeric regressor, and of the target, for which `assume` states no sd. It is given
        as a fraction of the largest sd that the bounds allow, which is half their width if the mean is in the middle.
        The default is 0.577, as for a uniform distribution over the bounds.
    assume
        Assumptions by column. For a numeric column: `{"mean": 40, "sd": 12}`, either or both, in the units of the
        column and after clipping to its bounds. For a boolean: `{"share": 0.02}`. For levels: `{"share": {"north": 0.7,
        "south": 0.3}}`. By default the mean of a numeric column is the middle of its bounds, a boolean is true in half
        of the rows, and levels are equally frequent. A column with a formula follows from the columns it uses, so state
        its mean and sd only if it is the target. Any regressor except a spline may have a `"slope"`, the assumed
        coefficient, as in the table of a fit (for levels, and for interactions by level, `{"south": 2, "east": 0}`).
        The other regressors share the rest of `rsquared`. The mean of a date is a date.
    correlation
        One number for all pairs of numeric columns except the target, or `{("age", "hours"): 0.9}` for single pairs of
        numeric or boolean columns; 0 by default.
    level
        Confidence level of the intervals.
    cancel
        Token with which another thread can stop the plan. The plan then raises `Cancelled`. The same token can be
        passed to several plans.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> default = plan(design, rows=10_000, epsilon=1.0, delta=1e-6)
    >>> default.estimable, [coefficient.name for coefficient in default.coefficients]
    (True, ['Intercept', 'x'])
    >>> narrow = plan(design, rows=10_000, epsilon=1.0, delta=1e-6, assume={"x": {"mean": 1.0, "sd": 0.2}})
    >>> narrow.coefficients[1].std_error > 5 * default.coefficients[1].std_error
    True
    """
    checked = options_of(plan, options)
    assumed = Stated(rsquared, spread, target_spread, assume, correlation)
    question = _question(design, rows, (epsilon, delta), checked, assumed, level)
    return _with_one_pass(_plan(question, checking(cancel)), question, checking(cancel))


class Stated(NamedTuple):
    """Assumptions of the caller about the table; see `plan`."""

    rsquared: float | None = None
    spread: float | None = None
    target_spread: float | None = None
    assume: Assume | None = None
    correlation: Correlation | None = None


class _Question(NamedTuple):
    """A checked plan request: the request for a release and the assumptions about the table."""

    request: ReleaseRequest
    asked: Asked
    assumptions: Assumptions

    @property
    def distribution(self) -> NoiseDistribution:
        return self.request.distribution.without_before()

    def expected(self) -> Release:
        return expected_release(self.request.design, self.distribution, self.assumptions)


def _question(
    design: Design,
    rows: float,
    budget: tuple[float, float],
    options: ReleaseOptions = DEFAULT_OPTIONS,
    stated: Stated = Stated(),  # noqa: B008  # frozen
    level: float = 0.95,
) -> _Question:
    """Check the arguments of a plan."""
    check_design(design)
    request = _request(design, budget, options)
    design = expected_bounds(request, rows, stated.assume)
    assumptions = settled(design, read_assumptions(design, rows, **stated._asdict()))
    asked = Asked(*budget, rows, checked_level(level), request.mechanism.name, assumptions)
    return _Question(replace(request, design=design), asked, assumptions)


def _request(design: Design, budget: tuple[float, float], options: ReleaseOptions) -> ReleaseRequest:
    checked = checked_budget(*budget, options, stacklevel=5)
    return ReleaseRequest.checked(design.redeclared(), checked, options, quiet=True)


def _plan(question: _Question, check: Callable[[], None], *, remedy: bool = True) -> Plan:
    request, asked, _ = question
    if request.mechanism.kind == "coefficients":
        return planned_inside(request.design, question.distribution, asked)
    expected = question.expected()
    if (refused := refused_plan(expected, asked)) is not None:
        return refused
    if _is_simulated(request):
        return simulated_plan(request, asked, supposed_coefficients(expected), check, remedy=remedy)
    return planned(expected, asked, check)


def _with_one_pass(made: Plan, question: _Question, check: Callable[[], None]) -> Plan:
    """Add the widths of the one-pass release to a plan for `staged`."""
    request = question.request
    if request.mechanism.name != DEFAULT_MECHANISM:
        return made
    options = replace(request.options, mechanism=ONE_PASS, settings=None)
    try:
        one_pass = ReleaseRequest.checked(request.design, request.budget, options, quiet=True)
    except SpecError:  # its noise does not fit on the grid
        return made
    expected = expected_release(one_pass.design, one_pass.distribution.without_before(), question.assumptions)
    widths = planned_widths(expected, question.asked, check=check)
    with_widths = zip(made.coefficients, widths, strict=True)
    return replace(made, coefficients=tuple(replace(one, one_pass_width=width) for one, width in with_widths))


def _is_simulated(request: ReleaseRequest) -> bool:
    """Return whether a plan needs simulated releases, because the sums depend on released scales."""
    return request.mechanism.name == DEFAULT_MECHANISM


@takes_options()
def noise_distribution_for(
    design: Design,
    epsilon: float,
    delta: float,
    **options: Unpack[ReleaseKeywords],
) -> NoiseDistribution:
    """Return the noise distribution of a release.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta
        As for `discreet.release`.
    **options
        As for `discreet.release`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> distribution = discreet.planning.noise_distribution_for(design, 1.0, 1e-6)
    >>> distribution.sd("cross") < discreet.planning.noise_distribution_for(design, 0.5, 1e-6).sd("cross")
    True
    """
    checked = options_of(noise_distribution_for, options)
    check_design(design)
    return _request(design, (epsilon, delta), checked).distribution.without_before()


def compare_mechanisms(
    design: Design,
    *,
    rows: float,
    epsilon: float,
    delta: float = 0.0,
    **options: Any,  # noqa: ANN401  # those of plan
) -> dict[str, Plan | str]:
    """Plan every mechanism at one budget. The result maps each name to a plan, or to the reason why there is none.

    `options` are those of `plan`, without `mechanism` and `settings`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> plans = discreet.planning.compare_mechanisms(design, rows=10_000, epsilon=1.0, delta=1e-6)
    >>> plans["gaussian"].coefficients[1].width < plans["laplace"].coefficients[1].width
    True
    """
    for name in ("mechanism", "settings"):
        if name in options:
            raise SpecError(
                f"compare_mechanisms got the option {name}, but it plans every mechanism with default settings; leave "
                f"{name} out"
            )
    # raise an error that applies to all mechanisms instead of returning it for each
    _from_keywords(design, rows=rows, epsilon=epsilon, delta=delta, **options)
    plans: dict[str, Plan | str] = {}
    for name in HOMES:
        try:
            plans[name] = plan(design, rows=rows, epsilon=epsilon, delta=delta, mechanism=name, **options)
        except SpecError as refused:
            plans[name] = str(refused)
    return plans


def _from_keywords(design: Design, *, rows: float, epsilon: float, delta: float = 0.0, **keywords: Any) -> _Question:  # noqa: ANN401  # those of plan
    """Check the keyword arguments of a plan."""
    keywords.pop("cancel", None)
    level = keywords.pop("level", 0.95)
    stated = Stated(**{name: keywords.pop(name) for name in Stated._fields if name in keywords})
    return _question(design, rows, (epsilon, delta), ReleaseOptions(**keywords), stated, level)


def bound_savings(
    design: Design,
    *,
    rows: float,
    epsilon: float,
    delta: float = 0.0,
    **options: Any,  # noqa: ANN401  # those of plan
) -> dict[str, float]:
    """Return, by column, the fraction of privacy noise in predictions that halving the width of its bounds would save.

    Narrower bounds help only if the values stay inside them, which must be judged from public knowledge. `options` are
    those of `plan`. The column with the largest saving is first. The result is empty for mechanisms that publish
    coefficients, for weighted rows and for `staged`, because their noise depends on the bounds in other ways.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> budget = {"rows": 10_000, "epsilon": 1.0, "delta": 1e-6}
    >>> list(discreet.planning.bound_savings(design, **budget, mechanism="gaussian"))
    ['y', 'x']
    """
    question = _from_keywords(design, rows=rows, epsilon=epsilon, delta=delta, **options)
    request = question.request
    if request.mechanism.kind == "coefficients" or design.weights is not None or _is_simulated(request):
        return {}
    expected = question.expected()
    model, _ = read_model(expected, None, None, None)
    return {each.name: each.saved for each in bound_costs(expected, model)}


def smallest_epsilon(
    design: Design,
    coefficient: str,
    width: float,
    *,
    delta: float,
    **options: Any,  # noqa: ANN401  # those of plan
) -> float | None:
    """Return the smallest epsilon, up to 20, at which the coefficient's interval has this width; None if none does.

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
    """Return the smallest number of rows at which the coefficient's interval has this width; None if none does.

    `options` are those of `plan`, without rows.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> round(discreet.planning.smallest_rows(design, "x", 0.4, epsilon=1.0, delta=1e-6), -2)
    600.0
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
    """Return the planned interval width of one coefficient, without planning the others if possible."""
    question = _from_keywords(design, **options)
    if "target_square" not in question.distribution.sigma:
        reason = _plan(question, checking(cancel)).coefficients[0].reason
        raise SpecError(f"this plan has no interval widths, whatever the budget: {reason}. Leave the width out")
    if _is_simulated(question.request):
        planned_coefficients = _plan(question, checking(cancel), remedy=False).coefficients
        widths = {each.name: each.width for each in planned_coefficients}
        if not isinstance(coefficient, str) or coefficient not in widths:
            raise SpecError.unknown_name("coefficient", coefficient, widths)
        return widths[coefficient]
    return planned_width(question.expected(), question.asked, coefficient, checking(cancel))


class SecondRelease(NamedTuple):
    """Plans of an existing release, of a second release of the same table, and of both together."""

    now: Plan
    second: Plan
    both: Plan


@takes_options(without=("grid_bits",))
def second_release(
    release: Release,
    *,
    epsilon: float,
    delta: float,
    level: float = 0.95,
    **options: Unpack[ReleaseKeywords],
) -> SecondRelease:
    """Plan a second release of the same table, from the sums of the first.

    The noisy sums of the first release stand in for those of the table, and the second release uses the same grid. It
    would spend an additional budget. In `both`, every sum is the mean of the two releases, weighted by inverse
    variance. With delta, `auto` selects `gaussian`, because `staged` releases no sums of the declared columns.

    Parameters
    ----------
    release
        The first release, which published moments.
    epsilon, delta
        Budget of the second release.
    level
        Confidence level of the intervals.
    **options
        As for `discreet.release`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0] * 4000, "y": [2.0, 4.0, 6.0] * 4000}
    >>> first = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    >>> plans = discreet.planning.second_release(first, epsilon=2.0, delta=1e-6)
    >>> plans.both.epsilon
    3.0
    """
    from discreet.analyst.planning.expected import both_distributions, with_distribution

    checked = options_of(second_release, options)
    guarantee = release.guarantee
    if guarantee is None:
        raise SpecError(
            "cannot plan a second release: the first release is NOT PRIVATE and spent no budget; pass a private release"
        )
    check_moments(release, "a plan for a second release")
    checked = replace(checked, grid_bits=release.noise.grid_bits)
    if checked.mechanism == AUTO and delta > 0:
        # only sums of the declared columns can be combined with those of the first release
        checked = replace(checked, mechanism=ONE_PASS)
    request = _request(release.design, (epsilon, delta), checked)
    chosen, distribution = request.mechanism, request.distribution.without_before()
    if chosen.kind == "coefficients":
        raise SpecError(
            f"the mechanism {chosen.name!r} publishes coefficients, which cannot be combined with the sums of this "
            "release; plan a second release with a mechanism of kind 'moments'"
        )
    if DEFAULT_MECHANISM in (release.mechanism, chosen.name):
        raise SpecError(
            Message(
                "a second release is planned from sums of products of the declared columns over all rows, which the "
                "mechanism 'staged' does not release; plan a single release by 'staged' with ",
                Call("discreet.plan"),
                ", whose assumptions may be means and standard deviations of a release that was described",
            )
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
        second=planned(with_distribution(sums, distribution), more),
        both=planned(with_distribution(sums, both_distributions(release.noise, distribution)), total),
    )


def _check_width(width: object) -> None:
    if not is_number(width) or not width > 0:
        raise SpecError(f"width: expected a positive number in units of the coefficient, got {shown(width)}")
