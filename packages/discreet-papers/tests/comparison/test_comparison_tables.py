"""Tables for a comparison: read, cleaned, boxed, and refused in words."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.errors import SpecError
from discreet_papers.comparison.method_tables import box, prepared, public_tables, saved_rows


def frame(rows=100):
    rng = np.random.default_rng(1)
    return pd.DataFrame({"a": rng.normal(size=rows), "b": ["u", "v"] * (rows // 2), "y": rng.normal(size=rows)})


def test_levels_become_columns_and_gaps_and_constants_are_left_out():
    given = frame().assign(c=1.0)
    given.loc[3, "a"], given.loc[4, "a"] = np.nan, np.inf
    found = prepared("t", given, "y")
    assert found.columns == ("a", "b_v")
    assert found.x.shape == (98, 2)
    assert found.notes == ("t: 2 rows with missing cells were left out.", "t: constant columns were left out: c.")


def test_a_box_is_the_range_widened_on_both_sides():
    x, y = np.array([[0.0, -1.0], [10.0, 1.0]]), np.array([0.0, 5.0])
    assert box(x, y, 2.0) == ([(-20.0, 30.0), (-5.0, 5.0)], (-10.0, 15.0))
    assert box(x, y, 0.0) == ([(0.0, 10.0), (-1.0, 1.0)], (0.0, 5.0))


def test_files_frames_and_several_of_them_are_read(tmp_path):
    frame().to_csv(tmp_path / "one.csv", index=False)
    frame().to_parquet(tmp_path / "two.parquet")
    tables = public_tables([tmp_path / "one.csv", str(tmp_path / "two.parquet")], "y")
    assert [table.name for table in tables] == ["one", "two"]
    assert tables[0].x == pytest.approx(tables[1].x)
    (named,) = public_tables({"mine": pa.Table.from_pandas(frame())}, "y")
    (plain,) = public_tables(frame(), "y")
    assert (named.name, plain.name) == ("mine", "table")
    assert named.digest == plain.digest
    x, y = saved_rows(str(named.save(tmp_path / "kept")))
    assert (x == named.x).all()
    assert (y == named.y).all()
    assert named.save(tmp_path / "kept") == plain.save(tmp_path / "kept")


def test_without_data_there_is_a_simulated_table():
    (table,) = public_tables(None, None)
    assert table.name == "simulated-clinical"
    assert table.x.shape == (5_000, 6)


@pytest.mark.parametrize(
    ("data", "target", "words"),
    [
        (None, "y", "got target='y' but no data"),
        (frame(), None, "expected the name of the target column"),
        (frame(), "z", "unknown column 'z' of the table 'table'; allowed: a, b, y"),
        (frame(), "b", "expected numbers in the target 'b' of the table 'table', got text"),
        (frame(40), "y", "expected at least 50 complete rows"),
        (frame().assign(y=1.0), "y", "a target that varies"),
        (frame()[["y"]], "y", "got 100 rows and 0 regressors that vary"),
        (frame().assign(c=[f"p{one}" for one in range(100)]), "y", "at most 50 levels, in column 'c'"),
        (frame().assign(c=pd.Timestamp(2020, 1, 1)), "y", "expected numbers, or text"),
        ("table.xlsx", "y", "expected a .csv or .parquet file"),
        ("nowhere.csv", "y", "cannot read the file 'nowhere.csv'"),
        (7, "y", "expected a path, or a pandas, polars or pyarrow table, got 7"),
        ([], "y", "expected at least one table"),
        ([frame(), frame()], "y", "expected tables with different names, got table, table"),
    ],
)
def test_what_is_no_table_is_refused(data, target, words):
    with pytest.raises(SpecError, match=words):
        public_tables(data, target)
