"""CSV read as it is written: nothing is guessed, no word means missing, no cell spans two lines.

A file is cut into blocks of whole lines. Each block is checked (encoding, NUL, quotes) before the parser sees it, so
that an unclosed quote cannot swallow the rows behind it, and a cell that cannot be read costs its own block only.
Structural faults name a line; cells never appear in a message.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from discreet.design.columns import Boolean, Categorical, Identifier, Numeric, Readable, bad_cell, remedy
from discreet.errors import DataError
from discreet.tables.cells import MARK_NUMBER
from discreet.tables.files.arrow import check_file_names

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType, RecordBatch, Table

BLOCK_BYTES: Final = 1 << 20  # also the longest line
# pandas writes a column of truth values with a gap among them as 1.0 and 0.0
_TRUE: Final = ["true", "True", "TRUE", "1", "1.0"]
_FALSE: Final = ["false", "False", "FALSE", "0", "0.0"]
_PLAIN_NUMBER: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NAN: Final = r"^[+-]?(?i:nan)(\([0-9A-Za-z_]*\))?$"  # as the parser of numbers takes it
_LINE_END: Final = re.compile(rb"[\r\n]")
_ROW_BEGIN: Final = re.compile(rb"[^\r\n]")
_QUOTED: Final = re.compile(rb'"[^"]*"')
_LF, _CR, _QUOTE = b'\n\r"'


class CsvFile:
    """One CSV file with a header line; `encoding` and `delimiter` are checked where they are given."""

    def __init__(self, path: Path, *, encoding: str = "utf-8", delimiter: str = ",") -> None:
        self.path = path
        self._encoding = codecs.lookup(encoding).name
        self._delimiter = delimiter
        self._block, self._start = (b"", 1), 0
        self._lines: list[int] = []

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Check that the header has the declared names; types come from the declaration, so none are given."""
        with self._opened() as raw:
            for block, _, line in self._blocks(raw):
                header, _, _ = self._header(block, line)
                self._positions(names, header)
                return {}
        raise DataError(f"the file {self.path.name!r} has no header line; its first line must name the columns")

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield the declared columns in blocks of rows, each with the share of the file that is read."""
        positions: list[int] = []
        width = 0
        with self._opened() as raw:
            for block, share, line in self._blocks(raw):
                rows, first = block, line
                if not width:
                    header, rows, first = self._header(block, line)
                    positions, width = self._positions(list(columns), header), len(header)
                if _ROW_BEGIN.search(rows):
                    table = self._table(rows, first, columns, positions, width)
                    self._block, self._start, self._lines = (rows, first), 0, []
                    for batch in table.to_batches(max_chunksize=batch_rows):
                        yield batch, share
                        self._start += batch.num_rows

    def line(self, row: int) -> int:
        """The line, counted from 1, of a row of the batch given last: each line that is not blank is a row."""
        if not self._lines:
            rows, first = self._block
            self._lines = [number for number, text in enumerate(rows.splitlines(), first) if text]
        return self._lines[self._start + row]

    def _opened(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            problem = DataError(f"the file {self.path.name!r} cannot be opened: {error.strerror}")
        raise problem

    def _blocks(self, raw: BinaryIO) -> Iterator[tuple[bytes, float, int]]:
        """Yield checked blocks of whole lines, blank ones left out, with the share read and the first line's number."""
        size = raw.seek(0, 2)
        raw.seek(0)
        line = 1
        for block in self._whole_lines(raw):
            if raw.tell() > size:
                # a file that grows as fast as it is read would have no end
                raise DataError(f"the file {self.path.name!r} changed while it was read; wait until it is complete")
            if _ROW_BEGIN.search(block):
                self._check(block, line)
                yield block, min(1.0, raw.tell() / size), line
            line += _count_lines(block)

    def _whole_lines(self, raw: BinaryIO) -> Iterator[bytes]:
        decoder = None if self._encoding in ("utf-8", "utf-8-sig") else codecs.getincrementaldecoder(self._encoding)()
        held, mark = b"", codecs.BOM_UTF8
        while piece := self._piece(raw, decoder):
            held += piece.removeprefix(mark)
            mark = b""
            # a CR at the very end may be half of a CRLF
            cut = max(held.rfind(b"\n"), held.rfind(b"\r", 0, len(held) - 1)) + 1
            end = _LINE_END.search(held)
            if (end.start() if end else len(held)) > BLOCK_BYTES:
                raise DataError(
                    f"the file {self.path.name!r} has a line longer than {BLOCK_BYTES} bytes; "
                    "check its line ends, or leave out the long column"
                )
            if cut:
                yield held[:cut]
                held = held[cut:]
        if held:
            yield held

    def _piece(self, raw: BinaryIO, decoder: codecs.IncrementalDecoder | None) -> bytes:
        """Give the next bytes as UTF-8; none at the end of the file."""
        try:
            while data := raw.read(BLOCK_BYTES // 4 if decoder else BLOCK_BYTES):
                piece = decoder.decode(data).encode() if decoder else data
                if piece:
                    return piece
            return decoder.decode(b"", final=True).encode() if decoder else b""
        except UnicodeError:
            # also sums up codecs whose own message quotes the bytes
            problem = DataError(
                f"the file {self.path.name!r} is not valid {self._encoding}; give its encoding with --encoding"
            )
        except OSError as error:
            problem = DataError(f"the file {self.path.name!r} cannot be read to its end: {error.strerror}")
        raise problem

    def _check(self, block: bytes, line: int) -> None:
        if b"\0" in block:
            at = line + _count_lines(block[: block.index(b"\0")])
            raise DataError(
                f"line {at} of {self.path.name!r} has a NUL byte; if the file is UTF-16, pass --encoding utf-16"
            )
        if not block.isascii() and (bad := _first_invalid(block)) is not None:
            at = line + _count_lines(block[:bad])
            raise DataError(
                f"line {at} of {self.path.name!r} is not valid UTF-8; give the encoding of the file with --encoding"
            )
        if b'"' in block and (stray := _first_stray_quote(block, self._delimiter)) is not None:
            at = line + _count_lines(block[:stray])
            raise DataError(
                f"line {at} of {self.path.name!r} has a quote that is not closed on its line or is inside a cell; "
                "quote the whole cell, double the quotes inside it, and keep each row on one line"
            )

    def _header(self, block: bytes, line: int) -> tuple[list[str], bytes, int]:
        """Names of the columns, the rows behind them, and the number of the first of these lines."""
        rows = block.lstrip(b"\r\n")
        line += _count_lines(block[: len(block) - len(rows)])
        end = _LINE_END.search(rows)
        cut = end.start() if end else len(rows)
        try:
            header = next(csv.reader([rows[:cut].decode()], delimiter=self._delimiter, strict=True))
        except csv.Error:
            problem = DataError(f"the header line of {self.path.name!r} has a cell that is too long for a name")
        else:
            return header, rows[cut:], line
        raise problem

    def _positions(self, names: Sequence[str], header: list[str]) -> list[int]:
        if header[0].startswith("#") and not set(names) <= set(header):
            raise DataError(
                f"the first line of {self.path.name!r} begins with '#'; comment lines are not allowed; remove them, so "
                "that the first line names the columns"
            )
        if len(header) == 1 < len(names):
            raise DataError(
                f"the header of {self.path.name!r} is one cell when split at {self._delimiter!r}; "
                "give the delimiter with --delimiter"
            )
        check_file_names(self.path, names, header)
        return [header.index(name) for name in names]

    def _table(
        self, rows: bytes, line: int, columns: Mapping[str, Readable], positions: Sequence[int], width: int
    ) -> Table:
        """Give the declared columns of one block, in their order."""
        types = [_arrow_type(column) for column in columns.values()]
        table = None if _padded(rows, self._delimiter) else self._parsed(rows, positions, types, width)
        if table is not None:
            return table.rename_columns(list(columns))
        text = self._parsed(rows, positions, [pa.string()] * len(types), width)
        if text is None:
            self._check_widths(rows, line, width)
            raise DataError(f"the file {self.path.name!r} cannot be read as CSV near line {line}; write it again")
        cells = [_cells(name, columns[name], found) for name, found in zip(columns, text.columns, strict=True)]
        return pa.table(cells, names=list(columns))

    def _parsed(self, rows: bytes, positions: Sequence[int], types: Sequence[DataType], width: int) -> Table | None:
        # columns go by their position: names of undeclared columns may be anything, even equal
        keys = [str(position) for position in positions]
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(rows),
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, block_size=len(rows) + 1, column_names=[str(number) for number in range(width)]
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict(zip(keys, types, strict=True)),
                    include_columns=keys,
                    null_values=[""],
                    strings_can_be_null=True,
                    true_values=_TRUE,
                    false_values=_FALSE,
                ),
            )
        except pa.ArrowException:
            # its message quotes a row or a cell; what is wrong is found again by our own means
            return None

    def _check_widths(self, rows: bytes, line: int, width: int) -> None:
        sign = self._delimiter.encode()
        for number, row in enumerate(_QUOTED.sub(b"-", rows).splitlines(), line):
            if row and row.count(sign) + 1 != width:
                raise DataError(
                    f"line {number} of {self.path.name!r} has more or fewer cells than the header; "
                    "fix the line, or give the delimiter with --delimiter"
                )


def _arrow_type(column: Readable) -> DataType:
    if isinstance(column, Boolean):
        return pa.bool_()
    text = isinstance(column, Identifier) or (isinstance(column, Categorical) and isinstance(column.levels[0], str))
    text = text or (isinstance(column, Numeric) and column.is_date)
    return pa.string() if text else pa.float64()


def _cells(name: str, column: Readable, text: ChunkedArray) -> ChunkedArray:
    """Text cells to the type of their column; a cell that cannot be read is missing if the column allows that.

    Where the rule is `mark`, truth is given as 1 and 0, and a mark stands for a cell that cannot be read.
    """
    kind = _arrow_type(column)
    if isinstance(column, Identifier) or pa.types.is_string(kind):
        return text
    if column.missing == "mark":
        numbers = _booleans(text).cast(pa.float64()) if pa.types.is_boolean(kind) else _numbers(text)
        return _marked(text, numbers)
    if pa.types.is_boolean(kind):
        values = _booleans(text)
        wanted = bad_cell(column)
    else:
        values = _numbers(text)
        wanted = "not a finite number written like -12.5 or 1e3, without blanks or other characters"
    if column.missing == "error" and values.null_count > text.null_count:
        raise DataError(f"column {name!r} has a cell that is {wanted}; {remedy(column)}")
    return values


def _booleans(text: ChunkedArray) -> ChunkedArray:
    """Words of truth, and numbers that are 1 or 0 however they are written; null for every other cell."""
    is_true, is_false = (pc.is_in(text, value_set=pa.array(words)) for words in (_TRUE, _FALSE))
    numbers = _numbers(pc.if_else(is_true, "1", pc.if_else(is_false, "0", text)))
    known = pc.or_(pc.equal(numbers, 1), pc.equal(numbers, 0))
    return pc.if_else(known, pc.equal(numbers, 1), pa.scalar(None, pa.bool_()))


def _numbers(text: ChunkedArray) -> ChunkedArray:
    """Numbers, null where a cell is none; this parser trims nothing and is the one that reads CSV."""
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        plain = pc.match_substring_regex(text, _PLAIN_NUMBER)
        return pc.if_else(plain, text, pa.scalar(None, pa.string())).cast(pa.float64())


def _marked(text: ChunkedArray, numbers: ChunkedArray) -> ChunkedArray:
    """The numbers, with a mark for each cell that is written and is none; the word nan is one, and a missing one."""
    unread = pc.and_(pc.is_valid(text), pc.is_null(numbers))
    marks = pc.if_else(pc.match_substring_regex(text, _NAN), math.nan, MARK_NUMBER)
    return pc.if_else(unread, marks, numbers)


def _padded(rows: bytes, delimiter: str) -> bool:
    """Whether some cell may begin or end with a blank; the fast parser would trim it where our rule is to refuse it."""
    sign = delimiter.encode()
    for blank in (b" ", b"\t"):
        if blank not in rows or (blank == sign and b'"' not in rows):
            continue
        edges = (sign, b"\n", b"\r", b'"')
        if rows[:1] == blank or rows[-1:] == blank or any(blank + e in rows or e + blank in rows for e in edges):
            return True
    return False


def _count_lines(block: bytes) -> int:
    signs = np.frombuffer(block, np.uint8)
    lines = int(np.count_nonzero(signs == _LF))
    return lines + block.count(b"\r") - block.count(b"\r\n") if b"\r" in block else lines


def _first_invalid(block: bytes) -> int | None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _first_stray_quote(block: bytes, delimiter: str) -> int | None:
    """Find a quote that neither opens nor closes a whole cell nor is one of a pair inside it, all within a line.

    In rightly quoted text the quotes open and close in turn: a pair inside a cell closes and opens at once. So each
    first one has a border or a quote before it, each second one has a border or a quote behind it, and no line ends
    after an odd number of them.
    """
    signs = np.frombuffer(block, np.uint8)
    border = np.zeros(256, bool)
    border[[_LF, _CR, _QUOTE, ord(delimiter)]] = True
    quotes = np.flatnonzero(signs == _QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    inner = closing[closing < len(signs) - 1]
    ends = np.flatnonzero((signs == _LF) | (signs == _CR))
    before = np.append(np.searchsorted(quotes, ends), len(quotes))
    stray = [
        opening[(opening > 0) & ~border[signs[opening - 1]]],
        inner[~border[signs[inner + 1]]],
        quotes[before[before % 2 == 1] - 1],
    ]
    return min((int(found[0]) for found in stray if len(found)), default=None)
