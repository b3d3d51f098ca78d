"""Sum a table in exact integers, for a mechanism only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial, reduce
from operator import add as add_totals
from types import TracebackType
from typing import TYPE_CHECKING, cast

import numpy as np

from discreet.curator.buffered_rows import KeptParts, KeptRows, remove_abandoned
from discreet.curator.engine import Engine, PartSums, RowSetDigest, Work
from discreet.curator.rows import GridRows, RowDigest, check_known, row_size, settled_cells
from discreet.curator.summing import by_level, summed, table_rows, totals_of
from discreet.curator.sums.cell_counts import ClipCounter
from discreet.curator.sums.gram import IndividualSums, RecodedSums, SettledSums, Sums, Totals, chunk_rows, row_products
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.workers import Tick, each_part, shared_out, ticked
from discreet.design.columns import Identifier
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing
from discreet.tables.source import ComputeOptions, Part, Source

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class Table:
    """Source and design that can be summed as often as a mechanism needs, in memory that does not grow with the rows.

    The source is read only once. If `again` is set, or if the privacy unit is an individual, the included rows are
    buffered until the table is closed, in memory up to a fixed size and beyond it on disk. All passes therefore see the
    same rows, even if the source changes or can be read only once. If the design has private bounds, the first pass is
    over imputed cells. Afterwards, `resolve` encodes the rows on the grid of the estimated bounds.

    >>> from discreet.tables.opening import open_source
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> rows = open_source({"x": [1.0, 0.5], "y": [1.0, 1.0]})
    >>> with Table(rows, design, RowDomain.of(design), ComputeOptions(), again=True) as table:
    ...     table.sums().counts.units, table.sums().counts.units
    (2, 2)
    """

    def __init__(
        self,
        source: Source | Engine,
        design: Design,
        domain: RowDomain,
        options: ComputeOptions,
        *,
        again: bool = False,
        clip_counts: bool = False,
        digest: bool = False,
    ) -> None:
        self._engine = source if isinstance(source, Engine) else None
        self._source = cast("Source", source)
        self._design = design
        self._domain = domain
        self._options = options
        self._again = again or bool(design.searched)
        self._counts_clips = clip_counts
        self._work = Work(design, domain, options.chunk_rows, clip_counts, digest)
        self._marks = self._work.marks
        self._digest = RowDigest(design, domain) if digest and self._engine is None else None
        self._row_set = RowSetDigest(design, domain) if digest and self._engine is not None else None
        self._counts = RowCounts()
        self._clips_counted = False
        self._open = ExitStack()
        self._kept: KeptParts | None = None
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
        """Function that returns a digest of the rows for a secret key, or None if rows are not digested.

        It is valid after the first pass.
        """
        digest = self._digest or self._row_set
        return None if digest is None else digest.keyed

    def sums(self, sums: Sums | None = None) -> Totals:
        """Sum all included rows exactly. The default is to sum their products."""
        if not isinstance(sums, SettledSums):
            # other sums are over rows (1, x, y), which do not exist before all bounds are known
            check_known(self._design)
        gram = row_products(len(self._design.released), self._domain) if sums is None else sums
        if self._kept is None and self._again and self._engine is not None:
            self._kept = self._set_aside_by(self._engine)
        if self._design.unit.id is not None and self._kept is None and self._engine is None:
            self._kept = self._set_aside_persons()
        if self._kept is None and not self._again and not self._work.digest and self._design.unit.id is None:
            # rows may be coded only if they are neither buffered nor digested
            gram = by_level(gram, self._design, self._domain)
        with one_blas_thread():
            if self._kept is not None:
                totals = self._sum_kept(gram, self._kept)
            elif self._engine is not None:
                totals = self._counted(self._engine.sum_rows(self._work, gram))
            else:
                totals = self._sum_source(gram)
        if self._counts.units == 0 and not self._design.total:
            raise DataError("the table has no rows")
        if not self._clips_counted:
            # count clipped rows in the first pass only, because later passes see the same rows
            self._counts, self._clips_counted = self._counts.replaced(clipped=totals.counts.clipped), True
        return Totals(totals.values, totals.unit, self._counts, totals.cells)

    def resolve(self, design: Design) -> None:
        """Encode the buffered cells as rows (1, x, y) on the grid of `design`, which has the estimated bounds."""
        settled = cast("KeptParts", self._kept)
        self._design = design
        anew = self._new_parts(self._size)

        def write(part: KeptRows, own: KeptRows, tick: Tick) -> tuple[int, ...]:
            rows = GridRows(design, self._domain, self._chunk_rows)
            clips = ClipCounter(design)
            for chunk, first in part.marked_chunks():
                cells = settled_cells(chunk)
                if self._counts_clips:
                    clips.add(clips.marks(cells))
                own.add(first, rows.encoded(rows.completed(cells))[1:])  # [P:rows-of-found-bounds]
                tick()
            return clips.totals() if self._counts_clips else ()

        counts = each_part([partial(write, part, anew.own()) for part in settled.parts])
        settled.close()
        self._kept = anew
        self._counts = self._counts.replaced(clipped=tuple(map(sum, zip(*counts, strict=True))))
        self._clips_counted = True

    @property
    def _size(self) -> int:
        """Number of integers in an encoded row."""
        return row_size(self._design)

    @property
    def _chunk_rows(self) -> int:
        """Number of rows that are summed at a time."""
        return chunk_rows(self._options.chunk_rows, self._size, self._domain.grid_bits)

    def _new_parts(self, columns: int) -> KeptParts:
        """Create buffers for rows of `columns` integers, which last until the table is closed."""
        workers = self._options.workers
        new = partial(KeptRows, columns, self._domain.unit, self._chunk_rows, parts=workers)
        return self._open.enter_context(KeptParts(new, workers))

    def _sum_source(self, gram: Sums) -> Totals:
        """Sum the rows of the source that no rule drops, and buffer them if they are needed again."""
        # a single worker, because rows are digested in order
        workers = 1 if self._digest is not None else self._options.workers
        columns, batch_rows = self._design.table_columns, self._options.batch_rows
        report = partial(self._options.report_progress, self._source)
        kept = self._new_parts(self._size) if self._again else None

        def add(batches: Iterable[RecordBatch], sums: Callable[[], Sums]) -> Totals:
            return summed(
                batches,
                self._design,
                self._domain,
                sums(),
                chunk_rows=self._options.chunk_rows,
                clip_counts=self._counts_clips,
                take=self._taking(None if kept is None else kept.own()),
            )

        def read(part: Part, sums: Callable[[], Sums], tick: Tick) -> Totals:
            return add(ticked(part.batches(columns, batch_rows), tick), sums)

        parts = self._source.parts(workers)
        # the first worker adds to the given sums, and the others to empty copies
        own = [lambda: gram, *([lambda: gram.empty()] * (workers - 1))]
        if len(parts) > 1:
            found = each_part([partial(read, part, sums) for part, sums in zip(parts, own, strict=False)], report)
        else:
            batches = parts[0].batches(columns, batch_rows)
            found = shared_out(batches, [partial(add, sums=sums) for sums in own], report)
        totals = reduce(add_totals, found)
        self._counts = totals.counts
        if kept is not None:
            self._kept = kept
            self._options.report_read()
        return totals

    def _sum_kept(self, gram: Sums, kept: KeptParts) -> Totals:
        """Sum the buffered rows."""
        # the first worker adds to the given sums, and the others to empty copies
        own = [gram, *(gram.empty() for _ in kept.parts[1:])]
        anew = None
        if isinstance(gram, RecodedSums):
            anew = self._new_parts(1 + gram.recoded_size)
        files = [None if anew is None else anew.own() for _ in kept.parts]
        found = each_part([partial(self._sum_part, *one) for one in zip(kept.parts, own, files, strict=True)])
        if anew is not None:
            kept.close()
            self._kept, self._recoded = anew, True
        return reduce(add_totals, found)

    def _sum_part(self, part: KeptRows, sums: Sums, anew: KeptRows | None, tick: Tick) -> Totals:
        """Sum one buffer of rows.

        If `sums` needs recoded rows, recode them first, and buffer the recoded rows for later passes.
        """
        clips = ClipCounter(self._design) if self._marks and not self._recoded else None

        def counted(chunk: FloatArray) -> FloatArray:
            # return rows (1, x, y) or recoded rows, and count any clip marks after them
            if self._recoded:
                return chunk[1:]
            if clips is not None:
                clips.add(chunk[self._size :])
            return chunk[: self._size]

        if anew is not None and isinstance(sums, RecodedSums):
            for chunk, first in part.marked_chunks():
                rows = sums.recoded(counted(chunk))  # [P:rows-anew]
                sums.add(rows)
                anew.add(first, rows)
                tick()
        elif self._design.unit.id is not None and isinstance(sums, IndividualSums):
            for chunk, starts in part.whole_persons():
                sums.add_persons(counted(chunk), starts)
                tick()
        else:
            for chunk in part.chunks():
                sums.add(counted(chunk))
                tick()
        return totals_of(sums, RowCounts(clipped=() if clips is None else clips.totals()))

    def _set_aside_by(self, engine: Engine) -> KeptParts:
        """Buffer the included rows of a table that an engine reads only once."""
        kept = self._new_parts(self._size + self._marks)
        self._counted(engine.set_aside(self._work, kept.add))
        # clip marks that follow the rows are counted with them
        self._clips_counted = not self._marks
        self._options.report_read()
        if not kept.parts:
            kept.own()
        return kept

    def _counted(self, done: PartSums) -> Totals:
        """Return the totals from an engine, after checking that they include every part once."""
        done.check_complete()
        totals = done.totals
        self._counts = totals.counts
        if self._row_set is not None:
            self._row_set.take(done.digest, (totals.counts.units, *totals.counts.fitting))
        return totals

    def _set_aside_persons(self) -> KeptParts:
        """Read the source, and buffer the included rows grouped by individual."""
        from discreet.curator.individuals import IndividualCap, known_ids

        name = str(self._design.unit.id)
        columns = self._design.table_columns
        rows = table_rows(self._design, self._domain, self._options.chunk_rows)
        clips = ClipCounter(self._design) if self._marks else None
        kept = self._new_parts(self._size + self._marks)
        with IndividualCap(self._design, self._size - 1 + self._marks, threads=self._options.workers) as cap:
            for batch in self._source.batches({**columns, name: Identifier()}, self._options.batch_rows):
                arrays = declared_arrays(batch, columns)
                persons, known = known_ids(name, batch.column(name), total=self._design.total)
                if known is not None:
                    arrays = [values[known] for values in arrays]
                settled, keep = settle_missing(columns, arrays)
                grid = rows.encoded(rows.completed(settled))
                if self._digest is not None:
                    self._digest.add(grid)
                    self._digest.add_persons(map(str, persons.to_pylist()))
                if clips is not None:
                    grid = np.concatenate([grid, clips.marks(settled)])
                cap.add(persons, keep, grid)
                self._options.report_progress(self._source)
            self._options.report_read()
            self._counts = RowCounts(*cap.keep(kept, self._chunk_rows))
        if not kept.parts:
            kept.own()
        return kept

    def _taking(self, kept: KeptRows | None) -> Callable[[FloatArray], None] | None:
        """Return a function that buffers and digests a chunk of the source, or None if neither is needed."""
        if kept is None and self._digest is None:
            return None

        def take(chunk: FloatArray) -> None:
            if kept is not None:
                kept.add(np.ones(chunk.shape[1], dtype=np.bool_), chunk[1:])
            if self._digest is not None:
                self._digest.add(chunk)

        return take


def accumulate(
    source: Source | Engine,
    design: Design,
    domain: RowDomain,
    options: ComputeOptions,
    sums: Sums | None = None,
    *,
    clip_counts: bool = False,
) -> Totals:
    """Sum a source exactly in one pass, as `Table.sums` does."""
    with Table(source, design, domain, options, clip_counts=clip_counts) as table:
        return table.sums(sums)
