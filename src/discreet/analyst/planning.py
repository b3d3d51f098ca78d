"""What accuracy to expect from a release before any data is opened.

A plan is the inference of the library itself, applied to the sums that a table with guessed properties would have and
to the noise that the mechanism would add. Nothing in it comes from data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from discreet.analyst.coefficient_noise import known_before
from discreet.analyst.coefficient_table import plain_number
from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.analyst.estimates import Interval, NotEstimable
from discreet.analyst.model import fit
from discreet.analyst.plan_values import Guess, Plan, PlannedCoefficient, PlannedNoise
from discreet.analyst.reference_law import checked_level
from discreet.design.columns import Categorical, Numeric, SplineBasis
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.releases import Coefficients, FloatArray, NoiseLaw, Release, block_of


def expected_release(design: Design, law: NoiseLaw, guess: Guess) -> Release:
    """A release with the sums that the guessed table is expected to have, and with the mechanism's noise law.

    Columns are taken as unrelated: numbers centred in their bounds with the guessed spread, booleans half true, levels
    equally frequent; every standardised slope is equal. It is NOT PRIVATE because there is nobody in it.
    """
    mean, covariance = _regressors(design, guess.spread)
    variance = np.diag(covariance)
    slopes = np.where(variance > 0, 1 / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
    explained = float(slopes @ covariance @ slopes)
    slopes *= math.sqrt(guess.rsquared / explained) * guess.target_spread if explained > 0 else 0.0
    target = guess.target_spread**2 + float(slopes @ mean) ** 2
    row = np.concatenate([[1.0], mean, [float(slopes @ mean)]])
    second = np.outer(row, row)
    second[1:-1, 1:-1] += covariance
    second[1:-1, -1] += covariance @ slopes
    second[-1, 1:-1] = second[1:-1, -1]
    second[-1, -1] = target
    return release_of(design, law, second * guess.rows)


def release_of(design: Design, law: NoiseLaw, moments: FloatArray) -> Release:
    """A release whose noisy sums are these, as far as the law has noise for them."""
    steps = 4**law.grid_bits
    size = len(design.released)
    totals = tuple(
        round(float(moments[i, j]) * steps) if block_of(i, j, size) in law.sigma else None
        for i in range(size)
        for j in range(i, size)
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

    def answered(
        self, coefficients: Sequence[PlannedCoefficient], law: NoiseLaw, sds: FloatArray | None = None
    ) -> Plan:
        """The plan that answers it."""
        noise = tuple(PlannedNoise(name, law.sd(name)) for name in law.sigma)
        entries = [] if sds is None else sds.tolist()
        known = tuple(tuple(None if math.isnan(sd) else sd for sd in row) for row in entries)
        return Plan(self.epsilon, self.delta, self.rows, self.level, self.mechanism, tuple(coefficients), noise, known)


def planned(release: Release, asked: Asked, *, correct: bool = True) -> Plan:
    """Read the accuracy off a release; `correct`: its sums are expected ones and hold no noise."""
    checked_level(asked.level)
    model = fit(_without_correction(release) if correct else release)
    errors, intervals, shares = model.bse, model.conf_int(asked.level), model.privacy_share
    sds = model.privacy_sd
    coefficients = []
    for name in model.names:
        error, interval, share = errors[name], intervals[name], shares[name]
        if isinstance(error, NotEstimable) or isinstance(share, NotEstimable) or not _is_interval(interval):
            reason = next(value.reason for value in (error, interval) if not isinstance(value, float))
            coefficients.append(PlannedCoefficient(name, None, None, None, reason))
        else:
            width = interval.upper - interval.lower
            coefficients.append(PlannedCoefficient(name, error, width, share, None, plain_number(sds[name])))
    return asked.answered(coefficients, release.noise, release.noise_sd)


def _is_interval(ends: Interval) -> TypeGuard[ConfidenceSet]:
    return isinstance(ends, ConfidenceSet) and ends.bounded


def planned_inside(design: Design, law: NoiseLaw, asked: Asked) -> Plan:
    """What can be said of a mechanism that publishes coefficients: its noise, and why there are no widths."""
    checked_level(asked.level)
    if not known_before(law):
        reason = (
            f"the mechanism {asked.mechanism!r} publishes coefficients; how far its noise moves them depends on the "
            "table, so no width can be told before or after"
        )
        return asked.answered(_refused(design, reason), law)
    reason = (
        f"the mechanism {asked.mechanism!r} publishes coefficients and no sums, so no standard error and no width "
        "for a population can be told before or after; what its noise adds is known: the privacy sd"
    )
    nothing = Coefficients((0.0,) * (len(design.released) - 1))
    sds = fit(_planned_release(design, law, (), nothing)).privacy_sd
    told = [replace(one, privacy_sd=plain_number(sds[one.name])) for one in _refused(design, reason)]
    return asked.answered(told, law)


def _refused(design: Design, reason: str) -> list[PlannedCoefficient]:
    slopes = design.released[1:-1]
    names = ("Intercept", *slopes) if design.intercept else slopes
    return [PlannedCoefficient(name, None, None, None, reason) for name in names]


def smallest(
    plan_at: Callable[[float], Plan], coefficient: str, width: float, span: tuple[float, float]
) -> float | None:
    """The smallest setting in a span, to 1 %, at which a coefficient's interval is as narrow as wanted, if any is.

    The width falls as the setting grows.
    """
    low, high = span

    def reached(setting: float) -> bool:
        found = width_of(plan_at(setting), coefficient)
        return found is not None and found <= width

    if not reached(high):
        return None
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def width_of(plan: Plan, coefficient: str) -> float | None:
    """Expected width of a coefficient's interval; none where it will not be estimable."""
    for found in plan.coefficients:
        if found.name == coefficient:
            return found.width
    raise SpecError.unknown_name("coefficient", coefficient, [c.name for c in plan.coefficients])


def _without_correction(release: Release) -> Release:
    """Take out of y'y what inference will add for noise that expected sums do not have."""
    model = fit(release)
    exact = fit(replace(release, noise=replace(release.noise, sigma=dict.fromkeys(release.noise.sigma, 0))))
    noisy_s2, s2, df = model.s2, exact.s2, model.df_resid
    if isinstance(noisy_s2, NotEstimable) or isinstance(s2, NotEstimable) or isinstance(df, NotEstimable):
        return release
    target = release.design.columns[release.design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    excess = (noisy_s2 - s2) / half**2 * df
    *others, square = release.totals
    corrected = (square or 0) - round(excess * 4**release.noise.grid_bits)
    return replace(release, totals=(*others, corrected))


def _regressors(design: Design, spread: float) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the scaled regressors of the guessed table."""
    means: list[float] = []
    blocks: list[FloatArray] = []
    for name in design.regressors:
        column = design.columns[name]
        if isinstance(column, Numeric):
            means.append(0.0)
            blocks.append(np.array([[spread**2]]))
            continue
        width = len(column.released(name))
        # of `levels` equally frequent ones, or of as many basis functions that share the row; a boolean has two
        levels = width + 1 if isinstance(column, Categorical | SplineBasis) else 2
        share = 1 / levels
        means += [share] * width
        blocks.append(np.eye(width) * share - share**2)
    covariance = np.zeros((len(means), len(means)))
    place = 0
    for block in blocks:
        size = len(block)
        covariance[place : place + size, place : place + size] = block
        place += size
    return np.array(means), covariance
