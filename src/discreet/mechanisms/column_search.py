"""Search centres and scales of columns and of the target by noisy counts. Proof: refined.proof.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from discreet.accounting.search_queries import HALF, LAST, TARGET_QUANTILE, THREE_QUARTERS, WHOLE, comparisons
from discreet.curator.sums.cell_counts import CELLS
from discreet.exact.arrays import FloatArray, IntArray
from discreet.mechanisms.protocol import RunContext

# -- searches ----------------------------------------------------------------------------------------------------------
# Noisy binary searches on counts, and the centre and spread of a target. Proof: refined.proof.md.

# function from the index of a grid point to the number of rows up to that point
CountAt: TypeAlias = Callable[[int], int]

# 29/32 quantile of abs(z) for a standard normal z; the search for the spread of a target uses this quantile
NORMAL_TARGET_SPREAD: Final = 1.68
# a scale below this, in scaled units, may be that of a column that is mostly one value
NARROWEST: Final = 1 / 32
# prior standard deviation of a centre around the middle of its range, relative to half of the range
CENTRE_PRIOR: Final = 0.35
# binary digits to which cell values are rounded in a sum of clipped targets; every product grid has as many
VALUE_BITS: Final = 16


def noisy(context: RunContext, block: str, exact: Sequence[int]) -> list[int]:
    """Add independent noise with the scale of `block` to exact sums, in product-grid steps."""
    noise = context.sampler.draw([context.distribution.sigma[block]] * len(exact))
    return [total + variate for total, variate in zip(exact, noise, strict=True)]  # [P:refined-noise]


def quantile_in_steps(context: RunContext, thirty_seconds: int) -> int:
    """Convert a quantile from 32nds to product-grid steps."""
    return thirty_seconds * (context.distribution.unit // WHOLE)


def search(context: RunContext, block: str, count_at: CountAt, rows: int, below: int) -> int:
    """Find the grid point nearest to a quantile by noisy binary search, and return its index.

    `block` names the grid and the noise of each comparison. `rows` is the exact number of rows, and `below` the
    quantile in product-grid steps. Only noisy sums over rows of 1[value <= point] - quantile are used.
    """
    low, high = 0, LAST[block]
    # the number of comparisons does not depend on their results
    for _ in range(comparisons(block)):
        middle = (low + high) // 2
        (value,) = noisy(
            context, block, [count_at(middle) * context.distribution.unit - below * rows]
        )  # [P:centred-count]
        if low < high:
            low, high = (low, middle) if value >= 0 else (middle + 1, high)
    return high


class Counts:
    """Exact, sensitive numbers of rows up to any cell of each column."""

    def __init__(self, cells: IntArray) -> None:
        # no row lies before the first cell
        self._up_to = np.concatenate([np.zeros((len(cells), 1), dtype=np.int64), np.cumsum(cells, axis=1)], axis=1)

    def up_to(self, cells: Sequence[int]) -> list[int]:
        """Return the number of rows up to a given cell of each column."""
        indices = np.clip(np.asarray(cells, dtype=np.int64), -CELLS - 1, CELLS) + CELLS + 1
        counts: list[int] = self._up_to[np.arange(len(indices)), indices].tolist()
        return counts

    def around(self, centres: Sequence[int], widths: Sequence[int]) -> list[int]:
        """Return the number of rows within a given width of a centre, for each column."""
        upper = self.up_to([c + w for c, w in zip(centres, widths, strict=True)])
        lower = self.up_to([c - w for c, w in zip(centres, widths, strict=True)])
        return [a - b for a, b in zip(upper, lower, strict=True)]


@dataclass(frozen=True, slots=True)
class TargetScale:
    """Released location and scale of the target, in scaled units.

    Attributes
    ----------
    low, high
        Public range.
    centre, variance
        Estimated mean, and the variance of that estimate.
    spread
        Estimated distance from the centre that nine tenths of the values do not exceed.
    """

    low: float
    high: float
    centre: float
    variance: float
    spread: float

    @property
    def span(self) -> float:
        """Largest possible distance of a value from the centre."""
        return max(self.high - self.centre, self.centre - self.low)

    @property
    def likely_sd(self) -> float:
        """Standard deviation of a normal target with this spread, or of a uniform one if that is smaller."""
        return min(self.spread / NORMAL_TARGET_SPREAD, (self.high - self.low) / math.sqrt(12))


def target_spread(context: RunContext, counts: Counts, centre: int, half: int, rows: int) -> int:
    """Search for the distance from a centre, in cells, that nine tenths of the targets do not exceed.

    `half` is half of the target's range, in cells.
    """
    widths = [round(half * math.pow(2, (k - 14) / 2)) for k in range(LAST["target_spread"] + 1)]
    below = quantile_in_steps(context, TARGET_QUANTILE)
    return widths[search(context, "target_spread", lambda k: counts.around([centre], [widths[k]])[0], rows, below)]


def target_centred(context: RunContext, cells: IntArray, rows: int, many: float) -> TargetScale:
    """Estimate the target's centre and spread by a noisy mean, a search for the spread, and a noisy clipped mean.

    `rows` is the exact and `many` the released number of rows.
    """
    low = 0 if context.domain.target_nonnegative else -CELLS
    middle, half = (low + CELLS) // 2, (CELLS - low) // 2
    counts, values = Counts(cells[None, :]), np.arange(-CELLS, CELLS + 1) - middle
    centre, variance = middle, 0.0
    if context.design.intercept:
        mean, error = _mean(context, "target_mean", cells, values, half, many)
        gain = CENTRE_PRIOR**2 / (CENTRE_PRIOR**2 + error**2)
        centre += round(half * min(max(gain * mean, -1.0), 1.0))
        variance = gain * error**2 * half**2
    spread = target_spread(context, counts, centre, half, rows)
    exact = float(centre)
    if context.design.intercept:
        farthest = half + abs(centre - middle)
        width = math.ceil(min(max(1.5 * spread, 2 * math.sqrt(variance)), farthest))
        mean, error = _mean(context, "target_zoom", cells, values - (centre - middle), width, many)
        gain = variance / (variance + (width * error) ** 2)
        exact = min(max(centre + gain * mean * width, low), CELLS)
        variance = gain * (width * error) ** 2
    return TargetScale(low / CELLS, 1.0, exact / CELLS, variance / CELLS**2, spread / CELLS)


def _mean(
    context: RunContext, block: str, cells: IntArray, values: IntArray, width: int, many: float
) -> tuple[float, float]:
    """Return the noisy mean of values / width, clipped to [-1, 1], and the standard deviation of its noise."""
    cut = np.clip(values, -width, width) << VALUE_BITS
    parts = np.sign(cut) * (np.abs(cut) // width)  # [P:value-of-a-cell]
    total = int(cells @ parts) * (context.distribution.unit >> VALUE_BITS)
    (released,) = noisy(context, block, [total])
    return released / context.distribution.unit / many, context.distribution.sd(block) / many


# -- columns -----------------------------------------------------------------------------------------------------------
# Centre and scale of columns from noisy counts at the most informative points. Proof: refined.proof.md.

# posterior grids of centres, relative to half of the range, and of binary logarithms of scales
_CENTRES: Final = np.linspace(-1.0, 1.0, 129)
_LOG_SCALES: Final = np.linspace(-9.0, 0.5, 39)
# half-width of the zoomed grid, in posterior standard deviations, and the smallest standard deviation used
_ZOOM, _GRID_STEP = 4.0, 1 / 64
# smallest scale, in scaled units
LEAST_SCALE: Final = 1 / 256
# prior mean and standard deviation of the binary logarithm of a scale; the mean puts eight scales into a range
_PRIOR_LOG_SCALE, _PRIOR_LOG_SCALE_SD = -2.0, 1.5
# standard deviation of the model error in the share of rows up to a point
_MODEL_ERROR: Final = 0.05
# tanh(0.85 z) approximates 2 Phi(z) - 1, with Phi the normal distribution function
_LOGISTIC: Final = 0.85
# 75% quantile of abs(z) for a standard normal z
_NORMAL_SPREAD: Final = 1.15
# A scale below `NARROWEST` is kept only if the mean square within a window of eight scales, relative to the squared
# window, is clearly below 0.05. It is 1/64 for a normal column. For a column that is mostly one value, it is the share
# of all other values.
_NARROW_WINDOW, _NARROW_SQUARE = 8.0, 0.05
# window of a mean square, in scales over the root of its noise; smallest scale relative to the root mean square
_NOISE_SCALES, _PART_OF_ROOT = 2.0, 0.75
# a mean square is lowered by this many standard deviations of its noise before it raises a scale
_DOUBT: Final = 2.0

# a smaller scale, close to the smallest one, is that of a column most of whose values are equal
_FITTING_SCALE: Final = 1 / 230

# upper end of an interval for each column, and its lower end unless the interval is unbounded below
_Interval: TypeAlias = tuple[FloatArray] | tuple[FloatArray, FloatArray]


class Beliefs:
    """Posterior of each column's centre and scale on a grid, given released counts.

    The model is a logistic distribution close to a normal one. It selects the points at which rows are counted, and
    regularises the result if the noise is large. If the noise is small, counts near the median and quartiles dominate.
    `centres` is the grid of centres, with a single element if the centre is fixed.

    >>> beliefs = Beliefs(1)
    >>> for point, share in [(0.0, 0.0), (0.5, 0.5), (0.4, 0.16), (0.6, 0.84)]:
    ...     beliefs.learn((np.array([point]),), np.array([share]), 0.01)
    >>> [means.round(2).tolist() for means in beliefs.means()]
    [[0.5], [0.11]]
    """

    def __init__(self, columns: int, centres: FloatArray = _CENTRES) -> None:
        self._learned: list[tuple[_Interval, FloatArray, float]] = []
        self._start(np.repeat(centres[None], columns, axis=0))

    def learn(self, interval: _Interval, shares: FloatArray, sd: float) -> None:
        """Update on the released share of rows in an interval of each column, with noise of standard deviation `sd`."""
        self._learned.append((interval, shares, sd))
        self._update(interval, shares, sd)

    def zoom(self) -> None:
        """Move the grid of centres to where they are likely, and repeat all updates on the new grid."""
        weights, centres = self._weights().sum(axis=2), self._centres[:, :, 0]
        mean = (weights * centres).sum(axis=1, keepdims=True)
        sd = np.sqrt((weights * (centres - mean) ** 2).sum(axis=1, keepdims=True))
        half = np.minimum(_ZOOM * np.maximum(sd, _GRID_STEP), 1.0)
        self._start(np.clip(mean, half - 1, 1 - half) + half * _CENTRES)

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means of the centres, and the posterior geometric means of the scales."""
        weights = self._weights()
        centres: FloatArray = (weights.sum(axis=2) * self._centres[:, :, 0]).sum(axis=1)
        return centres, np.exp2(weights.sum(axis=1) @ _LOG_SCALES)

    def misfits(self) -> list[bool]:
        """Return which columns have clearly more rows far from their centre than their scale suggests.

        So does a column most of whose values are equal: the more of them are, the smaller the scale that fits best.

        >>> beliefs = Beliefs(2)
        >>> for width, shares in [(0.2, [1.0, 0.85]), (0.03, [0.7, 0.8])]:
        ...     beliefs.learn((np.full(2, width), np.full(2, -width)), np.array(shares), 0.01)
        >>> beliefs.misfits()
        [False, True]
        """
        centres, scales = self.means()
        found = scales < _FITTING_SCALE
        for interval, shares, sd in self._learned:
            for lower in interval[1:]:
                ends = [np.tanh(_LOGISTIC * (end - centres) / scales) for end in (interval[0], lower)]
                found |= (ends[0] - ends[1]) / 2 - shares > _MODEL_ERROR + 2 * sd
        return [bool(one) for one in found]

    def _start(self, centres: FloatArray) -> None:
        self._centres = centres[:, :, None]
        away = (_LOG_SCALES - _PRIOR_LOG_SCALE) / _PRIOR_LOG_SCALE_SD
        self._logs: FloatArray = -0.5 * ((self._centres / CENTRE_PRIOR) ** 2 + away**2)
        for learned in self._learned:
            self._update(*learned)

    def _update(self, interval: _Interval, shares: FloatArray, sd: float) -> None:
        expected = self._share_up_to(interval[0])
        for lower in interval[1:]:
            expected = expected - self._share_up_to(lower)
        off = (shares[:, None, None] - expected) / math.hypot(sd, _MODEL_ERROR)
        self._logs -= 0.5 * off * off

    def _share_up_to(self, points: FloatArray) -> FloatArray:
        """Return the expected share of rows up to a point of each column, for every grid value."""
        away = points[:, None, None] - self._centres
        share: FloatArray = 0.5 + 0.5 * np.tanh(away * (_LOGISTIC * np.exp2(-_LOG_SCALES)))
        return share

    def _weights(self) -> FloatArray:
        weights = np.exp(self._logs - self._logs.max(axis=(1, 2), keepdims=True))
        out: FloatArray = weights / weights.sum(axis=(1, 2), keepdims=True)
        return out


class _Questions:
    """Noisy counts at points that the posterior selects, each of which updates the posterior."""

    def __init__(self, context: RunContext, cells: IntArray, rows: int, many: float, beliefs: Beliefs) -> None:
        self._released = _Released(context, rows, many)
        self._counts = Counts(cells)
        self._beliefs = beliefs

    def centre(self, block: str) -> None:
        """Release counts of the rows up to the current centre."""
        for _ in range(comparisons(block)):
            at, _ = self._cells()
            self._learn(block, (at / CELLS,), self._counts.up_to(at.tolist()), HALF)

    def spread(self, block: str) -> None:
        """Release counts of the rows within the distance of the centre that should contain three quarters of them."""
        for _ in range(comparisons(block)):
            at, scale = self._cells()
            width = np.rint(_NORMAL_SPREAD * scale).astype(np.int64)
            counts = self._counts.around(at.tolist(), width.tolist())
            self._learn(block, ((at + width) / CELLS, (at - width) / CELLS), counts, THREE_QUARTERS)

    def answers(self) -> tuple[list[float], list[float]]:
        """Return the centre and scale of each column."""
        centres, scales = self._cells()
        return (centres / CELLS).tolist(), np.maximum(scales / CELLS, LEAST_SCALE).tolist()

    def _cells(self) -> tuple[IntArray, IntArray]:
        """Return the centre and scale of each column, rounded to cells because the last bits depend on the machine."""
        centres, scales = (np.rint(means * CELLS).astype(np.int64) for means in self._beliefs.means())
        return centres, scales

    def _learn(self, block: str, interval: _Interval, counts: list[int], quantile: int) -> None:
        totals = [count * self._released.unit for count in counts]
        self._beliefs.learn(interval, self._released.means(block, totals, quantile), self._released.sd(block))


class _Released:
    """Noisy means over rows of values in [0, 1], one mean for each column."""

    def __init__(self, context: RunContext, rows: int, many: float) -> None:
        self._context = context
        self._rows = rows
        self._many = many

    @property
    def unit(self) -> int:
        """Number of product-grid steps in one scaled unit."""
        return self._context.distribution.unit

    def means(self, block: str, totals: list[int], quantile: int) -> FloatArray:
        """Release means from exact sums in product-grid steps. Each row's value is centred by a quantile first."""
        below = quantile_in_steps(self._context, quantile)
        exact = [total - below * self._rows for total in totals]  # [P:centred-column-count]
        released = np.array(noisy(self._context, block, exact), dtype=np.float64)
        return released / self.unit / self._many + quantile / WHOLE

    def sd(self, block: str) -> float:
        """Return the standard deviation of the noise of a mean."""
        return self._context.distribution.sd(block) / self._many


def columns_centred(context: RunContext, cells: IntArray, rows: int, many: float) -> tuple[list[float], list[float]]:
    """Estimate the centre and scale of each column in two rounds of counts up to the centre and around it.

    `rows`, the exact number of rows, enters only sums that get noise. `many` is the released number.
    """
    centres, scales, _ = columns_found(context, cells, rows, many)
    return centres, scales


def columns_found(
    context: RunContext, cells: IntArray, rows: int, many: float
) -> tuple[list[float], list[float], list[bool]]:
    """Estimate centres and scales as `columns_centred` does, and return whether a scale misfits the counts."""
    beliefs = Beliefs(len(cells))
    questions = _Questions(context, cells, rows, many, beliefs)
    questions.centre("centre")
    questions.spread("spread")
    beliefs.zoom()
    questions.centre("zoomed_centre")
    questions.spread("zoomed_spread")
    return *questions.answers(), beliefs.misfits()


def columns_scaled(context: RunContext, cells: IntArray, rows: int, many: float) -> list[float]:
    """Estimate the scale of each column around 0."""
    questions = _Questions(context, cells, rows, many, Beliefs(len(cells), np.zeros(1)))
    questions.spread("one_spread")
    return questions.answers()[1]


def columns_sized(
    context: RunContext, cells: IntArray, rows: int, many: float, centres: list[float], scales: list[float]
) -> list[float]:
    """Adjust scales by two noisy mean squares around the centres.

    Quantiles cannot tell a narrow column from one that is mostly one value and has all its information in the others.
    So the first mean square decides whether a scale below `NARROWEST` is kept, and both mean squares raise scales that
    are too small for distant values. The decision is conservative: noise is subtracted before a scale is raised, and
    added before a narrow scale is kept.
    """
    released, at = _Released(context, rows, many), np.rint(np.array(centres) * CELLS).astype(np.int64)
    sd = released.sd("mean_square")
    least = np.array(scales)
    for turn in range(comparisons("mean_square")):
        narrow = least < NARROWEST if turn == 0 else np.zeros(len(least), dtype=np.bool_)
        window = np.where(narrow, _NARROW_WINDOW, _NOISE_SCALES / math.sqrt(sd)) * least
        widths = np.clip(np.rint(window * CELLS), 1, 2 * CELLS).astype(np.int64)
        windows = zip(cells, at, widths, strict=True)
        totals = [_capped_squares(*column) * (released.unit >> VALUE_BITS) for column in windows]
        squares = np.clip(released.means("mean_square", totals, HALF), 0.0, 1.0)
        root = _PART_OF_ROOT * np.sqrt(np.maximum(squares - _DOUBT * sd, 0.0)) * widths / CELLS
        doubtful = narrow & (squares + sd > _NARROW_SQUARE)
        least = np.maximum(np.maximum(least, root), np.where(doubtful, NARROWEST, 0.0))
    adjusted: list[float] = least.tolist()
    return adjusted


def _capped_squares(counts: IntArray, centre: int, width: int) -> int:
    """Return the sum over rows of min(1, (distance from centre / width)^2), in steps of 2^-16."""
    squares = np.minimum((np.arange(-CELLS, CELLS + 1) - centre) ** 2, width * width)
    return int(counts @ ((squares << VALUE_BITS) // (width * width)))  # [P:capped-square]


# -- sizes -------------------------------------------------------------------------------------------------------------
# Root mean squares of columns around their centres. Proof: staged.proof.md.


def column_sizes(context: RunContext, block: str, cells: IntArray, centres: Sequence[int], many: float) -> list[float]:
    """Return each column's root mean square around its centre, in scaled units.

    One standard deviation of its noise is subtracted from a sum of squares first.

    `block` names the noise, `cells` holds exact counts by cell, `centres` are released centres in cells, and `many` is
    the released number of rows.
    """
    # no value is farther from a centre than two scaled units
    points, fine = np.arange(-CELLS, CELLS + 1), context.distribution.unit >> VALUE_BITS
    squares = [((points - centre) ** 2 << VALUE_BITS) // (2 * CELLS) ** 2 for centre in centres]  # [P:square-of-a-cell]
    exact = [int(counts @ parts) * fine for counts, parts in zip(cells, squares, strict=True)]
    lowered = [
        total / context.distribution.unit - context.distribution.sd(block) for total in noisy(context, block, exact)
    ]
    return [2 * math.sqrt(max(total, 0.0) / many) for total in lowered]
