"""No error of a table holds a cell: neither its text, nor its data, nor what crosses processes."""

from __future__ import annotations

import json
import pickle
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli.flags import FLAGS
from discreet.cli.main import program
from discreet.errors import CellError, DataError, DiscreetError

SECRET = "zqx"  # begins every cell that is text
NUMBER = 918273.5  # a cell that is a number
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROW = f"{SECRET}1,{SECRET}2,{SECRET}3,{SECRET}4,{NUMBER}\n"
HEADER = "y,day,flag,g,x\n"


def design(**columns: object) -> discreet.Design:
    return discreet.Design("x", {"x": (0, 1), **(columns or {"y": (0, 1)})})


FILES: dict[str, tuple[bytes, dict[str, object]]] = {
    "number": ((HEADER + ROW).encode(), {"y": (0, 1)}),
    "date": ((HEADER + ROW).encode(), {"day": ("2020-01-01", "2021-01-01")}),
    "boolean": ((HEADER + ROW).encode(), {"flag": bool}),
    "level": ((HEADER + ROW).encode(), {"g": ["a", "b"]}),
    "too many cells": ((HEADER + ROW.replace("\n", f",{SECRET}5\n")).encode(), {"y": (0, 1)}),
    "too few cells": ((HEADER + f"{SECRET}1,{SECRET}2\n").encode(), {"y": (0, 1)}),
    "stray quote": ((HEADER + ROW.replace("2", '"2')).encode(), {"y": (0, 1)}),
    "open quote": ((HEADER + '"' + ROW).encode(), {"y": (0, 1)}),
    "nul": ((HEADER + ROW.replace("2", "\0")).encode(), {"y": (0, 1)}),
    "not utf-8": ((HEADER + ROW.replace("2", "\xe9")).encode("latin-1"), {"y": (0, 1)}),
    "utf-16": ((HEADER + ROW).encode("utf-16"), {"y": (0, 1)}),
    "no header": ((ROW + ROW).encode(), {"y": (0, 1)}),
    "delimiter": ((HEADER + ROW).replace(",", ";").encode(), {"y": (0, 1)}),
    "missing": ((HEADER + f",{SECRET}2,{SECRET}3,{SECRET}4,0.5\n").encode(), {"y": (0, 1)}),
}
FRAMES: dict[str, Callable[[], object]] = {
    "pandas text": lambda: pd.DataFrame({"x": [0.5, 0.5], "y": [f"{SECRET}1", f"{SECRET}2"]}),
    "pandas objects": lambda: pd.DataFrame({"x": [0.5, 0.5], "y": pd.Series([object, f"{SECRET}2"], dtype=object)}),
    "arrow text": lambda: pa.table({"x": [0.5], "y": [f"{SECRET}1"]}),
    "arrow lists": lambda: pa.table({"x": [0.5], "y": [[f"{SECRET}1"]]}),
    "a dictionary": lambda: {"x": [NUMBER], "y": [f"{SECRET}1"]},
    "columns of other lengths": lambda: {"x": [NUMBER, NUMBER], "y": [NUMBER]},
    "an array of text": lambda: np.array([[f"{SECRET}1", f"{SECRET}2"]]),
    "a missing number": lambda: pd.DataFrame({"x": [NUMBER, np.nan], "y": [0.5, 0.5]}),
}


def forms_of(error: BaseException) -> dict[str, str]:
    """Every form in which an error leaves the process, its causes included."""
    forms = {"trace": "".join(traceback.format_exception(error))}
    link: BaseException | None = error
    while link is not None:
        forms[f"{len(forms)} text"] = f"{link!s} {link!r} {link.args!r} {vars(link)!r}"
        if isinstance(link, DiscreetError):
            forms[f"{len(forms)} flags"] = link.message(FLAGS)
            forms[f"{len(forms)} json"] = json.dumps([link.to_dict(), link.to_dict(FLAGS)])
            forms[f"{len(forms)} pickle"] = pickle.dumps(link).decode("latin-1")
        link = link.__cause__ or link.__context__
    return forms


def check(error: DiscreetError) -> None:
    # a source line of this file may be in a trace, where the secret is not written out
    found = [name for name, text in forms_of(error).items() if SECRET in text or str(NUMBER) in text]
    assert found == []


def refused(call: Callable[[], object]) -> DiscreetError:
    with warnings.catch_warnings(action="ignore"), pytest.raises(DiscreetError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("name", FILES)
def test_an_error_of_a_file_holds_no_cell(name: str, tmp_path: Path) -> None:
    content, columns = FILES[name]
    (tmp_path / "t.csv").write_bytes(content)
    declared = design(**columns)
    error = refused(lambda: discreet.release(tmp_path / "t.csv", declared, **BUDGET))
    assert isinstance(error, DataError)
    assert error.given is None
    check(error)
    if isinstance(error, CellError):
        assert error.line is None
        assert error.column in columns
    (tmp_path / "d.toml").write_text(declared.to_toml())
    words = ["release", str(tmp_path / "t.csv"), "--design", str(tmp_path / "d.toml"), "--epsilon", "1", "--json"]
    result = CliRunner().invoke(program, [*words, "--delta", "1e-6", "-o", str(tmp_path / "R.json")])
    assert result.exit_code == 2
    assert SECRET not in result.output + result.stderr
    document = json.loads(result.stdout)["error"]
    assert (document["code"], document["column"], document["line"]) == (error.code, error.column, error.line)
    assert document["given"] is None


@pytest.mark.parametrize("name", FRAMES)
def test_an_error_of_a_frame_holds_no_cell(name: str, tmp_path: Path) -> None:
    check(refused(lambda: discreet.release(FRAMES[name](), design(), **BUDGET)))
    if name.startswith("arrow"):
        pq.write_table(FRAMES[name](), tmp_path / "t.parquet")
        check(refused(lambda: discreet.release(tmp_path / "t.parquet", design(), **BUDGET)))


def test_an_error_of_the_estimator_holds_no_cell() -> None:
    model = discreet.PrivateLinearRegression(**BUDGET, bounds={"a": (0, 1)}, target_bounds=(0, 1))
    for features, target in (
        (pd.DataFrame({"a": [f"{SECRET}1", f"{SECRET}2"]}), [0.5, 0.5]),
        (pd.DataFrame({"a": [0.5, np.nan]}), [NUMBER, NUMBER]),
        (pd.DataFrame({"a": [0.5, 0.5]}), [f"{SECRET}1", f"{SECRET}2"]),
        (pd.DataFrame({"a": [NUMBER, NUMBER]}), [NUMBER]),
    ):
        check(refused(lambda X=features, y=target: model.fit(X, y)))


def test_the_check_finds_a_cell() -> None:
    error = DataError("a column is wrong", code="bad")
    error.column = f"{SECRET}1"
    with pytest.raises(AssertionError):
        check(error)
