"""One pass over batches of rows into exact sums: the one function that every engine calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from discreet.curator.coded_rows import CodedRows
from discreet.curator.rows import GridRows, Rows, SettledRows, row_size
from discreet.curator.sums.clips import ClipCounter
from discreet.curator.sums.gram import ExactGram, product_rows
from discreet.curator.sums.gram import chunk_rows as exact_chunk_rows
from discreet.curator.sums.level_gram import LevelGram
from discreet.curator.sums.protocol import CellSums, Sums, Totals
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.tables.arrow import declared_arrays
from discreet.tables.encoder import settle_missing

if TYPE_CHECKING:
    from pyarrow import RecordBatch

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
    """Sum the rows of some batches exactly; what parts of a table give adds up to what the whole table gives.

    It depends on its arguments alone, and on the batches only through the multiset of their rows. Design, domain and
    sums without rows can be pickled where whatever the sums were made from can.

    Parameters
    ----------
    batches
        Record batches that hold at least the design's columns of the table.
    design, domain
        What the rows mean, and the grid they are put on.
    sums
        What is summed; the rows are added to it, so a worker gets one of its own (`Sums.empty`).
    chunk_rows
        Rows that are multiplied at a time, lowered where the grid or memory asks for it; cannot change the result.
    clip_counts
        Whether the rows in which a column was clipped are counted, too.
    take
        Given every chunk of rows on the grid after it is summed, valid until it returns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from discreet.curator.sums.gram import ExactGram
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> batch = pa.record_batch({"y": [1.0, 1.0], "x": [1.0, 0.5]})
    >>> totals = summed([batch], design, RowDomain.of(design, 8), ExactGram(3, 8))
    >>> totals.count, [value / totals.unit for value in totals.values]
    (2, [2.0, 1.5, 2.0, 1.25, 1.5, 2.0])
    """
    columns = design.table_columns
    rows = table_rows(design, domain, chunk_rows, sums)
    clips = ClipCounter(design) if clip_counts and not design.searched else None
    read = fitting = 0
    for batch in batches:
        read += batch.num_rows
        settled, keep = settle_missing(columns, declared_arrays(batch, columns))
        fitting += batch.num_rows if keep is None else int(keep.sum())
        if clips is not None:
            clips.add(clips.marks(settled))
        for chunk in rows.add(rows.completed(settled)):
            _give(chunk, sums, take)
    _give(rows.rest(), sums, take)
    clipped = () if clips is None else clips.totals()
    return totals_of(sums, read, clipped, (fitting, read - fitting))


def table_rows(design: Design, domain: RowDomain, chunk_rows: int, sums: Sums | None = None) -> Rows:
    """What writes the rows of a table, as the sums want them: on the grid, with all columns or with levels as numbers.

    Where bounds are yet to be found they are settled cells.
    """
    if isinstance(sums, LevelGram):
        coding = sums.coding
        return CodedRows(design, domain, coding, exact_chunk_rows(chunk_rows, coding.width, domain.grid_bits))
    kind = SettledRows if design.searched else GridRows
    at_once = product_rows if isinstance(sums, ExactGram) else exact_chunk_rows
    return kind(design, domain, at_once(chunk_rows, row_size(design), domain.grid_bits))


def totals_of(sums: Sums, count: int, clipped: tuple[int, ...], fitting: tuple[int, int] = (0, 0)) -> Totals:
    """What was summed, with what was counted beside it."""
    cells = sums.cells() if isinstance(sums, CellSums) else None
    return Totals(sums.totals(), sums.unit, count, clipped, fitting, cells)


def _give(chunk: FloatArray, sums: Sums, take: Callable[[FloatArray], None] | None) -> None:
    sums.add(chunk)  # [P:own-sums]
    if take is not None:
        take(chunk)
