"""How a text file is written: encoding, separators, how numbers are written, and whether a quoted cell may span lines.

Every option is public and holds for the whole file. None is learned from a cell: what `discreet init` proposes rests on
the header line alone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from discreet.errors import SpecError, shown
from discreet.privacy.checks import check_flag
from discreet.tables.files.charsets import charset_named

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
        One of `discreet.tables.files.charsets.CHARSETS`, by any name that Python has for it.
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
