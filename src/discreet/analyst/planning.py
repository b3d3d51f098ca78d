"""What accuracy to expect from a release before any data is opened.

A plan is the inference of the library itself, applied to the sums that a table with guessed properties would have and
to the noise that the mechanism would add. Nothing in it comes from data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.estimates import NotEstimable
from discreet.analyst.model import fit
from discreet.analyst.solve import NotEstimableError
from discreet.design.columns import Categorical, Numeric, SplineBasis
from discreet.design.model import Design
from discreet.errors import SpecError, missing_extra
from discreet.releases import FloatArray, NoiseLaw, Release

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS: Final = 1e12


@dataclass(frozen=True, slots=True)
class Guess:
    """What a planner supposes about a table.

    Attributes
    ----------
    rows
        Number of rows.
    rsquared
        Share of the target's variance that the model explains.
    spread
        Standard deviation of a numeric column in units of half the width of its bounds; a uniform column has 0.577.
    target_spread
        The same for the target.
    """

    rows: float
    rsquared: float = 0.5
    spread: float = 1 / math.sqrt(3)
    target_spread: float = 1 / math.sqrt(3)

    def __post_init__(self) -> None:
        if not (_is_number(self.rows) and 1 <= self.rows <= _MOST_ROWS):
            raise SpecError(f"rows is {self.rows!r}; expect a number of rows from 1 to {_MOST_ROWS:g}")
        if not (_is_number(self.rsquared) and 0 <= self.rsquared < 1):
            raise SpecError(f"rsquared is {self.rsquared!r}; guess a share from 0 to below 1")
        for name in ("spread", "target_spread"):
            value = getattr(self, name)
            if not (_is_number(value) and 0 < value <= 1):
                raise SpecError(
                    f"{name} is {value!r}; guess a number above 0 and at most 1, in half widths of the bounds"
                )


@dataclass(frozen=True, slots=True)
class PlannedCoefficient:
    """What to expect of one coefficient, in original units; none where it will not be estimable."""

    name: str
    std_error: float | None
    width: float | None
    privacy_share: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Expected accuracy of the full model at one budget."""

    epsilon: float
    delta: float
    rows: float
    level: float
    coefficients: tuple[PlannedCoefficient, ...]
    noise_sd: tuple[tuple[float, ...], ...]

    @property
    def estimable(self) -> bool:
        """Whether every coefficient will be estimable."""
        return all(coefficient.reason is None for coefficient in self.coefficients)

    def to_dict(self) -> dict[str, object]:
        """The plan as plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": self.rows,
            "level": self.level,
            "estimable": self.estimable,
            "coefficients": [
                {
                    "name": c.name,
                    "std_error": c.std_error,
                    "width": c.width,
                    "privacy_share": c.privacy_share,
                    "reason": c.reason,
                }
                for c in self.coefficients
            ],
        }


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
    """A release whose noisy sums are these."""
    steps = 4**law.grid_bits
    size = len(design.released)
    totals = tuple(round(float(moments[i, j]) * steps) for i in range(size) for j in range(i, size))
    return Release(design, None, "planned", "0", replace(law, calibration="none"), totals, None, "untracked", "a plan")


def planned(release: Release, *, epsilon: float, delta: float, rows: float, level: float, correct: bool = True) -> Plan:
    """Read the accuracy off a release; `correct`: its sums are expected ones and hold no noise."""
    sds = tuple(map(tuple, release.noise_sd.tolist()))
    try:
        model = fit(_without_correction(release) if correct else release)
    except NotEstimableError as refusal:
        names = ("Intercept", *release.columns[1:-1]) if release.design.intercept else release.columns[1:-1]
        found = tuple(PlannedCoefficient(name, None, None, None, str(refusal)) for name in names)
        return Plan(epsilon, delta, rows, level, found, sds)
    errors, intervals, shares = model.bse, model.conf_int(level), model.privacy_share
    coefficients = []
    for name in model.names:
        error, interval, share = errors[name], intervals[name], shares[name]
        if isinstance(error, NotEstimable) or isinstance(interval, NotEstimable) or isinstance(share, NotEstimable):
            reason = next(v.reason for v in (error, interval, share) if isinstance(v, NotEstimable))
            coefficients.append(PlannedCoefficient(name, None, None, None, reason))
        else:
            coefficients.append(PlannedCoefficient(name, error, interval[1] - interval[0], share, None))
    return Plan(epsilon, delta, rows, level, tuple(coefficients), sds)


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
    if isinstance(model.s2, NotEstimable):
        return release
    target = release.design.columns[release.design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    exact = fit(replace(release, noise=replace(release.noise, sigma=dict.fromkeys(release.noise.sigma, 0))))
    if isinstance(exact.s2, NotEstimable):
        return release
    excess = (model.s2 - exact.s2) / half**2 * model.df_resid
    totals = list(release.totals)
    totals[-1] -= round(excess * 4**release.noise.grid_bits)
    return replace(release, totals=tuple(totals))


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


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def width_figure(plans: Sequence[Plan]) -> Figure:
    """Expected widths of all coefficients over epsilon, as a picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("plots", "matplotlib") from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for place, first in enumerate(plans[0].coefficients):
        known = [(plan.epsilon, width) for plan in plans if (width := plan.coefficients[place].width) is not None]
        if known:
            axes.plot(*zip(*known, strict=True), marker="o", label=f" {first.name}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("expected width of the interval")
    for text in axes.legend().get_texts():
        text.set_parse_math(False)
    return figure
