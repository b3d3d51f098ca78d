"""Exact sums of products: whole numbers through BLAS, the same whatever the order, the chunks or the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from discreet.curator.persons import PersonCap, known_persons
from discreet.curator.rows import GridRows
from discreet.curator.source import ComputeOptions, Source
from discreet.design.arrow import declared_arrays
from discreet.design.columns import Identifier
from discreet.design.domain import RowDomain
from discreet.design.encoder import settle_missing
from discreet.design.model import Design
from discreet.errors import DataError, SpecError

FloatArray = npt.NDArray[np.float64]

# a double holds every whole number up to 2**53, so sums of products below it are exact in any order
_EXACT_BITS = 53
# above this many bits a chunk of useful size would leave that range: split each value into two limbs
_LIMB_FROM_BITS = 20
_BUFFER_BYTES = 32 * 2**20


@dataclass(frozen=True, eq=False)
class Moments:
    """Exact sums of products of the grid rows (1, x, y). Sensitive: handed to a mechanism and to nothing else.

    It adds, and that is all it does: it does not print, compare, pickle or serialise its numbers. Parts of one table
    add up if no person stands in two of them.

    Attributes
    ----------
    totals
        Upper triangle, row by row, in steps of the product grid.
    grid_bits
        Steps per scaled unit, as a power of two.
    units
        Number of rows, or of persons, in the table; also sensitive unless the neighbouring relation makes it public.
    """

    totals: tuple[int, ...] = field(repr=False)
    grid_bits: int
    units: int = field(repr=False)

    def __add__(self, other: Moments) -> Moments:
        if self.grid_bits != other.grid_bits or len(self.totals) != len(other.totals):
            raise SpecError("these moments have different grids or columns; only moments of one design add up")
        totals = tuple(a + b for a, b in zip(self.totals, other.totals, strict=True))
        return Moments(totals, self.grid_bits, self.units + other.units)

    def __reduce__(self) -> NoReturn:
        raise TypeError("moments are sensitive and are never serialised; publish a release instead")

    def __repr__(self) -> str:
        return "<Moments: sensitive, not shown>"


def accumulate(source: Source, design: Design, domain: RowDomain, options: ComputeOptions) -> Moments:
    """Read a source once and sum its products exactly, in memory that does not grow with the number of rows."""
    size = len(design.released)
    rows = GridRows(design, domain, chunk_rows(options.chunk_rows, size, domain.grid_bits))
    gram = ExactGram(size, domain.grid_bits)
    summed = _sum_rows if design.unit.id is None else _sum_persons
    units = summed(source, design, rows, gram, options)
    if units == 0 and not design.total:
        raise DataError("the table has no rows")
    return Moments(gram.totals(), domain.grid_bits, units)


def _sum_rows(source: Source, design: Design, rows: GridRows, gram: ExactGram, options: ComputeOptions) -> int:
    """Sum every row that its rules keep; give the number of rows read."""
    read = 0
    columns = design.table_columns
    for batch in source.batches(columns, options.batch_rows):
        read += batch.num_rows
        settled, _ = settle_missing(columns, declared_arrays(batch, columns))
        for chunk in rows.add(rows.completed(settled)):
            gram.add(chunk)
        options.told(source)
    gram.add(rows.rest())
    return read


def _sum_persons(source: Source, design: Design, rows: GridRows, gram: ExactGram, options: ComputeOptions) -> int:
    """Sum at most `max_rows` rows of each person; give the number of persons read."""
    name = str(design.unit.id)
    columns = design.table_columns
    reading = {**columns, name: Identifier()}
    with PersonCap(design) as cap:
        for batch in source.batches(reading, options.batch_rows):
            arrays = declared_arrays(batch, columns)
            persons, known = known_persons(name, batch.column(name), total=design.total)
            if known is not None:
                arrays = [values[known] for values in arrays]
            settled, keep = settle_missing(columns, arrays)
            cap.add(persons, keep, rows.encoded(rows.completed(settled)))
            options.told(source)
        for chunk in cap.chunks(rows.unit, rows.capacity):
            gram.add(chunk)
        return cap.number()


def chunk_rows(wanted: int, size: int, grid_bits: int) -> int:
    """How many rows to multiply at once: what was asked for, within memory and within exact double arithmetic.

    >>> chunk_rows(16_384, 22, 16), chunk_rows(16_384, 22, 20)
    (16384, 8192)
    """
    exact = 2 ** (_EXACT_BITS - 2 * grid_bits) if grid_bits <= _LIMB_FROM_BITS else 2**20
    fits = max(256, _BUFFER_BYTES // (8 * size))
    return min(wanted, exact, fits)


class ExactGram:
    """Running sum of `chunk @ chunk.T` over chunks of whole numbers, exact for any number of rows."""

    def __init__(self, size: int, grid_bits: int) -> None:
        self._grid_bits = grid_bits
        # with limbs a value v is high * 2**shift + low, both at most 2**shift in size
        self._shift = 0 if grid_bits <= _LIMB_FROM_BITS else (grid_bits + 1) // 2
        parts = 1 if self._shift == 0 else 3
        bits = 2 * max(grid_bits if self._shift == 0 else self._shift, 1)
        self._int64 = np.zeros((parts, size, size), dtype=np.int64)
        self._wide: npt.NDArray[Any] = np.zeros((parts, size, size), dtype=object)
        self._rows_until_flush = self._flush_after = 2 ** (62 - bits)
        self._product: FloatArray = np.empty((size, size))

    def add(self, chunk: FloatArray) -> None:
        """Add the products of a chunk of shape (size, rows), whole numbers of at most 2**grid_bits."""
        rows = chunk.shape[1]
        if rows == 0:
            return
        if rows > self._rows_until_flush:
            self._flush()
        self._rows_until_flush -= rows
        for part, (left, right) in enumerate(self._limbs(chunk)):
            np.matmul(left, right.T, out=self._product)  # [P3]
            self._int64[part] += self._product.astype(np.int64)

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum, row by row, as whole numbers without limit."""
        self._flush()
        size = self._product.shape[0]
        if self._shift == 0:
            full = self._wide[0]
        else:
            high, cross, low = self._wide
            full = (high << 2 * self._shift) + ((cross + cross.T) << self._shift) + low
        return tuple(int(full[i, j]) for i in range(size) for j in range(i, size))

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
