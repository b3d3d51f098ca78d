"""Read CSV files. Nothing is guessed from cells, and no word means missing."""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as arrow_csv

from discreet.design.columns import Boolean, Categorical, Identifier, Numeric, Readable, bad_cell, remedy
from discreet.errors import DataError
from discreet.tables.cells import MARK_NUMBER
from discreet.tables.csv_format import DEFAULT_READING, PACKED, ReadOptions, TextBytes
from discreet.tables.file_formats import check_file_names, uncut

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType, RecordBatch, Table

# -- records -----------------------------------------------------------------------------------------------------------
# Where the lines and records of CSV text begin and end, found from quotes and line ends alone.
#
# The quotes of a rightly quoted text open and close in turn, and a pair inside a cell closes and opens at once. So a
# character is inside a cell exactly where the number of quotes before it is odd.

_LF, _CR, _QUOTE = b'\n\r"'
Places = npt.NDArray[np.int64]
_NONE: Final = np.zeros(0, np.int64)


def count_lines(block: bytes) -> int:
    r"""How many line ends there are: LF, CR or both together.

    >>> count_lines(b"a\r\nb\rc\n")
    3
    """
    signs = np.frombuffer(block, np.uint8)
    lines = int(np.count_nonzero(signs == _LF))
    return lines + block.count(b"\r") - block.count(b"\r\n") if b"\r" in block else lines


def first_stray_quote(block: bytes, delimiter: str, *, line_breaks: bool = False) -> int | None:
    r"""Find a quote that neither opens nor closes a whole cell nor is one of a pair inside it.

    Each first quote of two has a border or a quote before it, each second one has a border or a quote behind it. Unless
    cells may hold line breaks, no line ends after an odd number of them; and never does the text.

    >>> first_stray_quote(b'"a",b"', ","), first_stray_quote(b'"a\n",b', ",", line_breaks=True)
    (5, None)
    """
    signs = np.frombuffer(block, np.uint8)
    border = np.zeros(256, bool)
    border[[_LF, _CR, _QUOTE, ord(delimiter)]] = True
    quotes = np.flatnonzero(signs == _QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    inner = closing[closing < len(signs) - 1]
    ends = _NONE if line_breaks else np.flatnonzero((signs == _LF) | (signs == _CR))
    before = np.append(np.searchsorted(quotes, ends), len(quotes))
    stray = [
        opening[(opening > 0) & ~border[signs[opening - 1]]],
        inner[~border[signs[inner + 1]]],
        quotes[before[before % 2 == 1] - 1],
    ]
    return min((int(found[0]) for found in stray if len(found)), default=None)


def record_ends(block: bytes) -> Places:
    r"""Behind which characters a record ends: line ends outside of quotes, CR and LF together as one.

    A CR that is the last character is left out, since it may be half of such a pair.

    >>> record_ends(b'a,"b\n"\r\nc\n').tolist()
    [8, 10]
    """
    signs = np.frombuffer(block, np.uint8)
    line_feed, carriage = signs == _LF, signs == _CR
    paired = np.zeros(len(signs), bool)
    paired[:-1] = carriage[:-1] & line_feed[1:]
    ends = np.flatnonzero((line_feed | carriage) & ~paired)
    if block.endswith(b"\r"):
        ends = ends[:-1]
    quotes = np.flatnonzero(signs == _QUOTE)
    outside = np.searchsorted(quotes, ends) % 2 == 0
    return np.asarray(ends[outside] + 1, np.int64)


def record_starts(block: bytes) -> Places:
    """Where each record of whole records begins; what follows the last record end is one too."""
    if block.endswith(b"\r"):
        # no half of a pair here: the text ends
        block += b"\n"
    ends = record_ends(block)
    return np.append(np.zeros(1, np.int64), ends[ends < len(block)])


def record_widths(block: bytes, delimiter: str) -> Places:
    r"""How many cells each record has.

    >>> record_widths(b'a,"b,\n"\n\nc\n', ",").tolist()
    [2, 1, 1]
    """
    signs = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    found = np.flatnonzero(signs == ord(delimiter))
    found = found[np.searchsorted(quotes, found) % 2 == 0]
    inside = np.searchsorted(found, [*record_starts(block), len(block)])
    return np.asarray(np.diff(inside) + 1, np.int64)


def record_lines(block: bytes, first: int) -> list[int]:
    """The line on which each record begins, where the block begins on line `first`."""
    starts = record_starts(block).tolist()
    numbers, line = [], first
    for start, before in zip(starts, [0, *starts], strict=False):
        line += count_lines(block[before:start])
        numbers.append(line)
    return numbers


# -- text cells --------------------------------------------------------------------------------------------------------
# Cells of text to the type of their declared column: each by itself, by patterns that no other cell can change.

TRUE_WORDS: Final = ("true", "True", "TRUE")
FALSE_WORDS: Final = ("false", "False", "FALSE")
_NAN: Final = r"^[+-]?(?i:nan)(\([0-9A-Za-z_]*\))?$"  # as the parser of numbers takes it


def arrow_type(column: Readable) -> DataType:
    """The Arrow type into which the cells of a column are read.

    >>> str(arrow_type(Categorical(("a", "b")))), str(arrow_type(Categorical((1, 2))))
    ('string', 'double')
    """
    if isinstance(column, Boolean):
        return pa.bool_()
    text = isinstance(column, Identifier) or (isinstance(column, Categorical) and isinstance(column.levels[0], str))
    text = text or (isinstance(column, Numeric) and column.is_date)
    return pa.string() if text else pa.float64()


@dataclass(frozen=True)
class TextCells:
    """How cells of text become numbers, truth or levels.

    Attributes
    ----------
    decimal
        The character before the fraction of a number.
    thousands
        The character between groups of three digits; none where there are no groups. A number may also have none.

    Examples
    --------
    >>> cells = TextCells(",", ".")
    >>> cells.numbers(pa.chunked_array([["1.234,5", "1234,5", "1.23", "1234.5"]])).to_pylist()
    [1234.5, 1234.5, None, None]
    """

    decimal: str = "."
    thousands: str | None = None

    @cached_property
    def _number(self) -> str:
        point = re.escape(self.decimal)
        whole = (
            r"[0-9]+" if self.thousands is None else rf"([0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        )
        return rf"^[+-]?({whole}({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?$"

    def typed(self, name: str, column: Readable, text: ChunkedArray) -> ChunkedArray:
        """Text cells to the type of their column; a cell that cannot be read is missing if the column allows that.

        Where the rule is `mark`, truth is given as 1 and 0, and a mark stands for a cell that cannot be read.
        """
        kind = arrow_type(column)
        if isinstance(column, Identifier) or pa.types.is_string(kind):
            return text
        if column.missing == "mark":
            numbers = self._booleans(text).cast(pa.float64()) if pa.types.is_boolean(kind) else self.numbers(text)
            return _marked(text, numbers)
        if pa.types.is_boolean(kind):
            values = self._booleans(text)
            wanted = bad_cell(column)
        else:
            values = self.numbers(text)
            wanted = f"not a finite number written like {self._examples}, without blanks or other characters"
        if column.missing == "error" and values.null_count > text.null_count:
            raise DataError(f"column {name!r} has a cell that is {wanted}; {remedy(column)}{self._other_signs(column)}")
        return values

    def numbers(self, text: ChunkedArray) -> ChunkedArray:
        """Numbers, null where a cell is none; this parser trims nothing and is the one that reads CSV."""
        if self.decimal == "." and self.thousands is None:
            try:
                return text.cast(pa.float64())
            except pa.ArrowInvalid:
                pass
        import pyarrow.compute as pc

        matches = pc.match_substring_regex(text, self._number)  # [P:one-pattern]
        plain = pc.if_else(matches, text, pa.scalar(None, pa.string()))
        if self.thousands is not None:
            plain = pc.replace_substring(plain, self.thousands, "")
        return pc.replace_substring(plain, self.decimal, ".").cast(pa.float64())

    def _booleans(self, text: ChunkedArray) -> ChunkedArray:
        """Words of truth, and numbers that are 1 or 0 however they are written; null for every other cell."""
        import pyarrow.compute as pc

        is_true, is_false = (pc.is_in(text, value_set=pa.array(words)) for words in (TRUE_WORDS, FALSE_WORDS))
        numbers = self.numbers(pc.if_else(is_true, "1", pc.if_else(is_false, "0", text)))
        known = pc.or_(pc.equal(numbers, 1), pc.equal(numbers, 0))
        return pc.if_else(known, pc.equal(numbers, 1), pa.scalar(None, pa.bool_()))

    @property
    def _examples(self) -> str:
        if self.thousands is not None:
            return f"-1{self.thousands}234{self.decimal}5"
        return f"-12{self.decimal}5 or 1e3"

    def _other_signs(self, column: Readable) -> str:
        plain = self.decimal == "." and self.thousands is None and not isinstance(column, Boolean)
        return "; numbers such as 1.234,5 need --decimal and --thousands" if plain else ""


def _marked(text: ChunkedArray, numbers: ChunkedArray) -> ChunkedArray:
    """The numbers, with a mark for each cell that is written and is none; the word nan is one, and a missing one."""
    import pyarrow.compute as pc

    unread = pc.and_(pc.is_valid(text), pc.is_null(numbers))
    marks = pc.if_else(pc.match_substring_regex(text, _NAN), math.nan, MARK_NUMBER)
    return pc.if_else(unread, marks, numbers)


# -- csv ---------------------------------------------------------------------------------------------------------------
# CSV read as it is written: nothing is guessed, no word means missing, and unless asked for no cell spans two lines.
#
# A file is cut into blocks of whole records. Each block is checked (encoding, NUL, quotes) before the parser sees it,
# so that an unclosed quote cannot swallow the rows behind it, and a cell that cannot be read costs its own block only.
# Structural faults name a line; cells never appear in a message.
#
# Where quoted cells may hold line breaks, a quote that was left out or added can only be seen by what it does to
# others. So every record must have as many cells as the header, or the file is refused as a whole, and the promise of
# the release states that every cell is quoted correctly.

BLOCK_BYTES: Final = 1 << 20  # also the longest line
LEAST_PIECE: Final = 1 << 20  # fewer bytes are not worth a worker
# pandas writes a column of truth values with a gap among them as 1.0 and 0.0
_TRUE: Final = [*TRUE_WORDS, "1", "1.0"]
_FALSE: Final = [*FALSE_WORDS, "0", "0.0"]
_LINE_END: Final = re.compile(rb"[\r\n]")
_ROW_BEGIN: Final = re.compile(rb"[^\r\n]")
_QUOTED: Final = re.compile(rb'"[^"]*"')


class CsvFile:
    """One CSV file with a header line, or a piece of it.

    A piece is the lines from one byte to another; the header is that of the file, and lines are counted in the file.
    """

    def __init__(
        self, path: Path, reading: ReadOptions = DEFAULT_READING, span: tuple[int, int | None] = (0, None)
    ) -> None:
        reading = reading.for_file(path)
        self.path = path
        self._reading = reading
        self._span = span
        self._encoding = codecs.lookup(reading.encoding).name
        self._delimiter = reading.delimiter or ","
        self._breaks = reading.quoted_line_breaks
        self._cells = TextCells(reading.decimal, reading.thousands)
        # the fast parser knows numbers of one style only
        self._by_text = reading.local_numbers
        self._block, self._start = (b"", 1), 0
        self._lines: list[int] = []

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Check that the header has the declared names; types come from the declaration, so none are given."""
        self._positions(names, self._file_header())
        return {}

    def _file_header(self) -> list[str]:
        if self._span[0]:
            return CsvFile(self.path, self._reading)._file_header()
        with TextBytes(self.path) as raw:
            for block, _, line in self._blocks(raw):
                return self._header(block, line)[0]
        raise DataError(f"the file {self.path.name!r} has no header line; its first line must name the columns")

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[CsvFile, float] | None]:
        """The file cut at line ends near these shares of it; see `TableFile.pieces`.

        A line end is one whatever quotes are before it, unless quoted cells may hold line breaks; then, and in text
        that is compressed or has two bytes to a character, only a reader of all that is before can find one.
        """
        if self._breaks or self.path.suffix.lower() in PACKED or self._encoding.startswith("utf-16"):
            return uncut(self, cuts)
        starts = [0]
        with TextBytes(self.path) as raw:
            size, header_end = raw.size, self._header_end(raw)
        if header_end is None:
            return uncut(self, cuts)
        least = max(header_end, LEAST_PIECE)
        for cut in cuts:
            starts.append(starts[-1])
            wanted = max(int(cut * size), starts[-1] + least)
            if wanted <= size - LEAST_PIECE:
                with TextBytes(self.path, start=wanted) as raw:
                    # a line without an end nearby is left to the piece before
                    end = raw.read(BLOCK_BYTES).find(b"\n") + 1  # [P:cut-at-line-ends]
                    starts[-1] = wanted + end if end else starts[-1]
        found: list[tuple[CsvFile, float] | None] = []
        for start, end in zip(starts, [*starts[1:], size], strict=True):
            span = (start, None if end == size else end)
            found.append((CsvFile(self.path, self._reading, span), (end - start) / size) if end > start else None)
        return found

    def _header_end(self, raw: TextBytes) -> int | None:
        """Behind which byte of the file the header line has ended; none where it has not in the first block."""
        block = raw.read(BLOCK_BYTES)
        begin = _ROW_BEGIN.search(block, len(codecs.BOM_UTF8) if block.startswith(codecs.BOM_UTF8) else 0)
        end = _LINE_END.search(block, begin.end()) if begin else None
        return None if end is None else end.end()

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield the declared columns in blocks of rows, each with the share of the file that is read."""
        positions: list[int] = []
        width = 0
        start, end = self._span
        if start:
            header = self._file_header()
            positions, width = self._positions(list(columns), header), len(header)
        with TextBytes(self.path, start=start, end=end) as raw:
            for block, share, line in self._blocks(raw):
                rows, first = block, line
                if not width:
                    header, rows, first = self._header(block, line)
                    positions, width = self._positions(list(columns), header), len(header)
                if self._has_rows(rows):
                    table = self._table(rows, first, columns, positions, width)
                    self._block, self._start, self._lines = (rows, first), 0, []
                    for batch in table.to_batches(max_chunksize=batch_rows):
                        yield batch, share
                        self._start += batch.num_rows

    def line(self, row: int) -> int:
        """The line, counted from 1, on which a row of the batch given last begins.

        Each line that is not blank is a row; or each record, where quoted cells may hold line breaks.
        """
        if not self._lines:
            rows, first = self._block
            self._lines = (
                record_lines(rows, first)
                if self._breaks
                else [number for number, text in enumerate(rows.splitlines(), first) if text]
            )
        return self._in_file(self._lines[self._start + row])

    def _in_file(self, line: int) -> int:
        """The number of a line in the file, from that in the piece; what is before it is read only for this."""
        start, _ = self._span
        if not start:
            return line
        held = b""
        with TextBytes(self.path, end=start) as raw:
            while piece := raw.read(BLOCK_BYTES):
                # a CR at the very end may be half of a CRLF; what is before a piece ends with a LF
                block = held + piece
                whole = block.removesuffix(b"\r")
                held = block[len(whole) :]
                line += count_lines(whole)
        return line

    def _has_rows(self, rows: bytes) -> bool:
        return bool(rows) if self._breaks else _ROW_BEGIN.search(rows) is not None

    def _blocks(self, raw: TextBytes) -> Iterator[tuple[bytes, float, int]]:
        """Yield checked blocks of whole records, with the share read and the first line's number.

        A block of blank lines only is left out, unless each of them is a record.
        """
        line = 1
        for block in self._whole_records(raw):
            if raw.has_grown:
                # a file that grows as fast as it is read would have no end
                raise DataError(f"the file {self.path.name!r} changed while it was read; wait until it is complete")
            if self._has_rows(block):
                self._check(block, line)
                yield block, raw.share, line
            line += count_lines(block)

    def _whole_records(self, raw: TextBytes) -> Iterator[bytes]:
        decoder = None if self._encoding in ("utf-8", "utf-8-sig") else codecs.getincrementaldecoder(self._encoding)()
        held, mark = b"", b"" if self._span[0] else codecs.BOM_UTF8
        while piece := self._piece(raw, decoder):
            held += piece.removeprefix(mark)
            mark = b""
            first, cut = self._first_and_last_end(held)
            if first > BLOCK_BYTES:
                what = "record" if self._breaks else "line"
                raise DataError(
                    f"the file {self.path.name!r} has a {what} longer than {BLOCK_BYTES} bytes; "
                    f"check its {'quotes' if self._breaks else 'line ends'}, or leave out the long column"
                )
            if cut:
                yield held[:cut]
                held = held[cut:]
        if held:
            yield held

    def _first_and_last_end(self, held: bytes) -> tuple[int, int]:
        """How long the first record is at least, and behind which character the last whole one ends."""
        if self._breaks:
            ends = record_ends(held)
            return (int(ends[0]), int(ends[-1])) if len(ends) else (len(held), 0)
        end = _LINE_END.search(held)
        # a CR at the very end may be half of a CRLF
        cut = max(held.rfind(b"\n"), held.rfind(b"\r", 0, len(held) - 1)) + 1
        return (end.start() if end else len(held)), cut

    def _piece(self, raw: TextBytes, decoder: codecs.IncrementalDecoder | None) -> bytes:
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
        raise problem

    def _check(self, block: bytes, line: int) -> None:
        if b"\0" in block:
            at = self._in_file(line + count_lines(block[: block.index(b"\0")]))
            raise DataError(
                f"line {at} of {self.path.name!r} has a NUL byte; if the file is UTF-16, pass --encoding utf-16"
            )
        if not block.isascii() and (bad := _first_invalid(block)) is not None:
            at = self._in_file(line + count_lines(block[:bad]))
            raise DataError(
                f"line {at} of {self.path.name!r} is not valid UTF-8; give the encoding of the file with --encoding"
            )
        if b'"' not in block:
            return
        stray = first_stray_quote(block, self._delimiter, line_breaks=self._breaks)
        if stray is not None:
            raise self._wrong_quote(self._in_file(line + count_lines(block[:stray])))

    def _wrong_quote(self, line: int) -> DataError:
        if self._breaks:
            return DataError(
                f"line {line} of {self.path.name!r} has a quote that is not closed or is inside a cell, so no record "
                "behind it is certain; quote the whole cell and double the quotes inside it, or write Parquet"
            )
        return DataError(
            f"line {line} of {self.path.name!r} has a quote that is not closed on its line or is inside a cell; "
            "quote the whole cell, double the quotes inside it, and keep each row on one line; if cells have line "
            "breaks, write the table as Parquet, or pass --quoted-line-breaks"
        )

    def _header(self, block: bytes, line: int) -> tuple[list[str], bytes, int]:
        """Names of the columns, the rows behind them, and the number of the first of these lines."""
        rows = block if self._breaks else block.lstrip(b"\r\n")
        line += count_lines(block[: len(block) - len(rows)])
        cut = self._header_length(rows)
        try:
            header = next(csv.reader([rows[:cut].decode()], delimiter=self._delimiter, strict=True))
        except csv.Error:
            problem = DataError(f"the header line of {self.path.name!r} has a cell that is too long for a name")
        else:
            if header:
                return header, rows[cut:], line + count_lines(rows[:cut])
            problem = DataError(f"the first line of {self.path.name!r} is blank; it must name the columns")
        raise problem

    def _header_length(self, rows: bytes) -> int:
        if self._breaks:
            starts = record_starts(rows)
            return int(starts[1]) if len(starts) > 1 else len(rows)
        end = _LINE_END.search(rows)
        return end.start() if end else len(rows)

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
        if self._breaks:
            self._check_records(rows, line, width)
        types = [arrow_type(column) for column in columns.values()]
        careful = self._by_text or _padded(rows, self._delimiter)
        table = None if careful else self._parsed(rows, positions, types, width)
        if table is not None:
            return table.rename_columns(list(columns))
        text = self._parsed(rows, positions, [pa.string()] * len(types), width)
        if text is None:
            self._check_widths(rows, line, width)
            at = self._in_file(line)
            raise DataError(f"the file {self.path.name!r} cannot be read as CSV near line {at}; write it again")
        cells = [
            self._cells.typed(name, columns[name], found) for name, found in zip(columns, text.columns, strict=True)
        ]
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
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=self._breaks, ignore_empty_lines=not self._breaks
                ),
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

    def _check_records(self, rows: bytes, line: int, width: int) -> None:
        """Refuse the file where a record has another number of cells: a quote may have been left out before it."""
        wrong = np.flatnonzero(record_widths(rows, self._delimiter) != width)
        if len(wrong):
            at = record_lines(rows, line)[int(wrong[0])]
            raise DataError(
                f"the record that begins on line {at} of {self.path.name!r} has more or fewer cells than the header, "
                "or is blank; where cells hold line breaks every record must have the same number of cells"
            )

    def _check_widths(self, rows: bytes, line: int, width: int) -> None:
        sign = self._delimiter.encode()
        for number, row in enumerate(_QUOTED.sub(b"-", rows).splitlines(), line):
            if row and row.count(sign) + 1 != width:
                raise DataError(
                    f"line {self._in_file(number)} of {self.path.name!r} has more or fewer cells than the header; "
                    "fix the line, or give the delimiter with --delimiter"
                )


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


def _first_invalid(block: bytes) -> int | None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None
