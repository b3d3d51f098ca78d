"""Cells of text to the type of their declared column: each by itself, by patterns that no other cell can change."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from discreet.design.columns import Boolean, Categorical, Identifier, Numeric, Readable, bad_cell, remedy
from discreet.errors import DataError
from discreet.tables.cells import MARK_NUMBER

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType

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
