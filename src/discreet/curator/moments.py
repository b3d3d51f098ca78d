"""Exact sums over a table: read once, summed in whole numbers, handed to a mechanism and to nothing else."""

from __future__ import annotations

from typing import NoReturn, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.curator.exact_gram import ExactGram, chunk_rows
from discreet.curator.persons import PersonCap, known_persons
from discreet.curator.rows import FloatArray, GridRows
from discreet.curator.source import ComputeOptions, Source
from discreet.design.arrow import declared_arrays
from discreet.design.columns import Identifier
from discreet.design.domain import RowDomain
from discreet.design.encoder import settle_missing
from discreet.design.model import Design
from discreet.errors import DataError, SpecError


class Sums(Protocol):
    """What rows are summed into."""

    def add(self, chunk: FloatArray) -> None:
        """Take a chunk of rows (1, x, y) in grid steps."""
        ...

    def totals(self) -> tuple[int, ...]:
        """The exact sums."""
        ...


@runtime_checkable
class PersonSums(Protocol):
    """Sums that treat the rows of one person together."""

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Take a chunk of whole persons, whose rows stand together from each of `starts` on."""
        ...


class Moments:
    """Exact sums of products of the grid rows (1, x, y). Sensitive: handed to a mechanism and to nothing else.

    It adds, and that is all it does: it does not print, compare, copy, pickle or serialise its numbers, and is no
    dataclass, whose fields any tool can list. Parts of one table add up if no person stands in two of them.

    Attributes
    ----------
    totals
        Upper triangle, row by row, in steps of the product grid.
    grid_bits
        Steps per scaled unit, as a power of two.
    units
        Number of rows, or of persons, in the table; also sensitive unless the neighbouring relation makes it public.
    """

    __slots__ = ("grid_bits", "totals", "units")

    totals: tuple[int, ...]
    grid_bits: int
    units: int

    def __init__(self, totals: tuple[int, ...], grid_bits: int, units: int) -> None:
        _set = object.__setattr__
        _set(self, "totals", totals)
        _set(self, "grid_bits", grid_bits)
        _set(self, "units", units)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("moments cannot be changed; add them up instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("moments cannot be changed; add them up instead")

    def __add__(self, other: Moments) -> Moments:
        if self.grid_bits != other.grid_bits or len(self.totals) != len(other.totals):
            raise SpecError("these moments have different grids or columns; only moments of one design add up")
        totals = tuple(a + b for a, b in zip(self.totals, other.totals, strict=True))
        return Moments(totals, self.grid_bits, self.units + other.units)

    def __reduce__(self) -> NoReturn:
        raise TypeError("moments are sensitive and are never serialised; publish a release instead")

    # without it Python would list the slots
    __getstate__ = __reduce__

    def __repr__(self) -> str:
        return "<Moments: sensitive, not shown>"


def accumulate(
    source: Source, design: Design, domain: RowDomain, options: ComputeOptions, sums: Sums | None = None
) -> Moments:
    """Read a source once and sum exactly, in memory that does not grow with the number of rows.

    `sums` is what is summed of each row: its products unless given.
    """
    size = len(design.released)
    rows = GridRows(design, domain, chunk_rows(options.chunk_rows, size, domain.grid_bits))
    gram = ExactGram(size, domain.grid_bits) if sums is None else sums
    summed = _sum_rows if design.unit.id is None else _sum_persons
    units = summed(source, design, rows, gram, options)
    if units == 0 and not design.total:
        raise DataError("the table has no rows")
    return Moments(gram.totals(), domain.grid_bits, units)


def _sum_rows(source: Source, design: Design, rows: GridRows, gram: Sums, options: ComputeOptions) -> int:
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


def _sum_persons(source: Source, design: Design, rows: GridRows, gram: Sums, options: ComputeOptions) -> int:
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
        if isinstance(gram, PersonSums):
            for chunk, starts in cap.whole_persons(rows.unit, rows.capacity):
                gram.add_persons(chunk, starts)
        else:
            for chunk in cap.chunks(rows.unit, rows.capacity):
                gram.add(chunk)
        return cap.number()
