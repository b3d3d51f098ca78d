"""Sum weighted rows, clipped scores, their products, and squared residuals. Proof: mechanisms/staged.proof.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.curator.sums.gram import ExactGram, MadeAnew
from discreet.curator.sums.residuals import usable
from discreet.curator.sums.scaled_rows import Scaling, UpTo, squared_norms
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray, shrink_to_ball

# finest grid of a score and of a squared residual, in units of their bounds
SCORE_BITS: Final = 36
# doubles hold integers up to 2^53, so sums of up to 2^17 scores are exact in any order; the arrays of a block of this
# many rows stay in the cache, and their memory is used again
_SUMMED_AT_ONCE: Final = 2**12
# far above the rounding error of a norm in doubles, far below one step of a score
_SHORTENED: Final = 1 - 2**-40


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Released numbers that give the score of a row (1, x, y): x = (1, z) and r = y - centre - x'line.

    With a radius both are multiplied by the weight w = min(1, radius / |x|). The score is V x r, with V the whitening
    matrix or the identity.

    Attributes
    ----------
    centre
        Of the target, in scaled units.
    line
        Coefficients of (1, z).
    radius
        None for rows without weights.
    whitening
        Rows of the lower triangular matrix V. Empty for the identity.
    """

    domain: RowDomain
    scaling: Scaling
    centre: float
    line: tuple[float, ...]
    radius: float | None = None
    whitening: tuple[tuple[float, ...], ...] = ()

    @property
    def size(self) -> int:
        """Number of coordinates of a score."""
        return len(self.line)

    def weighted(self, chunk: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return w (1, z) and w r of a chunk of rows, each row independently of the others, bit for bit."""
        z = self.scaling.rows(chunk, self.domain.unit)
        residual: FloatArray = chunk[-1] / self.domain.unit - self.centre
        for coefficient, column in zip(usable(self.line), z, strict=True):
            residual -= coefficient * column
        if self.radius is not None:
            weights = self.radius / np.maximum(np.sqrt(squared_norms(z)), self.radius)
            z *= weights
            residual *= weights
        return z, residual

    def scores(self, chunk: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the vectors V x, their norms times |r|, and the residuals r."""
        x, residual = self.weighted(chunk)
        if self.whitening:
            x = self._whitened(x)
        return x, np.sqrt(squared_norms(x)) * np.abs(residual), residual

    def _whitened(self, x: FloatArray) -> FloatArray:
        """Multiply by V in a fixed order: a matrix product could round differently from index to index."""
        out = np.empty_like(x)
        part = np.empty(x.shape[1])
        for place, row in enumerate(self.whitening):
            np.multiply(x[0], row[0], out=out[place])
            for factor, column in zip(row[1:], x[1 : len(row)], strict=True):
                np.multiply(column, factor, out=part)
                out[place] += part
        return out


class ScoreNorms(MadeAnew):
    """Running exact number of rows whose score has a norm up to each of some thresholds, then of all rows.

    >>> rows = ScoredRows(RowDomain(1, 0, 0, None, False, 8), Scaling((0.0,), (0.5,), np.inf, 1), 0.0, (0.0, 0.0))
    >>> norms = ScoreNorms(rows, [1.0, 2.0])
    >>> norms.add(np.array([[256.0, 256.0], [0.0, 256.0], [128.0, 256.0]])); norms.totals()
    (1, 1, 2)
    """

    def __init__(self, rows: ScoredRows, thresholds: Sequence[float]) -> None:
        self._rows = rows
        self._up_to = UpTo(thresholds)

    @property
    def unit(self) -> int:
        """Steps in one row."""
        return 1

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        self._up_to.add(self._rows.scores(chunk)[1])  # [P:one-threshold]

    def totals(self) -> tuple[int, ...]:
        """Return the number of rows up to each threshold, then of all rows."""
        return self._up_to.totals()


class StagedGram(MadeAnew):
    """Running exact sum of a a' with a = w (1, z) / radius, and the numbers that `ScoreNorms` counts.

    The row a is rounded to the grid and shrunk so that its norm is at most 1, exactly. The totals are the upper
    triangle of the products, the number of rows up to each threshold and the number of rows, in steps of products.
    """

    def __init__(self, rows: ScoredRows, radius: float, thresholds: Sequence[float]) -> None:
        self._rows = rows
        self._radius = radius
        self._gram = ExactGram(rows.size, rows.domain.grid_bits)
        self._norms = ScoreNorms(rows, thresholds)

    @property
    def unit(self) -> int:
        """Steps in one scaled unit, those of the product of two rows."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        one = self._rows.domain.unit
        for block in _summable_blocks(chunk):
            x, _ = self._rows.weighted(block)
            rows: FloatArray = np.rint(x * (one / self._radius))
            shrink_to_ball(rows, one**2)  # [P:staged-row]
            self._gram.add(rows)
        self._norms.add(chunk)

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of the products, the counts up to each threshold and the number of rows."""
        return (*self._gram.totals(), *(count * self.unit for count in self._norms.totals()))


class StagedScores(MadeAnew):
    """Running exact sum of scores in units of a bound, each shortened to norm 1, and of squared residuals.

    A squared residual is divided by the square of its own bound and clipped to 1; without such a bound it is left out.
    With `products`, the products s s' of the scores are summed too, each score rounded to the grid of the rows. The
    totals are the coordinates of the sum of scores, the sum of squares, and the upper triangle of the products.

    >>> rows = ScoredRows(RowDomain(1, 0, 0, None, False, 8), Scaling((0.0,), (0.5,), np.inf, 1), 0.0, (0.0, 0.0))
    >>> sums = StagedScores(rows, 4.0, 2.0)
    >>> sums.add(np.array([[256.0], [0.0], [128.0]])); [total / sums.unit for total in sums.totals()]
    [0.125, 0.0, 0.0625]
    """

    def __init__(
        self, rows: ScoredRows, bound: float, square_bound: float | None = None, *, products: bool = False
    ) -> None:
        self._rows = rows
        self._bound = bound
        self._square_bound = square_bound
        self._bits = min(2 * rows.domain.grid_bits, SCORE_BITS)
        # each coordinate moves by at most half a step where it is rounded
        self._inside = (1 - math.sqrt(rows.size) * 2.0**-self._bits) * _SHORTENED
        self._sums = [0] * (rows.size + (square_bound is not None))
        self._products = ExactGram(rows.size, rows.domain.grid_bits) if products else None

    @property
    def unit(self) -> int:
        """Steps in one bound."""
        return 1 << self._bits if self._products is None else self._products.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        for block in _summable_blocks(chunk):
            rows = self.rows(block)
            summed = rows.sum(axis=1).tolist()  # [P:exact-staged-sum]
            self._sums = [total + int(part) for total, part in zip(self._sums, summed, strict=True)]
            if self._products is not None:
                self._products.add(self._vectors(rows))

    def rows(self, chunk: FloatArray) -> FloatArray:
        """Compute the integers of each row: a vector of norm at most 2^bits, and a square; shape (totals, rows)."""
        x, norms, residual = self._rows.scores(chunk)
        # [P:staged-score]
        factors = residual / np.maximum(norms / self._inside, self._bound)
        out: FloatArray = np.rint(x * (factors * 2.0**self._bits))
        if self._square_bound is None:
            return out
        squares = np.minimum((residual / self._square_bound) ** 2, 1.0)  # [P:staged-square]
        return np.concatenate([out, np.rint(squares * 2.0**self._bits)[None, :]])

    def _vectors(self, rows: FloatArray) -> FloatArray:
        """Round the scores of rows to the grid on which products are summed; their norm stays at most one bound."""
        one = self._rows.domain.unit
        vectors: FloatArray = np.rint(rows[: self._rows.size] * (one * 2.0**-self._bits))
        shrink_to_ball(vectors, one**2)  # [P:score-vector]
        return vectors

    def totals(self) -> tuple[int, ...]:
        """Return the sum of scores, then the sum of squares and the products if there are any."""
        if self._products is None:
            return tuple(self._sums)
        finer = self.unit >> self._bits
        return (*(total * finer for total in self._sums), *self._products.totals())


def _summable_blocks(chunk: FloatArray) -> Iterator[FloatArray]:
    """Split a chunk into small blocks, whose sums are exact in doubles."""
    for start in range(0, chunk.shape[1], _SUMMED_AT_ONCE):
        yield chunk[:, start : start + _SUMMED_AT_ONCE]
