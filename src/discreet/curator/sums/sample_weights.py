"""Exact products of rows times their declared weights. Proof: sample_weights.proof.md."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import MadeAnew, Sums
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.exact.triangle import pairs

# a double holds every integer up to 2**53, so sums of products below it are exact in any order
_EXACT_BITS: Final = 53


def row_products(columns: int, domain: RowDomain) -> Sums:
    """What sums the products of rows of so many columns (1, x, y): times their weights where rows have weights."""
    return GramWithWeights(columns, domain) if domain.weight_bits else ExactGram(columns, domain.grid_bits)


class GramWithWeights(MadeAnew):
    """Running exact sum of m u u' over rows u = (1, x, y) in grid steps with an integer weight m behind each.

    The totals are the upper triangle of the sum, row by row, and then the number of rows, all in steps of
    `RowDomain.product_unit`.

    >>> domain = RowDomain(1, 0, 0, None, False, 8, weight_bits=14)
    >>> sums = GramWithWeights(3, domain)
    >>> sums.add(np.array([[256.0, 256.0], [128.0, 0.0], [256.0, 256.0], [2.0**14, 2.0**12]]))
    >>> [total / sums.unit for total in sums.totals()]
    [1.25, 0.5, 1.25, 0.25, 0.5, 1.25, 2.0]
    """

    def __init__(self, columns: int, domain: RowDomain) -> None:
        self._unit = domain.product_unit
        # a weight is high * 2**shift + low, both at most 2**shift in size
        self._shift = (domain.weight_bits + 1) // 2
        self._at_once = 1 << _EXACT_BITS - 2 * domain.grid_bits - self._shift
        self._wide: npt.NDArray[Any] = np.zeros((2, columns, columns), dtype=object)
        self._rows = 0

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of a product with its weight."""
        return self._unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps with their weights in the last row, shape (columns + 1, rows)."""
        step = float(1 << self._shift)
        for start in range(0, chunk.shape[1], self._at_once):
            rows, weights = chunk[:-1, start : start + self._at_once], chunk[-1, start : start + self._at_once]
            high = np.floor(weights / step)
            for part, limb in enumerate((high, weights - high * step)):
                product = np.matmul(rows * limb, rows.T)  # [P:weighted-products]
                self._wide[part] += product.astype(np.int64).astype(object)
        self._rows += chunk.shape[1]  # [P:weighted-count]

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum, row by row, then the number of rows, as integers without limit."""
        full = (self._wide[0] << self._shift) + self._wide[1]
        products = (int(full[i, j]) for i, j in pairs(len(full)))
        return (*products, self._rows * self._unit)
