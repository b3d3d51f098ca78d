"""What a check counts: by hand on small tables, and against a release without noise on many odd ones."""

from __future__ import annotations

import math
import tracemalloc

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

import discreet
from discreet.errors import DataError, SpecError
from discreet.tables.source import ComputeOptions
from discreet.testing import exact_release
from support.odd_cells import MARK, ODD_CELLS

RULES = {
    "y": {"bounds": (0, 10), "missing": "drop"},
    "x": {"bounds": (-5, 5), "missing": "drop"},
    "yes": {"dtype": "bool", "missing": {"fill": False}},
    "g": {"levels": ["a", "b"], "missing": "drop"},
    "n": {"levels": [1, 2], "missing": {"fill": 2}},
}
DESIGN = discreet.Design("y", RULES)
MISSING = {"None", "pd.NA", "pd.NaT", "NaN", "float32 NaN", "masked"}


def counts(check: discreet.curator.inspection.CheckNotForPublication, name: str) -> dict[str, int]:
    return {key: found.count for key, found in check.column(name).findings.items() if found.count}


def places(check: discreet.curator.inspection.CheckNotForPublication, name: str, finding: str) -> list[int]:
    return [place.number for place in getattr(check.column(name), finding).first]


def counted(data: object, design: discreet.Design = DESIGN) -> float:
    return float(exact_release(data, design).moments[0, 0])


HAND = """\
y,x,yes,g,n

1,0,true,a,1
11,-6,false,b,2
-1,6,yes,c,3

,nan,,,
NA,1e999,2,A,1.0
2,"1,5",1.0,"",x
3, 1,0,b ,2
4,-5,TRUE,a,2
"""


def test_a_table_by_hand_with_blank_lines(tmp_path) -> None:
    file = tmp_path / "t.csv"
    for end in ("\n", "\r\n", "\r"):
        file.write_bytes(HAND.replace("\n", end).encode())
        found = discreet.check(file, DESIGN)
        assert (found.rows_read, found.numbered) == (8, "line")
        assert counts(found, "y") == {"missing": 1, "not_a_number": 1, "clipped_low": 1, "clipped_high": 1}
        assert (places(found, "y", "missing"), places(found, "y", "not_a_number")) == ([7], [8])
        assert (places(found, "y", "clipped_low"), places(found, "y", "clipped_high")) == ([5], [4])
        assert counts(found, "x") == {"missing": 1, "not_a_number": 3, "clipped_low": 1, "clipped_high": 1}
        assert places(found, "x", "not_a_number") == [8, 9, 10]
        assert counts(found, "yes") == {"missing": 1, "no_declared_level": 2}
        assert places(found, "yes", "no_declared_level") == [5, 8]
        assert counts(found, "g") == {"missing": 2, "no_declared_level": 3}
        assert places(found, "g", "no_declared_level") == [5, 8, 10]
        assert counts(found, "n") == {"missing": 1, "no_declared_level": 2}
        assert found.rows_fit == 3 == counted(file)
        assert found.stops == ()


def test_a_word_is_counted_alike_whatever_stands_beside_it(tmp_path) -> None:
    design = discreet.Design("y", {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}})
    for word in ("nan", "NaN", "-nan", "+NAN", "nan(1)", "inf", "-Infinity", "0.5", ""):
        found = []
        for other in ("0.25", "word"):
            (tmp_path / "t.csv").write_text(f"y,x\n0,{word}\n0,{other}\n")
            found.append(counts(discreet.check(tmp_path / "t.csv", design), "x"))
        alone, beside = found
        assert beside == alone | {"not_a_number": alone.get("not_a_number", 0) + 1}, word


@pytest.mark.no_cover
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("kind", ODD_CELLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_cell_in_a_list_fits_as_in_a_release(kind: str, name: str) -> None:
    table: dict[str, list[object]] = {"y": [1, 2], "x": [0.5, 1], "yes": [True, 0], "g": ["a", "b"], "n": [1, 2]}
    table[name] = [table[name][0], ODD_CELLS[kind]]
    found = discreet.check(table, DESIGN)
    assert found.rows_fit == counted(table)
    assert MARK not in repr(found) + str(found.to_dict())
    assert found.column(name).missing.count == (kind in MISSING)
    bad = found.column(name).misfits
    stopping = discreet.Design("y", RULES | {name: {**RULES[name], "missing": "error"}})
    again = discreet.check(table, stopping)
    assert bool(again.stops) == bool(bad)
    assert again.column(name).findings == found.column(name).findings
    if bad:
        with pytest.raises(DataError):
            exact_release(table, stopping)
    else:
        exact_release(table, stopping)


def odd_table(rows: int, seed: int) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)

    def of(*cells: object) -> list[object]:
        return [cells[index] for index in rng.integers(len(cells), size=rows)]

    return {
        "y": of(1.0, 2.0, 10.0, 10.5, -1.0, None, math.nan, math.inf),
        "x": of(-5.0, 5.0, 5.000001, -7.5, 0.0, None, -math.inf),
        "yes": of(0.0, 1.0, 1.0, 0.0, 2.0, None),
        "g": of("a", "b", "a", "c", "", None),
        "n": of(1.0, 2.0, 1.5, None),
        "person": of("p1", "p2", "p3", "p4"),
    }


def written(table: dict[str, list[object]], kind: str, folder) -> object:
    frame = pd.DataFrame(table)
    arrow = pa.table({name: pa.array(cells) for name, cells in table.items()})
    if kind == "csv":
        frame.to_csv(folder / "t.csv", index=False)
        return folder / "t.csv"
    if kind == "parquet":
        pq.write_table(arrow, folder / "t.parquet", row_group_size=7)
        return folder / "t.parquet"
    if kind == "arrow file":
        with ipc.new_file(folder / "t.arrow", arrow.schema) as writer:
            writer.write_table(arrow, max_chunksize=9)
        return folder / "t.arrow"
    if kind == "duckdb":
        return duckdb.sql("SELECT * FROM arrow")
    if kind == "structured":
        return frame[["y", "x", "yes", "n"]].to_records(index=False)
    return {
        "mapping": table,
        "arrow": arrow,
        "dictionary": arrow.set_column(3, "g", arrow["g"].dictionary_encode()),
        "pandas": frame,
        "categories": frame.astype({"g": "category"}),
        "nullable": frame.convert_dtypes(),
        "polars": pl.DataFrame(table, strict=False),
    }[kind]


CONTAINERS = (
    "csv", "parquet", "arrow file", "duckdb", "mapping", "arrow", "dictionary", "pandas", "categories", "nullable",
    "polars",
)  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("unit", [None, {"id": "person", "max_rows": 3}], ids=["rows", "persons"])
@pytest.mark.parametrize("kind", CONTAINERS)
def test_rows_that_fit_are_those_of_a_release_without_noise(kind: str, unit, tmp_path) -> None:
    design = discreet.Design("y", RULES, unit=unit)
    for seed, rows in ((1, 40), (2, 0), (3, 5), (4, 300)):
        data = written(odd_table(rows, seed), kind, tmp_path)
        if rows == 0 and kind in ("duckdb", "pandas", "nullable", "categories"):
            # without a cell these have no type for a column of text
            continue
        found = discreet.check(data, design, compute=ComputeOptions(batch_rows=16))
        assert found.rows_read == rows
        assert found.rows_fit == counted(data, design)
        plain = discreet.check(odd_table(rows, seed), design)
        assert {name: found.column(name).misfits for name in RULES} == {
            name: plain.column(name).misfits for name in RULES
        }


@pytest.mark.parametrize("kind", ["structured", "matrix"])
def test_arrays_are_counted_as_a_release_reads_them(kind: str, tmp_path) -> None:
    table = odd_table(100, 7)
    design = discreet.Design("y", {name: RULES[name] for name in ("y", "x", "yes", "n")})
    data = written(table, "structured", tmp_path)
    if kind == "matrix":
        data = np.array([table[name] for name in ("y", "x", "yes", "n")], dtype=float).T
        with pytest.warns(discreet.errors.ColumnNotice, match="read by position"):
            found = discreet.check(data, design)
        data = {name: data[:, index] for index, name in enumerate(("y", "x", "yes", "n"))}
    else:
        found = discreet.check(data, design)
    assert found.rows_fit == counted(data, design)
    assert found.numbered == "row"


def test_clipped_counts_are_those_of_a_release_where_every_row_counts() -> None:
    rng = np.random.default_rng(5)
    table = {"y": rng.normal(5, 4, 500), "x": rng.normal(0, 4, 500)}
    design = discreet.Design(
        "y", {"y": (0, 10), "x": (-5, 5), "sq": {"formula": "x ** 2", "bounds": (1, 16)}, "lin": {"formula": "x + y"}}
    )
    made = exact_release(table, design, clip_counts=True)
    found = discreet.check(table, design)
    assert made.clip_counts is not None
    for name, count in made.clip_counts.items():
        column = found.column(name)
        assert column.clipped_low.count + column.clipped_high.count == count.value > 0
    sq = np.clip(table["x"], -5, 5) ** 2
    assert found.column("sq").clipped_low.count == (sq < 1).sum()
    assert found.column("sq").clipped_high.count == (sq > 16).sum()
    assert [place.number for place in found.column("sq").clipped_low.first] == np.flatnonzero(sq < 1)[:5].tolist()
    assert counts(found, "lin") == {}


def test_a_formula_has_no_value_where_a_cell_it_uses_has_none() -> None:
    design = discreet.Design(
        "y",
        {
            "y": (0, 10),
            "x": {"bounds": (1, 5), "missing": "drop", "release": False},
            "z": {"bounds": (1, 5), "missing": {"fill": 2}},
            "log": {"formula": "log(x)", "bounds": (0.5, 1)},
            "both": {"formula": "x * z", "bounds": (2, 8)},
            "s": {"formula": "spline(z, 2, 3)"},
            "c": {"formula": "cut(x, 2, 3)"},
        },
    )
    table = {"y": [1, None, 3, 4], "x": [1, 5, "x", None], "z": [None, 5, 5, "z"]}
    found = discreet.check(table, design)
    assert counts(found, "log") == {"no_value": 2, "clipped_low": 1, "clipped_high": 1}
    assert places(found, "log", "no_value") == [2, 3]
    assert counts(found, "both") == {"no_value": 2, "clipped_high": 1}
    assert counts(found, "c") == {"no_value": 2}
    assert counts(found, "s") == {}
    assert (found.rows_read, found.rows_fit, len(found.stops)) == (4, 1, 1)


def test_the_rule_error_stops_nothing_and_every_problem_is_named(tmp_path) -> None:
    design = discreet.Design("y", {"y": (0, 10), "x": (0, 1), "yes": bool, "g": ["a", "b"]})
    (tmp_path / "t.csv").write_text('y,x,yes,g\n"1,5",0.5,yes,a\n2,,no,z\n3,1,1,b\n')
    found = discreet.check(tmp_path / "t.csv", design)
    assert (found.rows_read, found.rows_fit) == (3, 1)
    assert [reason.split("'")[1] for reason in found.stops] == ["y", "x", "yes", "g"]
    with pytest.raises(DataError):
        exact_release(tmp_path / "t.csv", design)


def test_a_column_of_another_type_is_a_finding_and_the_others_are_counted() -> None:
    table = pa.table({
        "y": [1.0, None, 3.0],
        "x": pa.array([1, 2, None], pa.date32()),
        "g": pa.array([1, 2, 3]),
    })  # fmt: skip
    design = discreet.Design("y", {"y": (0, 10), "x": {"bounds": (0, 1), "missing": {"fill": 0}}, "g": ["a", "b"]})
    found = discreet.check(table, design)
    assert found.rows_fit == 0
    assert counts(found, "x") == {"missing": 1, "not_a_number": 2}
    assert counts(found, "g") == {"no_declared_level": 3}
    assert counts(found, "y") == {"missing": 1}
    assert len(found.stops) == 3
    assert "column 'x' must contain numbers, as declared, but has type date32[day]" in found.stops[1]


PERSONS = {
    "who": ["a", "a", "a", "b", "b", None, "c", "a", "d"],
    "y": [1.0, 2.0, 3.0, 1.0, None, 1.0, None, 4.0, 5.0],
    "x": [1.0] * 9,
}


def test_persons_over_their_cap_and_rows_without_a_person() -> None:
    for max_rows, over, beyond in ((1, 1, 3), (2, 1, 2), (3, 1, 1), (4, 0, 0)):
        columns = {name: {"bounds": (0, 10), "missing": "drop"} for name in "yx"}
        design = discreet.Design("y", columns, unit={"id": "who", "max_rows": max_rows})
        found = discreet.check(PERSONS, design, compute=ComputeOptions(batch_rows=2))
        assert found.persons is not None
        assert found.persons.to_dict() == {
            "persons": 4, "max_rows": max_rows, "over_cap": over, "rows_beyond": beyond,
        }  # fmt: skip
        assert found.rows_fit == 6 - beyond == counted(PERSONS, design)
        assert (counts(found, "who"), places(found, "who", "missing")) == ({"missing": 1}, [5])
        assert found.stops == ()
    stopping = discreet.Design("y", {"y": (0, 10), "x": (0, 10)}, unit={"id": "who", "max_rows": 2})
    assert len(discreet.check(PERSONS, stopping).stops) == 2
    whole = {
        name: [cell for cell, who in zip(cells, PERSONS["who"], strict=True) if who] for name, cells in PERSONS.items()
    }
    assert len(discreet.check(whole, stopping).stops) == 1


def test_ids_of_another_type_are_a_finding() -> None:
    design = discreet.Design("y", {"y": (0, 10), "x": (0, 10)}, unit={"id": "who", "max_rows": 2})
    table = pa.table({"y": [1.0], "x": [2.0], "who": pa.array([1], pa.date32())})
    found = discreet.check(table, design)
    assert (found.rows_fit, found.persons) == (0, None)
    assert found.stops == ("the id column 'who' must contain text or integers, but has type date32[day]",)


def test_an_empty_table_stops_unless_every_table_can_be_released() -> None:
    empty = {"y": np.zeros(0), "x": np.zeros(0)}
    assert discreet.check(empty, discreet.Design("y", {"y": (0, 1), "x": (0, 1)})).stops == ("the table has no rows",)
    columns = {name: {"bounds": (0, 1), "missing": "drop"} for name in "yx"}
    assert discreet.check(empty, discreet.Design("y", columns)).stops == ()


def test_places_in_several_files(tmp_path) -> None:
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
    for name, rows in (("a", "0,0\n\n0,2\n"), ("b", "0,2\n")):
        (tmp_path / f"{name}.csv").write_text(f"y,x\n{rows}")
        pq.write_table(pa.table({"y": [0.0, 0.0], "x": [0.0, 2.0]}), tmp_path / f"{name}.parquet")
    for kind, expected in (("csv", [("a.csv", 4), ("b.csv", 2)]), ("parquet", [("a.parquet", 1), ("b.parquet", 1)])):
        found = discreet.check(str(tmp_path / f"*.{kind}"), design, compute=ComputeOptions(batch_rows=1))
        assert [(place.file, place.number) for place in found.column("x").clipped_high.first] == expected


@pytest.mark.no_cover
def test_lines_are_right_over_many_blocks_and_encodings(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("discreet.tables.csv.BLOCK_BYTES", 64)
    rng = np.random.default_rng(3)
    design = discreet.Design("y", {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}})
    for encoding in ("utf-8", "utf-16", "latin-1"):
        for _ in range(20):
            kinds = rng.choice(["0,0", "", "0,ä", "0,2"], size=60, p=[0.7, 0.2, 0.05, 0.05])
            lines = ["y;x", *(str(kind).replace(",", ";") for kind in kinds)]
            (tmp_path / "t.csv").write_bytes("\r\n".join(lines).encode(encoding))
            found = discreet.check(
                tmp_path / "t.csv",
                design,
                reading=discreet.ReadOptions(encoding, ";"),
                compute=ComputeOptions(batch_rows=2),
            )
            for cell, finding in (("0;ä", "not_a_number"), ("0;2", "clipped_high")):
                expected = [number for number, line in enumerate(lines, 1) if line == cell]
                assert places(found, "x", finding) == expected[:5]
                assert getattr(found.column("x"), finding).count == len(expected)


def test_structural_faults_are_errors(tmp_path) -> None:
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
    (tmp_path / "t.csv").write_text("y,x\n0,0\n0,0,0\n")
    with pytest.raises(DataError, match="line 3"):
        discreet.check(tmp_path / "t.csv", design)
    with pytest.raises(DataError, match="no column 'x'"):
        discreet.check({"y": [0.0]}, design)
    with pytest.raises(SpecError, match="there is no file"):
        discreet.check(tmp_path / "none.csv", design)


def test_the_rule_of_marks_cannot_be_declared() -> None:
    marked = discreet.design.columns.Numeric((0, 1), missing="mark")
    with pytest.raises(SpecError, match=r"expected 'error', 'drop' or .* for missing, got 'mark'"):
        discreet.Design("y", {"y": marked, "x": (0, 1)})


def test_memory_does_not_grow_with_the_table(tmp_path) -> None:
    design = discreet.Design("y", {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}})
    peaks = []
    for rows in (100_000, 800_000):
        (tmp_path / "t.csv").write_text("y,x\n" + "0.5,2\n0.5,word\n" * (rows // 2))
        tracemalloc.start()
        assert discreet.check(tmp_path / "t.csv", design).rows_fit == rows // 2
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
