"""Exact products of integers through BLAS, the same whatever the order or the chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.curator.sums.protocol import MadeAnew
from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.exact.triangle import upper_triangle

# a double holds every integer up to 2**53, so sums of products below it are exact in any order
_EXACT_BITS = 53
# above this many bits a chunk of useful size would leave that range: split each value into two limbs
_LIMB_FROM_BITS = 20
_BUFFER_BYTES = 32 * 2**20
# up to this many columns, products of no more multiplications than this need no copies inside a matrix library
_FEW = 32
_SMALL_PRODUCT = 10**6


def chunk_rows(wanted: int, size: int, grid_bits: int) -> int:
    """How many rows to multiply at once: what was asked for, within memory and within exact double arithmetic.

    >>> chunk_rows(16_384, 22, 16), chunk_rows(16_384, 22, 20)
    (16384, 8192)
    """
    exact = 2 ** (_EXACT_BITS - 2 * grid_bits) if grid_bits <= _LIMB_FROM_BITS else 2**20
    fits = max(256, _BUFFER_BYTES // (8 * size))
    return min(wanted, exact, fits)


def product_rows(wanted: int, size: int, grid_bits: int) -> int:
    """How many rows to write for `ExactGram` at once: fewer where a product of few columns is fastest in small pieces.

    >>> product_rows(16_384, 22, 16), product_rows(16_384, 100, 16)
    (4096, 16384)
    """
    rows = chunk_rows(wanted, size, grid_bits)
    # a power of 2, so that few batches end inside a chunk
    return min(rows, 1 << (_SMALL_PRODUCT // (size * _half(size))).bit_length() - 1) if size <= _FEW else rows


def _half(size: int) -> int:
    return (size + 1) // 2


class ExactGram(MadeAnew):
    """Running sum of `chunk @ chunk.T` over chunks of integers, exact for any number of rows."""

    def __init__(self, size: int, grid_bits: int) -> None:
        self._grid_bits = grid_bits
        # with limbs a value v is high * 2**shift + low, both at most 2**shift in size
        self._shift = 0 if grid_bits <= _LIMB_FROM_BITS else (grid_bits + 1) // 2
        parts = 1 if self._shift == 0 else 3
        bits = 2 * max(grid_bits if self._shift == 0 else self._shift, 1)
        self._int64 = np.zeros((parts, size, size), dtype=np.int64)
        self._wide: BigIntArray = np.zeros((parts, size, size), dtype=object)
        self._rows_until_flush = self._flush_after = 2 ** (62 - bits)
        self._product: FloatArray = np.empty((size, size))
        self._lower: FloatArray = np.empty((size - _half(size), size - _half(size) + 1))

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the product grid."""
        return 1 << 2 * self._grid_bits

    def add(self, chunk: FloatArray) -> None:
        """Add the products of a chunk of shape (size, rows), integers of at most 2**grid_bits."""
        rows = chunk.shape[1]
        if rows == 0:
            return
        if rows > self._rows_until_flush:
            self._flush()
        self._rows_until_flush -= rows
        for part, (left, right) in enumerate(self._limbs(chunk)):
            self._multiply(left, right)  # [P:exact-products]
            self._int64[part] += self._product.astype(np.int64)

    def _multiply(self, left: FloatArray, right: FloatArray) -> None:
        """Write `left @ right.T` by np.dot, which lets other threads of Python run meanwhile, unlike matmul."""
        size, rows = left.shape
        half = _half(size)
        if left is not right or not 1 < size <= _FEW or size * half * rows > _SMALL_PRODUCT:
            np.dot(left, right.T, out=self._product)
            return
        # two products by halves are faster than a symmetric one, though they take more multiplications
        np.dot(left[:half], left.T, out=self._product[:half])
        # one more column than needed: as a square it would be taken for a symmetric one
        np.dot(left[half:], left[half - 1 :].T, out=self._lower)
        self._product[half:, half:] = self._lower[:, 1:]
        self._product[half:, :half] = self._product[:half, half:].T  # [P:mirrored]

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum, row by row, as integers without limit."""
        return upper_triangle(self.matrix())

    def matrix(self) -> BigIntArray:
        """The exact sum, both triangles."""
        self._flush()
        if self._shift == 0:
            full: BigIntArray = self._wide[0].copy()
        else:
            high, cross, low = self._wide
            full = (high << 2 * self._shift) + ((cross + cross.T) << self._shift) + low
        return full

    def _limbs(self, chunk: FloatArray) -> Sequence[tuple[FloatArray, FloatArray]]:
        if self._shift == 0:
            return ((chunk, chunk),)
        step = float(1 << self._shift)
        high = np.rint(chunk / step)
        low = chunk - high * step
        return ((high, high), (high, low), (low, low))

    def _flush(self) -> None:
        self._wide += self._int64
        self._int64[:] = 0
        self._rows_until_flush = self._flush_after
