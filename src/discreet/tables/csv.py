"""Read CSV files. Nothing is guessed from cells, and no word stands for a missing cell."""

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
from discreet.wording import Message, Option, SetOption

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType, RecordBatch, Table

# -- records -----------------------------------------------------------------------------------------------------------
# Lines and records are found from quotes and line ends alone. In correctly quoted text, opening and closing quotes
# alternate, where a doubled quote inside a cell is read as a closing and an opening quote. A character is therefore
# inside a quoted cell exactly if the number of quotes before it is odd.

_LF, _CR, _QUOTE = b'\n\r"'
Places = npt.NDArray[np.int64]
_NONE: Final = np.zeros(0, np.int64)


def count_lines(block: bytes) -> int:
    r"""Count line ends: LF, CR or CRLF.

    >>> count_lines(b"a\r\nb\rc\n")
    3
    """
    signs = np.frombuffer(block, np.uint8)
    lines = int(np.count_nonzero(signs == _LF))
    return lines + block.count(b"\r") - block.count(b"\r\n") if b"\r" in block else lines


def first_stray_quote(block: bytes, delimiter: str, *, line_breaks: bool = False) -> int | None:
    r"""Return the position of the first quote that neither encloses a whole cell nor is doubled inside one, or None.

    An opening quote must follow a delimiter, a line end or a quote, and a closing quote must precede one. Quotes must
    be balanced at the end of the text and, unless cells may contain line breaks, at the end of every line.

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
    return min((int(positions[0]) for positions in stray if len(positions)), default=None)


def record_ends(block: bytes) -> Places:
    r"""Return the position after each record, which ends at a line end outside quotes. CRLF is one line end.

    A CR at the end of the block is ignored, because it may be the first half of a CRLF.

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
    """Return the start of each record in a block of whole records."""
    if block.endswith(b"\r"):
        # the text ends here, so this CR is a line end
        block += b"\n"
    ends = record_ends(block)
    return np.append(np.zeros(1, np.int64), ends[ends < len(block)])


def record_widths(block: bytes, delimiter: str) -> Places:
    r"""Return the number of cells of each record.

    >>> record_widths(b'a,"b,\n"\n\nc\n', ",").tolist()
    [2, 1, 1]
    """
    signs = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    delimiters = np.flatnonzero(signs == ord(delimiter))
    delimiters = delimiters[np.searchsorted(quotes, delimiters) % 2 == 0]
    before = np.searchsorted(delimiters, [*record_starts(block), len(block)])
    return np.asarray(np.diff(before) + 1, np.int64)


def record_lines(block: bytes, first: int) -> list[int]:
    """Return the line number of each record in a block that begins on line `first`."""
    starts = record_starts(block).tolist()
    numbers, line = [], first
    for start, before in zip(starts, [0, *starts], strict=False):
        line += count_lines(block[before:start])
        numbers.append(line)
    return numbers


# -- text cells --------------------------------------------------------------------------------------------------------
TRUE_WORDS: Final = ("true", "True", "TRUE")
FALSE_WORDS: Final = ("false", "False", "FALSE")
_NAN: Final = r"^[+-]?(?i:nan)(\([0-9A-Za-z_]*\))?$"  # as accepted by the number parser


def arrow_type(column: Readable) -> DataType:
    """Return the Arrow type of the parsed cells of a column."""
    if isinstance(column, Boolean):
        return pa.bool_()
    text = isinstance(column, Identifier) or (isinstance(column, Categorical) and isinstance(column.levels[0], str))
    text = text or (isinstance(column, Numeric) and column.is_date)
    return pa.string() if text else pa.float64()


@dataclass(frozen=True)
class TextCells:
    """Conversion of text cells, one by one and by fixed patterns, to numbers, booleans or levels.

    Numbers without the thousands separator are also accepted.

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
        """Convert text cells to the type of their column. Invalid cells become null, unless the rule is `error`.

        With the rule `mark`, booleans become 1 and 0, and invalid cells become marks.
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
            advice = Message(remedy(column), self._other_signs(column))
            raise DataError(f"column {name!r} has a cell that is {wanted}", column=name, remedy=advice)
        return values

    def numbers(self, text: ChunkedArray) -> ChunkedArray:
        """Convert text to numbers, with null for other text. Blanks are not trimmed."""
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
        """Convert words for true and false, and the numbers 1 and 0. All other cells become null."""
        import pyarrow.compute as pc

        is_true, is_false = (pc.is_in(text, value_set=pa.array(words)) for words in (TRUE_WORDS, FALSE_WORDS))
        numbers = self.numbers(pc.if_else(is_true, "1", pc.if_else(is_false, "0", text)))
        valid = pc.or_(pc.equal(numbers, 1), pc.equal(numbers, 0))
        return pc.if_else(valid, pc.equal(numbers, 1), pa.scalar(None, pa.bool_()))

    @property
    def _examples(self) -> str:
        if self.thousands is not None:
            return f"-1{self.thousands}234{self.decimal}5"
        return f"-12{self.decimal}5 or 1e3"

    def _other_signs(self, column: Readable) -> str:
        plain = self.decimal == "." and self.thousands is None and not isinstance(column, Boolean)
        if not plain:
            return ""
        return Message("; if numbers are written like 1.234,5, set ", Option("decimal"), " and ", Option("thousands"))


def _marked(text: ChunkedArray, numbers: ChunkedArray) -> ChunkedArray:
    """Return the numbers with marks for invalid cells. The text nan is a missing number."""
    import pyarrow.compute as pc

    unread = pc.and_(pc.is_valid(text), pc.is_null(numbers))
    marks = pc.if_else(pc.match_substring_regex(text, _NAN), math.nan, MARK_NUMBER)
    return pc.if_else(unread, marks, numbers)


# -- csv ---------------------------------------------------------------------------------------------------------------
# CSV files are read without guessing: no word means missing, and by default no cell spans two lines.
#
# A file is split into blocks of whole records. The encoding, NUL bytes and quotes of a block are checked before the
# block is parsed, so that an unclosed quote cannot hide later rows, and an invalid cell affects only its own block.
# Structural errors name a line. Cells never appear in a message.
#
# If quoted cells may contain line breaks, a missing or extra quote is noticed only by its effect on other records.
# Every record must then have as many cells as the header, or the whole file is rejected. The guarantee of the release
# is conditional on correct quotes.

BLOCK_BYTES: Final = 1 << 20  # also the longest line
LEAST_PIECE: Final = 1 << 20  # smaller pieces are not worth a worker
# pandas writes booleans with missing values as 1.0 and 0.0
_TRUE: Final = [*TRUE_WORDS, "1", "1.0"]
_FALSE: Final = [*FALSE_WORDS, "0", "0.0"]
_LINE_END: Final = re.compile(rb"[\r\n]")
_ROW_BEGIN: Final = re.compile(rb"[^\r\n]")
_QUOTED: Final = re.compile(rb'"[^"]*"')


class CsvFile:
    """A CSV file with a header line, or a range of its lines.

    A range has the header and the line numbers of the whole file.
    """

    def __init__(
        self, path: Path, reading: ReadOptions = DEFAULT_READING, span: tuple[int, int | None] = (0, None)
    ) -> None:
        reading = reading.for_file(path)
        self.path = path
        self._reading = reading
        self._span = span
        self._encoding = codecs.lookup(reading.charset).name
        self._delimiter = reading.delimiter or ","
        self._breaks = reading.quoted_line_breaks
        self._cells = TextCells(reading.decimal, reading.thousands)
        # the fast parser accepts plain numbers only
        self._by_text = reading.local_numbers
        self._block, self._start = (b"", 1), 0
        self._lines: list[int] = []

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Check that the header has the declared names. Return an empty mapping, because CSV states no types."""
        self._positions(names, self._file_header())
        return {}

    def _file_header(self) -> list[str]:
        if self._span[0]:
            return CsvFile(self.path, self._reading)._file_header()
        with TextBytes(self.path) as raw:
            for block, _, line in self._blocks(raw):
                return self._header(block, line)[0]
        raise DataError(f"the file {self.path.name!r} must have a header line with the column names, but is blank")

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[CsvFile, float] | None]:
        """Split the file at line ends near the given fractions of its size. See `Piece.pieces`.

        A file is not split if its line ends cannot be found without reading all text before them: if quoted cells may
        contain line breaks, or if the text is compressed or UTF-16.
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
                    # a line without an end nearby stays in the previous piece
                    end = raw.read(BLOCK_BYTES).find(b"\n") + 1  # [P:cut-at-line-ends]
                    starts[-1] = wanted + end if end else starts[-1]
        pieces: list[tuple[CsvFile, float] | None] = []
        for start, end in zip(starts, [*starts[1:], size], strict=True):
            span = (start, None if end == size else end)
            pieces.append((CsvFile(self.path, self._reading, span), (end - start) / size) if end > start else None)
        return pieces

    def _header_end(self, raw: TextBytes) -> int | None:
        """Return the position after the header line, or None if the header does not end in the first block."""
        block = raw.read(BLOCK_BYTES)
        begin = _ROW_BEGIN.search(block, len(codecs.BOM_UTF8) if block.startswith(codecs.BOM_UTF8) else 0)
        end = _LINE_END.search(block, begin.end()) if begin else None
        return None if end is None else end.end()

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield the declared columns in batches, each with the fraction of the file that has been read."""
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
        """Return the line number, counted from 1, of a row of the last batch.

        A row is a nonblank line, or a record if quoted cells may contain line breaks.
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
        """Convert a line number in this piece to a line number in the file."""
        start, _ = self._span
        if not start:
            return line
        held = b""
        with TextBytes(self.path, end=start) as raw:
            while piece := raw.read(BLOCK_BYTES):
                # a CR at the end may be the first half of a CRLF; the text before this piece ends with LF
                block = held + piece
                whole = block.removesuffix(b"\r")
                held = block[len(whole) :]
                line += count_lines(whole)
        return line

    def _has_rows(self, rows: bytes) -> bool:
        return bool(rows) if self._breaks else _ROW_BEGIN.search(rows) is not None

    def _blocks(self, raw: TextBytes) -> Iterator[tuple[bytes, float, int]]:
        """Yield checked blocks of whole records, each with the fraction read and the number of its first line.

        Blocks of blank lines are skipped, unless blank lines are records.
        """
        line = 1
        for block in self._whole_records(raw):
            if raw.has_grown:
                # a file that grows while it is read might never end
                raise DataError(
                    f"the file {self.path.name!r} changed while it was read; wait until the file is complete"
                )
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
                    f"the file {self.path.name!r} has a {what} longer than {BLOCK_BYTES} bytes; check the "
                    f"{'quotes' if self._breaks else 'line ends'} of the file, or remove the column with long cells"
                )
            if cut:
                yield held[:cut]
                held = held[cut:]
        if held:
            yield held

    def _first_and_last_end(self, held: bytes) -> tuple[int, int]:
        """Return a lower bound on the length of the first record, and the end of the last whole record."""
        if self._breaks:
            ends = record_ends(held)
            return (int(ends[0]), int(ends[-1])) if len(ends) else (len(held), 0)
        end = _LINE_END.search(held)
        # a CR at the end may be the first half of a CRLF
        cut = max(held.rfind(b"\n"), held.rfind(b"\r", 0, len(held) - 1)) + 1
        return (end.start() if end else len(held)), cut

    def _piece(self, raw: TextBytes, decoder: codecs.IncrementalDecoder | None) -> bytes:
        """Return the next bytes, recoded as UTF-8, or empty bytes at the end of the file."""
        try:
            while data := raw.read(BLOCK_BYTES // 4 if decoder else BLOCK_BYTES):
                piece = decoder.decode(data).encode() if decoder else data
                if piece:
                    return piece
            return decoder.decode(b"", final=True).encode() if decoder else b""
        except UnicodeError:
            # a fixed message, because some codecs quote the bytes
            problem = DataError(
                f"the file {self.path.name!r} is not valid {self._encoding}",
                code="wrong-encoding",
                option="encoding",
                remedy=SetOption("encoding"),
            )
        raise problem

    def _check(self, block: bytes, line: int) -> None:
        if b"\0" in block:
            at = self._in_file(line + count_lines(block[: block.index(b"\0")]))
            raise DataError(
                f"line {at} of {self.path.name!r} contains a NUL byte",
                code="wrong-encoding",
                option="encoding",
                line=at,
                remedy=Message("if the file is UTF-16, ", SetOption("encoding", "utf-16")),
            )
        if not block.isascii() and (bad := _first_invalid(block)) is not None:
            at = self._in_file(line + count_lines(block[:bad]))
            raise DataError(
                f"line {at} of {self.path.name!r} is not valid UTF-8",
                code="wrong-encoding",
                option="encoding",
                line=at,
                remedy=SetOption("encoding"),
            )
        if b'"' not in block:
            return
        stray = first_stray_quote(block, self._delimiter, line_breaks=self._breaks)
        if stray is not None:
            raise self._wrong_quote(self._in_file(line + count_lines(block[:stray])))

    def _wrong_quote(self, line: int) -> DataError:
        if self._breaks:
            return DataError(
                f"line {line} of {self.path.name!r} has an unclosed quote, or a quote inside a cell, so that later "
                "records cannot be identified",
                code="stray-quote",
                line=line,
                remedy="quote the whole cell and double the quotes inside it, or write the table as Parquet",
            )
        return DataError(
            f"line {line} of {self.path.name!r} has an unclosed quote, or a quote inside a cell",
            code="stray-quote",
            option="quoted_line_breaks",
            line=line,
            remedy=(
                "quote the whole cell, double the quotes inside it, and keep each row on one line; if cells contain "
                "line breaks, write the table as Parquet",
                SetOption("quoted_line_breaks", True),
            ),
        )

    def _header(self, block: bytes, line: int) -> tuple[list[str], bytes, int]:
        """Return the column names, the rows after the header, and the line number of the first of these rows."""
        rows = block if self._breaks else block.lstrip(b"\r\n")
        line += count_lines(block[: len(block) - len(rows)])
        cut = self._header_length(rows)
        try:
            header = next(csv.reader([rows[:cut].decode()], delimiter=self._delimiter, strict=True))
        except csv.Error:
            problem = DataError(
                f"the header line of {self.path.name!r} has a cell that is too long to be a column name"
            )
        else:
            if header:
                return header, rows[cut:], line + count_lines(rows[:cut])
            problem = DataError(f"the first line of {self.path.name!r} must contain the column names, but is blank")
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
                f"the first line of {self.path.name!r} must contain the column names, but begins with '#'; remove "
                "comment lines"
            )
        if len(header) == 1 < len(names):
            raise DataError(
                f"the header of {self.path.name!r} has only one cell with the delimiter {self._delimiter!r}",
                code="wrong-delimiter",
                option="delimiter",
                remedy=SetOption("delimiter"),
            )
        check_file_names(self.path, names, header)
        return [header.index(name) for name in names]

    def _table(
        self, rows: bytes, line: int, columns: Mapping[str, Readable], positions: Sequence[int], width: int
    ) -> Table:
        """Parse the declared columns of a block."""
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
            raise DataError(f"the file {self.path.name!r} cannot be read as CSV near line {at}; write the file again")
        arrays = [
            self._cells.typed(name, columns[name], cells) for name, cells in zip(columns, text.columns, strict=True)
        ]
        return pa.table(arrays, names=list(columns))

    def _parsed(self, rows: bytes, positions: Sequence[int], types: Sequence[DataType], width: int) -> Table | None:
        # by position, because undeclared columns may have any names, even equal ones
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
            # discard the message, which may quote a cell; our own checks locate the problem
            return None

    def _check_records(self, rows: bytes, line: int, width: int) -> None:
        """Reject a file with a record of the wrong width, because a quote before this record may be missing."""
        wrong = np.flatnonzero(record_widths(rows, self._delimiter) != width)
        if len(wrong):
            at = record_lines(rows, line)[int(wrong[0])]
            raise DataError(
                f"the record that begins on line {at} of {self.path.name!r} is blank or has more or fewer cells than "
                "the header, which is not allowed if cells may contain line breaks"
            )

    def _check_widths(self, rows: bytes, line: int, width: int) -> None:
        sign = self._delimiter.encode()
        for number, row in enumerate(_QUOTED.sub(b"-", rows).splitlines(), line):
            if row and row.count(sign) + 1 != width:
                at = self._in_file(number)
                raise DataError(
                    f"line {at} of {self.path.name!r} has more or fewer cells than the header",
                    code="wrong-width",
                    option="delimiter",
                    line=at,
                    remedy=("fix the line", SetOption("delimiter")),
                )


def _padded(rows: bytes, delimiter: str) -> bool:
    """Return whether a cell may have surrounding blanks, which the fast parser would trim."""
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
