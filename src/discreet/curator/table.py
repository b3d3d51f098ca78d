"""Exact sums over a table: in integers, handed to a mechanism and to nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import cast

import numpy as np

from discreet.curator.coded_rows import CodedRows, by_level
from discreet.curator.kept_rows import KeptRows
from discreet.curator.persons import PersonCap, known_persons
from discreet.curator.private_folder import remove_abandoned
from discreet.curator.row_digest import RowDigest
from discreet.curator.rows import GridRows, Rows, SettledRows, check_known, settled_cells, settled_size
from discreet.curator.sums.clips import ClipCounter
from discreet.curator.sums.gram import ExactGram, chunk_rows
from discreet.curator.sums.level_gram import LevelGram
from discreet.curator.sums.protocol import CellSums, PersonSums, RecodedSums, SettledSums, Sums, Totals
from discreet.design.columns import Identifier
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import DataError
from discreet.exact.arrays import FloatArray
from discreet.exact.blas_threads import one_blas_thread
from discreet.tables.arrow import declared_arrays
from discreet.tables.encoder import settle_missing
from discreet.tables.source import ComputeOptions, Source


class Table:
    """A source with its design, summed as often as a mechanism asks, in memory that does not grow with the rows.

    The source is read once. Where it will be summed again, or units are persons, the rows that count wait on disk until
    the table is closed: all passes see the same rows, also of a source that can be read only once or that changes.

    Where the design has bounds that are yet to be found, the first pass is over settled cells, and `resolve` puts the
    rows on the grid of the bounds that were found.

    Parameters
    ----------
    source, design, domain, options
        Where rows come from, what they mean, and how the work is done.
    again
        Whether `sums` will be called more than once.
    clip_counts
        Whether the rows in which a column was clipped are counted, too.
    digest
        Whether the rows are digested as they are read, for `fingerprint`.

    Examples
    --------
    >>> from discreet.tables.files.opening import open_source
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> rows = open_source({"x": [1.0, 0.5], "y": [1.0, 1.0]})
    >>> with Table(rows, design, RowDomain.of(design), ComputeOptions(), again=True) as table:
    ...     table.sums().count, table.sums().count
    (2, 2)
    """

    def __init__(
        self,
        source: Source,
        design: Design,
        domain: RowDomain,
        options: ComputeOptions,
        *,
        again: bool = False,
        clip_counts: bool = False,
        digest: bool = False,
    ) -> None:
        self._source = source
        self._design = design
        self._domain = domain
        self._options = options
        self._again = again or bool(design.searched)
        self._counts_clips = clip_counts
        self._clips = ClipCounter(design) if clip_counts and not design.searched else None
        self._digest = RowDigest(design, domain) if digest else None
        self._clipped: tuple[int, ...] | None = None
        self._fitting = (0, 0)
        self._size = settled_size(design) if design.searched else len(design.released)
        self._chunk_rows = chunk_rows(options.chunk_rows, self._size, domain.grid_bits)
        self._open = ExitStack()
        self._kept: tuple[KeptRows, int] | None = None
        self._recoded = False

    def __enter__(self) -> Table:
        remove_abandoned()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def fingerprint(self) -> Callable[[bytes], str] | None:
        """From a secret key to a digest of the rows, after the first pass; none if they were not digested."""
        return None if self._digest is None else self._digest.keyed

    def sums(self, sums: Sums | None = None) -> Totals:
        """Sum all rows exactly, once; `sums` is what is summed of each: its products unless given."""
        if not isinstance(sums, SettledSums):
            # sums over rows (1, x, y), which there are none of before all bounds are known
            check_known(self._design)
        gram = ExactGram(self._size, self._domain.grid_bits) if sums is None else sums
        if self._design.unit.id is not None and self._kept is None:
            kept = self._open.enter_context(KeptRows(self._size + self._marks))
            self._kept = kept, self._keep(kept)
        if self._kept is None and not self._again and self._digest is None:
            # rows that are kept or digested have all their columns
            gram = by_level(gram, self._design, self._domain)
        with one_blas_thread():
            units = self._sum_source(gram) if self._kept is None else self._sum_kept(gram, *self._kept)
        if units == 0 and not self._design.total:
            raise DataError("the table has no rows")
        if self._clipped is None:
            # of the first pass: later ones see the same rows again
            self._clipped = () if self._clips is None else self._clips.totals()
        cells = gram.cells() if isinstance(gram, CellSums) else None
        return Totals(gram.totals(), gram.unit, units, self._clipped, self._fitting, cells)

    def resolve(self, design: Design) -> None:
        """Write the settled cells that were set aside anew, as rows (1, x, y) on the grid of a design without gaps.

        Parameters
        ----------
        design
            The table's design with the bounds that were found.
        """
        settled, units = cast("tuple[KeptRows, int]", self._kept)
        size = len(design.released)
        rows = GridRows(design, self._domain, chunk_rows(self._options.chunk_rows, size, self._domain.grid_bits))
        clips = ClipCounter(design) if self._counts_clips else None
        anew = self._open.enter_context(KeptRows(size))
        for chunk, first in settled.marked_chunks(self._domain.unit, rows.capacity):
            cells = settled_cells(chunk)
            if clips is not None:
                clips.add(clips.marks(cells))
            anew.add(first, rows.encoded(rows.completed(cells))[1:].astype(np.int32))  # [P:rows-of-found-bounds]
        settled.close()
        self._design, self._size, self._chunk_rows = design, size, rows.capacity
        self._kept = anew, units
        self._clipped = () if clips is None else clips.totals()

    def _rows(self, gram: Sums | None = None) -> Rows:
        """What writes the rows of the source, as the sums want them."""
        if isinstance(gram, LevelGram):
            rows = chunk_rows(self._options.chunk_rows, gram.coding.width, self._domain.grid_bits)
            return CodedRows(self._design, self._domain, gram.coding, rows)
        kind = SettledRows if self._design.searched else GridRows
        return kind(self._design, self._domain, self._chunk_rows)

    @property
    def _marks(self) -> int:
        """How many marks follow the values of a row of a person."""
        return 0 if self._clips is None else len(self._design.clippable)

    def _sum_source(self, gram: Sums) -> int:
        """Sum every row that its rules keep, set them aside if they are wanted again; give the number of rows read."""
        read = fitting = 0
        columns = self._design.table_columns
        rows = self._rows(gram)
        kept = self._open.enter_context(KeptRows(self._size)) if self._again else None
        for batch in self._source.batches(columns, self._options.batch_rows):
            read += batch.num_rows
            settled, keep = settle_missing(columns, declared_arrays(batch, columns))
            fitting += batch.num_rows if keep is None else int(keep.sum())
            if self._clips is not None:
                self._clips.add(self._clips.marks(settled))
            for chunk in rows.add(rows.completed(settled)):
                self._take(chunk, gram, kept)
            self._options.report_progress(self._source)
        self._take(rows.rest(), gram, kept)
        self._fitting = fitting, read - fitting
        if kept is not None:
            self._kept = kept, read
            self._options.report_read()
        return read

    def _sum_kept(self, gram: Sums, kept: KeptRows, units: int) -> int:
        """Sum the rows that were set aside; give the number of units read from the source."""
        if isinstance(gram, RecodedSums):
            self._kept = self._sum_recoded(gram, gram, kept), units
        elif self._design.unit.id is not None and isinstance(gram, PersonSums):
            for chunk, starts in kept.whole_persons(self._domain.unit, self._chunk_rows):
                gram.add_persons(self._counted(chunk), starts)
        else:
            for chunk in kept.chunks(self._domain.unit, self._chunk_rows):
                gram.add(self._counted(chunk))
        return units

    def _sum_recoded(self, gram: Sums, recoding: RecodedSums, kept: KeptRows) -> KeptRows:
        """Write the rows that were set aside anew, sum the new ones, and give the old ones up."""
        anew = self._open.enter_context(KeptRows(1 + recoding.recoded_size))
        for chunk, first in kept.marked_chunks(self._domain.unit, self._chunk_rows):
            rows = recoding.recoded(self._counted(chunk))  # [P:rows-anew]
            gram.add(rows)
            anew.add(first, rows.astype(np.int32))
        kept.close()
        self._recoded = True
        return anew

    def _counted(self, chunk: FloatArray) -> FloatArray:
        """The rows (1, x, y) of a chunk, or the rows they became; marks behind them, if any, are counted."""
        if self._recoded:
            return chunk[1:]
        if self._clips is not None and self._design.unit.id is not None:
            self._clips.add(chunk[self._size :])
        return chunk[: self._size]

    def _keep(self, kept: KeptRows) -> int:
        """Read the source and set aside the rows that count; give the number of persons read."""
        name = str(self._design.unit.id)
        columns = self._design.table_columns
        rows = self._rows()
        with PersonCap(self._design, self._size - 1 + self._marks) as cap:
            for batch in self._source.batches({**columns, name: Identifier()}, self._options.batch_rows):
                arrays = declared_arrays(batch, columns)
                persons, known = known_persons(name, batch.column(name), total=self._design.total)
                if known is not None:
                    arrays = [values[known] for values in arrays]
                settled, keep = settle_missing(columns, arrays)
                grid = rows.encoded(rows.completed(settled))
                if self._digest is not None:
                    self._digest.add(grid)
                    self._digest.add_persons(persons.to_pylist())
                if self._clips is not None:
                    grid = np.concatenate([grid, self._clips.marks(settled)])
                cap.add(persons, keep, grid)
                self._options.report_progress(self._source)
            self._options.report_read()
            persons, self._fitting = cap.keep(kept, self._chunk_rows)
            return persons

    def _take(self, chunk: FloatArray, gram: Sums, kept: KeptRows | None) -> None:
        gram.add(chunk)
        if kept is not None:
            kept.add(np.ones(chunk.shape[1], dtype=np.bool_), chunk[1:].astype(np.int32))
        if self._digest is not None:
            self._digest.add(chunk)


def accumulate(
    source: Source,
    design: Design,
    domain: RowDomain,
    options: ComputeOptions,
    sums: Sums | None = None,
    *,
    clip_counts: bool = False,
) -> Totals:
    """Sum a source exactly in one pass; see `Table.sums`."""
    with Table(source, design, domain, options, clip_counts=clip_counts) as table:
        return table.sums(sums)
