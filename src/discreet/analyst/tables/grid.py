"""A table as cells of plain text, before it is written in some format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

Row: TypeAlias = tuple[str, ...]

EMPTY: Final = "–"  # a cell for which there is nothing to say; the notes say why


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of a table; the first column has names, the others have values.

    Attributes
    ----------
    title
        What the table is about.
    heads
        Rows above the first rule.
    body
        Rows of coefficients.
    statistics
        Rows below the second rule.
    notes
        Sentences below the table.
    """

    title: str
    heads: tuple[Row, ...]
    body: tuple[Row, ...]
    statistics: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows from top to bottom."""
        return (*self.heads, *self.body, *self.statistics)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.heads[0])
