"""Rows centred, scaled and weighted by released numbers, and their moments. Proof: weighted_rows.proof.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import MadeAnew
from discreet.curator.sums.residuals import scaled_residuals, usable
from discreet.curator.sums.scaled_rows import Scaling, shrunk_bits, squared_norms
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.exact.ball import shrink_to_ball


class Weighted(NamedTuple):
    """Rows (a, t) in steps of their grid, shape (size + 1, rows), and for each row its weight and the unclipped t."""

    rows: FloatArray
    weights: FloatArray
    target: FloatArray


@dataclass(frozen=True, slots=True)
class Weighting:
    """Released numbers that make a row (1, x, y) a weighted one.

    With N the norm of (1, z) and w = min(1, radius / N), from x alone, the new row is a = w (1, z) / radius, rounded to
    the grid and shrunk so that its norm is at most 1, exactly, and t = w (y - centre) / bound, clipped to [-1, 1].

    Attributes
    ----------
    domain
        Public geometry of a row.
    scaling
        Of x, without a clip.
    radius, centre, bound
        Released; centre and bound in scaled units of the target.

    Examples
    --------
    >>> weighting = Weighting(RowDomain(1, 0, 0, None, False, 8), Scaling((0.0,), (0.5,), np.inf, 1), 2.0, 0.5, 1.0)
    >>> rows, weights, target = weighting.of(np.array([[256.0, 256.0], [0.0, 256.0], [128.0, 256.0]]))
    >>> rows.tolist(), weights.round(3).tolist(), target.round(3).tolist()
    ([[128.0, 114.0], [0.0, 229.0], [0.0, 114.0]], [1.0, 0.894], [0.0, 0.447])
    """

    domain: RowDomain
    scaling: Scaling
    radius: float
    centre: float
    bound: float

    @property
    def bits(self) -> int:
        """Bits of the grid of a weighted row: those of a row, and no more than 16."""
        return shrunk_bits(self.domain)

    @property
    def one(self) -> int:
        """Steps of that grid in one scaled unit."""
        return 1 << self.bits

    @property
    def size(self) -> int:
        """Number of coordinates of a."""
        return len(self.scaling.centres) + 1

    def of(self, chunk: FloatArray) -> Weighted:
        """Weighted rows of a chunk of rows (1, x, y) in grid steps; each is a function of its own row, bit for bit."""
        z = self.scaling.rows(chunk, self.domain.unit)
        weights: FloatArray = self.radius / np.maximum(np.sqrt(squared_norms(z)), self.radius)
        rows = np.empty((self.size + 1, chunk.shape[1]))
        np.rint(z * (weights * (self.one / self.radius)), out=rows[:-1])
        shrink_to_ball(rows[:-1], self.one**2)  # [P:weighted-shrunk]
        target: FloatArray = (chunk[-1] / self.domain.unit - self.centre) * (weights / self.bound)
        np.rint(np.clip(target, -1.0, 1.0) * self.one, out=rows[-1])  # [P:weighted-target]
        return Weighted(rows, weights, target)


class WeightedMoments(MadeAnew):
    """Running exact sums over weighted rows (a, t): products of (a, t), products of w a, and numbers of rows.

    The totals are the upper triangle of the first, row by row, then of the second unless `fourth` is false, then the
    number of rows whose target is clipped from below and from above, then of all rows, all in steps of products.

    >>> weighting = Weighting(RowDomain(0, 1, 0, None, False, 8), Scaling((0.0,), (0.5,), np.inf, 1), 2.0, 0.0, 1.0)
    >>> sums = WeightedMoments(weighting); sums.add(np.array([[256.0], [0.0], [128.0]]))
    >>> [total / 4**8 for total in sums.totals()]
    [0.25, 0.0, 0.25, 0.0, 0.0, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    def __init__(self, weighting: Weighting, *, fourth: bool = True) -> None:
        self._weighting = weighting
        self._gram = ExactGram(weighting.size + 1, weighting.bits)
        self._fourth = ExactGram(weighting.size, weighting.bits) if fourth else None
        self._below = self._above = self._rows = 0

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the product of two weighted rows."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        rows, weights, target = self._weighting.of(chunk)
        self._gram.add(rows)
        if self._fourth is not None:
            twice: FloatArray = np.rint(rows[:-1] * weights)
            shrink_to_ball(twice, self._weighting.one**2)  # [P:weighted-twice]
            self._fourth.add(twice)
        self._below += int(np.count_nonzero(target < -1))  # [P:weighted-clipped]
        self._above += int(np.count_nonzero(target > 1))
        self._rows += chunk.shape[1]

    def totals(self) -> tuple[int, ...]:
        """Products of (a, t), products of w a if they are asked for, numbers of rows: clipped below, above, all."""
        fourth = () if self._fourth is None else self._fourth.totals()
        counts = (rows * self.unit for rows in (self._below, self._above, self._rows))
        return (*self._gram.totals(), *fourth, *counts)


class WeightedResiduals(MadeAnew):
    """Running exact sum of v v' over v = (residual / bound) a, of weighted rows (a, t), residual = t - a'theta, cut.

    Parameters
    ----------
    weighting
        Makes the rows.
    coefficients
        Released coefficients of a, shape (size,).
    bound
        Of a residual, in units of t; public or released.
    rows_per_person
        As for `ResidualGram`.
    """

    def __init__(
        self, weighting: Weighting, coefficients: tuple[float, ...], bound: float, rows_per_person: int = 1
    ) -> None:
        self._weighting = weighting
        self._gram = ExactGram(weighting.size, weighting.bits)
        self._coefficients = usable(coefficients)
        self._bound = bound
        self._rows_per_person = rows_per_person

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the product of two weighted rows."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        self._gram.add(self.rows(chunk))

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of whole persons, whose rows are together from each of `starts` on."""
        summed = np.add.reduceat(self.rows(chunk), starts, axis=1)
        averaged: FloatArray = np.rint(summed / self._rows_per_person)  # [P:weighted-person]
        shrink_to_ball(averaged, self._weighting.one**2)
        self._gram.add(averaged)

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum, row by row."""
        return self._gram.totals()

    def rows(self, chunk: FloatArray) -> FloatArray:
        """Integers v of norm at most one scaled unit."""
        rows = self._weighting.of(chunk).rows
        residual = scaled_residuals(rows, self._coefficients, self._weighting.one)
        np.clip(residual / self._bound, -1.0, 1.0, out=residual)
        v: FloatArray = np.rint(residual * rows[:-1])
        shrink_to_ball(v, self._weighting.one**2)  # [P:weighted-residual]
        return v
