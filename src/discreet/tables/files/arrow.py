"""Parquet and Arrow files as record batches, in memory that does not grow with the file.

What a reader says about a damaged file may quote it, so every fault becomes one plain sentence about the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from discreet.design.columns import Readable
from discreet.errors import DataError
from discreet.tables.arrow import check_buffers
from discreet.tables.files.pieces import uncut
from discreet.tables.frames import check_names

if TYPE_CHECKING:
    from pyarrow import DataType, MemoryMappedFile, RecordBatch, Schema

IPC_MAGIC: Final = b"ARROW1"
_READ_BYTES: Final = 1 << 16  # without a buffer, a whole column of a row group is held at once


class ArrowFile(ABC):
    """One file that carries its own schema, or some of the parts that it was written in."""

    def __init__(self, path: Path, parts: range | None = None) -> None:
        self.path = path
        self._parts = parts

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Types of the declared columns; refuse a file that lacks one or holds it twice."""
        schema = self._schema()
        check_file_names(self.path, names, schema.names)
        return {name: schema.field(name).type for name in names}

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield the declared columns in batches of rows, each with the share of the file that is read."""
        names = list(columns)
        steps = self._steps(names, batch_rows)
        found = False
        while (step := self._next(steps)) is not None:
            batch, share = step
            for start in range(0, batch.num_rows, batch_rows):
                found = True
                yield batch.slice(start, batch_rows), share
        if not found:
            # types are checked in every table, also in one without rows
            kinds = self.column_types(names)
            yield pa.record_batch([pa.nulls(0, kinds[name]) for name in names], names=names), 1.0

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[ArrowFile, float] | None]:
        """The file cut between the parts that it was written in; see `TableFile.pieces`."""
        try:
            sizes = self._sizes()
        except Exception:  # whoever reads the file says what is wrong with it
            sizes = []
        before = np.concatenate([[0], np.cumsum(sizes)])
        if not before[-1]:
            return uncut(self, cuts)
        # the ends of parts that are nearest to each share
        ends = [int(np.abs(before - cut * before[-1]).argmin()) for cut in cuts]
        return [
            (self._piece(range(first, last)), float(before[last] - before[first]) / before[-1])
            if last > first
            else None
            for first, last in zip([0, *ends], [*ends, len(sizes)], strict=True)
        ]

    def line(self, row: int) -> int | None:
        """None: rows of such a file have no lines."""
        return None

    def _schema(self) -> Schema:
        try:
            return self._read_schema()
        except Exception:  # whatever the reader says, it may quote the file
            problem = self._damaged()
        raise problem

    def _next(self, steps: Iterator[tuple[RecordBatch, float]]) -> tuple[RecordBatch, float] | None:
        try:
            step = next(steps, None)
            if step is not None:
                # offsets of a damaged file must not lead outside its buffers
                check_buffers(step[0])
        except Exception:  # as above: a page, a dictionary or a codec that cannot be read
            problem = self._damaged()
        else:
            return step
        raise problem

    def _damaged(self) -> DataError:
        return DataError(
            f"the file {self.path.name!r} cannot be read: it is damaged, encrypted, or compressed by a method that is "
            "not supported; write it again"
        )

    def _piece(self, parts: range) -> ArrowFile:
        return type(self)(self.path, parts)

    @abstractmethod
    def _sizes(self) -> Sequence[int]:
        """How large each of the parts is that the file was written in; none where it does not say; may raise."""

    @abstractmethod
    def _read_schema(self) -> Schema: ...

    @abstractmethod
    def _steps(self, names: list[str], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Batches of the named columns in that order, each with the share read; may raise anything."""


class ParquetFile(ArrowFile):
    """One Parquet file; page checksums are verified where the writer left them."""

    def _read_schema(self) -> Schema:
        with pa.OSFile(str(self.path)) as raw:
            file = pq.ParquetFile(raw)
            self._stored = {column.path: column for column in map(file.schema.column, range(len(file.schema.names)))}
            self._metadata = file.metadata
            return file.schema_arrow

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Types of the declared columns; refuse decimals and encodings that Arrow cannot read, whatever the cells."""
        kinds = super().column_types(names)
        for name in filter(lambda name: pa.types.is_dictionary(kinds[name]), names):
            encodings = self._encodings(list(self._stored).index(name))
            if any(encoding.startswith("DELTA") for encoding in encodings):
                raise DataError(
                    f"column {name!r} is a dictionary in an encoding that cannot be read as one (file "
                    f"{self.path.name!r}); write it as plain text, or with the default encodings"
                )
        for name in filter(lambda name: pa.types.is_decimal(kinds[name]), names):
            stored, kind = self._stored[name], kinds[name]
            if stored.physical_type == "BYTE_ARRAY" or stored.length > kind.byte_width:
                # by the type, since a cell that is too long would stop the reader
                raise DataError(
                    f"column {name!r} has decimals of type {kind} stored as bytes of another length (file "
                    f"{self.path.name!r}); write them as decimals of that type, or as floats"
                )
        return kinds

    def _encodings(self, index: int) -> set[str]:
        """Encodings of a column in any part of the file."""
        groups = map(self._metadata.row_group, range(self._metadata.num_row_groups))
        return {encoding for group in groups for encoding in group.column(index).encodings}

    def _sizes(self) -> Sequence[int]:
        with pa.OSFile(str(self.path)) as raw:
            found = pq.ParquetFile(raw).metadata
            return [found.row_group(number).num_rows for number in range(found.num_row_groups)]

    def _steps(self, names: list[str], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        with pa.OSFile(str(self.path)) as raw:
            file = pq.ParquetFile(raw, pre_buffer=False, buffer_size=_READ_BYTES, page_checksum_verification=True)
            groups = range(file.metadata.num_row_groups) if self._parts is None else self._parts
            total, done = sum(file.metadata.row_group(number).num_rows for number in groups), 0
            for batch in file.iter_batches(
                batch_size=batch_rows, row_groups=list(groups), columns=names, use_threads=False
            ):
                done += batch.num_rows
                # the reader takes "a.b" for a path too and may bring more than was named
                yield batch.select(names), min(1.0, done / total) if total else 1.0


class IpcFile(ArrowFile):
    """One file in the Arrow IPC file or stream format, mapped into memory."""

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
    """Refuse a file that lacks a declared column or holds it twice, by its name: a pattern may match many."""
    try:
        check_names(wanted, found)
    except DataError as error:
        problem = DataError(f"{error} (file {path.name!r})")
    else:
        return
    raise problem
