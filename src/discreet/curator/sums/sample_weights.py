"""Exact products of rows times their declared weights. Proof: sample_weights.proof.md."""

from __future__ import annotations

from typing import Final, cast

import numpy as np

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import MadeAnew, Sums
from discreet.design.domain import RowDomain
from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.exact.triangle import upper_triangle

# a double holds every integer up to 2**53, so sums of products below it are exact in any order
_EXACT_BITS: Final = 53
# so many sums of at most 2**53 stay below 2**62
_BEFORE_FLUSH: Final = 2**9


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
        self._int64 = np.zeros((2, columns, columns), dtype=np.int64)
        self._wide: BigIntArray | int = 0
        self._products_until_flush = _BEFORE_FLUSH
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
            if not self._products_until_flush:
                self._flush()  # [P:weighted-flush]
            self._products_until_flush -= 1
            high = np.floor(weights / step)
            for part, limb in enumerate((high, weights - high * step)):
                # unlike matmul it lets other threads of Python run meanwhile
                product = np.dot(rows * limb, rows.T)  # [P:weighted-products]
                self._int64[part] += product.astype(np.int64)
        self._rows += chunk.shape[1]  # [P:weighted-count]

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum, row by row, then the number of rows, as integers without limit."""
        self._flush()
        high, low = cast("BigIntArray", self._wide)
        return (*upper_triangle((high << self._shift) + low), self._rows * self._unit)

    def _flush(self) -> None:
        self._wide = self._wide + self._int64.astype(object)
        self._int64[:] = 0
        self._products_until_flush = _BEFORE_FLUSH
