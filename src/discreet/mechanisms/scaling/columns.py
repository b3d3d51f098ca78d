"""Centre and scale of columns from noisy counts, asked where each says most. Proof: refined.proof.md."""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np

from discreet.curator.sums.column_cells import CELLS
from discreet.exact.arrays import FloatArray, IntArray
from discreet.losses.sensitivity.searches import HALF, THREE_QUARTERS, WHOLE, comparisons
from discreet.mechanisms.interface.protocol import RunContext
from discreet.mechanisms.scaling.searches import CENTRE_PRIOR, NARROWEST, VALUE_BITS, Counts, in_steps, noisy

# grids of the posterior, in half ranges and in powers of two of them
_CENTRES: Final = np.linspace(-1.0, 1.0, 129)
_LOG_SCALES: Final = np.linspace(-9.0, 0.5, 39)
# half-width of the zoomed grid of centres: so many standard deviations of the posterior, each at least a grid step
_ZOOM, _GRID_STEP = 4.0, 1 / 64
# no scale is smaller, in scaled units, however sure it is
LEAST_SCALE: Final = 1 / 256
# the logarithm of a scale, a priori: a range of eight scales, and much less or more of them
_PRIOR_LOG_SCALE, _PRIOR_LOG_SCALE_SD = -2.0, 1.5
# how far the share of rows up to a point is from that of the model, as a standard deviation
_MODEL_ERROR: Final = 0.05
# tanh of so many scales is near the normal distribution function, from -1 to 1
_LOGISTIC: Final = 0.85
# the 75% quantile of abs(z) of a standard normal z
_NORMAL_SPREAD: Final = 1.15
# a scale below `NARROWEST` is kept if the mean square within so many scales, in units of that window, is surely small:
# 1/64 for a normal column, and the share of the other rows for one that is mostly one value
_NARROW_WINDOW, _NARROW_SQUARE = 8.0, 0.05
# the window of a mean square is so wide that its noise is so many scales; a scale is at least this part of its root
_NOISE_SCALES, _PART_OF_ROOT = 2.0, 0.75
# standard deviations of its noise by which a mean square is lowered before it raises a scale
_DOUBT: Final = 2.0

# the upper end of an interval of each column, and the lower one unless all smaller values are in it
_Interval: TypeAlias = tuple[FloatArray] | tuple[FloatArray, FloatArray]


class Beliefs:
    """What released counts say of centres and scales: for each column a posterior on a grid of both.

    The model is a logistic distribution close to the normal one. It decides where counts are asked for, and what they
    amount to where the noise is large. Where the noise is small, counts at the median and at the quartiles speak for
    themselves.

    Parameters
    ----------
    columns
        How many.
    centres
        Grid of the centres; one number where the centre is known.

    Examples
    --------
    >>> beliefs = Beliefs(1)
    >>> for point, share in [(0.0, 0.0), (0.5, 0.5), (0.4, 0.16), (0.6, 0.84)]:
    ...     beliefs.learn((np.array([point]),), np.array([share]), 0.01)
    >>> [found.round(2).tolist() for found in beliefs.means()]
    [[0.5], [0.11]]
    """

    def __init__(self, columns: int, centres: FloatArray = _CENTRES) -> None:
        self._learned: list[tuple[_Interval, FloatArray, float]] = []
        self._start(np.repeat(centres[None], columns, axis=0))

    def learn(self, interval: _Interval, shares: FloatArray, sd: float) -> None:
        """Update on the released share of the rows in an interval of each column.

        Parameters
        ----------
        interval
            Its upper end, and its lower one if there is one.
        shares, sd
            Released, with noise of this standard deviation.
        """
        self._learned.append((interval, shares, sd))
        self._update(interval, shares, sd)

    def zoom(self) -> None:
        """Move the grid of centres to where they are likely, and repeat all updates on it."""
        weights, centres = self._weights().sum(axis=2), self._centres[:, :, 0]
        mean = (weights * centres).sum(axis=1, keepdims=True)
        sd = np.sqrt((weights * (centres - mean) ** 2).sum(axis=1, keepdims=True))
        half = np.minimum(_ZOOM * np.maximum(sd, _GRID_STEP), 1.0)
        self._start(np.clip(mean, half - 1, 1 - half) + half * _CENTRES)

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means of the centres, and of the scales by their logarithms."""
        weights = self._weights()
        centres: FloatArray = (weights.sum(axis=2) * self._centres[:, :, 0]).sum(axis=1)
        return centres, np.exp2(weights.sum(axis=1) @ _LOG_SCALES)

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
        """Share of the rows that the model expects up to a point of each column, on the grid."""
        away = points[:, None, None] - self._centres
        share: FloatArray = 0.5 + 0.5 * np.tanh(away * (_LOGISTIC * np.exp2(-_LOG_SCALES)))
        return share

    def _weights(self) -> FloatArray:
        weights = np.exp(self._logs - self._logs.max(axis=(1, 2), keepdims=True))
        out: FloatArray = weights / weights.sum(axis=(1, 2), keepdims=True)
        return out


class _Questions:
    """Noisy counts of the columns, asked where beliefs say, and taken into them."""

    def __init__(self, context: RunContext, cells: IntArray, rows: int, many: float, beliefs: Beliefs) -> None:
        self._released = _Released(context, rows, many)
        self._counts = Counts(cells)
        self._beliefs = beliefs

    def centre(self, block: str) -> None:
        """Ask how many rows are up to the centre."""
        for _ in range(comparisons(block)):
            at, _ = self._cells()
            self._learn(block, (at / CELLS,), self._counts.up_to(at.tolist()), HALF)

    def spread(self, block: str) -> None:
        """Ask how many rows are so near the centre that three quarters of them should be."""
        for _ in range(comparisons(block)):
            at, scale = self._cells()
            width = np.rint(_NORMAL_SPREAD * scale).astype(np.int64)
            counts = self._counts.around(at.tolist(), width.tolist())
            self._learn(block, ((at + width) / CELLS, (at - width) / CELLS), counts, THREE_QUARTERS)

    def answers(self) -> tuple[list[float], list[float]]:
        """Centre and scale of each column."""
        centres, scales = self._cells()
        return (centres / CELLS).tolist(), np.maximum(scales / CELLS, LEAST_SCALE).tolist()

    def _cells(self) -> tuple[IntArray, IntArray]:
        """Centre and scale of each column in cells, to which they are rounded: last bits depend on the machine."""
        centres, scales = (np.rint(found * CELLS).astype(np.int64) for found in self._beliefs.means())
        return centres, scales

    def _learn(self, block: str, interval: _Interval, counts: list[int], quantile: int) -> None:
        totals = [count * self._released.unit for count in counts]
        self._beliefs.learn(interval, self._released.means(block, totals, quantile), self._released.sd(block))


class _Released:
    """Means over rows of values in [0, 1], one for each column, with noise."""

    def __init__(self, context: RunContext, rows: int, many: float) -> None:
        self._context = context
        self._rows = rows
        self._many = many

    @property
    def unit(self) -> int:
        """Steps of the product grid in 1."""
        return self._context.law.unit

    def means(self, block: str, totals: list[int], quantile: int) -> FloatArray:
        """Release exact sums, in steps, of which each row's part is centred by a quantile."""
        below = in_steps(self._context, quantile)
        exact = [total - below * self._rows for total in totals]  # [P:centred-column-count]
        released = np.array(noisy(self._context, block, exact), dtype=np.float64)
        return released / self.unit / self._many + quantile / WHOLE

    def sd(self, block: str) -> float:
        """Standard deviation of the noise of a mean."""
        return self._context.law.sd(block) / self._many


def columns_centred(context: RunContext, cells: IntArray, rows: int, many: float) -> tuple[list[float], list[float]]:
    """Centre and scale of each column, from counts up to a centre and around it, twice.

    `rows` is the exact number of rows and only enters sums that get noise; `many` is the released one.
    """
    beliefs = Beliefs(len(cells))
    questions = _Questions(context, cells, rows, many, beliefs)
    questions.centre("centre")
    questions.spread("spread")
    beliefs.zoom()
    questions.centre("zoomed_centre")
    questions.spread("zoomed_spread")
    return questions.answers()


def columns_scaled(context: RunContext, cells: IntArray, rows: int, many: float) -> list[float]:
    """Scale of each column around 0."""
    questions = _Questions(context, cells, rows, many, Beliefs(len(cells), np.zeros(1)))
    questions.spread("one_spread")
    return questions.answers()[1]


def columns_sized(
    context: RunContext, cells: IntArray, rows: int, many: float, centres: list[float], scales: list[float]
) -> list[float]:
    """Scales that two noisy mean squares around the centres allow.

    Quantiles cannot tell a narrow column from one that is mostly one value, whose other values carry all it says. So
    the first mean square, within a few scales, decides whether a scale below `NARROWEST` is kept, and all of them
    raise scales that are too small for the values far out. A mean square is lowered by its noise before it raises a
    scale, and raised by it before it confirms one.
    """
    released, at = _Released(context, rows, many), np.rint(np.array(centres) * CELLS).astype(np.int64)
    sd = released.sd("mean_square")
    least = np.array(scales)
    for turn in range(comparisons("mean_square")):
        narrow = least < NARROWEST if turn == 0 else np.zeros(len(least), dtype=np.bool_)
        window = np.where(narrow, _NARROW_WINDOW, _NOISE_SCALES / math.sqrt(sd)) * least
        widths = np.clip(np.rint(window * CELLS), 1, 2 * CELLS).astype(np.int64)
        totals = [_capped_squares(*one) * (released.unit >> VALUE_BITS) for one in zip(cells, at, widths, strict=True)]
        squares = np.clip(released.means("mean_square", totals, HALF), 0.0, 1.0)
        root = _PART_OF_ROOT * np.sqrt(np.maximum(squares - _DOUBT * sd, 0.0)) * widths / CELLS
        doubtful = narrow & (squares + sd > _NARROW_SQUARE)
        least = np.maximum(np.maximum(least, root), np.where(doubtful, NARROWEST, 0.0))
    found: list[float] = least.tolist()
    return found


def _capped_squares(counts: IntArray, centre: int, width: int) -> int:
    """Sum over rows of the squared distance from a centre over that of a width, at most 1, in steps of 2^-16."""
    squares = np.minimum((np.arange(-CELLS, CELLS + 1) - centre) ** 2, width * width)
    return int(counts @ ((squares << VALUE_BITS) // (width * width)))  # [P:capped-square]
