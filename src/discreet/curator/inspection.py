"""Count how many rows of a table fit its design, for the curator only: NOT FOR PUBLICATION."""

from __future__ import annotations

import json
import textwrap
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from discreet.curator.buffered_rows import remove_abandoned
from discreet.curator.individuals import IndividualCap, known_ids
from discreet.design.columns import Base, Boolean, Column, Fill, Identifier, Numeric, bad_cell
from discreet.design.declarations import needed, unclipped
from discreet.design.design import Design
from discreet.errors import ColumnNotice, DataError, OutputError, SpecError
from discreet.exact.arrays import FloatArray
from discreet.files import write_bytes
from discreet.tables.arrow import declared_array, missing_cells
from discreet.tables.csv_format import ReadOptions, checked_reading
from discreet.tables.frames import position_notice
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions, Place, Source, checked_options
from discreet.text import escape_control, html_table

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

# -- tally -------------------------------------------------------------------------------------------------------------
FIRST: Final = 5  # positions kept for each count


@dataclass(frozen=True, slots=True)
class Finding:
    """Number of rows with a problem, and the positions of the first of them."""

    count: int = 0
    first: tuple[Place, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return a dictionary of JSON values. If there are several files, a position includes the name of its file."""
        places: list[object] = [
            place.number if place.file is None else {"file": place.file, "number": place.number} for place in self.first
        ]
        return {"count": self.count, "first": places}


class Tally:
    """Running count of rows with a problem."""

    def __init__(self) -> None:
        self._count = 0
        self._first: list[Place] = []

    def add(self, marks: npt.NDArray[np.bool_], place: Callable[[int], Place]) -> None:
        """Count the marked rows of a batch. `place` returns the position of a row."""
        count = int(np.count_nonzero(marks))
        if count and len(self._first) < FIRST:
            rows = np.flatnonzero(marks)[: FIRST - len(self._first)]
            self._first += [place(int(row)) for row in rows]
        self._count += count

    @property
    def finding(self) -> Finding:
        """Count and positions found so far."""
        return Finding(self._count, tuple(self._first))


# -- result ------------------------------------------------------------------------------------------------------------
# The result of a check is exact, hence NOT FOR PUBLICATION, and must not be mistaken for a release.
MARK: Final = "NOT FOR PUBLICATION"
FORMAT: Final = f"discreet check, {MARK}"
SUFFIXES: Final = (".NOT-FOR-PUBLICATION.json", ".NOT-FOR-PUBLICATION.txt")
_NONE: Final = Finding()
Kind = Literal["number", "date", "boolean", "levels", "formula", "id"]
_FINDINGS: Final = ("missing", "not_a_number", "no_declared_level", "clipped_low", "clipped_high", "no_value")


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """Counts of problems in one column, over all rows of the table.

    Attributes
    ----------
    name
        Name of the column.
    kind
        Kind of the column: a number, a date, a boolean, levels, a formula or the id of the unit.
    rule
        How a release treats a cell that is missing or not as declared: `error`, `drop` or `fill`. None for a formula,
        because the rules of the columns in the formula apply.
    missing
        Cells that are empty, null or NaN or, in the id column, that hold no id.
    not_a_number, no_declared_level
        Cells that are present but not as declared. The levels of a boolean are true, false, 1 and 0.
    clipped_low, clipped_high
        Numbers below and above the bounds, in included and dropped rows. For private bounds, these are the numbers
        outside the public range.
    no_value
        Rows in which a formula has no value because one of its cells is missing.
    problem
        Reason why no cell of the column can be read, such as a type that does not match the declaration. None if cells
        can be read.
    searched
        Whether the bounds are private, so that a release has to estimate them.
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
        """Counts by name, including those that are zero."""
        return {name: getattr(self, name) for name in _FINDINGS}

    @property
    def misfits(self) -> int:
        """Number of cells that are missing or not as declared."""
        return self.missing.count + self.not_a_number.count + self.no_declared_level.count

    def to_dict(self) -> dict[str, object]:
        """Return a dictionary of JSON values."""
        counts = {name: finding.to_dict() for name, finding in self.findings.items()}
        return {"name": self.name, "kind": self.kind, "rule": self.rule, "problem": self.problem, **counts} | (
            {"searched": True} if self.searched else {}
        )


@dataclass(frozen=True, slots=True)
class IndividualCheck:
    """Number of individuals, and how many of their rows exceed the cap.

    Attributes
    ----------
    persons
        Number of individuals.
    max_rows
        Cap: the largest number of rows that a release includes for each individual.
    over_cap
        Number of individuals with more valid rows than `max_rows`.
    rows_beyond
        Number of rows by which these individuals together exceed the cap.
    """

    persons: int
    max_rows: int
    over_cap: int
    rows_beyond: int

    def to_dict(self) -> dict[str, int]:
        """Return a dictionary of JSON values."""
        return {
            "persons": self.persons,
            "max_rows": self.max_rows,
            "over_cap": self.over_cap,
            "rows_beyond": self.rows_beyond,
        }


@dataclass(frozen=True, slots=True, repr=False)
class CheckNotForPublication:
    """Exact counts of how a private table fits its design, for the curator only: NOT FOR PUBLICATION.

    A check is not a release and has no privacy guarantee. The name of its file must not look like that of a release.

    Attributes
    ----------
    rows_read
        Number of rows in the table.
    rows_fit
        Number of rows that a release would include. All other rows are dropped by a rule for missing cells, or exceed
        the cap on the rows of an individual.
    columns
        Counts for each column in declared order. The id of the unit comes last.
    persons
        Counts of individuals, or None if every row is a privacy unit or if ids cannot be read.
    stops
        Reasons why `discreet.release` would stop before any budget is spent. Empty if there are none.
    numbered
        How positions are numbered: `line` counts from 1 as in an editor, and `row` counts from 0.
    """

    rows_read: int
    rows_fit: int
    columns: tuple[ColumnCheck, ...]
    persons: IndividualCheck | None
    stops: tuple[str, ...]
    numbered: Literal["line", "row"]

    def column(self, name: str) -> ColumnCheck:
        """Return the counts for a column."""
        return next(column for column in self.columns if column.name == name)

    def to_dict(self) -> dict[str, object]:
        """Return a dictionary of JSON values, marked as not for publication."""
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
        """Write the check to a JSON or text file, whose name must contain NOT-FOR-PUBLICATION."""
        check_name(path)
        text = json.dumps(self.to_dict(), indent=1) if str(path).endswith(SUFFIXES[0]) else repr(self)
        write_bytes(path, (escape_control(text, keep="\n") + "\n").encode(), force=force)

    def __repr__(self) -> str:

        return text(self)

    def _repr_html_(self) -> str:

        return html_table(WARNING, HEADERS, cells(self), [*map(": ".join, above(self)), *below(self)])


def check_name(path: str | Path) -> None:
    """Raise OutputError if the file name does not contain NOT-FOR-PUBLICATION."""
    if not str(path).endswith(SUFFIXES):
        ends = " or ".join(map(repr, SUFFIXES))
        raise OutputError(f"a check is {MARK}: the file name must end in {ends}, got {str(path)!r}")


# -- reading -----------------------------------------------------------------------------------------------------------
# One pass counts each cell as a release would treat it, and no cell stops the pass. Cells are read by the same code as
# in a release, with two differences: readers distinguish cells that are not as declared from missing cells, and the
# rule `error` raises nothing.
Flags = npt.NDArray[np.bool_]


def inspected(source: Source, design: Design, options: ComputeOptions) -> CheckNotForPublication:
    """Count the rows that a release would include, drop, fill, clip or reject, in one pass and bounded memory.

    >>> from discreet.tables.opening import open_source
    >>> design = Design("y", {"y": (0, 1), "x": {"bounds": (0, 5), "missing": "drop"}})
    >>> result = inspected(open_source({"y": [0.5, 2.0, 0.1], "x": [1, None, "3,5"]}), design, ComputeOptions())
    >>> result.rows_read, result.rows_fit, result.column("x").not_a_number.count
    (3, 1, 1)
    """
    columns = [_TableColumn(name, column) for name, column in design.table_columns.items()]
    formulas = [_FormulaColumn(design, name) for name in design.columns if name not in design.table_columns]
    read: dict[str, Any] = {column.name: replace(column.declared, missing="mark") for column in columns}
    with ExitStack() as stack:
        persons = None if design.unit.id is None else stack.enter_context(_Persons(design, options.workers))
        if persons is not None:
            read[persons.name] = Identifier()
        rows_read = rows_fit = 0
        for batch in source.batches(read, options.batch_rows):
            fits = np.ones(batch.num_rows, dtype=np.bool_)
            taken: dict[str, FloatArray] = {}
            usable: dict[str, Flags] = {}
            for column in columns:
                taken[column.name], usable[column.name] = column.count(batch, source)
                fits &= usable[column.name]
            for formula in formulas:
                formula.count(taken, usable, source)
            if persons is not None:
                fits = persons.count(batch, fits, source)
            rows_read += batch.num_rows
            rows_fit += int(np.count_nonzero(fits))
            options.report_progress(source)
        people = None if persons is None else persons.check()
    by_name = {column.name: column.check() for column in columns}
    by_name |= {formula.name: formula.check() for formula in formulas}
    checks = [by_name[name] for name in design.columns]
    if persons is not None:
        checks.append(persons.column())
    if people is not None:
        rows_fit -= people.rows_beyond
    return CheckNotForPublication(
        rows_read, rows_fit, tuple(checks), people, tuple(_stops(design, checks, rows_read)), source.numbered
    )


class _TableColumn:
    """Counts of one column of the table."""

    def __init__(self, name: str, declared: Base) -> None:
        self.name = name
        self.declared = declared
        self._missing, self._misread, self._low, self._high = Tally(), Tally(), Tally(), Tally()
        self._problem: str | None = None

    def count(self, batch: RecordBatch, source: Source) -> tuple[FloatArray, Flags]:
        """Count a batch. Return the values that a release would use, and which rows have a value."""
        cells = batch.column(self.name)
        values = self._values(cells)
        present = np.isfinite(values)
        if not present.all():
            missing = missing_cells(None if self._problem else self.declared, cells)
            self._missing.add(missing & ~present, source.place)
            self._misread.add(~missing & ~present, source.place)
        if isinstance(self.declared, Numeric):
            # NaN is neither below nor above the bounds
            low, high = self.declared.bounds
            self._low.add(present & (values < low), source.place)
            self._high.add(present & (values > high), source.place)
        if self._problem is not None or self.declared.fill is None:
            return values, present
        return np.where(present, values, self.declared.fill), np.ones(len(values), dtype=np.bool_)

    def _values(self, cells: Array) -> FloatArray:
        try:
            return declared_array(self.name, self.declared, cells)
        except DataError as error:
            # a release would stop here because the type is wrong; a check continues with the other columns
            self._problem = str(error)
            return np.full(len(cells), np.nan)

    def check(self) -> ColumnCheck:
        """Return the counts of the column."""
        number = isinstance(self.declared, Numeric)
        misread = {"not_a_number" if number else "no_declared_level": self._misread.finding}
        return ColumnCheck(
            self.name,
            _kind(self.declared),
            "fill" if isinstance(self.declared.missing, Fill) else self.declared.missing,
            missing=self._missing.finding,
            clipped_low=self._low.finding,
            clipped_high=self._high.finding,
            problem=self._problem,
            searched=isinstance(self.declared, Numeric) and self.declared.is_searched,
            **misread,
        )


class _FormulaColumn:
    """Counts of rows in which a formula has no value, or a value outside its declared bounds.

    A formula has a finite value wherever its columns have values: these are first clipped to their bounds, and a design
    rejects formulas that could fail within these bounds. Only bounds declared for the formula itself can clip its
    values.
    """

    def __init__(self, design: Design, name: str) -> None:
        self.name = name
        self._columns = design.columns
        column = design.columns[name]
        self._used = tuple(needed(design.columns, [name]))
        self._clipped = column if isinstance(column, Numeric) and name in design.clippable else None
        self._none, self._low, self._high = Tally(), Tally(), Tally()

    def count(self, taken: Mapping[str, FloatArray], usable: Mapping[str, Flags], source: Source) -> None:
        """Count a batch, given the values of the columns that the formula uses."""
        ready = np.logical_and.reduce([usable[name] for name in self._used])
        self._none.add(~ready, source.place)
        if self._clipped is not None:
            base = {name: taken[name][ready] for name in self._used}
            values = unclipped(self._columns, self._clipped, self.name, base, {})
            low, high = self._clipped.bounds
            for tally, outside in ((self._low, values < low), (self._high, values > high)):
                marks = np.zeros(len(ready), dtype=np.bool_)
                marks[ready] = outside
                tally.add(marks, source.place)

    def check(self) -> ColumnCheck:
        """Return the counts of the formula."""
        return ColumnCheck(
            self.name,
            "formula",
            None,
            no_value=self._none.finding,
            clipped_low=self._low.finding,
            clipped_high=self._high.finding,
        )


class _Persons:
    """Counts of rows by individual, grouped as in a release, and of rows without an id."""

    def __init__(self, design: Design, threads: int) -> None:
        self.name = str(design.unit.id)
        self._total = design.total
        self._max_rows = design.unit.max_rows
        self._width = len(design.released)
        self._nobody = Tally()
        self._problem: str | None = None
        remove_abandoned()
        self._cap = IndividualCap(design, self._width - 1, threads=threads, count_over=True)

    def __enter__(self) -> _Persons:
        self._cap.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:  # noqa: ANN401  # passed on to the cap
        self._cap.__exit__(*raised)

    def count(self, batch: RecordBatch, fits: Flags, source: Source) -> Flags:
        """Count a batch, and return which of its valid rows have an id."""
        try:
            persons, known = known_ids(self.name, batch.column(self.name), total=True)
        except DataError as error:
            self._problem = str(error)
            return np.zeros_like(fits)
        if known is None:
            known = np.ones(len(fits), dtype=np.bool_)
        self._nobody.add(~known, source.place)
        kept = fits[known]
        # zeros suffice, because only the number of rows of each individual matters
        self._cap.add(persons, kept, np.zeros((self._width, int(np.count_nonzero(kept)))))
        return fits & known

    def check(self) -> IndividualCheck | None:
        """Count the individuals, the individuals with more rows than the cap, and their excess rows."""
        if self._problem is not None:
            return None
        persons, over, beyond = self._cap.over_cap()
        return IndividualCheck(persons, self._max_rows, over, beyond)

    def column(self) -> ColumnCheck:
        """Return the counts of the id column. Rows without an id are dropped if no rule of the design is `error`."""
        rule = "drop" if self._total else "error"
        return ColumnCheck(self.name, "id", rule, missing=self._nobody.finding, problem=self._problem)


def _kind(column: Column) -> Kind:
    if isinstance(column, Numeric):
        return "date" if column.is_date else "number"
    return "boolean" if isinstance(column, Boolean) else "levels"


def _stops(design: Design, checks: list[ColumnCheck], rows: int) -> list[str]:
    """List the reasons why a release would stop, such as wrong types, cells under the rule `error`, or no rows."""
    reasons = []
    for column in checks:
        if column.problem is not None:
            reasons.append(column.problem)
        elif column.kind == "id":
            if column.rule == "error" and column.missing.count:
                reasons.append(f"the id column {column.name!r} has cells without a valid id; every row must have an id")
        elif column.rule == "error" and column.misfits:
            declared = design.table_columns[column.name]
            bad = f"missing or {bad_cell(declared)}"
            reasons.append(f"column {column.name!r} has cells that are {bad}, and its rule for missing cells is error")
    if rows == 0 and not design.total:
        reasons.append("the table has no rows")
    return reasons


# -- text --------------------------------------------------------------------------------------------------------------
# The text of a check is the same on a terminal, in a notebook and in a file.
WARNING: Final = "NOT FOR PUBLICATION: exact counts of a private table, for the curator's own eyes"
HEADERS: Final = ("column", "rule", "missing", "not a number", "no level", "clipped low", "clipped high")
ADVICE: Final = (
    "Fix spelling, units, separators and types. Do not change a bound because of this table: that would leak "
    "information that no budget accounts for."
)
FEW: Final = "A release would leave out more than half of the rows. Find out why before you spend any budget."
NONE: Final = "The table has no rows. A release would cost as much as any other, but publish only noise."
_WIDTH: Final = 88
_NUMBERED: Final = {
    "line": "Lines are counted from 1, including the header, as in an editor.",
    "row": "Rows of the table or file are counted from 0.",
}
SEARCHED: Final = (
    "Private bounds: {names}. Numbers are counted as clipped if they are outside the public range. The release "
    "estimates bounds inside this range, so it may clip more."
)
_NUMBER: Final = {
    "line": "not a finite number, which by default is written like -12.5 or 1e3",
    "row": "not a finite number (text is never read as a number)",
}
_NO_DATE: Final = "not a date, or text that is not written like 2019-01-31"
_MISREAD: Final = {
    "boolean": "not true, false, 1 or 0 (declare any other two words as levels)",
    "levels": "none of the declared levels",
}


def above(check: CheckNotForPublication) -> list[tuple[str, str]]:
    """Return the labels and texts of the lines above the table."""
    fit = f"{check.rows_fit:,} of {check.rows_read:,} would be included in a release"
    lines = [("Rows read", f"{check.rows_read:,}"), ("Rows that fit", fit)]
    people = check.persons
    if people is not None:
        over = f"{people.over_cap:,} of them have more than {people.max_rows:,} rows that fit"
        lines.append(("Persons", f"{people.persons:,}; {over}; rows left out by this cap: {people.rows_beyond:,}"))
    return lines


def cells(check: CheckNotForPublication) -> list[list[str]]:
    """Return the cells of the table. A cell is blank where a count does not apply."""
    return [_row(column) for column in check.columns]


def below(check: CheckNotForPublication) -> list[str]:
    """Return the notes below the table, which are positions, reasons to stop, and advice."""
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
            notes.append(f"{column.name}: the fill value would replace more than half of the cells.")
    notes += [f"A release would stop before any budget is spent: {reason}." for reason in check.stops]
    problems = any(finding.count for column in check.columns for finding in column.findings.values())
    return [*notes, ADVICE] if problems or check.stops else notes


def text(check: CheckNotForPublication) -> str:
    """Return the whole check as plain text."""
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
        "clipped_low": "below the bounds, clipped",
        "clipped_high": "above the bounds, clipped",
        "no_value": "no value, because a cell that the formula uses is missing or not as declared",
    }
    nonzero = {name: finding for name, finding in column.findings.items() if finding.count}
    return [f"{column.name}: {what[name]}: {_where(finding)}" for name, finding in nonzero.items()]


def _where(finding: Finding) -> str:
    """Format a count, followed by the positions of the first rows.

    >>> _where(Finding(7, (Place(2, "line"), Place(5, "line"))))
    '7, first in lines 2, 5'
    """
    places = ", ".join(_place(place) for place in finding.first)
    only = finding.count == len(finding.first)
    kind = finding.first[0].kind + ("" if len(finding.first) == 1 else "s")
    return f"{finding.count:,}, {'in' if only else 'first in'} {kind} {places}"


def _place(place: Place) -> str:
    return f"{place.number}" if place.file is None else f"{place.number} of {place.file!r}"


# -- checking ----------------------------------------------------------------------------------------------------------


def check(
    data: object,
    design: Design,
    *,
    reading: ReadOptions | None = None,
    compute: ComputeOptions | None = None,
) -> CheckNotForPublication:
    """Count exactly how a table fits its design, before any budget is spent. NOT FOR PUBLICATION.

    The table is read as in `discreet.release`, in one pass and in memory that does not grow with the number of rows.
    The check reports all problems at once, because cells that would stop a release are only counted. It quotes no cells
    and proposes no bounds. The counts are exact, so they must not leave the curator.

    Parameters
    ----------
    data
        Any table that `discreet.release` reads.
    design
        Bounds, levels and rules, declared without looking at the data. You may correct spelling, units, separators and
        types after a check. Changing a bound because of the data leaks information that no budget accounts for.
    reading
        Format of CSV files, as for `discreet.release`.
    compute
        Settings of the computation, which do not affect the result.

    Returns
    -------
    CheckNotForPublication
        Number of rows read, number of rows that a release would include, and for each column the cells that are
        missing, not a number, not a declared level, or clipped. The first five of each are listed by their line in a
        CSV file or by the index of their row.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": {"bounds": (0, 5), "missing": "drop"}})
    >>> result = check({"x": [1.0, None, "2,5", 3.0], "y": [2.0, 4.0, 6.0, 11.0]}, design)
    >>> result.rows_read, result.rows_fit
    (4, 2)
    >>> result.column("x").not_a_number.count, result.column("y").clipped_high.count
    (1, 1)
    """
    if not isinstance(design, Design):
        raise SpecError(f"design: expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")
    options = checked_options(compute)
    positions = position_notice(data, [*design.table_columns, *filter(None, [design.unit.id])])
    if positions is not None:
        warnings.warn(positions, ColumnNotice, stacklevel=2)
    return inspected(open_source(data, reading=checked_reading(reading)), design, options)
