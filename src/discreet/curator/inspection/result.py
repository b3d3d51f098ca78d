"""What a check found: exact, hence NOT FOR PUBLICATION, and nothing that a release could be taken for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from discreet.curator.inspection.tally import Finding
from discreet.errors import OutputError
from discreet.files import write_bytes
from discreet.text import escape_control, html_table

MARK: Final = "NOT FOR PUBLICATION"
FORMAT: Final = f"discreet check, {MARK}"
SUFFIXES: Final = (".NOT-FOR-PUBLICATION.json", ".NOT-FOR-PUBLICATION.txt")
_NONE: Final = Finding()
Kind = Literal["number", "date", "boolean", "levels", "formula", "id"]
_FINDINGS: Final = ("missing", "not_a_number", "no_declared_level", "clipped_low", "clipped_high", "no_value")


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """What was found in one column, each row of the table by itself.

    Attributes
    ----------
    name, kind
        Its name, and whether it is a number, a boolean, levels, a formula, or the id of the unit.
    rule
        What a release does with a cell that is missing or not as declared: `error`, `drop` or `fill`; none for a
        formula, which follows the rules of the columns it uses.
    missing
        Cells that are empty, null or NaN; in the id column, cells that name nobody.
    not_a_number, no_declared_level
        Cells that are written and are not what is declared; a boolean has the levels true, false, 1 and 0.
    clipped_low, clipped_high
        Numbers below and above the bounds, which are clipped; whether or not the row counts. Of bounds that are
        private, those outside the range in which they are looked for.
    no_value
        Rows in which a formula has no value, because a cell that it uses is not there.
    problem
        Why no cell of the column can be read: its type is not that of its declaration.
    searched
        Whether its bounds are private, so that a release has yet to find them.
    """

    name: str
    kind: Kind
    rule: str | None
    missing: Finding = _NONE
    not_a_number: Finding = _NONE
    no_declared_level: Finding = _NONE
    clipped_low: Finding = _NONE
    clipped_high: Finding = _NONE
    no_value: Finding = _NONE
    problem: str | None = None
    searched: bool = False

    @property
    def findings(self) -> dict[str, Finding]:
        """All of them by name, also those that found nothing."""
        return {name: getattr(self, name) for name in _FINDINGS}

    @property
    def misfits(self) -> int:
        """Cells that are missing or not what is declared."""
        return self.missing.count + self.not_a_number.count + self.no_declared_level.count

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        found = {name: finding.to_dict() for name, finding in self.findings.items()}
        return {"name": self.name, "kind": self.kind, "rule": self.rule, "problem": self.problem, **found} | (
            {"searched": True} if self.searched else {}
        )


@dataclass(frozen=True, slots=True)
class PersonCheck:
    """Persons against the cap of their rows.

    Attributes
    ----------
    persons, max_rows
        Number of persons, and how many rows of each count.
    over_cap, rows_beyond
        Persons with more rows that fit than that, and how many of their rows are left out.
    """

    persons: int
    max_rows: int
    over_cap: int
    rows_beyond: int

    def to_dict(self) -> dict[str, int]:
        """Plain values for JSON."""
        return {
            "persons": self.persons,
            "max_rows": self.max_rows,
            "over_cap": self.over_cap,
            "rows_beyond": self.rows_beyond,
        }


@dataclass(frozen=True, slots=True, repr=False)
class CheckNotForPublication:
    """Exact counts of a private table against its design: for the curator's own eyes, NOT FOR PUBLICATION.

    It is no release, keeps no promise and cannot be saved under the name of one.

    Attributes
    ----------
    rows_read, rows_fit
        Rows of the table, and those that would count in a release as declared: not left out by a rule for missing
        cells, and within the cap of their person.
    columns
        What was found in each column, in declared order; the id of the unit last.
    persons
        Persons against their cap; none where every row is a unit, or ids cannot be read.
    stops
        Why `release` would stop before anything is spent; empty where it would not.
    numbered
        What the places are: `line`, as an editor counts them from 1, or `row`, a position counted from 0.
    """

    rows_read: int
    rows_fit: int
    columns: tuple[ColumnCheck, ...]
    persons: PersonCheck | None
    stops: tuple[str, ...]
    numbered: Literal["line", "row"]

    def column(self, name: str) -> ColumnCheck:
        """What was found in the column of this name."""
        return next(column for column in self.columns if column.name == name)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, marked as what they are."""
        return {
            "format": FORMAT,
            "private": False,
            "publish": False,
            "rows_read": self.rows_read,
            "rows_fit": self.rows_fit,
            "numbered": self.numbered,
            "columns": [column.to_dict() for column in self.columns],
            "persons": None if self.persons is None else self.persons.to_dict(),
            "release_would_stop": list(self.stops),
        }

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it as JSON or text; the name must say NOT-FOR-PUBLICATION."""
        check_name(path)
        text = json.dumps(self.to_dict(), indent=1) if str(path).endswith(SUFFIXES[0]) else repr(self)
        write_bytes(path, (escape_control(text, keep="\n") + "\n").encode(), force=force)

    def __repr__(self) -> str:
        from discreet.curator.inspection.words import text

        return text(self)

    def _repr_html_(self) -> str:
        from discreet.curator.inspection.words import HEADERS, WARNING, above, below, cells

        return html_table(WARNING, HEADERS, cells(self), [*map(": ".join, above(self)), *below(self)])


def check_name(path: str | Path) -> None:
    """Refuse a file name that does not say what is in the file.

    >>> check_name("people.json")
    Traceback (most recent call last):
    ...
    discreet.errors.OutputError: a check is NOT FOR PUBLICATION; its file name must end in \
'.NOT-FOR-PUBLICATION.json' or '.NOT-FOR-PUBLICATION.txt', got 'people.json'
    """
    if not str(path).endswith(SUFFIXES):
        ends = " or ".join(map(repr, SUFFIXES))
        raise OutputError(f"a check is {MARK}; its file name must end in {ends}, got {str(path)!r}")
