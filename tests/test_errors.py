"""Errors: what they are caught as, the code that the command line returns, and the nearest name as a hint."""

from __future__ import annotations

import datetime

import pytest

from discreet import errors
from discreet.errors import CellError, DataError, DiscreetError, SpecError, missing_extra, shown, written

CODES = {
    "SpecError": 2, "DesignError": 2, "DataError": 2, "CellError": 2, "ReleaseFileError": 2, "OutputError": 2,
    "GridTooFineError": 2, "PartFileError": 2, "Cancelled": 2,
    "BudgetError": 3, "LedgerError": 4, "AfterSpendError": 5, "GuardStop": 5, "BoundsNotFound": 5,
}  # fmt: skip


def test_every_error_has_the_exit_code_that_is_documented():
    kinds = {
        name: kind.exit_code
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, DiscreetError) and kind is not DiscreetError
    }
    assert kinds == CODES


def test_what_is_wrong_with_arguments_or_rows_is_a_value_error_and_notices_are_no_errors():
    assert issubclass(SpecError, ValueError)
    assert issubclass(DataError, ValueError)
    assert issubclass(CellError, DataError)
    assert not issubclass(errors.BudgetError, ValueError)
    for notice in (errors.PrivacyNotice, errors.ColumnNotice):
        assert issubclass(notice, UserWarning)
        assert not issubclass(notice, DiscreetError)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("incme", "income"), ("INCOME", "Income"), ("zzz", None), ("", None)],
)
def test_only_a_name_that_is_near_is_hinted_at(name, hint):
    allowed = ["age", "Income" if hint == "Income" else "income"]
    said = str(SpecError.unknown_name("column", name, iter(allowed)))
    assert said.startswith(f"unknown column {name!r}; allowed: {', '.join(allowed)}")
    assert ("Did you mean" in said) == (hint is not None)
    if hint:
        assert said.endswith(f". Did you mean '{hint}'?")


def test_a_missing_library_is_named_with_the_extra_that_brings_it():
    error = missing_extra("plot", "matplotlib", "a picture")
    assert type(error) is SpecError
    assert str(error) == (
        "a picture needs 'matplotlib', which is not installed; install it with: pip install 'discreet[plot]'"
    )


def test_a_cell_error_carries_its_column():
    assert CellError("column 'x' has a missing cell", column="x").column == "x"
    assert CellError("a cell is missing").column == ""


class Unwritten:
    def __repr__(self) -> str:
        raise RuntimeError("no name")


class Loud:
    def __repr__(self) -> str:
        return "red \x1b[31m\nline"


class Name(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "another"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Unwritten(), "an object of type Unwritten"),
        ([Unwritten()], "an object of type list"),
        (10**5000, "an object of type int"),
        (10**400, "1" + "0" * 56 + "..."),
        ("a" * 58, "'" + "a" * 58 + "'"),
        ("a" * 59, "'" + "a" * 56 + "..."),
        (Loud(), r"red \x1b[31m\nline"),
        (Name("x"), "'x'"),
        (None, "None"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_message_repeats_any_object_on_one_line_of_bounded_length(given, said):
    assert shown(given) == written(given) == said
    assert str(SpecError.unknown_name("column", given, ["age"])) == f"unknown column {said}; allowed: age"


def test_a_declared_value_is_repeated_as_a_design_file_writes_it():
    assert written((0, True, "a", datetime.date(2026, 11, 17))) == "[0, true, 'a', 2026-11-17]"
    assert written({"fill": {"a": [False]}}) == "{fill = {a = [false]}}"
    assert written(datetime.date) == "<class 'datetime.date'>"
    endless: list[object] = []
    endless.append(endless)
    assert written(endless) == "an object of type list"


def test_a_name_that_is_allowed_twice_is_listed_once():
    assert str(SpecError.unknown_name("column", "q", ["m", "x", "m"])) == "unknown column 'q'; allowed: m, x"
