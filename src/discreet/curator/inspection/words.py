"""A check in words: the same sentences on a terminal, in a notebook and in a file."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from discreet.text import escape_control

if TYPE_CHECKING:
    from discreet.curator.inspection.result import CheckNotForPublication, ColumnCheck
    from discreet.curator.inspection.tally import Finding
    from discreet.tables.source import Place

WARNING: Final = "NOT FOR PUBLICATION: exact counts of a private table, for the curator's own eyes"
HEADERS: Final = ("column", "rule", "missing", "not a number", "no level", "clipped low", "clipped high")
ADVICE: Final = (
    "Fix spelling, units, separators and types. A bound that is changed because of what this table holds leaks it "
    "without paying."
)
FEW: Final = "More than half of the rows would not count in a release as declared: find out why before you spend."
NONE: Final = "The table has no rows: a release of it costs as much as any other and publishes noise alone."
_WIDTH: Final = 88
_NUMBERED: Final = {
    "line": "Lines are counted from 1, as an editor shows them, with the header.",
    "row": "Rows are counted from 0, the first row of the table or file.",
}
SEARCHED: Final = (
    "Private bounds: {names}. Below and above are counted for the range in which a release looks for them; what it "
    "finds, and clips, is not known before."
)
_NUMBER: Final = {
    "line": "not a finite number; unless decimal or thousands say otherwise, one is written like -12.5 or 1e3",
    "row": "not a finite number (text is none, whatever it spells)",
}
_NO_DATE: Final = "not a date, or text that is not written like 2019-01-31"
_MISREAD: Final = {
    "boolean": "neither true, false, 1 nor 0 (two other words are levels)",
    "levels": "none of the declared levels",
}


def above(check: CheckNotForPublication) -> list[tuple[str, str]]:
    """What stands above the table: a label and what it says."""
    fit = f"{check.rows_fit:,} of {check.rows_read:,} would count in a release as declared"
    lines = [("Rows read", f"{check.rows_read:,}"), ("Rows that fit", fit)]
    people = check.persons
    if people is not None:
        over = f"{people.over_cap:,} of them with more than {people.max_rows:,} rows that fit"
        lines.append(("Persons", f"{people.persons:,}; {over}; rows left out for that: {people.rows_beyond:,}"))
    return lines


def cells(check: CheckNotForPublication) -> list[list[str]]:
    """The table: one row for each column of the design; blank where a count has no meaning."""
    return [_row(column) for column in check.columns]


def below(check: CheckNotForPublication) -> list[str]:
    """What stands below the table: where, why a release would stop, and what to do."""
    notes = [note for column in check.columns for note in _notes(column, check.numbered)]
    if notes:
        notes.append(_NUMBERED[check.numbered])
    searched = [column.name for column in check.columns if column.searched]
    if searched:
        notes.append(SEARCHED.format(names=", ".join(searched)))
    if 2 * check.rows_fit < check.rows_read:
        notes.append(FEW)
    if check.rows_read == 0 and not check.stops:
        notes.append(NONE)
    for column in check.columns:
        if column.rule == "fill" and 2 * column.misfits > check.rows_read:
            notes.append(f"{column.name}: more than half of its cells would be replaced by the fill value.")
    notes += [f"Release would stop, before anything is spent: {reason}." for reason in check.stops]
    found = any(finding.count for column in check.columns for finding in column.findings.values())
    return [*notes, ADVICE] if found or check.stops else notes


def text(check: CheckNotForPublication) -> str:
    """All of it as plain text."""
    rows = [HEADERS, *cells(check)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    head = [f"{label:<15}{words}" for label, words in above(check)]
    notes = [textwrap.fill(note, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) for note in below(check)]
    return escape_control("\n".join([WARNING, *head, "", *table, "", *notes]), keep="\n").rstrip("\n")


def _row(column: ColumnCheck) -> list[str]:
    number = column.kind in ("number", "date")
    clips = number or column.kind == "formula"
    missing = column.no_value if column.kind == "formula" else column.missing
    return [
        escape_control(column.name),
        column.rule or "formula",
        _count(missing),
        _count(column.not_a_number) if number else "",
        _count(column.no_declared_level) if column.kind in _MISREAD else "",
        _count(column.clipped_low) if clips else "",
        _count(column.clipped_high) if clips else "",
    ]


def _count(finding: Finding) -> str:
    return f"{finding.count:,}"


def _notes(column: ColumnCheck, numbered: str) -> list[str]:
    what = {
        "missing": "no valid id" if column.kind == "id" else "missing",
        "not_a_number": _NO_DATE if column.kind == "date" else _NUMBER[numbered],
        "no_declared_level": _MISREAD.get(column.kind, ""),
        "clipped_low": "below its bounds, clipped",
        "clipped_high": "above its bounds, clipped",
        "no_value": "no value, as a cell that the formula uses is missing or not as declared",
    }
    found = {name: finding for name, finding in column.findings.items() if finding.count}
    return [f"{column.name}: {what[name]}: {_where(finding)}" for name, finding in found.items()]


def _where(finding: Finding) -> str:
    """How many, and where the first of them are.

    >>> from discreet.curator.inspection.tally import Finding
    >>> from discreet.tables.source import Place
    >>> _where(Finding(7, (Place(2, "line"), Place(5, "line"))))
    '7, first in lines 2, 5'
    """
    places = ", ".join(_place(place) for place in finding.first)
    only = finding.count == len(finding.first)
    kind = finding.first[0].kind + ("" if len(finding.first) == 1 else "s")
    return f"{finding.count:,}, {'in' if only else 'first in'} {kind} {places}"


def _place(place: Place) -> str:
    return f"{place.number}" if place.file is None else f"{place.number} of {place.file!r}"
