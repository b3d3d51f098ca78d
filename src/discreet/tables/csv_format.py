"""Describe how a text file is written: encoding, separators, number format, compression."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final

import pyarrow as pa

from discreet.errors import DataError, SpecError, shown
from discreet.privacy.checks import check_flag

# -- charsets ----------------------------------------------------------------------------------------------------------
# The text encodings in which a CSV file may be written: those that read every character by itself.
#
# An encoding with a state, or with escapes, lets one row change how the rows behind it are read, or lets one line
# become several. Then adding one row could move the sums by more than one row. So only encodings without either are
# accepted.

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
    """Python's own name of an accepted encoding, which may be given by any of its other names.

    >>> charset_named("Windows-1252"), charset_named("latin-1")
    ('cp1252', 'iso8859-1')
    """
    try:
        found = codecs.lookup(name).name if isinstance(name, str) else None
    except (LookupError, ValueError):
        # ValueError: names with NUL
        found = None
    # looking all of them up loads a module for each
    if found not in CHARSETS and found not in _names_in_python():
        raise SpecError(f"encoding {shown(name)} is not accepted; choose one of {', '.join(CHARSETS)}")
    return str(found)


@cache
def _names_in_python() -> frozenset[str]:
    return frozenset(codecs.lookup(name).name for name in CHARSETS)


def wrong_mark(head: bytes, charset: str) -> str | None:
    """What is wrong with the first bytes of a file for an encoding, as the end of a sentence; none if nothing is.

    >>> wrong_mark(b"a,b", "utf-8"), wrong_mark(b"a,b", "utf-16")
    (None, 'has no byte order mark at its beginning, which utf-16 needs; write it with one, or as utf-8')
    """
    if head.startswith(_UTF32_MARKS):
        return "is UTF-32 text, which is not accepted; write it as utf-8"
    marked = head.startswith(_UTF16_MARKS)
    if charset == "utf-16" and not marked:
        return "has no byte order mark at its beginning, which utf-16 needs; write it with one, or as utf-8"
    if charset in ("utf-8", "utf-8-sig") and marked:
        return "is UTF-16 text; pass --encoding utf-16"
    return None


# -- reading -----------------------------------------------------------------------------------------------------------
# How a text file is written: encoding, separators, how numbers are written, and whether a quoted cell may span lines.
#
# Every option is public and holds for the whole file. None is learned from a cell: what `discreet init` proposes rests
# on the header line alone.

PACKED: Final = (".gz", ".zst")
TAB_SEPARATED: Final = (".tsv", ".tab")
_DECIMALS: Final = (".", ",")
# the last two are no-break spaces, as French and SI style write them
_THOUSANDS: Final = (",", ".", "'", "’", "_", " ", "\u00a0", "\u202f")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a CSV file is written.

    Attributes
    ----------
    encoding
        One of `discreet.tables.csv_format.CHARSETS`, by any name that Python has for it.
    delimiter
        The one character between two cells; none stands for a tab in a `.tsv` file and a comma in any other.
    decimal
        The character before the fraction of a number: a point or a comma.
    thousands
        The character between groups of three digits before the fraction; none where numbers have no groups.
    quoted_line_breaks
        Whether a quoted cell may hold line breaks. Then the file is read by RFC 4180 to the letter, and every record
        must have as many cells as the header.

    Examples
    --------
    >>> ReadOptions(delimiter=";", decimal=",").given()
    {'delimiter': ';', 'decimal': ','}
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    quoted_line_breaks: bool = False

    def __post_init__(self) -> None:
        charset_named(self.encoding)
        if self.delimiter is not None:
            _check_delimiter(self.delimiter)
        if not isinstance(self.decimal, str) or self.decimal not in _DECIMALS:
            raise SpecError(f"decimal {shown(self.decimal)} is not allowed; choose '.' or ','")
        if self.thousands is not None and (not isinstance(self.thousands, str) or self.thousands not in _THOUSANDS):
            allowed = ", ".join(map(repr, _THOUSANDS))
            raise SpecError(
                f"thousands {shown(self.thousands)} is not allowed; choose one of {allowed}, or leave it out"
            )
        if self.thousands == self.decimal:
            raise SpecError(
                f"thousands and decimal are both {shown(self.decimal)}; a number could be read in two ways. Give two "
                "different characters"
            )
        check_flag("quoted_line_breaks", self.quoted_line_breaks)

    @property
    def local_numbers(self) -> bool:
        """Whether numbers are written in another way than `-1234.5`."""
        return self.decimal != "." or self.thousands is not None

    def given(self) -> dict[str, object]:
        """The options that are not the default, by name."""
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != getattr(DEFAULT_READING, one.name)
        }

    def for_file(self, path: Path) -> ReadOptions:
        r"""The same with a delimiter, by the name of the file where none was given.

        >>> ReadOptions().for_file(Path("a.tsv.gz")).delimiter, ReadOptions().for_file(Path("a.csv")).delimiter
        ('\t', ',')
        """
        if self.delimiter is not None:
            return self
        return replace(self, delimiter="\t" if text_suffix(path) in TAB_SEPARATED else ",")

    def read_as(self) -> dict[str, object]:
        """What a ledger keeps of it: the same bytes that are read otherwise are another question.

        Options that are not used are left out, so that requests of earlier versions stay the same.

        >>> ReadOptions("UTF8", thousands="'").read_as()
        {'encoding': 'utf-8', 'delimiter': ',', 'thousands': "'"}
        """
        more = {name: value for name, value in self.given().items() if name not in ("encoding", "delimiter")}
        return {"encoding": charset_named(self.encoding), "delimiter": self.delimiter or ",", **more}


DEFAULT_READING: Final = ReadOptions()


def text_suffix(path: Path) -> str:
    """The ending of a file name without that of its compression, in small letters.

    >>> text_suffix(Path("a.CSV.gz")), text_suffix(Path("a.gz"))
    ('.csv', '')
    """
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def _check_delimiter(sign: object) -> None:
    if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii():
        raise SpecError(f"delimiter {shown(sign)} is not allowed; choose one ASCII character such as ',', ';' or a tab")
    if sign != "\t" and (sign.isalnum() or not sign.isprintable() or sign in "\"'+-."):
        raise SpecError(f"delimiter {shown(sign)} can occur inside cells; choose one such as ',', ';' or a tab")


# -- packed ------------------------------------------------------------------------------------------------------------
# The bytes of a text file, unpacked where its name says that they are compressed.
#
# Whatever goes wrong becomes one plain sentence about the file: a stream that is damaged or breaks off is refused as a
# whole, since what stands before the damage is not the table.

# how a file of each ending begins, and Arrow's name of its codec
CODECS: Final = {".gz": (b"\x1f\x8b", "gzip"), ".zst": (b"\x28\xb5\x2f\xfd", "zstd")}


class TextBytes:
    """One file, read from its beginning, or the stored bytes of it from `start` on and before `end`.

    `buffering` is as for `open`, where 0 takes up no byte that was not asked for.
    """

    def __init__(self, path: Path, *, buffering: int = -1, start: int = 0, end: int | None = None) -> None:
        self._path = path
        self._start, self._end = start, end
        codec = CODECS.get(path.suffix.lower())
        self._packed = codec is not None
        try:
            # closed with this object
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
        """Share of the stored bytes that were taken up, 0 to 1."""
        length = (self.size if self._end is None else self._end) - self._start
        return min(1.0, (self._raw.tell() - self._start) / length) if length > 0 else 1.0

    @property
    def has_grown(self) -> bool:
        """Whether more was read than the file held at first."""
        return self._raw.tell() > self.size

    def read(self, size: int) -> bytes:
        """At most so many bytes of the text; none at its end."""
        if self._end is not None:
            size = min(size, max(self._end - self._raw.tell(), 0))
        try:
            return bytes(self._stream.read(size))
        except OSError as error:
            # Arrow has no words of the system for a stream that cannot be unpacked
            how = error.strerror if error.strerror or not self._packed else None
            problem = DataError(
                f"the file {self._path.name!r} cannot be unpacked: it is damaged or breaks off; write or copy it again"
                if how is None
                else f"the file {self._path.name!r} cannot be read to its end: {how}"
            )
        raise problem
