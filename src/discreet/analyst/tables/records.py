"""A small table of records: one mapping for each row, which other libraries take as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from discreet.analyst.tables.cells import figure
from discreet.analyst.tables.csv import csv_text
from discreet.analyst.tables.grid import EMPTY, Grid
from discreet.analyst.tables.html import html_grid
from discreet.analyst.tables.text import text_table
from discreet.errors import SpecError

if TYPE_CHECKING:
    from pyarrow import Table

Cell: TypeAlias = str | float | bool | None


@dataclass(frozen=True, eq=False, repr=False)
class Records(Sequence[Mapping[str, Cell]]):
    """Rows with the same columns; `pandas.DataFrame(records)` and `polars.DataFrame(records)` take them as they are.

    Where the release cannot give a number there is none, and the column `reason` says why.

    Attributes
    ----------
    title
        What they are about.
    rows
        One mapping of column to value for each.
    notes
        Under which promise they were made.

    Examples
    --------
    >>> made = Records("of y", ({"term": "age", "estimate": 1.5}, {"term": "x", "estimate": None}), ())
    >>> made[0]["estimate"], made.column("term"), made.columns
    (1.5, ['age', 'x'], ('term', 'estimate'))
    >>> made
    of y
    --------------
    term  estimate
    --------------
    age      1.500
    x            –
    --------------
    """

    title: str
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.rows[0])

    def column(self, name: str) -> list[Cell]:
        """Give the values of one column.

        Parameters
        ----------
        name
            One of `columns`.
        """
        if name not in self.columns:
            raise SpecError.unknown_name("column", name, self.columns)
        return [row[name] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Cell]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Cell]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Cell] | Sequence[Mapping[str, Cell]]:
        return self.rows[index]

    def to_frame(self) -> Table:
        """Give them as an Arrow table."""
        import pyarrow as pa

        kinds = {"text": pa.string(), "flag": pa.bool_(), "number": pa.float64()}
        return pa.table({name: pa.array(self.column(name), type=kinds[_kind(name)]) for name in self.columns})

    def to_pandas(self) -> Any:  # noqa: ANN401  # a class of a library that may be missing
        """Give them as a data frame of pandas, with the notes in its `attrs`; pandas must be installed."""
        try:
            import pandas  # noqa: F401  # Arrow needs it and says so less clearly
        except ImportError:
            raise SpecError(
                "to_pandas needs 'pandas', which is not installed; install it with: pip install pandas; or use "
                "to_frame() for an Arrow table"
            ) from None
        frame = self.to_frame().to_pandas()
        frame.attrs["notes"] = list(self.notes)
        return frame

    def to_csv(self) -> str:
        """Write a line for each row, numbers with all their digits; an empty cell where there is none."""
        lines = [[_exact(row[name]) for name in self.columns] for row in self.rows]
        return csv_text([self.columns, *lines])

    def _grid(self) -> Grid:
        # reasons are sentences: below the table, each once
        names = [name for name in self.columns if name != "reason"]
        body = tuple(tuple(_short(row[name]) for name in names) for row in self.rows)
        reasons = [str(row["reason"]) for row in self.rows if row.get("reason")]
        return Grid(self.title, (tuple(names),), body, (), (*dict.fromkeys(reasons), *self.notes))

    def __repr__(self) -> str:
        return text_table(self._grid())

    def _repr_html_(self) -> str:
        return html_grid(self._grid())


def _kind(name: str) -> str:
    if name in ("term", "conf.set", "reason", "mechanism", "neighbours"):
        return "text"
    return "flag" if name == "private" else "number"


def _exact(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def _short(value: Cell) -> str:
    if value is None:
        return EMPTY
    if isinstance(value, bool):
        return ("no", "yes")[value]
    if isinstance(value, str):
        return value
    return figure(value, 4) if math.isfinite(value) else ("∞" if value > 0 else "-∞")
