"""Read Parquet, Arrow, Stata, SPSS and SAS files in bounded memory, and split files into parts for several workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from discreet.design.columns import Readable
from discreet.errors import DataError, MissingDependencyError
from discreet.tables.arrow import check_buffers
from discreet.tables.frames import check_names

if TYPE_CHECKING:
    from pyarrow import DataType, MemoryMappedFile, RecordBatch, Schema

# -- pieces ------------------------------------------------------------------------------------------------------------
File = TypeVar("File")
Item = TypeVar("Item")


class Piece(Protocol):
    """A file, or a consecutive range of its lines, row groups or record batches."""

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield record batches, each with the fraction of the piece that has been read."""
        ...

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[Piece, float] | None]:
        """Split the file near these increasing fractions of its size, which lie strictly between 0 and 1.

        Return one more piece than there are cuts, in order. Each item is a piece with its fraction of the size, or None
        if the piece is empty.
        """
        ...


def uncut(file: File, cuts: Sequence[float]) -> Sequence[tuple[File, float] | None]:
    """Return the pieces of a file that cannot be split: the whole file, and None for every other piece."""
    return [(file, 1.0), *(None for _ in cuts)]


def cut_files(files: Sequence[tuple[Piece, int]], count: int) -> list[list[tuple[Piece, float]]]:
    """Split files into at most `count` lists of pieces of similar total size. Sizes are in bytes, and order is kept.

    A file is split only if it crosses the boundary of two lists.
    """
    total = sum(size for _, size in files)
    lists: list[list[tuple[Piece, float]]] = [[] for _ in range(count)]
    before = current = 0
    for file, size in files:
        inside = [index for index in range(1, count) if before < total * index / count < before + size]
        cuts = [(total * index / count - before) / size for index in inside]
        # no file is split if a boundary falls between two files
        current = max(current, sum(total * index / count <= before for index in range(1, count)))
        for piece in file.pieces(cuts) if cuts else [(file, 1.0)]:
            if piece is not None:
                lists[current].append((piece[0], piece[1] * size))
            current += 1
        current -= 1
        before += size
    return [pieces for pieces in lists if pieces]


def unless_changed(items: Iterator[Item], check_unchanged: Callable[[], None]) -> Iterator[Item]:
    """Yield items read from a file. If reading fails and the file changed, report the change instead."""
    try:
        yield from items
    except DataError as error:
        problem = error
    else:
        return
    check_unchanged()
    raise problem


class FilePart:
    """The pieces of files that one worker reads, in order, with their sizes in bytes."""

    def __init__(
        self,
        pieces: Sequence[tuple[Piece, float]],
        check_names: Callable[[list[str]], None],
        check_unchanged: Callable[[], None],
    ) -> None:
        self._pieces = pieces
        self._check_names = check_names
        self._check_unchanged = check_unchanged
        self.bytes_read = 0.0

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Yield record batches of the declared columns. Raise DataError if a file changed in the meantime."""
        self._check_names(list(columns))
        done = 0.0
        for piece, size in self._pieces:
            for batch, share in unless_changed(piece.batches(columns, batch_rows), self._check_unchanged):
                self.bytes_read = done + share * size
                yield batch
            done += size
            self.bytes_read = done
        self._check_unchanged()


# -- arrow -------------------------------------------------------------------------------------------------------------
# Parquet and Arrow files are read in memory that does not grow with the file. Errors of the readers may quote a damaged
# file, so they are replaced by one fixed sentence.

IPC_MAGIC: Final = b"ARROW1"
_READ_BYTES: Final = 1 << 16  # without this buffer size, a whole column of a row group is loaded at once


class ArrowFile(ABC):
    """A file with a schema, or a range of its row groups or record batches."""

    def __init__(self, path: Path, parts: range | None = None) -> None:
        self.path = path
        self._parts = parts

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Return the types of the declared columns, each of which must occur exactly once."""
        schema = self._schema()
        check_file_names(self.path, names, schema.names)
        return {name: schema.field(name).type for name in names}

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield the declared columns in batches, each with the fraction of the file that has been read."""
        names = list(columns)
        steps = self._steps(names, batch_rows)
        has_rows = False
        while (step := self._next(steps)) is not None:
            batch, share = step
            for start in range(0, batch.num_rows, batch_rows):
                has_rows = True
                yield batch.slice(start, batch_rows), share
        if not has_rows:
            # yield an empty batch, so that types are always checked
            kinds = self.column_types(names)
            yield pa.record_batch([pa.nulls(0, kinds[name]) for name in names], names=names), 1.0

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[ArrowFile, float] | None]:
        """Split the file at the boundaries of its row groups or record batches. See `Piece.pieces`."""
        try:
            sizes = self._sizes()
        except Exception:  # reported when the file is read
            sizes = []
        before = np.concatenate([[0], np.cumsum(sizes)])
        if not before[-1]:
            return uncut(self, cuts)
        # the boundary nearest to each cut
        ends = [int(np.abs(before - cut * before[-1]).argmin()) for cut in cuts]
        return [
            (self._piece(range(first, last)), float(before[last] - before[first]) / before[-1])
            if last > first
            else None
            for first, last in zip([0, *ends], [*ends, len(sizes)], strict=True)
        ]

    def line(self, row: int) -> int | None:
        """Return None, because these files have no lines."""
        return None

    def _schema(self) -> Schema:
        try:
            return self._read_schema()
        except Exception:  # the message may quote the file
            problem = self._damaged()
        raise problem

    def _next(self, steps: Iterator[tuple[RecordBatch, float]]) -> tuple[RecordBatch, float] | None:
        try:
            step = next(steps, None)
            if step is not None:
                # offsets in a damaged file may point outside its buffers
                check_buffers(step[0])
        except Exception:  # as above
            problem = self._damaged()
        else:
            return step
        raise problem

    def _damaged(self) -> DataError:
        return DataError(
            f"the file {self.path.name!r} cannot be read: it is damaged, encrypted, or compressed by an unsupported "
            "method; write the file again"
        )

    def _piece(self, parts: range) -> ArrowFile:
        return type(self)(self.path, parts)

    @abstractmethod
    def _sizes(self) -> Sequence[int]:
        """Return the sizes of the row groups or record batches, or an empty list if unknown. May raise anything."""

    @abstractmethod
    def _read_schema(self) -> Schema: ...

    @abstractmethod
    def _steps(self, names: list[str], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield batches of the named columns, each with the fraction read. May raise any exception."""


class ParquetFile(ArrowFile):
    """A Parquet file. Page checksums are verified if present."""

    def _read_schema(self) -> Schema:
        with pa.OSFile(str(self.path)) as raw:
            file = pq.ParquetFile(raw)
            self._stored = {column.path: column for column in map(file.schema.column, range(len(file.schema.names)))}
            self._metadata = file.metadata
            return file.schema_arrow

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Return the types of the declared columns. Reject decimals and encodings that Arrow cannot read."""
        kinds = super().column_types(names)
        for name in filter(lambda name: pa.types.is_dictionary(kinds[name]), names):
            encodings = self._encodings(list(self._stored).index(name))
            if any(encoding.startswith("DELTA") for encoding in encodings):
                raise DataError(
                    f"column {name!r} of {self.path.name!r} has a dictionary type in an encoding that Arrow cannot "
                    "read; write the column as plain text, or with the default encodings"
                )
        for name in filter(lambda name: pa.types.is_decimal(kinds[name]), names):
            stored, kind = self._stored[name], kinds[name]
            if stored.physical_type == "BYTE_ARRAY" or stored.length > kind.byte_width:
                # rejected by the type, because otherwise a cell that is too long would stop the reader
                raise DataError(
                    f"column {name!r} of {self.path.name!r} stores decimals of type {kind} in another number of bytes "
                    "than this type has; write the column as decimals of this type, or as floats"
                )
        return kinds

    def _encodings(self, index: int) -> set[str]:
        """Return the encodings of a column in all row groups."""
        groups = map(self._metadata.row_group, range(self._metadata.num_row_groups))
        return {encoding for group in groups for encoding in group.column(index).encodings}

    def _sizes(self) -> Sequence[int]:
        with pa.OSFile(str(self.path)) as raw:
            metadata = pq.ParquetFile(raw).metadata
            return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def _steps(self, names: list[str], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        with pa.OSFile(str(self.path)) as raw:
            file = pq.ParquetFile(raw, pre_buffer=False, buffer_size=_READ_BYTES, page_checksum_verification=True)
            groups = range(file.metadata.num_row_groups) if self._parts is None else self._parts
            total, done = sum(file.metadata.row_group(number).num_rows for number in groups), 0
            for batch in file.iter_batches(
                batch_size=batch_rows, row_groups=list(groups), columns=names, use_threads=False
            ):
                done += batch.num_rows
                # the reader treats a name such as "a.b" as a path and may return more columns
                yield batch.select(names), min(1.0, done / total) if total else 1.0


class IpcFile(ArrowFile):
    """A memory-mapped file in the Arrow IPC file or stream format."""

    def _read_schema(self) -> Schema:
        with pa.memory_map(str(self.path)) as raw:
            return (ipc.open_file(raw) if _has_footer(raw) else ipc.open_stream(raw)).schema

    def _sizes(self) -> Sequence[int]:
        with pa.memory_map(str(self.path)) as raw:
            return [1] * ipc.open_file(raw).num_record_batches if _has_footer(raw) else []

    def _steps(self, names: list[str], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        schema = self._read_schema()
        fields = [schema.get_field_index(name) for name in names]
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        with pa.memory_map(str(self.path)) as raw:
            if _has_footer(raw):
                file = ipc.open_file(raw, options=options)
                parts = range(file.num_record_batches) if self._parts is None else self._parts
                for done, number in enumerate(parts, start=1):
                    yield file.get_batch(number).select(names), done / len(parts)
            else:
                for batch in ipc.open_stream(raw, options=options):
                    yield batch.select(names), min(1.0, raw.tell() / raw.size())


def _has_footer(raw: MemoryMappedFile) -> bool:
    head = bytes(raw.read(len(IPC_MAGIC)))
    raw.seek(0)
    return head == IPC_MAGIC


def check_file_names(path: Path, wanted: Sequence[str], found: Sequence[str]) -> None:
    """Raise DataError, naming the file, unless every declared column occurs exactly once."""
    try:
        check_names(wanted, found)
    except DataError as error:
        problem = DataError(f"{error} (file {path.name!r})")
    else:
        return
    raise problem


# -- statistical -------------------------------------------------------------------------------------------------------
# Stata, SPSS and SAS files are read in blocks by `pyreadstat`. The file states the type of each column. The reader
# returns a Python object for each cell, and None for a missing cell. Labels and formats are ignored, so a date is the
# stored number. Errors of the reader may quote a damaged file, so they are replaced by one fixed sentence.

_READERS: Final = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
# all other types are numbers that doubles represent exactly
_TYPES: Final = {"string": pa.string(), "string_ref": pa.string(), "float": pa.float32()}
_PART_ROWS: Final = 65_536
# a SAS transport file is padded with blanks, and its reader drops trailing rows of blanks
_PADDED: Final = ".xpt"


class StatisticalFile:
    """A file of a statistics program."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = _reader(path)

    def all_types(self) -> Mapping[str, DataType]:
        """Return all columns in order, with their types."""
        _, about = self._read(metadataonly=True)
        stored = about.readstat_variable_types
        return {name: _TYPES.get(stored[name], pa.float64()) for name in about.column_names}

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Return the types of the declared columns. Raise DataError if one is missing."""
        types = self.all_types()
        check_file_names(self.path, names, list(types))
        return {name: types[name] for name in names}

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield the declared columns in batches, each with the fraction of the file that has been read."""
        names = list(columns)
        types = self.column_types(names)
        done, rows = 0, _PART_ROWS
        while rows == _PART_ROWS:
            cells, about = self._read(usecols=names, row_offset=done, row_limit=_PART_ROWS)
            part = pa.record_batch([_cells(cells[name], types[name]) for name in names], names=names)
            rows, first = part.num_rows, done == 0
            if self.path.suffix.lower() == _PADDED:
                part = self._without_blank_rows(part, done)
            done += rows
            # some files do not state their number of rows
            share = min(1.0, done / about.number_rows) if about.number_rows else float(rows < _PART_ROWS)
            # yield an empty batch if the file has no rows, so that types are always checked
            for start in range(0, part.num_rows or first, batch_rows):
                yield part.slice(start, batch_rows), share

    def _without_blank_rows(self, part: RecordBatch, start: int) -> RecordBatch:
        """Drop all rows of blanks, because trailing blank rows cannot be distinguished from padding.

        Otherwise the last nonblank row would decide whether blank rows before it are included.
        """
        if not _blank_rows(part).true_count:
            return part
        types = self.all_types()
        cells, _ = self._read(row_offset=start, row_limit=_PART_ROWS)
        whole = pa.record_batch([_cells(cells[name], kind) for name, kind in types.items()], names=list(types))
        return part.filter(pc.invert(_blank_rows(whole)))

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[StatisticalFile, float] | None]:
        """Return the whole file as one piece, because its reader cannot start in the middle."""
        return uncut(self, cuts)

    def line(self, row: int) -> int | None:
        """Return None, because these files have no lines."""
        return None

    def _read(self, **part: object) -> tuple[Mapping[str, list[object]], Any]:
        try:
            return self._reader(str(self.path), output_format="dict", disable_datetime_conversion=True, **part)
        except Exception:  # the message may quote the file
            problem = DataError(
                f"the file {self.path.name!r} cannot be read: it is damaged, its format does not match its extension, "
                "or its text does not match its stated encoding; write the file again, or save it as CSV or Parquet"
            )
        raise problem


def _reader(path: Path) -> Callable[..., tuple[Mapping[str, list[object]], Any]]:
    try:
        import pyreadstat
    except ImportError:
        problem = MissingDependencyError("stata", "pyreadstat", what=f"the file {path.name!r}")
    else:
        reader: Callable[..., tuple[Mapping[str, list[object]], Any]] = getattr(
            pyreadstat, _READERS[path.suffix.lower()]
        )
        return reader
    raise problem


def _blank_rows(part: RecordBatch) -> pa.BooleanArray:
    """Return a mask of the rows that may consist of blanks alone, judging by the columns of this batch."""
    blank = pa.repeat(True, part.num_rows)
    for values in part.columns:
        text = pa.types.is_string(values.type)
        blank = pc.and_(blank, values.is_null() if text else pc.is_in(values, value_set=_blank_numbers()))
    return blank


@cache
def _blank_numbers() -> pa.Array:
    """Return the numbers whose stored bytes are 2 to 8 blanks.

    Computed only for transport files, because building an Arrow array from Python objects imports pandas.
    """
    return pa.array(
        int.from_bytes((b" " * (width - 1)).ljust(7, b"\0"), "big") * 2.0**-56 * 16.0 ** (ord(" ") - 64)
        for width in range(2, 9)
    )


def _cells(cells: list[object], kind: DataType) -> pa.Array:
    """Return an Arrow array of the stated type. Empty text is a missing cell, as in CSV."""
    if pa.types.is_string(kind):
        return pa.array([cell or None for cell in cells], pa.string())
    return pa.array(cells, kind)
