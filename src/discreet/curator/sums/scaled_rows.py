"""Rows centred and scaled by released numbers and shrunk to a released radius. Proof: scaled_rows.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import MadeAnew
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray, IntArray
from discreet.exact.ball import shrink_to_ball

# the finest grid of a shrunk row: on it products with coefficients are exact in doubles
FINEST_BITS: Final = 16
# grid of the target of a shrunk row; 32 bits hold it
TARGET_BITS: Final = 24


def shrunk_bits(domain: RowDomain) -> int:
    """Bits of the grid of a shrunk row: those of a row, and no more than 16."""
    return min(domain.grid_bits, FINEST_BITS)


@dataclass(frozen=True, slots=True)
class Scaling:
    """Released numbers that bring the columns x of a row to a common scale.

    Attributes
    ----------
    centres, scales
        In scaled units, one for each column of x.
    clip
        Where a coordinate (x - centre) / scale is clipped.
    constant
        1 with an intercept, otherwise 0.
    """

    centres: tuple[float, ...]
    scales: tuple[float, ...]
    clip: float
    constant: int

    def rows(self, chunk: FloatArray, unit: int) -> FloatArray:
        """Rows (constant, z) of a chunk of rows (1, x, y) in grid steps, columns one by one."""
        z = np.empty((len(self.centres) + 1, chunk.shape[1]))
        z[0] = self.constant
        for out, column, centre, scale in zip(z[1:], chunk[1:-1], self.centres, self.scales, strict=True):
            np.multiply(column - centre * unit, 1 / (scale * unit), out=out)
            np.clip(out, -self.clip, self.clip, out=out)
        return z

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Where x is clipped, in scaled units, for each column.

        >>> Scaling((0.5, 0.0), (0.25, 0.5), 1.0, 1).ranges()
        ((0.25, 0.75), (-0.5, 0.5))
        """
        half = [self.clip * scale for scale in self.scales]
        return tuple((max(c - h, -1.0), min(c + h, 1.0)) for c, h in zip(self.centres, half, strict=True))


def squared_norms(rows: FloatArray) -> FloatArray:
    """Squared norms of the columns of an array, with the same bits wherever a column is: coordinates in turn."""
    total: FloatArray = rows[0] * rows[0]
    for one in rows[1:]:
        total += one * one
    return total


class RowNorms(MadeAnew):
    """Running exact number of rows (constant, z) whose norm is at most each of some thresholds.

    The totals are these numbers, and last the number of rows.

    >>> norms = RowNorms(RowDomain(1, 0, 0, None, False, 8), Scaling((0.0,), (0.5,), 4.0, 1), [1.0, 2.0, 3.0])
    >>> norms.add(np.array([[256.0, 256.0], [0.0, 256.0], [0.0, 0.0]]))
    >>> norms.totals()
    (1, 1, 2, 2)
    """

    def __init__(self, domain: RowDomain, scaling: Scaling, thresholds: Sequence[float]) -> None:
        self._grid_unit = domain.unit
        self._scaling = scaling
        self._up_to = UpTo([threshold * threshold for threshold in thresholds])

    @property
    def unit(self) -> int:
        """Steps in one row."""
        return 1

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        self._up_to.add(squared_norms(self._scaling.rows(chunk, self._grid_unit)))

    def totals(self) -> tuple[int, ...]:
        """Number of rows up to each threshold, then of all."""
        return self._up_to.totals()


class UpTo:
    """Running exact number of values that are at most each of some ascending thresholds, and of all values.

    >>> counts = UpTo([1.0, 2.0]); counts.add(np.array([0.5, 2.0, 9.0])); counts.totals()
    (1, 2, 3)
    """

    def __init__(self, thresholds: Sequence[float]) -> None:
        self._thresholds = list(thresholds)
        self._counts: IntArray = np.zeros(len(self._thresholds) + 1, dtype=np.int64)

    def add(self, values: FloatArray) -> None:
        """Count some more."""
        where = np.searchsorted(np.array(self._thresholds), values, side="left")
        self._counts += np.bincount(where, minlength=len(self._counts))  # [P:counts-up-to]

    def totals(self) -> tuple[int, ...]:
        """Number of values up to each threshold, then of all."""
        return tuple(np.cumsum(self._counts).tolist())


class ShrunkRows(MadeAnew):
    """Writes rows (1, x, y) anew as (a, u), and sums the products of a and counts of |u| |a|.

    With N the norm of (constant, z) and w = min(1, radius / N) the new row is a = w (constant, z) / radius, rounded to
    the grid and shrunk so that its norm is at most 1, exactly, and u = w (y - centre).

    The totals are the upper triangle of the sum of a a', then the number of rows with |u| |a| up to each of some
    thresholds, and the number of rows.

    Parameters
    ----------
    domain
        Public geometry of a row.
    scaling, radius, centre
        Released.
    thresholds
        Ascending, in scaled units of the target.

    Examples
    --------
    >>> scaling = Scaling((0.0,), (0.5,), 4.0, 1)
    >>> rows = ShrunkRows(RowDomain(1, 0, 0, None, False, 8), scaling, 2.0, 0.5, [1.0])
    >>> rows.recoded(np.array([[256.0, 256.0], [0.0, 256.0], [128.0, 256.0]])).tolist()
    [[128.0, 114.0], [0.0, 229.0], [0.0, 7502999.0]]
    """

    def __init__(
        self, domain: RowDomain, scaling: Scaling, radius: float, centre: float, thresholds: Sequence[float]
    ) -> None:
        self._grid_unit = domain.unit
        self._scaling = scaling
        self._radius = radius
        self._centre = centre
        bits = shrunk_bits(domain)
        self._one = 1 << bits
        self._gram = ExactGram(len(scaling.centres) + 1, bits)
        self._up_to = UpTo(thresholds)

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the product of two shrunk rows."""
        return self._gram.unit

    @property
    def recoded_size(self) -> int:
        """Coordinates of a, then u."""
        return len(self._scaling.centres) + 2

    def recoded(self, chunk: FloatArray) -> FloatArray:
        """The rows (a, u) of a chunk of rows (1, x, y), in steps of their grids."""
        z = self._scaling.rows(chunk, self._grid_unit)
        weight = self._radius / np.maximum(np.sqrt(squared_norms(z)), self._radius)
        out = np.empty((len(z) + 1, chunk.shape[1]))
        np.rint(z * (weight * (self._one / self._radius)), out=out[:-1])
        shrink_to_ball(out[:-1], self._one**2)  # [P:shrunk-row]
        np.rint(weight * (chunk[-1] / self._grid_unit - self._centre) * 2.0**TARGET_BITS, out=out[-1])
        return out

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of new rows (a, u)."""
        self._gram.add(chunk[:-1])
        # sums of integers below 2^53, so that no order matters
        norms = np.sqrt(np.einsum("ij,ij->j", chunk[:-1], chunk[:-1]))
        self._up_to.add(np.abs(chunk[-1]) * 2.0**-TARGET_BITS * (norms / self._one))

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the products, counts up to the thresholds, number of rows; all in steps of products."""
        return (*self._gram.totals(), *(count * self.unit for count in self._up_to.totals()))
