"""Planning a release: the mechanism's own noise law and the library's own inference, before any data is opened."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

from discreet.analyst.planning import Guess, Plan, expected_release, planned, smallest
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.design.model import Design
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.choice import AUTO, chosen_mechanism
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.releases import NoiseLaw, Release

_EPSILON_SPAN = (1e-3, 20.0)
_ROWS_SPAN = (10.0, 1e12)


def plan(
    design: Design,
    *,
    rows: float,
    epsilon: float,
    delta: float = 0.0,
    rsquared: float = 0.5,
    spread: float = 3**-0.5,
    target_spread: float = 3**-0.5,
    level: float = 0.95,
    mechanism: str = AUTO,
    moments: str = "plain",
    settings: Mapping[str, object] | None = None,
) -> Plan:
    """What accuracy to expect of the full model, from declarations and guesses alone.

    Parameters
    ----------
    design
        The declarations of the release to be made.
    rows
        Expected number of rows.
    epsilon, delta, mechanism, moments, settings
        As for `discreet.release`.
    rsquared
        Guessed share of the target's variance that the model explains.
    spread, target_spread
        Guessed standard deviations of numeric regressors and of the target, in half widths of their bounds; a
        column that fills its bounds evenly has 0.577.
    level
        Of the intervals.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> made = plan(design, rows=10_000, epsilon=1.0, delta=1e-6)
    >>> made.estimable, [coefficient.name for coefficient in made.coefficients]
    (True, ['Intercept', 'x'])
    """
    if not isinstance(design, Design):
        raise SpecError(f"a Design is needed; {type(design).__name__} came. Use Design(...) or Design.load(path)")
    guess = Guess(rows, rsquared, spread, target_spread)
    law = noise_law_for(design, epsilon, delta, mechanism=mechanism, moments=moments, settings=settings)
    expected = expected_release(design, law, guess)
    return planned(expected, epsilon=epsilon, delta=delta, rows=rows, level=level)


def noise_law_for(
    design: Design,
    epsilon: float,
    delta: float,
    *,
    mechanism: str = AUTO,
    moments: str = "plain",
    settings: Mapping[str, object] | None = None,
) -> NoiseLaw:
    """The noise that a release with this budget will have, entry by entry."""
    if moments not in ("plain", "robust"):
        raise SpecError.unknown_name("moments", str(moments), ("plain", "robust"))
    budget = PrivacyBudget(epsilon, delta)
    for notice in check_strength(budget, allow_weak_privacy=False):
        warnings.warn(notice, PrivacyNotice, stacklevel=3)
    domain = RowDomain.of(design, DEFAULT_GRID_BITS)
    return chosen_mechanism(mechanism, design, domain, budget, settings, robust=moments == "robust")[2]


def smallest_epsilon(design: Design, coefficient: str, width: float, *, delta: float, **options: float) -> float | None:
    """The smallest epsilon, at most 20, at which a coefficient's interval is as narrow as wanted; none if none is.

    `options` are those of `plan`, without epsilon.
    """
    _check_width(width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        return smallest(
            lambda epsilon: plan(design, epsilon=epsilon, delta=delta, **options),  # type: ignore[arg-type]
            coefficient,
            width,
            _EPSILON_SPAN,
        )


def smallest_rows(design: Design, coefficient: str, width: float, *, epsilon: float, **options: float) -> float | None:
    """The smallest number of rows at which a coefficient's interval is as narrow as wanted; none if none is."""
    _check_width(width)
    return smallest(
        lambda rows: plan(design, rows=rows, epsilon=epsilon, **options),  # type: ignore[arg-type]
        coefficient,
        width,
        _ROWS_SPAN,
    )


def second_release(release: Release, *, epsilon: float, delta: float, level: float = 0.95) -> tuple[Plan, Plan]:
    """What the full model of a release gives now, and what another release of the same table is expected to give.

    The sums of the first stand in for those of the table; the second would spend its own budget on top.
    """
    guarantee = release.guarantee
    if guarantee is None:
        raise SpecError("this release is NOT PRIVATE, so nothing was spent that a second one could be compared with")
    rows = float(release.moments[0, 0])
    now = planned(release, epsilon=guarantee.epsilon, delta=guarantee.delta, rows=rows, level=level, correct=False)
    other = replace(release, noise=replace(noise_law_for(release.design, epsilon, delta), calibration="none"))
    return now, planned(other, epsilon=epsilon, delta=delta, rows=rows, level=level, correct=False)


def _check_width(width: object) -> None:
    if isinstance(width, bool) or not isinstance(width, int | float) or not width > 0:
        raise SpecError(f"the wanted width is {width!r}; give a positive number in units of the coefficient")
