"""Tables are from the folder that was given, or from packages; no other table takes their place."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.errors import SpecError
from discreet_papers.document_tables import has, published_results, regression_table


def test_a_table_of_the_folder_goes_before_that_of_a_package(tmp_path):
    columns = {"x0": [1.0, 2.0] * 5, "x1": [3.0, 4.0] * 5, "y": [5.0, 6.0] * 5}
    parquet.write_table(pa.table(columns), tmp_path / "housing.parquet")
    x, y = regression_table("housing", tmp_path)
    assert x.tolist() == [[1, 3], [2, 4]] * 5
    assert y.tolist() == [5, 6] * 5


@pytest.mark.parametrize(("name", "shape"), [("housing", (506, 13)), ("concrete", (1030, 8))])
def test_packages_hold_two_tables(name, shape, tmp_path):
    assert has(name, None)
    assert has(name, tmp_path)
    x, y = regression_table(name)
    assert x.shape == shape
    assert y.shape == shape[:1]
    assert np.isfinite(x).all()


def test_a_table_that_cannot_be_had_is_refused(tmp_path):
    assert not has("airfoil", None)
    assert not has("airfoil", tmp_path)
    with pytest.raises(SpecError, match=r"expected a file airfoil.parquet in the data folder"):
        regression_table("airfoil", tmp_path)


def test_published_results_are_read_where_they_are(tmp_path):
    assert published_results(None) is None
    assert published_results(tmp_path) is None
    (tmp_path / "wang2018_results.csv").write_text("dataset,method,epsilon,error,std\nbike,SSP,0.1,0.5,0.01\n")
    assert published_results(tmp_path)["error"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1.0]}, "rows, a column 'y' and other columns in"),
        ({"y": [1.0]}, "rows, a column 'y' and other columns in"),
        ({"a": [], "y": []}, "got 0 rows"),
        ({"a": ["text"] * 10, "y": [1.0] * 10}, "expected numbers in column 'a' of .*, got text"),
        ({"a": [1.0] * 10, "y": [float("nan")] * 10}, "expected finite numbers in column 'y' of .*, got others"),
        (None, "cannot read"),
    ],
)
def test_a_broken_table_is_refused_in_words(tmp_path, columns, words):
    import pandas as pd

    path = tmp_path / "airfoil.parquet"
    path.write_text("no table") if columns is None else pd.DataFrame(columns).to_parquet(path)
    with pytest.raises(SpecError, match=words):
        regression_table("airfoil", tmp_path)
