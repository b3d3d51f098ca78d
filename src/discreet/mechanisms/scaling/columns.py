"""Centre and scale of columns from noisy counts, asked where each says most. Proof: refined.proof.md."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from discreet.curator.sums.column_cells import CELLS
from discreet.exact.arrays import FloatArray, IntArray
from discreet.losses.sensitivity.searches import HALF, THREE_QUARTERS, WHOLE, comparisons
from discreet.mechanisms.interface.protocol import RunContext
from discreet.mechanisms.scaling.searches import CENTRE_PRIOR, NARROWEST, Counts, in_steps, noisy

# grids of the posterior, in half ranges and in powers of two of them
_CENTRES: Final = np.linspace(-1.0, 1.0, 129)
_LOG_SCALES: Final = np.linspace(-5.5, 0.5, 25)
# the logarithm of a scale, a priori: a range of eight scales, and much less or more of them
_PRIOR_LOG_SCALE, _PRIOR_LOG_SCALE_SD = -2.0, 1.5
# how far the share of rows up to a point is from that of the model, as a standard deviation
_MODEL_ERROR: Final = 0.05
# tanh of so many scales is near the normal distribution function, from -1 to 1
_LOGISTIC: Final = 0.85
# the 75% quantile of abs(z) of a standard normal z
_NORMAL_SPREAD: Final = 1.15


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
    ...     beliefs.learn(beliefs.share_up_to(np.array([point])), np.array([share]), 0.01)
    >>> [found.round(2).tolist() for found in beliefs.means()]
    [[0.5], [0.11]]
    """

    def __init__(self, columns: int, centres: FloatArray = _CENTRES) -> None:
        self._centres = centres[:, None]
        away = (_LOG_SCALES - _PRIOR_LOG_SCALE) / _PRIOR_LOG_SCALE_SD
        prior = -0.5 * ((self._centres / CENTRE_PRIOR) ** 2 + away**2)
        self._logs = np.repeat(prior[None], columns, axis=0)

    def share_up_to(self, points: FloatArray) -> FloatArray:
        """Share of the rows that the model expects up to a point of each column, on the grid."""
        away = points[:, None, None] - self._centres
        share: FloatArray = 0.5 + 0.5 * np.tanh(away * (_LOGISTIC * np.exp2(-_LOG_SCALES)))
        return share

    def learn(self, expected: FloatArray, shares: FloatArray, sd: float) -> None:
        """Take in the released share of each column, with noise of a standard deviation, where one was expected."""
        off = (shares[:, None, None] - expected) / math.hypot(sd, _MODEL_ERROR)
        self._logs -= 0.5 * off * off

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means of the centres, and of the scales by their logarithms."""
        weights = np.exp(self._logs - self._logs.max(axis=(1, 2), keepdims=True))
        weights /= weights.sum(axis=(1, 2), keepdims=True)
        return weights.sum(axis=2) @ self._centres[:, 0], np.exp2(weights.sum(axis=1) @ _LOG_SCALES)


class _Questions:
    """Noisy counts of the columns, asked where beliefs say, and taken into them."""

    def __init__(self, context: RunContext, cells: IntArray, rows: int, many: float, beliefs: Beliefs) -> None:
        self._context = context
        self._counts = Counts(cells)
        self._rows = rows
        self._many = many
        self._beliefs = beliefs

    def centre(self, block: str) -> None:
        """Ask how many rows are up to the centre."""
        for _ in range(comparisons(block)):
            at, _ = self._cells()
            self._learn(block, self._beliefs.share_up_to(at / CELLS), self._counts.up_to(at.tolist()), HALF)

    def spread(self, block: str) -> None:
        """Ask how many rows are so near the centre that three quarters of them should be."""
        for _ in range(comparisons(block)):
            at, scale = self._cells()
            width = np.rint(_NORMAL_SPREAD * scale).astype(np.int64)
            upper, lower = (self._beliefs.share_up_to((at + one) / CELLS) for one in (width, -width))
            counts = self._counts.around(at.tolist(), width.tolist())
            self._learn(block, upper - lower, counts, THREE_QUARTERS)

    def answers(self) -> tuple[list[float], list[float]]:
        """Centre and scale of each column."""
        centres, scales = self._cells()
        return (centres / CELLS).tolist(), np.maximum(scales / CELLS, NARROWEST).tolist()

    def _cells(self) -> tuple[IntArray, IntArray]:
        """Centre and scale of each column in cells, to which they are rounded: last bits depend on the machine."""
        centres, scales = (np.rint(found * CELLS).astype(np.int64) for found in self._beliefs.means())
        return centres, scales

    def _learn(self, block: str, expected: FloatArray, counts: list[int], quantile: int) -> None:
        unit, below = self._context.law.unit, in_steps(self._context, quantile)
        exact = [count * unit - below * self._rows for count in counts]  # [P:centred-column-count]
        released = np.array(noisy(self._context, block, exact), dtype=np.float64)
        sd = self._context.law.sd(block) / self._many
        self._beliefs.learn(expected, released / unit / self._many + quantile / WHOLE, sd)


def columns_centred(context: RunContext, cells: IntArray, rows: int, many: float) -> tuple[list[float], list[float]]:
    """Centre and scale of each column, from counts up to a centre and around it, twice.

    `rows` is the exact number of rows and only enters sums that get noise; `many` is the released one.
    """
    questions = _Questions(context, cells, rows, many, Beliefs(len(cells)))
    questions.centre("centre")
    questions.spread("spread")
    questions.centre("zoomed_centre")
    questions.spread("zoomed_spread")
    return questions.answers()


def columns_scaled(context: RunContext, cells: IntArray, rows: int, many: float) -> list[float]:
    """Scale of each column around 0."""
    questions = _Questions(context, cells, rows, many, Beliefs(len(cells), np.zeros(1)))
    questions.spread("one_spread")
    return questions.answers()[1]
