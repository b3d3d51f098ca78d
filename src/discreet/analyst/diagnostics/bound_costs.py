"""What each declared bound costs: how much privacy noise a narrower one would save, read off the release alone.

The noise of a release does not depend on where the bounds lie, only on how many columns there are. A bound costs noise
because a wide one leaves the column a small signal: halve the width of a column whose rows stay inside, and its scaled
values double while the noise stays. With M' = T M T' the sums that such a release would hold, the privacy part of the
mean squared error of a prediction,

    half_y^2 tr(A H V(theta) H) / n,   H = A^{-1},   V(theta) the covariance of what the noise adds to the score,

is computed before and after. T moves and stretches one column, so H and theta after follow from those before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from discreet.analyst.diagnostics.piles import OTHER, WRONG, Side
from discreet.analyst.equations.noise_covariance import EntryNoise, product_covariance
from discreet.analyst.equations.selection import SubModel
from discreet.analyst.equations.sums import centred
from discreet.design.columns import Numeric
from discreet.exact.arrays import FloatArray
from discreet.releases import Release

_ROUNDING: Final = 1e-12  # an eigenvalue below this share of the largest may be rounding
_DIGITS: Final = 12
_INNER: Final = 0.5  # half the declared width, in scaled units to either side


@dataclass(frozen=True, slots=True)
class BoundCost:
    """What the bounds of one numeric column cost.

    Attributes
    ----------
    name
        Declared name.
    column
        Its declaration.
    saved
        Share of the privacy part of the prediction error, as a standard deviation, that half the width would save.
    spread
        Where most rows lie according to the release: noisy mean less and plus two noisy standard deviations, in
        original units and cut to the bounds; none if the noise hides it.
    fits
        Whether that range is no wider than half of the declared one.
    reached
        The bound that this range was cut at; none if it is inside of both, or reaches both.
    """

    name: str
    column: Numeric
    saved: float
    spread: tuple[float, float] | None
    fits: bool
    reached: Side | None


def bound_costs(release: Release, model: SubModel) -> tuple[BoundCost, ...]:
    """Costs of the numeric columns of a model with intercept, costliest first, from a release of sums.

    Empty where the sums are indefinite, or one of them was not released, and where rows have weights.
    """
    if release.weighted:
        return ()
    positions = [0, *model.positions, model.target_position]
    M = centred(release).moments[np.ix_(positions, positions)]
    if np.isnan(M[:-1]).any():
        return ()
    # the square of the target only gives its spread
    square_known = not np.isnan(M[-1, -1])
    sd = np.nan_to_num(release.noise_sd[np.ix_(positions, positions)])
    copies = np.flatnonzero(np.isin(positions, release.noise.indicator_columns))
    M = np.nan_to_num(M)
    noise = EntryNoise(sd, tuple(copies.tolist()))
    if not noise or not _definite(M[:-1, :-1]):
        return ()
    rows = float(M[0, 0])
    H = cast("FloatArray", np.linalg.inv(M[:-1, :-1]))
    theta = H @ M[:-1, -1]
    before = _privacy_error(H, theta, noise)
    costs = []
    for index, position in enumerate(positions[1:], start=1):
        name = release.columns[position]
        column = release.design.columns.get(name)
        if not isinstance(column, Numeric):
            continue
        mean = float(M[0, index] / rows)
        spread = _spread(M, index) if square_known or index < len(M) - 1 else None
        after = _privacy_error(*_narrower(H, theta, index, float(np.clip(mean, -_INNER, _INNER))), noise)
        # one scaled unit of a narrower target is worth less
        worth = _INNER if index == len(M) - 1 else 1.0
        ends = None if spread is None else _ends(column, mean, spread)
        costs.append(
            BoundCost(
                name=name,
                column=column,
                saved=1 - worth * (after / before) ** 0.5,
                spread=ends,
                fits=ends is not None and ends[1] - ends[0] <= column.half,
                reached=None if spread is None else _reached(mean, spread),
            )
        )
    # what differs by rounding alone stays as it was declared
    return tuple(sorted(costs, key=lambda cost: -round(cost.saved, _DIGITS)))


def costliest_bound_text(costs: tuple[BoundCost, ...], piled: Mapping[str, Side]) -> str | None:
    """Say which bounds cost most and what could be done about them; nothing where none would save anything.

    Parameters
    ----------
    costs
        Costliest first.
    piled
        Columns whose rows pile up at a bound, and at which.
    """
    if not costs or costs[0].saved <= 0:
        return None
    costliest = costs[0]
    others = ", ".join(f"{cost.name} {max(cost.saved, 0.0):.0%}" for cost in costs[1:4])
    written = costliest.column.value_text
    text = (
        f"If the bounds [{', '.join(map(written, costliest.column.bounds))}] of {costliest.name} were half as "
        f"wide and still held all rows, the part of the prediction error due to privacy noise would be "
        f"{costliest.saved:.0%} smaller{f' (other columns: {others})' if others else ''}."
    )
    side = piled.get(costliest.name)
    if side is not None:
        return f"{text} But rows pile up at the {side} bound, which may be too {WRONG[side]} (D016)."
    if costliest.spread is None:
        return text
    low, high = costliest.spread
    return (
        f"{text} By the release, most rows lie between {written(low, '.4')} and {written(high, '.4')}, so "
        f"{_advice(costliest)}."
    )


def _advice(cost: BoundCost) -> str:
    if not cost.fits:
        return "bounds half as wide would clip many rows"
    if cost.reached is None:
        return "the next release could declare narrower bounds"
    return (
        f"the next release could move the {OTHER[cost.reached]} bound closer, but not the {cost.reached} one, which "
        "rows come close to"
    )


def _definite(A: FloatArray) -> bool:
    values = np.linalg.eigvalsh(A)
    return bool(values[0] > _ROUNDING * values[-1])


def _narrower(H: FloatArray, theta: FloatArray, index: int, middle: float) -> tuple[FloatArray, FloatArray]:
    """Inverse of the Gram and coefficients after the bounds of a column moved to a middle and half the width.

    A scaled value x of the column is _INNER x' + middle of the new one: its coefficient becomes smaller, and the
    intercept takes what the middle is worth. Of the target, everything grows by 1 / _INNER.
    """
    moved = theta.copy()
    if index == len(theta):
        moved[0] -= middle
        return H, moved / _INNER
    inverse = H.copy()
    for part in (inverse, inverse.T, moved):
        part[0] += middle * part[index]
        part[index] *= _INNER
    return inverse, moved


def _privacy_error(H: FloatArray, theta: FloatArray, entry_noise: EntryNoise) -> float:
    """tr(A H V H) = tr(H V), from the inverse of the Gram and the coefficients."""
    noise = product_covariance(entry_noise, np.append(-theta, 1.0))[:-1, :-1]
    return float((H * noise).sum())


def _spread(M: FloatArray, index: int) -> float | None:
    n = M[0, 0]
    around = M[index, index] / n - (M[0, index] / n) ** 2
    return float(np.sqrt(around)) if around > 0 else None


def _reached(mean: float, spread: float) -> Side | None:
    lower, upper = mean - 2 * spread <= -1, mean + 2 * spread >= 1
    return None if lower == upper else "lower" if lower else "upper"


def _ends(column: Numeric, mean: float, spread: float) -> tuple[float, float]:
    low, high = (min(max(mean + side * 2 * spread, -1.0), 1.0) for side in (-1, 1))
    return column.mid + column.half * low, column.mid + column.half * high
