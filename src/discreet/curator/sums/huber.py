"""Sum Huber scores at given coefficients, and products of rows with unclipped residuals, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.gram import ExactGram, MadeAnew, Sums, common_unit
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray, IntArray

# number of rows that are multiplied at once, a power of two
_BLOCK_BITS: Final = 12
# a double holds every integer up to 2**53
_EXACT_BITS: Final = 52
# this many blocks of at most 2**53 each add up within 64 bits
_BLOCKS_UNTIL_FLUSH: Final = 2**9


def digit_bits(size: int, grid_bits: int) -> int:
    """Return how many bits of a coefficient can be multiplied at a time such that sums of doubles are exact."""
    return _EXACT_BITS - grid_bits - max(_BLOCK_BITS, size.bit_length())


class HuberSums(MadeAnew):
    """Running exact sums of Huber scores, and of products of the rows whose residuals are not clipped.

    The score of a row is z psi(y - z'theta), where z = (1, x), or z = x without intercept, and psi(r) is r clipped to
    the threshold. The products are z z'. Nothing is rounded: coefficients are divided into digits of `digit_bits` bits,
    and residuals are carried from digit to digit in integers. `point` holds the coefficients of z in units of
    2**-(digits * digit_bits), and `threshold` the clipping threshold of residuals in grid steps of the target.
    `products` says whether products are summed in addition to scores.

    >>> domain = RowDomain(1, 0, 0, None, False, 8)
    >>> half = 2 ** (digit_bits(2, 8) - 1)
    >>> sums = HuberSums(domain, [0, half], 1, 64)
    >>> sums.add(np.array([[256.0, 256.0], [128.0, 256.0], [96.0, -256.0]]))
    >>> scores, products = sums.totals()[:2], sums.totals()[2:]
    >>> [score / sums.unit for score in scores], [product / sums.unit for product in products]
    ([-0.125, -0.1875], [1.0, 0.5, 0.25])
    """

    def __init__(
        self,
        domain: RowDomain,
        point: Sequence[int],
        digits: int,
        threshold: int,
        *,
        intercept: bool = True,
        products: bool = True,
    ) -> None:
        self._bits = digit_bits(len(point), domain.grid_bits)
        # the base of the digits and its inverse; multiplication by powers of two is exact
        self._base, self._per_base = 2.0**self._bits, 2.0**-self._bits
        self._digits = digits
        self._unit = domain.unit**2 << digits * self._bits
        self._threshold = threshold
        self._first = 0 if intercept else 1
        self._point = self._parted(point)
        # a residual above four units is clipped, whatever its lower digits are
        self._saturated = 4.0 * domain.unit
        # a clipped residual has one digit, or two if the threshold exceeds the base
        self._heads = 1 if threshold <= 1 << self._bits else 2
        self._int64: IntArray = np.zeros((digits + self._heads, len(point)), dtype=np.int64)
        self._wide: npt.NDArray[Any] = np.zeros_like(self._int64, dtype=object)
        self._blocks_until_flush = _BLOCKS_UNTIL_FLUSH
        self._products = ExactGram(len(point), domain.grid_bits) if products else None

    @property
    def unit(self) -> int:
        """Number of steps in one scaled unit: those of the product grid times those of a coefficient."""
        return self._unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps, shape (columns, rows)."""
        for start in range(0, chunk.shape[1], 1 << _BLOCK_BITS):
            # all intermediate results of a block fit in the processor's cache
            block = chunk[:, start : start + (1 << _BLOCK_BITS)]
            z = block[self._first : -1]
            self._add(z, *self._parts(z, block[-1]))

    def totals(self) -> tuple[int, ...]:
        """Return the scores and the upper triangle of the products, in the steps of `unit`."""
        self._flush()
        scores = [0] * self._wide.shape[1]
        for part in self._wide:
            scores = [(score << self._bits) + int(value) for score, value in zip(scores, part, strict=True)]
        if self._products is None:
            return tuple(scores)
        return (*scores, *(product << self._digits * self._bits for product in self._products.totals()))

    def _parts(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return digits of Huber's psi for each row, most significant first, and 1 if psi is not clipped, else 0."""
        head, tail = self._residuals(z, y)
        inside = ((head >= -self._threshold) & (head < self._threshold)).astype(np.float64)
        parts = np.empty((self._heads + self._digits, len(y)))
        clipped = np.clip(head, -self._threshold, self._threshold, out=parts[self._heads - 1])
        if self._heads > 1:
            np.floor(clipped * self._per_base, out=parts[0])
            clipped -= parts[0] * self._base
        for part, digit in zip(parts[self._heads :], reversed(tail), strict=True):
            np.multiply(digit, inside, out=part)
        return parts, inside

    def _add(self, z: FloatArray, parts: FloatArray, inside: FloatArray) -> None:
        if self._blocks_until_flush == 0:
            self._flush()
        self._blocks_until_flush -= 1
        self._int64 += (parts @ z.T).astype(np.int64)  # [P:exact-scores]
        if self._products is not None:
            self._products.add(z * inside)

    def _residuals(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Return the residuals rounded down to whole grid steps, and the digits of the remainders.

        For residuals far beyond the threshold, only the sign is exact. All results are integers below 2**53, stored as
        doubles.
        """
        digits: list[FloatArray] = []
        carry: FloatArray = np.zeros(len(y))
        for index, product in enumerate(self._point @ z):  # [P:exact-residuals]
            value = np.subtract(carry, product, out=product)
            if index == self._digits:
                value += y
            carry = np.floor(value * self._per_base)
            value -= carry * self._base
            digits.append(value)
        head = carry
        for digit in reversed(digits[self._digits :]):
            head = np.clip(head, -self._saturated, self._saturated) * self._base + digit
        return head, digits[: self._digits]

    def _parted(self, point: Sequence[int]) -> FloatArray:
        """Split the coefficients into digits, least significant first, as doubles. The last digit carries the sign."""
        mask = (1 << self._bits) - 1
        most_bits = max(abs(value).bit_length() for value in point)
        indices = max(self._digits + 1, -(-most_bits // self._bits))
        rows = [[(value >> self._bits * index) & mask for value in point] for index in range(indices - 1)]
        rows.append([value >> self._bits * (indices - 1) for value in point])
        return np.array(rows, dtype=np.float64)

    def _flush(self) -> None:
        self._wide += self._int64
        self._int64[:] = 0
        self._blocks_until_flush = _BLOCKS_UNTIL_FLUSH


class CombinedSums:
    """Several sums that are computed in the same pass. Their totals are concatenated."""

    def __init__(self, parts: Sequence[Sums]) -> None:
        self._parts = tuple(parts)

    @property
    def unit(self) -> int:
        """Number of steps in one scaled unit, which all sums share."""
        return common_unit(self._parts)

    def empty(self) -> CombinedSums:
        """Return sums with the same settings and no rows."""
        return CombinedSums([part.empty() for part in self._parts])

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows to all sums."""
        for part in self._parts:
            part.add(chunk)

    def totals(self) -> tuple[int, ...]:
        """Return the totals of all sums, one after another."""
        return tuple(total for part in self._parts for total in part.totals())
