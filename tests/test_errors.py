"""Errors: what they are caught as, the code that the command line returns, and the nearest name as a hint."""

from __future__ import annotations

import datetime
import inspect
import json
import pickle
import re

import pytest

from discreet import errors
from discreet.errors import (
    AfterSpendError,
    BoundsNotFound,
    Cancelled,
    CellError,
    DataError,
    DesignError,
    DesignProblem,
    DiscreetError,
    GridTooFineError,
    LedgerError,
    MissingDependencyError,
    OptionError,
    SpecError,
    shown,
    written,
)
from discreet.wording import PYTHON, Call, Install, LeaveOut, Message, Option, SetOption, worded

CODES = {
    "SpecError": 2, "OptionError": 2, "DesignError": 2, "FormulaError": 2, "ModelError": 2, "UnsupportedError": 2,
    "GridTooFineError": 2, "MissingDependencyError": 2, "DataError": 2, "CellError": 2, "ReleaseFileError": 2,
    "OutputError": 2, "PartFileError": 2, "Cancelled": 2,
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
    error = MissingDependencyError("plot", "matplotlib", "a picture")
    assert (error.code, error.remedy, error.extra, error.module) == (
        "missing-dependency",
        Install("plot"),
        "plot",
        "matplotlib",
    )
    assert isinstance(error, ImportError)
    assert str(error) == (
        "a picture needs 'matplotlib', which is not installed; install it with: pip install 'discreet[plot]'"
    )


def test_a_cell_error_carries_its_column():
    assert CellError("column 'x' has a missing cell", column="x").column == "x"
    assert CellError("a cell is missing").column is None


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


class Loudly:
    """A front end for tests."""

    def option(self, name: str, value: object) -> str:
        return f"<{name} {value}>"

    def set_option(self, name: str, value: object) -> str:
        return f"SET {name} {value}"

    def leave_out(self, name: str) -> str:
        return f"DROP {name}"

    def call(self, function: str, purpose: str) -> str:
        return f"CALL {function} {purpose}".strip()

    def install(self, extra: str) -> str:
        return f"GET {extra}"


LOUDLY = Loudly()


def test_the_message_follows_from_option_value_and_what_is_allowed():
    error = OptionError(option="delimiter", given=";;", allowed="one character", remedy=SetOption("delimiter", ";"))
    assert str(error) == "expected one character for delimiter, got ';;'; pass delimiter=';'"
    assert error.message(LOUDLY) == "expected one character for <delimiter None>, got ';;'; SET delimiter ;"
    names = OptionError(option="kind", allowed=["a", "b"])
    assert str(names) == "expected one of a, b for kind"
    assert (names.given, names.allowed) == (None, ("a", "b"))
    assert str(OptionError(given=None, allowed="a number")) == "expected a number, got None"


def test_every_value_of_a_message_is_worded_by_the_front_end():
    parts = (Option("a", 1), SetOption("b"), LeaveOut("c"), Call("f", "do it"), Call("f"), Install("x"))
    message = Message(*(part for value in parts for part in (value, "|")))
    assert message == ("a=1|pass b=...|leave c out|do it with f|f|install it with: pip install 'discreet[x]'|")
    assert message.message(LOUDLY) == "<a 1>|SET b None|DROP c|CALL f do it|CALL f|GET x|"
    assert worded(message, PYTHON) == str(message)
    assert pickle.loads(pickle.dumps(message)).message(LOUDLY) == message.message(LOUDLY)  # our own


def test_several_remedies_are_joined_and_a_quoted_error_keeps_its_wording():
    inner = DataError("the file is UTF-16 text", option="encoding", remedy=SetOption("encoding", "utf-16"), line=3)
    outer = LedgerError(Message("stopped: ", inner), remedy=("wait", Call("Ledger.grant", "raise it")))
    assert str(outer) == "stopped: the file is UTF-16 text; pass encoding='utf-16'; wait, or raise it with Ledger.grant"
    assert outer.message(LOUDLY).startswith("stopped: the file is UTF-16 text; SET encoding utf-16; wait, or CALL")
    after = AfterSpendError("the release failed: ", reason=inner, remedy="ask again")
    assert (after.reason, after.option, after.line, after.exit_code) == (inner, "encoding", 3, 5)
    assert after.message(LOUDLY) == "the release failed: the file is UTF-16 text; SET encoding utf-16; ask again"


ERRORS = [
    DiscreetError("it failed"),
    OptionError(option="delimiter", given=[";"], allowed=["a", "b"], remedy=(SetOption("delimiter", ";"), "wait")),
    OptionError.unknown_name("column", "aeg", ["age"], option="target"),
    GridTooFineError("too much noise"),
    MissingDependencyError("plot", "matplotlib"),
    DesignError([DesignProblem(Message("use ", Call("discreet.check")), "x", "bounds"), DesignProblem("b")], "d.toml"),
    DataError("line 3 has 2 cells", code="cells", line=3),
    CellError("column 'x' has a missing cell", column="x"),
    AfterSpendError("failed: ", reason=CellError("column 'x' has a missing cell", column="x")),
    BoundsNotFound("no bounds of 'x'", columns=["x"]),
    Cancelled(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_crosses_processes_whole(error):
    again = pickle.loads(pickle.dumps(error))  # our own
    assert type(again) is type(error)
    assert (str(again), again.args) == (str(error), error.args)
    assert again.to_dict(LOUDLY) == error.to_dict(LOUDLY) == json.loads(json.dumps(error.to_dict(LOUDLY)))
    assert str(error) == error.message(PYTHON) == error.args[0]


def test_codes_are_kebab_case_and_belong_to_one_class():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DiscreetError)]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)
    assert DataError("x", code="encoding-mismatch").code == "encoding-mismatch"


def test_errors_of_tables_cannot_be_given_a_value():
    for kind in (DataError, CellError):
        assert "given" not in inspect.signature(kind).parameters
        with pytest.raises(TypeError):
            kind("column 'x' has a bad cell", given="secret")
    assert "line" not in inspect.signature(CellError).parameters
