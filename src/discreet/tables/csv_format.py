"""Format of text files: encoding, separators, number format and compression."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final

from discreet.errors import DataError, SpecError, shown
from discreet.options import offered
from discreet.privacy.checks import check_flag
from discreet.wording import Message, SetOption

# -- charsets ----------------------------------------------------------------------------------------------------------
# Only encodings that decode every character independently are accepted. In an encoding with state or escapes, one row
# could change how later rows are read, or one line could become several. One person could then change the sums by more
# than one row.

CHARSETS: Final = (
    "ascii", "utf-8", "utf-8-sig", "utf-16", "latin-1",
    *(f"iso8859-{part}" for part in range(2, 17) if part != 12),  # there is no part 12
    *(f"cp125{last}" for last in range(9)),
    "cp437", "cp850", "cp852", "cp866", "koi8-r", "koi8-u",
    "mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-turkish",
)  # fmt: skip
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS: Final = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def charset_named(name: object) -> str:
    """Return Python's name of an accepted encoding, given any of its names.

    >>> charset_named("Windows-1252"), charset_named("latin-1")
    ('cp1252', 'iso8859-1')
    """
    try:
        python_name = codecs.lookup(name).name if isinstance(name, str) else None
    except (LookupError, ValueError):
        # ValueError is raised for names with a NUL character
        python_name = None
    # tested second, because looking up all names imports a module for each
    if python_name not in CHARSETS and python_name not in _names_in_python():
        raise SpecError(f"encoding: expected one of {', '.join(CHARSETS)}, got {shown(name)}")
    return str(python_name)


@cache
def _names_in_python() -> frozenset[str]:
    return frozenset(codecs.lookup(name).name for name in CHARSETS)


def wrong_mark(head: bytes, charset: str) -> str | None:
    """Return the end of a message that says how the first bytes contradict an encoding, or None if they do not."""
    if head.startswith(_UTF32_MARKS):
        return "is UTF-32 text, which is not supported; write the file as utf-8"
    marked = head.startswith(_UTF16_MARKS)
    if charset == "utf-16" and not marked:
        return "must begin with a byte order mark to be read as utf-16; write the file with one, or as utf-8"
    if charset in ("utf-8", "utf-8-sig") and marked:
        return Message("is UTF-16 text; ", SetOption("encoding", "utf-16"))
    return None


# -- reading -----------------------------------------------------------------------------------------------------------
# Options are public and apply to the whole file. They are never inferred from cells, and proposals use only the header
# line.

PACKED: Final = (".gz", ".zst")
TAB_SEPARATED: Final = (".tsv", ".tab")
_DECIMALS: Final = (".", ",")
# the last two are no-break spaces, used in French and SI style
_THOUSANDS: Final = (",", ".", "'", "’", "_", " ", "\u00a0", "\u202f")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The format of a CSV file.

    Parameters
    ----------
    encoding
        One of ascii, utf-8, utf-8-sig, utf-16 with a byte order mark, or a one-byte encoding of Python. The default is
        utf-8, but `discreet.blank_design` proposes an encoding from the header line.
    delimiter
        Character between two cells. The default is a tab for a `.tsv` file and a comma for any other, but
        `discreet.blank_design` proposes a delimiter from the header line.
    decimal
        Decimal mark of numbers: a point or a comma.
    thousands
        Character between groups of three digits. If omitted, digits are not grouped.
    quoted_line_breaks
        Whether quoted cells may contain line breaks. If true, the file is read strictly by RFC 4180, every record must
        have as many cells as the header, and the guarantee is conditional on every cell being quoted correctly.

    Examples
    --------
    >>> ReadOptions(delimiter=";", decimal=",").given()
    {'delimiter': ';', 'decimal': ','}
    """

    encoding: str | None = field(
        default=None, metadata=offered("--encoding", "Encoding", "Text encoding of a CSV file.", "NAME", "text")
    )
    delimiter: str | None = field(
        default=None,
        metadata=offered(
            "--delimiter", "Delimiter", "Character that separates the cells of a CSV file.", "CHAR", "text"
        ),
    )
    decimal: str = field(
        default=".",
        metadata=offered("--decimal", "Decimal mark", "Decimal character in a CSV file: . or ,", "CHAR", "text"),
    )
    thousands: str | None = field(
        default=None,
        metadata=offered(
            "--thousands",
            "Thousands mark",
            "Character between groups of three digits in a CSV file.  [default: none]",
            "CHAR",
            "text",
        ),
    )
    quoted_line_breaks: bool = field(
        default=False,
        metadata=offered(
            "--quoted-line-breaks",
            "Line breaks in quotes",
            "Allow line breaks in quoted cells of a CSV file, and read the file strictly by RFC 4180.",
        ),
    )

    def __post_init__(self) -> None:
        if self.encoding is not None:
            charset_named(self.encoding)
        if self.delimiter is not None:
            _check_delimiter(self.delimiter)
        if not isinstance(self.decimal, str) or self.decimal not in _DECIMALS:
            raise SpecError(f"decimal: expected '.' or ',', got {shown(self.decimal)}")
        if self.thousands is not None and (not isinstance(self.thousands, str) or self.thousands not in _THOUSANDS):
            allowed = ", ".join(map(repr, _THOUSANDS))
            raise SpecError(f"thousands: expected one of {allowed}, or no character, got {shown(self.thousands)}")
        if self.thousands == self.decimal:
            raise SpecError(f"thousands and decimal must be different characters, got {shown(self.decimal)} for both")
        check_flag("quoted_line_breaks", self.quoted_line_breaks)

    @property
    def charset(self) -> str:
        """Python's name of the encoding."""
        return "utf-8" if self.encoding is None else charset_named(self.encoding)

    @property
    def local_numbers(self) -> bool:
        """Whether numbers are formatted differently from `-1234.5`."""
        return self.decimal != "." or self.thousands is not None

    def given(self) -> dict[str, object]:
        """Return the options that differ from the default, by name."""
        default = ReadOptions()
        return {
            option.name: getattr(self, option.name)
            for option in fields(self)
            if getattr(self, option.name) != getattr(default, option.name)
            and not (option.name == "encoding" and self.charset == "utf-8")
        }

    def for_file(self, path: Path) -> ReadOptions:
        r"""Fill in the delimiter from the file name, if it is omitted.

        >>> ReadOptions().for_file(Path("a.tsv.gz")).delimiter, ReadOptions().for_file(Path("a.csv")).delimiter
        ('\t', ',')
        """
        if self.delimiter is not None:
            return self
        return replace(self, delimiter="\t" if text_suffix(path) in TAB_SEPARATED else ",")

    def read_as(self) -> dict[str, object]:
        """Return the options as recorded in a ledger, without most defaults.

        Reading the same bytes with other options is a different query.

        >>> ReadOptions("UTF8", thousands="'").read_as()
        {'encoding': 'utf-8', 'delimiter': ',', 'thousands': "'"}
        """
        more = {name: value for name, value in self.given().items() if name not in ("encoding", "delimiter")}
        return {"encoding": self.charset, "delimiter": self.delimiter or ",", **more}


DEFAULT_READING: Final = ReadOptions()


def checked_reading(reading: object) -> ReadOptions:
    """Return the reading options, or those for comma-separated UTF-8 if `reading` is None."""
    if reading is None:
        return DEFAULT_READING
    if not isinstance(reading, ReadOptions):
        raise SpecError(f"reading: expected discreet.ReadOptions(...), got {shown(reading)}")
    return reading


def text_suffix(path: Path) -> str:
    """Return the extension of a file name in lower case, ignoring an extension that marks compression.

    >>> text_suffix(Path("a.CSV.gz")), text_suffix(Path("a.gz"))
    ('.csv', '')
    """
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def _check_delimiter(sign: object) -> None:
    if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii():
        raise SpecError(f"delimiter: expected one ASCII character such as ',', ';' or a tab, got {shown(sign)}")
    if sign != "\t" and (sign.isalnum() or not sign.isprintable() or sign in "\"'+-."):
        raise SpecError(
            f"delimiter: expected a character such as ',', ';' or a tab, got {shown(sign)}, which may occur in cells"
        )


# -- packed ------------------------------------------------------------------------------------------------------------
# Files with a compressed extension are decompressed. Errors are replaced by one fixed sentence. A damaged or truncated
# stream is rejected as a whole, because the part before the damage is not the whole table.

# first bytes of each file type, and the name of its codec in Arrow
CODECS: Final = {".gz": (b"\x1f\x8b", "gzip"), ".zst": (b"\x28\xb5\x2f\xfd", "zstd")}


class TextBytes:
    """The text of a file, or its stored bytes from `start` to `end`.

    `buffering` is passed to `open`. With 0, no byte is read before it is requested.
    """

    def __init__(self, path: Path, *, buffering: int = -1, start: int = 0, end: int | None = None) -> None:
        # imported here, so that the options of a command load without it
        import pyarrow as pa

        self._path = path
        self._start, self._end = start, end
        codec = CODECS.get(path.suffix.lower())
        self._packed = codec is not None
        try:
            # closed by __exit__
            self._raw = path.open("rb", buffering=buffering)
            self.size = self._raw.seek(0, 2)
            self._raw.seek(start)
        except OSError as error:
            problem = DataError(f"the file {path.name!r} cannot be opened: {error.strerror}")
        else:
            self._stream = (
                self._raw if codec is None else pa.CompressedInputStream(pa.PythonFile(self._raw, mode="r"), codec[1])
            )
            return
        raise problem

    def __enter__(self) -> TextBytes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raw.close()

    @property
    def share(self) -> float:
        """Fraction of the stored bytes that have been read."""
        length = (self.size if self._end is None else self._end) - self._start
        return min(1.0, (self._raw.tell() - self._start) / length) if length > 0 else 1.0

    @property
    def has_grown(self) -> bool:
        """Whether more bytes were read than the file had when it was opened."""
        return self._raw.tell() > self.size

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes of the text. Return empty bytes at the end."""
        if self._end is not None:
            size = min(size, max(self._end - self._raw.tell(), 0))
        try:
            return bytes(self._stream.read(size))
        except OSError as error:
            # Arrow sets no strerror for a stream that cannot be decompressed
            how = error.strerror if error.strerror or not self._packed else None
            problem = DataError(
                f"the file {self._path.name!r} cannot be decompressed, because it is damaged or truncated; write or "
                "copy the file again"
                if how is None
                else f"the file {self._path.name!r} cannot be read to its end: {how}"
            )
        raise problem
