"""What accuracy to expect from a release before any data is opened.

A plan is the inference of the library itself, applied to the sums that a table with the supposed properties would have
and to draws of the noise that the mechanism would add. Nothing in it is computed from data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.equations.sums import NO_SQUARE
from discreet.analyst.inference.coefficient_noise import known_before
from discreet.analyst.inference.contrasts import TOO_WIDE, unit_map
from discreet.analyst.model import fit, read_model
from discreet.analyst.planning.assumptions import Assumptions
from discreet.analyst.planning.expected_errors import Draws, errors_now, score_at
from discreet.analyst.planning.slopes import supposed_slopes
from discreet.analyst.planning.table import regressor_moments, target_moments
from discreet.analyst.planning.values import ENOUGH, Declared, Plan, PlannedCoefficient, PlannedNoise
from discreet.analyst.values.not_estimable import NotEstimable, known
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.losses.law import entry_blocks
from discreet.losses.sensitivity.scaled import ROWS
from discreet.releases import Coefficients, NoiseLaw, Release
from discreet.releases.reference_law import checked_level

_ROUGH: Final = 60  # draws for a factor of two digits
_FACTOR_STEP: Final = 1.4
_LARGEST_FACTOR: Final = 1000.0
_FEW_COLUMNS: Final = 40  # coefficients up to which sets are looked at for a rough factor
_ROUNDING: Final = 1e-10
_UNBOUNDED: Final = "the release gives no bounded interval at this level"


def expected_release(design: Design, law: NoiseLaw, assumptions: Assumptions) -> Release:
    """A release with the sums that the supposed table is expected to have, and with the mechanism's noise law.

    It is NOT PRIVATE because there is nobody in it.
    """
    mean, covariance = regressor_moments(design, assumptions.supposed)
    target_mean, target_sd = target_moments(design, assumptions.supposed)
    slopes = supposed_slopes(design, assumptions, covariance, target_sd)
    row = np.concatenate([[1.0], mean, [target_mean]])
    second = np.outer(row, row)
    second[1:-1, 1:-1] += covariance
    second[1:-1, -1] += covariance @ slopes
    second[-1, 1:-1] = second[1:-1, -1]
    second[-1, -1] += target_sd**2
    planned_rows = release_of(design, law, second * assumptions.rows * _mean_weight(design, assumptions))
    if design.weights is None:
        return planned_rows
    rows = round(assumptions.rows)
    if design.rows_public:
        return replace(planned_rows, units_public=rows)
    return replace(planned_rows, scalars={ROWS: rows * law.unit})


def _mean_weight(design: Design, assumptions: Assumptions) -> float:
    """The supposed mean of the weights over the largest one; they are supposed to go with no other column."""
    if design.weights is None:
        return 1.0
    mean = assumptions.supposed[design.weights].mean
    # the mean of weights by a formula is not stated: half of the largest
    return 0.5 if mean is None else mean / design.largest_weight


def release_of(design: Design, law: NoiseLaw, moments: FloatArray) -> Release:
    """A release whose noisy sums are these, as far as the law has noise for them."""
    size = len(design.released)
    products = (moments[np.triu_indices(size)] * law.unit).tolist()
    totals = tuple(
        round(product) if block in law.sigma else None
        for block, product in zip(entry_blocks(size), products, strict=True)
    )
    return _planned_release(design, law, totals)


def _planned_release(
    design: Design, law: NoiseLaw, totals: tuple[int | None, ...], coefficients: Coefficients | None = None
) -> Release:
    return Release(
        design=design,
        guarantee=None,
        mechanism="planned",
        mechanism_version="0",
        noise=replace(law, calibration="none"),
        totals=totals,
        units_public=None,
        anchor="untracked",
        made_by="a plan",
        coefficients=coefficients,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plan was made for: budget, expected rows, level of the intervals and name of the mechanism."""

    epsilon: float
    delta: float
    rows: float
    level: float
    mechanism: str
    assumptions: Assumptions | None = None

    def answered(
        self,
        design: Design,
        coefficients: Sequence[PlannedCoefficient],
        law: NoiseLaw,
        sds: FloatArray | None = None,
    ) -> Plan:
        """The plan that answers it."""
        noise = tuple(PlannedNoise(name, law.sd(name)) for name in law.sigma)
        entries = [] if sds is None else sds.tolist()
        known = tuple(tuple(None if math.isnan(sd) else sd for sd in row) for row in entries)
        return Plan(
            epsilon=self.epsilon,
            delta=self.delta,
            rows=self.rows,
            level=self.level,
            mechanism=self.mechanism,
            coefficients=tuple(coefficients),
            noise=noise,
            noise_sd=known,
            declared=Declared.of(design),
            assumptions=self.assumptions,
        )


def planned(release: Release, asked: Asked, check: Callable[[], None] = lambda: None) -> Plan:
    """What to expect of a release whose sums are those of `release` before noise is added.

    `check` is called again and again, and may end the work with an error.
    """
    level = checked_level(asked.level)
    model, equations = read_model(release, None, None, None)
    if (unknown := _unknown(equations)) is not None:
        return asked.answered(release.design, _refused(release.design, unknown.reason), release.noise, release.noise_sd)
    one_table = asked.assumptions is None
    draws = Draws(equations, level, one_table=one_table, check=check)
    errors = draws.errors()
    shares = errors.interval_share
    factors = [1.0] * len(shares) if (shares >= ENOUGH).all() else _factors(draws)
    supposed = [None] * len(shares) if one_table else _coefficients(equations)
    error, width, privacy = (each.tolist() for each in errors.middle())
    sd = [math.sqrt(part) * whole for part, whole in zip(privacy, error, strict=True)]
    coefficients = [
        PlannedCoefficient(name, error[i], width[i], privacy[i], None, sd[i], share, supposed[i])
        if share >= ENOUGH
        else PlannedCoefficient(name, None, None, None, _too_few(factors[i]), None, share, supposed[i])
        for i, (name, share) in enumerate(zip(model.names, shares.tolist(), strict=True))
    ]
    return asked.answered(release.design, coefficients, release.noise, release.noise_sd)


def planned_width(
    release: Release, asked: Asked, coefficient: str, check: Callable[[], None] = lambda: None
) -> float | None:
    """The width that `planned` gives for one coefficient, without what it says of the others."""
    level = checked_level(asked.level)
    model, equations = read_model(release, None, None, None)
    if not (isinstance(coefficient, str) and coefficient in model.names):
        raise SpecError.unknown_name("coefficient", coefficient, model.names)
    if _unknown(equations) is not None:
        return None
    draws = Draws(equations, level, one_table=asked.assumptions is None, check=check)
    errors = draws.errors([model.names.index(coefficient)])
    return float(errors.middle()[1][0]) if errors.interval_share[0] >= ENOUGH else None


def _unknown(equations: NormalEquations) -> NotEstimable | None:
    """Why no error of any coefficient can be computed."""
    if not equations.has_square:
        return NO_SQUARE
    with np.errstate(over="ignore", invalid="ignore"):
        return None if np.isfinite(unit_map(equations)).all() else TOO_WIDE


def _coefficients(equations: NormalEquations) -> list[float | None]:
    """Coefficients in original units at the supposed sums; none where these are not positive definite."""
    score = score_at(equations)
    if score is None:
        return [None] * len(equations.b)
    theta = score.inverse @ equations.b
    found = equations.original_units([Fraction(value) for value in theta.tolist()])
    # what the largest scaled coefficient is worth in each: beside it, the rest is rounding
    worth = np.abs(unit_map(equations)).sum(axis=1) * np.abs(theta).max()
    return list(np.where(np.abs(found) <= _ROUNDING * worth, 0.0, found).tolist())


def read_off(release: Release, asked: Asked) -> Plan:
    """What a release that was made says of its coefficients: nothing is drawn."""
    level = checked_level(asked.level)
    model, equations = read_model(release, None, None, None)
    if (unknown := _unknown(equations)) is not None:
        return asked.answered(release.design, _refused(release.design, unknown.reason), release.noise, release.noise_sd)
    errors = errors_now(equations, level)
    medians = zip(*(each.tolist() for each in errors.middle()), strict=True)
    coefficients = [
        PlannedCoefficient(name, error, width, privacy, None, math.sqrt(privacy) * error)
        if math.isfinite(width)
        else PlannedCoefficient(name, None, None, None, _UNBOUNDED)
        for name, (error, width, privacy) in zip(model.names, medians, strict=True)
    ]
    return asked.answered(release.design, coefficients, release.noise, release.noise_sd)


def without_noise(release: Release) -> Release:
    """The sums of a release with what its noise takes off the residual sum put back; they then replace the table's.

    The line follows some of the noise, so that the residual sum is too small by a known amount on average.
    """
    _, equations = read_model(release, None, None, None)
    score = score_at(equations)
    *others, square = release.totals
    if score is None or square is None:
        return release
    taken_off = float((score.inverse * score.noise).sum())
    return replace(release, totals=(*others, square + round(taken_off * release.noise.unit)))


def _factors(draws: Draws) -> list[float]:
    """How many times as many rows each coefficient needs for an interval in enough of such tables, roughly.

    A ladder of factors is climbed until intervals are surely bounded. Where sets with the values of other coefficients
    left open bound a few more, which takes long for many columns, it is then gone down again.
    """
    count = min(_ROUGH, draws.usual)
    last = math.ceil(math.log(_LARGEST_FACTOR, _FACTOR_STEP))
    step = np.full(draws.size, last + 1)
    for number in range(1, last + 1):
        waiting = step > last
        if not waiting.any():
            break
        found = draws.enough(_FACTOR_STEP**number, ENOUGH, count, waiting, sets=False)
        step[found] = number
    if draws.size <= _FEW_COLUMNS:
        for number in range(last, 0, -1):
            above = step == number + 1
            if above.any():
                found = draws.enough(_FACTOR_STEP**number, ENOUGH, count, above, sets=True)
                step[found] = number
    return [_FACTOR_STEP**number if number <= last else math.inf for number in step.tolist()]


def _too_few(factor: float) -> str:
    text = f"fewer than {ENOUGH:.0%} of such tables give a bounded interval"
    if not math.isfinite(factor):
        return f"{text}; even {_LARGEST_FACTOR:g} times as many rows would not be enough"
    return f"{text}; about {factor:.2g} times as many rows, or noise smaller by that factor, would be enough"


def planned_inside(design: Design, law: NoiseLaw, asked: Asked) -> Plan:
    """What can be said of a mechanism that publishes coefficients: its noise, and why there are no widths."""
    checked_level(asked.level)
    if not known_before(law):
        reason = (
            f"the mechanism {asked.mechanism!r} publishes coefficients; how far its noise moves them depends on the "
            "table, so no width is known before or after"
        )
        return asked.answered(design, _refused(design, reason), law)
    reason = (
        f"the mechanism {asked.mechanism!r} publishes coefficients and no sums, so no standard error and no width "
        "for a population is known before or after; what its noise adds is known: the privacy sd"
    )
    nothing = Coefficients((0.0,) * (len(design.released) - 1))
    sds = fit(_planned_release(design, law, (), nothing)).privacy_sd
    answered = [replace(one, privacy_sd=known(sds[one.name])) for one in _refused(design, reason)]
    return asked.answered(design, answered, law)


def _refused(design: Design, reason: str) -> list[PlannedCoefficient]:
    slopes = design.released[1:-1]
    names = ("Intercept", *slopes) if design.intercept else slopes
    return [PlannedCoefficient(name, None, None, None, reason) for name in names]


def smallest(width_at: Callable[[float], float | None], width: float, span: tuple[float, float]) -> float | None:
    """The smallest setting in a span, to 1%, at which an interval is as narrow as wanted, if any is.

    The width falls as the setting grows.
    """
    low, high = span

    def reached(setting: float) -> bool:
        found = width_at(setting)
        return found is not None and found <= width

    if not reached(high):
        return None
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
