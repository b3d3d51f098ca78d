"""One pass over a table that stops at no cell: each is counted as the release would take it.

The cells are read by the code of a release. Two things differ. Readers mark a cell that is not what its column
declares, so that it differs from a missing one; and the rule `error` stops nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.curator.inspection.result import CheckNotForPublication, ColumnCheck, Kind, PersonCheck
from discreet.curator.inspection.tally import Tally
from discreet.curator.persons import PersonCap, known_ids
from discreet.curator.private_folder import remove_abandoned
from discreet.design.columns import Base, Boolean, Column, Fill, Identifier, Numeric, bad_cell
from discreet.design.derived import needed, unclipped
from discreet.design.model import Design
from discreet.errors import DataError
from discreet.exact.arrays import FloatArray
from discreet.tables.arrow import declared_array, missing_cells
from discreet.tables.source import ComputeOptions, Source

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

Flags = npt.NDArray[np.bool_]


def inspected(source: Source, design: Design, options: ComputeOptions) -> CheckNotForPublication:
    """Count what a release of this table would count, drop, fill, clip and refuse; in one pass, in bounded memory.

    >>> from discreet.tables.files.opening import open_source
    >>> design = Design("y", {"y": (0, 1), "x": {"bounds": (0, 5), "missing": "drop"}})
    >>> found = inspected(open_source({"y": [0.5, 2.0, 0.1], "x": [1, None, "3,5"]}), design, ComputeOptions())
    >>> found.rows_read, found.rows_fit, found.column("x").not_a_number.count
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
    made = {column.name: column.check() for column in columns}
    made |= {formula.name: formula.check() for formula in formulas}
    found = [made[name] for name in design.columns]
    if persons is not None:
        found.append(persons.column())
    if people is not None:
        rows_fit -= people.rows_beyond
    return CheckNotForPublication(
        rows_read, rows_fit, tuple(found), people, tuple(_stops(design, found, rows_read)), source.numbered
    )


class _TableColumn:
    """Counts the cells of one column of the table."""

    def __init__(self, name: str, declared: Base) -> None:
        self.name = name
        self.declared = declared
        self._missing, self._misread, self._low, self._high = Tally(), Tally(), Tally(), Tally()
        self._problem: str | None = None

    def count(self, batch: RecordBatch, source: Source) -> tuple[FloatArray, Flags]:
        """Count a batch; give the values that a release would take, and the rows in which there is one."""
        cells = batch.column(self.name)
        values = self._values(cells)
        present = np.isfinite(values)
        if not present.all():
            missing = missing_cells(None if self._problem else self.declared, cells)
            self._missing.add(missing & ~present, source.place)
            self._misread.add(~missing & ~present, source.place)
        if isinstance(self.declared, Numeric):
            # what is not a number is neither below nor above
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
            # by its type: release stops here, a check goes on with the other columns
            self._problem = str(error)
            return np.full(len(cells), np.nan)

    def check(self) -> ColumnCheck:
        """What was counted."""
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
    """Counts the rows in which a formula has no value, or one outside its own bounds.

    A formula has a finite value wherever the cells it uses have one: it sees them inside their bounds, and a formula
    that could fail there is refused with the design. Only bounds of its own can clip it.
    """

    def __init__(self, design: Design, name: str) -> None:
        self.name = name
        self._columns = design.columns
        column = design.columns[name]
        self._used = tuple(needed(design.columns, [name]))
        self._clipped = column if isinstance(column, Numeric) and name in design.clippable else None
        self._none, self._low, self._high = Tally(), Tally(), Tally()

    def count(self, taken: Mapping[str, FloatArray], usable: Mapping[str, Flags], source: Source) -> None:
        """Count a batch from the values of the columns that the formula uses."""
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
        """What was counted."""
        return ColumnCheck(
            self.name,
            "formula",
            None,
            no_value=self._none.finding,
            clipped_low=self._low.finding,
            clipped_high=self._high.finding,
        )


class _Persons:
    """Counts rows by person, on disk like a release does, and rows whose id names nobody."""

    def __init__(self, design: Design, threads: int) -> None:
        self.name = str(design.unit.id)
        self._total = design.total
        self._max_rows = design.unit.max_rows
        self._width = len(design.released)
        self._nobody = Tally()
        self._problem: str | None = None
        remove_abandoned()
        self._cap = PersonCap(design, self._width - 1, threads=threads, count_over=True)

    def __enter__(self) -> _Persons:
        self._cap.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:  # noqa: ANN401  # as the cap takes them
        self._cap.__exit__(*raised)

    def count(self, batch: RecordBatch, fits: Flags, source: Source) -> Flags:
        """Count a batch; give which of the rows that fit have a person."""
        try:
            persons, known = known_ids(self.name, batch.column(self.name), total=True)
        except DataError as error:
            self._problem = str(error)
            return np.zeros_like(fits)
        if known is None:
            known = np.ones(len(fits), dtype=np.bool_)
        self._nobody.add(~known, source.place)
        kept = fits[known]
        # whose row it is decides about the cap, not what is in it
        self._cap.add(persons, kept, np.zeros((self._width, int(np.count_nonzero(kept)))))
        return fits & known

    def check(self) -> PersonCheck | None:
        """Persons against their cap."""
        if self._problem is not None:
            return None
        persons, over, beyond = self._cap.over_cap()
        return PersonCheck(persons, self._max_rows, over, beyond)

    def column(self) -> ColumnCheck:
        """The id as a column: a row without one is left out where the design allows no error."""
        rule = "drop" if self._total else "error"
        return ColumnCheck(self.name, "id", rule, missing=self._nobody.finding, problem=self._problem)


def _kind(column: Column) -> Kind:
    if isinstance(column, Numeric):
        return "date" if column.is_date else "number"
    return "boolean" if isinstance(column, Boolean) else "levels"


def _stops(design: Design, found: list[ColumnCheck], rows: int) -> list[str]:
    """Why a release would stop: types, cells that no rule takes, or no row at all."""
    reasons = []
    for column in found:
        if column.problem is not None:
            reasons.append(column.problem)
        elif column.kind == "id":
            if column.rule == "error" and column.missing.count:
                reasons.append(f"the id column {column.name!r} has cells without a valid id; give every row its id")
        elif column.rule == "error" and column.misfits:
            declared = design.table_columns[column.name]
            bad = f"missing or {bad_cell(declared)}"
            reasons.append(f"column {column.name!r} has cells that are {bad}, and its rule for them is error")
    if rows == 0 and not design.total:
        reasons.append("the table has no rows")
    return reasons
