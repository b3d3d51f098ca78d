"""Sum products of rows exactly, with weights if rows have them. Sum factors with many levels level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Protocol, Self, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.row_counts import RowCounts, Sensitive
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.arrays import BigIntArray, FloatArray, IntArray
from discreet.exact.linear import upper_triangle

# -- protocol ----------------------------------------------------------------------------------------------------------


class Sums(Protocol):
    """Exact sums over rows, to which rows are added in chunks."""

    @property
    def unit(self) -> int:
        """Number of steps of the totals in one scaled unit of the summed values."""
        ...

    def empty(self) -> Self:
        """Return sums with the same settings and no rows, for another worker."""
        ...

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        ...

    def totals(self) -> tuple[int, ...]:
        """Return the exact sums over the rows added so far."""
        ...


class MadeAnew:
    """Base class of sums that remember their arguments, so that empty copies can be made from them.

    The arguments must not change.
    """

    _made_from: tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]

    def __new__(cls, *positional: Any, **named: Any) -> Self:  # noqa: ANN401  # arguments of any sums
        """Create the sums and remember their arguments."""
        sums = super().__new__(cls)
        sums._made_from = positional, tuple(named.items())
        return sums

    def empty(self) -> Self:
        """Return sums with the same settings and no rows."""
        positional, named = self._made_from
        return type(self)(*positional, **dict(named))


@runtime_checkable
class IndividualSums(Protocol):
    """Sums that first combine the rows of each individual."""

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of complete individuals. `starts` holds the index of the first row of each."""
        ...


@runtime_checkable
class CellSums(Protocol):
    """Sums that also count rows by cell.

    The counts are in an array, because there are too many cells for one Python integer per cell.
    """

    def cells(self) -> IntArray:
        """Return the exact number of rows in each cell."""
        ...


@runtime_checkable
class SettledSums(Protocol):
    """Sums over rows of imputed cells, before all bounds are known. Other sums are over rows (1, x, y)."""

    @property
    def searched(self) -> tuple[str, ...]:
        """Names of the columns with private bounds."""
        ...


@runtime_checkable
class RecodedSums(Protocol):
    """Sums over recoded rows. Later passes see the recoded rows instead of the rows (1, x, y)."""

    @property
    def recoded_size(self) -> int:
        """Number of integers in a recoded row."""
        ...

    def recoded(self, chunk: FloatArray) -> FloatArray:
        """Recode each row (1, x, y) of a chunk as 32-bit integers, independently of the other rows."""
        ...


class Totals(Sensitive):
    """Exact sums over the rows of a table. Sensitive: only a mechanism receives them.

    Totals support only addition. The totals of parts of a table add up to those of the table if no individual is in two
    parts.

    Attributes
    ----------
    values
        Sums in integer steps, in an order that depends on the kind of sum.
    unit
        Number of steps in one scaled unit. The scaled value of a total is `value / unit`.
    counts
        Counts of the rows.
    cells
        Number of rows in each cell, if the sums count them.
    """

    __slots__ = ("cells", "counts", "unit", "values")

    values: tuple[int, ...]
    unit: int
    counts: RowCounts
    cells: IntArray | None

    def __init__(self, values: tuple[int, ...], unit: int, counts: RowCounts, cells: IntArray | None = None) -> None:
        _set = object.__setattr__
        _set(self, "values", values)
        _set(self, "unit", unit)
        _set(self, "counts", counts)
        _set(self, "cells", cells)

    def on_grid(self, unit: int) -> tuple[int, ...]:
        """Convert the values to a noise grid that is at least as fine and has `unit` steps in one scaled unit."""
        finer, rest = divmod(unit, self.unit)
        if rest or not finer:
            raise SpecError(f"expected a grid with a multiple of {self.unit} steps in one scaled unit, got {unit}")
        return self.values if finer == 1 else tuple(value * finer for value in self.values)  # [P:finer-grid]

    def __add__(self, other: Totals) -> Totals:
        sizes = [(part.unit, len(part.values), _shape(part.cells)) for part in (self, other)]
        if sizes[0] != sizes[1]:
            raise SpecError("totals can be added only if they have equal units and columns; use totals of one design")
        values = tuple(a + b for a, b in zip(self.values, other.values, strict=True))  # [P:parts-add-up]
        cells = None if self.cells is None or other.cells is None else self.cells + other.cells
        return Totals(values, self.unit, self.counts + other.counts, cells)


def _shape(cells: IntArray | None) -> tuple[int, ...]:
    return () if cells is None else cells.shape


def common_unit(parts: Sequence[Sums]) -> int:
    """Return the unit that several sums of one pass share. Raise SpecError if their units differ."""
    units = {part.unit for part in parts}
    if len(units) != 1:
        raise SpecError(f"expected sums in one unit, got {len(units)} units")
    return units.pop()


# -- gram --------------------------------------------------------------------------------------------------------------
# BLAS computes exact products of integers, with the same result for any order and any chunks.
# a double holds every integer up to 2**53, so sums of products below it are exact in any order
_EXACT_BITS = 53
# with more bits, only tiny chunks would stay in that range, so each value is split into two limbs
_LIMB_FROM_BITS = 20
_BUFFER_BYTES = 32 * 2**20
# up to these numbers of columns and multiplications, BLAS makes no internal copies
_FEW = 32
_SMALL_PRODUCT = 10**6


def chunk_rows(wanted: int, size: int, grid_bits: int) -> int:
    """Return the number of rows to multiply at once.

    It is at most `wanted`, and small enough for memory and for exact arithmetic in doubles.

    >>> chunk_rows(16_384, 22, 16), chunk_rows(16_384, 22, 20)
    (16384, 8192)
    """
    exact = 2 ** (_EXACT_BITS - 2 * grid_bits) if grid_bits <= _LIMB_FROM_BITS else 2**20
    fits = max(256, _BUFFER_BYTES // (8 * size))
    return min(wanted, exact, fits)


def product_rows(wanted: int, size: int, grid_bits: int) -> int:
    """Return the number of rows in a chunk for `ExactGram`, which is smaller where small products are faster.

    >>> product_rows(16_384, 22, 16), product_rows(16_384, 100, 16)
    (4096, 16384)
    """
    rows = chunk_rows(wanted, size, grid_bits)
    # a power of 2, so that few batches end inside a chunk
    return min(rows, 1 << (_SMALL_PRODUCT // (size * _half(size))).bit_length() - 1) if size <= _FEW else rows


def _half(size: int) -> int:
    return (size + 1) // 2


class ExactGram(MadeAnew):
    """Running sum of `chunk @ chunk.T` over chunks of integers, which is exact for any number of rows."""

    def __init__(self, size: int, grid_bits: int) -> None:
        self._grid_bits = grid_bits
        # with limbs, a value is high * 2**shift + low, where both are at most 2**shift in absolute value
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
        """Number of product-grid steps in one scaled unit."""
        return 1 << 2 * self._grid_bits

    def add(self, chunk: FloatArray) -> None:
        """Add the products of a chunk of integers, shape (size, rows), with absolute values of at most 2**grid_bits."""
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
        """Compute `left @ right.T` with np.dot which, unlike matmul, releases the GIL."""
        size, rows = left.shape
        half = _half(size)
        if left is not right or not 1 < size <= _FEW or size * half * rows > _SMALL_PRODUCT:
            np.dot(left, right.T, out=self._product)
            return
        # two half products are faster than one symmetric product, although they need more multiplications
        np.dot(left[:half], left.T, out=self._product[:half])
        # one column more than needed, because BLAS would compute a square product as a symmetric one
        np.dot(left[half:], left[half - 1 :].T, out=self._lower)
        self._product[half:, half:] = self._lower[:, 1:]
        self._product[half:, :half] = self._product[:half, half:].T  # [P:mirrored]

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of the exact sum, row by row, as unbounded integers."""
        return upper_triangle(self.matrix())

    def matrix(self) -> BigIntArray:
        """Return the exact sum as a symmetric matrix."""
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


# -- level gram --------------------------------------------------------------------------------------------------------
# Products of rows that store a category as the index of its level need only counts and sums by level. Proof:
# gram.proof.md.


@dataclass(frozen=True, slots=True)
class CodedCategory:
    """Category that a coded row stores as the index of its level.

    `levels` is the number of levels, including the reference, and `first` the index of the released column of the first
    indicator. `codes` holds the indices of the levels that have an indicator, in the order of their columns.
    """

    levels: int
    first: int
    codes: tuple[int, ...]

    @property
    def columns(self) -> slice:
        """Indices of the released columns of the indicators."""
        return slice(self.first, self.first + len(self.codes))


@dataclass(frozen=True, slots=True)
class Coding:
    """Layout of a coded row, which holds unchanged columns followed by a level index for each category.

    `size` is the number of released columns. `plain` holds the indices of the unchanged columns, the constant first.
    """

    size: int
    plain: tuple[int, ...]
    categories: tuple[CodedCategory, ...]

    @property
    def width(self) -> int:
        """Number of values in a coded row."""
        return len(self.plain) + len(self.categories)


class LevelGram(MadeAnew):
    """Running sum of products of all released columns, computed from coded rows. Totals are those of `ExactGram`.

    >>> coding = Coding(4, (0, 3), (CodedCategory(3, 1, (1, 2)),))
    >>> gram = LevelGram(coding, 1)
    >>> gram.add(np.array([[2.0, 2.0, 2.0], [1.0, -1.0, 2.0], [0, 2, 2]]))
    >>> gram.totals()
    (12, 0, 8, 4, 0, 0, 0, 8, 2, 6)
    """

    def __init__(self, coding: Coding, grid_bits: int) -> None:
        self.coding = coding
        self._plain = ExactGram(len(coding.plain), grid_bits)
        self._step = 1 << grid_bits
        levels = [category.levels for category in coding.categories]
        # no table has more rows than 64 bits can count
        self._counts: list[IntArray] = [np.zeros(count, dtype=np.int64) for count in levels]
        self._pairs: dict[tuple[int, int], IntArray] = {
            (first, second): np.zeros(levels[first] * levels[second], dtype=np.int64)
            for first, second in combinations(range(len(levels)), 2)
        }
        shapes = [(len(coding.plain) - 1, count) for count in levels]
        self._int64: list[IntArray] = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        self._wide: list[BigIntArray] = [np.zeros(shape, dtype=object) for shape in shapes]
        self._rows_until_flush = self._flush_after = 2 ** (62 - grid_bits)

    @property
    def unit(self) -> int:
        """Number of product-grid steps in one scaled unit."""
        return self._plain.unit

    def add(self, chunk: FloatArray) -> None:
        """Add the products of a chunk of coded rows, shape (coding.width, rows)."""
        rows = chunk.shape[1]
        if rows > self._rows_until_flush:
            self._flush()
        self._rows_until_flush -= rows
        size = len(self.coding.plain)
        plain, codes = chunk[:size], chunk[size:].astype(np.intp)
        self._plain.add(plain)
        for here, counts, sums, category in zip(codes, self._counts, self._int64, self.coding.categories, strict=True):
            counts += np.bincount(here, minlength=category.levels)
            for own, values in zip(sums, plain[1:], strict=True):
                own += np.bincount(here, values, category.levels).astype(np.int64)  # [P:sums-by-level]
        for (first, second), counts in self._pairs.items():
            np.add.at(counts, codes[first] * self.coding.categories[second].levels + codes[second], 1)

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of the exact sum over all released columns, row by row, as unbounded integers."""
        self._flush()
        coding, plain = self.coding, list(self.coding.plain)
        full: BigIntArray = np.zeros((coding.size, coding.size), dtype=object)
        full[np.ix_(plain, plain)] = self._plain.matrix()
        for category, counts, sums in zip(coding.categories, self._counts, self._wide, strict=True):
            own, codes = category.columns, list(category.codes)
            # an indicator is 0 or one unit, and at most one indicator of a category is nonzero in a row
            number = counts[codes].astype(object) * self.unit  # [P:one-level]
            np.fill_diagonal(full[own, own], number)
            full[0, own] = number
            full[plain[1:], own] = sums[:, codes] * self._step
            full[own, plain[1:]] = full[plain[1:], own].T
        for (left, right), counts in self._pairs.items():
            first, second = coding.categories[left], coding.categories[right]
            both = counts.reshape(first.levels, second.levels)[list(first.codes)][:, list(second.codes)]
            full[first.columns, second.columns] = both.astype(object) * self.unit
        return upper_triangle(full)

    def _flush(self) -> None:
        for wide, sums in zip(self._wide, self._int64, strict=True):
            wide += sums
            sums[:] = 0
        self._rows_until_flush = self._flush_after


# -- sample weights ----------------------------------------------------------------------------------------------------
# Products of rows are multiplied by their declared weights. Proof: sample_weights.proof.md.
# a double holds every integer up to 2**53, so sums of products below it are exact in any order
_WEIGHT_BITS: Final = 53
# this many sums of at most 2**53 stay below 2**62
_BEFORE_FLUSH: Final = 2**9


def row_products(columns: int, domain: RowDomain) -> Sums:
    """Create sums of products of rows (1, x, y), weighted if rows have weights."""
    return GramWithWeights(columns, domain) if domain.weight_bits else ExactGram(columns, domain.grid_bits)


class GramWithWeights(MadeAnew):
    """Running exact sum of m u u' over observations u = (1, x, y) in grid steps with integer weights m.

    The totals are the upper triangle of the sum, row by row, followed by the number of rows, all in steps of
    `RowDomain.product_unit`.

    >>> domain = RowDomain(1, 0, 0, None, False, 8, weight_bits=14)
    >>> sums = GramWithWeights(3, domain)
    >>> sums.add(np.array([[256.0, 256.0], [128.0, 0.0], [256.0, 256.0], [2.0**14, 2.0**12]]))
    >>> [total / sums.unit for total in sums.totals()]
    [1.25, 0.5, 1.25, 0.25, 0.5, 1.25, 2.0]
    """

    def __init__(self, columns: int, domain: RowDomain) -> None:
        self._unit = domain.product_unit
        # a weight is high * 2**shift + low, where both are at most 2**shift
        self._shift = (domain.weight_bits + 1) // 2
        self._at_once = 1 << _WEIGHT_BITS - 2 * domain.grid_bits - self._shift
        self._int64 = np.zeros((2, columns, columns), dtype=np.int64)
        self._wide: BigIntArray | int = 0
        self._products_until_flush = _BEFORE_FLUSH
        self._rows = 0

    @property
    def unit(self) -> int:
        """Number of steps of a weighted product in one scaled unit."""
        return self._unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of shape (columns + 1, observations) in grid steps. Its last row holds the weights."""
        step = float(1 << self._shift)
        for start in range(0, chunk.shape[1], self._at_once):
            rows, weights = chunk[:-1, start : start + self._at_once], chunk[-1, start : start + self._at_once]
            if not self._products_until_flush:
                self._flush()  # [P:weighted-flush]
            self._products_until_flush -= 1
            high = np.floor(weights / step)
            for part, limb in enumerate((high, weights - high * step)):
                # releases the GIL, unlike matmul
                product = np.dot(rows * limb, rows.T)  # [P:weighted-products]
                self._int64[part] += product.astype(np.int64)
        self._rows += chunk.shape[1]  # [P:weighted-count]

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of the exact sum, row by row, and the number of rows, as unbounded integers."""
        self._flush()
        high, low = cast("BigIntArray", self._wide)
        return (*upper_triangle((high << self._shift) + low), self._rows * self._unit)

    def _flush(self) -> None:
        self._wide = self._wide + self._int64.astype(object)
        self._int64[:] = 0
        self._products_until_flush = _BEFORE_FLUSH
