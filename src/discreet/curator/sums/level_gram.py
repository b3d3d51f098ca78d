"""Exact products of rows that hold a category as one number, its level: counts and sums by level, no indicators.

Proof: gram.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import MadeAnew
from discreet.exact.arrays import BigIntArray, FloatArray, IntArray
from discreet.exact.triangle import upper_triangle


@dataclass(frozen=True, slots=True)
class CodedCategory:
    """A category that a coded row holds as the position of its level.

    Attributes
    ----------
    levels
        How many levels it has, the reference among them.
    first
        Released column of its first indicator; those of the others follow.
    codes
        Positions of the levels that have an indicator, in the order of the columns.
    """

    levels: int
    first: int
    codes: tuple[int, ...]

    @property
    def columns(self) -> slice:
        """Where its indicators stand among the released columns."""
        return slice(self.first, self.first + len(self.codes))


@dataclass(frozen=True, slots=True)
class Coding:
    """How rows (1, x, y) are written in fewer numbers: some columns as they are, then one level for each category.

    Attributes
    ----------
    size
        How many columns are released.
    plain
        Those that a coded row holds as they are, the constant first.
    categories
        What the numbers behind them stand for.
    """

    size: int
    plain: tuple[int, ...]
    categories: tuple[CodedCategory, ...]

    @property
    def width(self) -> int:
        """Numbers in a coded row."""
        return len(self.plain) + len(self.categories)


class LevelGram(MadeAnew):
    """Running sum of products of all released columns over chunks of coded rows: the totals of `ExactGram`.

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
        # a table whose rows 64 bits do not count cannot be read
        self._counts: list[IntArray] = [np.zeros(count, dtype=np.int64) for count in levels]
        self._pairs: dict[tuple[int, int], IntArray] = {
            (one, other): np.zeros(levels[one] * levels[other], dtype=np.int64)
            for one, other in combinations(range(len(levels)), 2)
        }
        shapes = [(len(coding.plain) - 1, count) for count in levels]
        self._int64: list[IntArray] = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        self._wide: list[BigIntArray] = [np.zeros(shape, dtype=object) for shape in shapes]
        self._rows_until_flush = self._flush_after = 2 ** (62 - grid_bits)

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the product grid."""
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
        for (one, other), counts in self._pairs.items():
            np.add.at(counts, codes[one] * self.coding.categories[other].levels + codes[other], 1)

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum over released columns, row by row, as integers without limit."""
        self._flush()
        coding, plain = self.coding, list(self.coding.plain)
        full: BigIntArray = np.zeros((coding.size, coding.size), dtype=object)
        full[np.ix_(plain, plain)] = self._plain.matrix()
        for category, counts, sums in zip(coding.categories, self._counts, self._wide, strict=True):
            own, codes = category.columns, list(category.codes)
            # an indicator is 0 or one unit, and no row has two of one category
            number = counts[codes].astype(object) * self.unit  # [P:one-level]
            np.fill_diagonal(full[own, own], number)
            full[0, own] = number
            full[plain[1:], own] = sums[:, codes] * self._step
            full[own, plain[1:]] = full[plain[1:], own].T
        for (one, other), counts in self._pairs.items():
            first, second = coding.categories[one], coding.categories[other]
            both = counts.reshape(first.levels, second.levels)[list(first.codes)][:, list(second.codes)]
            full[first.columns, second.columns] = both.astype(object) * self.unit
        return upper_triangle(full)

    def _flush(self) -> None:
        for wide, sums in zip(self._wide, self._int64, strict=True):
            wide += sums
            sums[:] = 0
        self._rows_until_flush = self._flush_after
