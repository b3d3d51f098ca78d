"""Sum batches of rows in exact integers. All engines call this module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeGuard

from discreet.curator.rows import GridRows, Rows, SettledRows, row_size
from discreet.curator.sums.cell_counts import ClipCounter
from discreet.curator.sums.gram import (
    CellSums,
    CodedCategory,
    Coding,
    ExactGram,
    LevelGram,
    Sums,
    Totals,
    product_rows,
)
from discreet.curator.sums.gram import (
    chunk_rows as exact_chunk_rows,
)
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.columns import Categorical, Column
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing, write_scaled

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# -- coded rows --------------------------------------------------------------------------------------------------------
# A coded row stores a category of many levels as the index of its level. The sums are the same integers, and their cost
# does not grow with the number of levels.

# with fewer levels than this, products of indicators are cheaper than sums by level
_CODED_FROM: Final = 9


class CodedRows(GridRows):
    """Encoder of rows in which a level index replaces the indicators of each large category.

    >>> import numpy as np
    >>> design = Design("y", {"y": (-1, 1), "g": [f"g{level}" for level in range(9)]})
    >>> domain = RowDomain.of(design, 8)
    >>> rows = CodedRows(design, domain, coding_of(design, domain), 4)
    >>> rows.encoded([np.array([0.0, 7.0]), np.array([0.5, -1.0])]).tolist()
    [[256.0, 256.0], [128.0, -256.0], [0.0, 7.0]]
    """

    def __init__(self, design: Design, domain: RowDomain, coding: Coding, chunk_rows: int) -> None:
        super().__init__(design, domain, chunk_rows, coding.width)
        names = list(self._columns)
        self._levels = [place for place, name in enumerate(names) if _is_coded(design.columns[name])]
        self._plain = [place for place in range(len(names)) if place not in self._levels]
        self._written = {names[place]: self._columns[names[place]] for place in self._plain}

    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        levels = len(block) - len(self._levels)
        plain = [arrays[place] for place in self._plain]
        write_scaled(self._written, plain, block[1:levels], unit=float(self._domain.unit), integers=True)
        for place, row in zip(self._levels, block[levels:], strict=True):
            row[:] = arrays[place]  # [P:level-of-a-row]


def by_level(sums: Sums, design: Design, domain: RowDomain) -> Sums:
    """Replace sums of products by the same sums over coded rows, if the rows of the design can be coded."""
    coding = coding_of(design, domain) if isinstance(sums, ExactGram) else None
    return sums if coding is None else LevelGram(coding, domain.grid_bits)


def coding_of(design: Design, domain: RowDomain) -> Coding | None:
    """Return the layout of coded rows, or None if no category is large or if the rows cannot be coded.

    >>> design = Design("y", {"y": (-1, 1), "x": (0, 1), "g": list(range(9)), "h": ["u", "v"]})
    >>> coding = coding_of(design, RowDomain.of(design))
    >>> coding.plain, coding.categories[0].first
    ((0, 1, 10, 11), 2)
    """
    if domain.shrinks or design.searched or design.weights is not None:
        # entries of an indicator would not be 0 or one unit, or rows are not on the grid yet
        return None
    categories, plain, following = [], [0], 1
    for name in (*design.regressors, design.target):
        column = design.columns[name]
        first, following = following, following + len(column.released(name))
        if _is_coded(column):
            categories.append(CodedCategory(len(column.levels), first, column.indicator_codes))
        else:
            plain += range(first, following)
    return Coding(following, tuple(plain), tuple(categories)) if categories else None


def _is_coded(column: Column) -> TypeGuard[Categorical]:
    """Return whether a column has so many levels that sums by level are cheaper than products of indicators."""
    return isinstance(column, Categorical) and len(column.levels) >= _CODED_FROM


# -- summing -----------------------------------------------------------------------------------------------------------
_CHUNK_ROWS: Final = 16_384


def summed(
    batches: Iterable[RecordBatch],
    design: Design,
    domain: RowDomain,
    sums: Sums,
    *,
    chunk_rows: int = _CHUNK_ROWS,
    clip_counts: bool = False,
    take: Callable[[FloatArray], None] | None = None,
) -> Totals:
    """Sum the rows of some batches exactly. The sums of the parts of a table add up to the sums of the table.

    The result depends only on the arguments, and does not depend on the order of the rows. `chunk_rows` does not affect
    it. Each worker needs its own `sums` (see `Sums.empty`). `take` is called with every chunk of encoded rows, which is
    valid until the call returns. The design, the domain and empty sums can be pickled if the arguments of the sums can.

    >>> import pyarrow as pa
    >>> from discreet.curator.sums.gram import ExactGram
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> batch = pa.record_batch({"y": [1.0, 1.0], "x": [1.0, 0.5]})
    >>> totals = summed([batch], design, RowDomain.of(design, 8), ExactGram(3, 8))
    >>> totals.counts.units, [value / totals.unit for value in totals.values]
    (2, [2.0, 1.5, 2.0, 1.25, 1.5, 2.0])
    """
    columns = design.table_columns
    rows = table_rows(design, domain, chunk_rows, sums)
    clips = ClipCounter(design) if clip_counts and not design.searched else None
    counts = RowCounts()
    for batch in batches:
        settled, keep = settle_missing(columns, declared_arrays(batch, columns))
        fitting = batch.num_rows if keep is None else int(keep.sum())
        counts += RowCounts(batch.num_rows, (fitting, batch.num_rows - fitting))
        if clips is not None:
            clips.add(clips.marks(settled))
        for chunk in rows.add(rows.completed(settled)):
            _give(chunk, sums, take)
    _give(rows.rest(), sums, take)
    return totals_of(sums, counts if clips is None else counts.replaced(clipped=clips.totals()))


def table_rows(design: Design, domain: RowDomain, chunk_rows: int, sums: Sums | None = None) -> Rows:
    """Return the encoder of rows that these sums need.

    It encodes rows on the grid, coded rows, or imputed cells while bounds are unknown.
    """
    if isinstance(sums, LevelGram):
        coding = sums.coding
        return CodedRows(design, domain, coding, exact_chunk_rows(chunk_rows, coding.width, domain.grid_bits))
    kind = SettledRows if design.searched else GridRows
    at_once = product_rows if isinstance(sums, ExactGram) else exact_chunk_rows
    return kind(design, domain, at_once(chunk_rows, row_size(design), domain.grid_bits))


def totals_of(sums: Sums, counts: RowCounts) -> Totals:
    """Combine sums and counts into totals."""
    return Totals(sums.totals(), sums.unit, counts, sums.cells() if isinstance(sums, CellSums) else None)


def _give(chunk: FloatArray, sums: Sums, take: Callable[[FloatArray], None] | None) -> None:
    sums.add(chunk)  # [P:own-sums]
    if take is not None:
        take(chunk)
