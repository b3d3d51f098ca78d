"""Files of Stata, SPSS and SAS: their values as they are stored, in parts, without labels, or a plain refusal."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import discreet
from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.errors import DataError, MissingDependencyError, SpecError
from discreet.tables import file_formats as statistical
from discreet.tables.arrow import declared_arrays
from discreet.tables.blank_design import column_names_and_types
from discreet.tables.csv_format import ReadOptions
from discreet.tables.opening import open_source
from discreet.testing import exact_release
from support.refusals import read_all, refusal

ROWS = 300
COLUMNS = {
    "g": Categorical(("a", "bé"), missing="drop"),
    "x": Numeric((-10, 10), missing="drop"),
    "n": Categorical((1, 2), missing="drop"),
    "yes": Boolean(missing="drop"),
}


def made_frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS).round(3))
    g = rng.choice(["a", "bé", "other", ""], ROWS)
    return pd.DataFrame({
        "x": x, "g": g, "n": rng.integers(0, 4, ROWS).astype(float), "yes": rng.integers(0, 3, ROWS).astype(float),
        "unused": [f"row {number}" for number in range(ROWS)],
    })  # fmt: skip


FRAME = made_frame()
LABELS = {"n": {1.0: "SECRETCELL one", 2.0: "two"}}


def write_dta(path: Path, frame: pd.DataFrame) -> None:
    pyreadstat.write_dta(frame, str(path), variable_value_labels={"n": {1: "SECRETCELL one", 2: "two"}})


def write_sav(path: Path, frame: pd.DataFrame) -> None:
    pyreadstat.write_sav(frame, str(path), variable_value_labels=LABELS, compress=path.suffix == ".zsav")


WRITERS = {
    "t.dta": write_dta,
    "t.sav": write_sav,
    "t.zsav": write_sav,
    "t.xpt": lambda path, frame: pyreadstat.write_xport(frame, str(path), file_format_version=8),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("statistical")
    for name, write in WRITERS.items():
        write(folder / name, FRAME)
    return folder


def arrays_of(path: Path, columns=COLUMNS, batch_rows: int = 65_536) -> list[np.ndarray]:
    parts = [declared_arrays(batch, columns) for batch in open_source(path).batches(columns, batch_rows)]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def expected() -> list[np.ndarray]:
    levels = {"a": 0.0, "bé": 1.0}
    n, yes = FRAME["n"].to_numpy(), FRAME["yes"].to_numpy()
    return [
        FRAME["g"].map(levels).to_numpy(float),
        FRAME["x"].to_numpy(),
        np.where((n == 1) | (n == 2), n - 1, np.nan),
        np.where(yes < 2, yes, np.nan),
    ]


@pytest.mark.parametrize("part", [65_536, 100, 97])
@pytest.mark.parametrize("name", WRITERS)
def test_every_file_gives_its_values_in_parts(name, part, folder, monkeypatch) -> None:
    monkeypatch.setattr(statistical, "_PART_ROWS", part)
    found = arrays_of(folder / name, batch_rows=41)
    for left, right in zip(found, expected(), strict=True):
        # SAS transport keeps numbers in IBM's base 16, of which the last bits differ
        assert np.allclose(left, right, rtol=1e-15 if name == "t.xpt" else 0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", WRITERS)
def test_labels_decide_nothing_and_names_and_types_are_read_without_values(name, folder) -> None:
    found = dict(column_names_and_types(folder / name))
    assert {key.lower(): kind for key, kind in found.items()} == {
        "x": "number", "g": "text", "n": "number", "yes": "number", "unused": "text",
    }  # fmt: skip


def test_a_release_is_that_of_the_same_frame(folder) -> None:
    design = discreet.Design("x", {"x": {"bounds": (-10, 10), "missing": "drop"}, "n": {"bounds": (0, 4)}})
    frame = FRAME[["x", "n"]]
    for name in ("t.dta", "t.sav", "t.zsav"):
        assert exact_release(folder / name, design).totals == exact_release(frame, design).totals


def test_integers_and_floats_of_stata_are_the_numbers_they_store(tmp_path) -> None:
    frame = pd.DataFrame({"x": np.array([1.1, 2.5], np.float32), "n": np.array([1, 2**31 - 30], np.int32)})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"))
    columns = {"x": Numeric((0, 9)), "n": Numeric((0, 9))}
    assert [a.tolist() for a in arrays_of(tmp_path / "t.dta", columns)] == [
        [float(np.float32(1.1)), 2.5],
        [1, 2**31 - 30],
    ]


def test_codes_that_a_file_declares_as_missing_are_missing_cells(tmp_path) -> None:
    frame = pd.DataFrame({"x": [1.0, -9.0, 3.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), missing_ranges={"x": [-9]})
    (found,) = arrays_of(tmp_path / "t.sav", {"x": Numeric((-10, 9), missing="drop")})
    assert np.array_equal(found, [1, np.nan, 3], equal_nan=True)


def test_a_date_is_the_number_that_the_file_stores(tmp_path) -> None:
    frame = pd.DataFrame({"d": [pd.Timestamp("1960-01-11").date()], "x": [1.0]})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"))
    columns = {"d": Numeric((0, 99)), "x": Numeric((0, 9))}
    assert arrays_of(tmp_path / "t.dta", columns)[0].tolist() == [10.0]


def test_a_table_without_rows_is_judged_by_its_types(tmp_path) -> None:
    pyreadstat.write_sav(FRAME.iloc[:0], str(tmp_path / "t.sav"))
    (batch,) = open_source(tmp_path / "t.sav").batches(COLUMNS, 10)
    assert batch.num_rows == 0
    with pytest.raises(DataError, match="'g' must contain numbers, as declared, but has type"):
        declared_arrays(batch, {"g": Numeric((0, 1))})


def test_rows_have_positions_and_no_lines(folder, monkeypatch) -> None:
    monkeypatch.setattr(statistical, "_PART_ROWS", 100)
    source = open_source(folder / "t.sav")
    assert source.numbered == "row"
    assert [source.place(1).number for _ in source.batches(COLUMNS, 100)] == [1, 101, 201]


def test_text_is_not_read_as_numbers_whatever_it_spells(tmp_path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"x": ["1.5", "2"]}), str(tmp_path / "t.sav"))
    with pytest.raises(DataError, match="'x' must contain numbers, as declared, but has type string"):
        arrays_of(tmp_path / "t.sav", {"x": Numeric((0, 9), missing="drop")})


def test_a_column_that_is_not_there_is_named(folder) -> None:
    with pytest.raises(DataError, match=r"no column 'z', which is required.*\(file 't\.sav'\)"):
        arrays_of(folder / "t.sav", {"z": Numeric((0, 1)), "x": Numeric((0, 1))})


@pytest.mark.parametrize("name", [*WRITERS, "t.sas7bdat"])
def test_a_damaged_file_is_refused_without_its_cells(name, folder, tmp_path) -> None:
    whole = (folder / name).read_bytes() if name in WRITERS else b"SECRETCELL" * 300
    # a transport file has no length, so a cut one is a shorter table
    cut = [] if name == "t.xpt" else [whole[: len(whole) // 3]]
    for content in (*cut, b"SECRETCELL" * 50, b"\0" * 2000):
        (tmp_path / name).write_bytes(content)
        message = refusal(tmp_path / name, DataError)
        assert "cannot be read" in message or "no column" in message
    (tmp_path / name).write_bytes(b"")
    assert "is empty" in refusal(tmp_path / name, DataError)


def test_how_csv_is_written_is_refused(folder) -> None:
    with pytest.raises(SpecError, match=r"decimal = ',' is allowed only for CSV files, not for the file 't\.dta'"):
        read_all(folder / "t.dta", ReadOptions(decimal=","))


def test_without_the_extra_it_is_named(folder, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    message = refusal(folder / "t.dta", MissingDependencyError)
    assert message == (
        "the file 't.dta' needs 'pyreadstat', which is not installed; install it with: pip install 'discreet[stata]'"
    )


def test_the_library_is_not_loaded_for_other_files(tmp_path) -> None:
    import subprocess

    (tmp_path / "t.csv").write_text("x,y\n0.5,1\n")
    code = (
        "import sys; from discreet.tables.opening import open_source\n"
        "from discreet.design.columns import Numeric\n"
        "c = {'x': Numeric((0, 1))}; list(open_source(sys.argv[1]).batches(c, 9)); print('pyreadstat' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t.csv")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# what eight blanks are as a number of SAS
BLANK = 0x20202020202020 * 2.0**-56 * 16.0**-32


@pytest.mark.parametrize("version", [5, 8])
@pytest.mark.parametrize("rows", [3, 40])
def test_the_last_row_of_a_transport_file_does_not_decide_about_blank_rows_before_it(
    tmp_path, monkeypatch, version, rows
):
    monkeypatch.setattr(statistical, "_PART_ROWS", 7)
    columns = {"y": {"bounds": (0, 1), "missing": "drop"}, "g": {"levels": ["a", "b"], "missing": {"fill": "b"}}}
    design = discreet.Design("y", columns)
    blank = pd.DataFrame({"y": [BLANK] * rows, "g": [""] * rows})
    kept = pd.DataFrame({"y": [BLANK, 1.0], "g": ["a", ""]})
    counts = []
    for number, last in enumerate((blank, pd.concat([blank, kept]))):
        path = tmp_path / f"{number}.xpt"
        pyreadstat.write_xport(last, str(path), file_format_version=version)
        counts.append(exact_release(path, design).moments[0, 0])
    assert counts == [0, 2]


def test_a_row_of_a_transport_file_that_is_blank_in_declared_columns_only_counts(tmp_path):
    frame = pd.DataFrame({"y": [BLANK] * 3, "other": [1.0, BLANK, 2.0]})
    pyreadstat.write_xport(frame, str(tmp_path / "t.xpt"), file_format_version=5)
    design = discreet.Design("y", {"y": (0, 1), "b": {"formula": "y > 0.5"}})
    assert exact_release(tmp_path / "t.xpt", design).moments[0, 0] == 2


def test_a_code_is_recognised_in_a_column_of_single_precision(tmp_path):
    frame = pd.DataFrame({"y": np.array([99.9, 1.0], np.float32), "x": [1.0, 2.0]})
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    coded = {"bounds": (0, 100), "missing": "drop", "missing_codes": [99.9]}
    design = discreet.Design("y", {"y": coded, "x": (0, 9)})
    assert exact_release(tmp_path / "t.dta", design).moments[0, 0] == 1
