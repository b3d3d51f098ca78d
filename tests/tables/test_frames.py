"""In-memory tables by name: what counts as the same name, and what a column may be."""

from __future__ import annotations

import sys
import traceback
from array import array
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.design.columns import Categorical, Numeric, Readable
from discreet.errors import DataError, SpecError
from discreet.tables.arrow import declared_arrays
from discreet.tables.frames import check_names, frame_batches, is_frame, label_text, reads_once
from discreet.testing.not_private import exact_release

ANY = Numeric((-1e9, 1e9))


def read(data: object, *names: str, batch_rows: int = 100, column: Readable = ANY) -> dict[str, list[object]]:
    batches = list(frame_batches(data, dict.fromkeys(names, column), batch_rows))
    return pa.Table.from_batches(batches).to_pydict()


def test_only_tables_are_frames() -> None:
    assert all(is_frame(data) for data in ({}, np.zeros(3), pd.DataFrame(), pl.DataFrame(), pa.table({"x": [1]})))
    assert not any(is_frame(data) for data in ("t.csv", 5, None, [1], pl.DataFrame().lazy()))


def test_a_label_that_gives_no_text_is_none() -> None:
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert (label_text(Mute()), label_text(0)) == ("", "0")


def test_only_a_reader_is_used_up() -> None:
    table = pa.table({"x": [1]})
    assert reads_once(table.to_reader())
    assert not reads_once(table)


def test_names_that_are_not_declared_may_be_alike() -> None:
    check_names(["x"], ["a", "A", "a", "x", ""])


@pytest.mark.parametrize("other", ["X", " x", "x\t", "ｘ"])
def test_a_declared_name_may_not_be_alike_to_another(other) -> None:
    with pytest.raises(DataError, match="differ only in case"):
        check_names(["x"], ["x", other])
    with pytest.raises(DataError, match=r"no column 'x'.*another column differs from this name only"):
        check_names(["x"], [other])


def test_a_name_much_like_the_wanted_one_is_hinted_at_and_not_repeated() -> None:
    # without a header line the first row stands where names should, so what is found there may be cells
    with pytest.raises(DataError) as caught:
        check_names(["patent"], ["age", "Patient"])
    told = "the table has no column 'patent', which is required; another column has a very similar name: "
    assert str(caught.value) == told + "compare the spelling"
    with pytest.raises(DataError, match=r"which is required$"):
        check_names(["patent"], ["age", "ward"])
    with pytest.raises(DataError, match=r"which is required$"):
        check_names(["age", "patent"], ["age", "ward"])
    with pytest.raises(
        DataError, match="nor any other required column; the first line of a CSV file must contain the column names"
    ):
        check_names(["age", "patent"], ["44", "icu"])


def test_a_composed_and_a_decomposed_name_are_alike() -> None:
    with pytest.raises(DataError, match="Unicode form"):
        check_names(["é"], ["é", "e\N{COMBINING ACUTE ACCENT}"])


def test_labels_that_are_not_text_are_read_as_text() -> None:
    assert read(pd.DataFrame([[1.0, 2.0]]), "1") == {"1": [2.0]}
    wide = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    assert read(wide, "('a', 'c')") == {"('a', 'c')": [2]}


def test_a_name_with_signs_of_a_pattern_is_a_name() -> None:
    frame = pl.DataFrame({"^x.*$": [1.0], "xy": [2.0], "*": [3.0]})
    assert read(frame, "*", "^x.*$") == {"*": [3.0], "^x.*$": [1.0]}


@pytest.mark.parametrize(
    "column",
    [
        [1.5, None, 2.0],
        (1.5, None, 2.0),
        pa.array([1.5, None, 2.0]),
        pa.chunked_array([[1.5], [None, 2.0]]),
        pd.Series([1.5, None, 2.0], dtype="Float64"),
        pd.Series([1.5, None, 2.0], dtype=object),
        pl.Series([1.5, None, 2.0]),
        np.array([1.5, None, 2.0], dtype=object),
        np.ma.array([1.5, 9.0, 2.0], mask=[False, True, False]),
    ],
    ids=lambda column: type(column).__name__,
)
def test_a_mapping_may_hold_columns_of_any_library(column) -> None:
    assert read({"x": column}, "x", batch_rows=2) == {"x": [1.5, None, 2.0]}


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, ">f8", "<f4", np.int8, np.uint64, ">i2"])
def test_numbers_of_any_size_and_byte_order_are_read(kind) -> None:
    values = np.array([0, 1, 2, 3], dtype=kind)
    values.flags.writeable = False
    assert read({"x": values[::-2]}, "x") == {"x": [3.0, 1.0]}


def test_text_and_truth_of_numpy_are_read() -> None:
    assert read({"t": np.array([True, False])}, "t") == {"t": [True, False]}
    assert read({"g": np.array(["a", "b"])}, "g", column=Categorical(("a", "b"))) == {"g": ["a", "b"]}


def test_a_matrix_is_an_array_and_a_masked_array_keeps_its_mask() -> None:
    numbers = np.arange(4.0).reshape(2, 2)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(numbers)
    assert read(matrix, "a", "b") == {"a": [0.0, 2.0], "b": [1.0, 3.0]}
    masked = np.ma.array(numbers, mask=numbers == 2)
    assert read(masked, "a", "b") == {"a": [0.0, None], "b": [1.0, 3.0]}


def test_the_shape_of_an_array_is_told_without_its_rows() -> None:
    with pytest.raises(SpecError, match=r"expected .* 2 columns, in this order: 'a', 'b'; got 3 columns"):
        read(np.zeros((918273, 3)), "a", "b")
    with pytest.raises(SpecError) as caught:
        read(np.zeros(918273), "a", "b")
    assert "918273" not in str(caught.value)


def test_a_table_without_declared_columns_gives_nothing() -> None:
    assert list(frame_batches({"x": [1]}, {}, 10)) == []


class Broken:
    """A column of a library that fails, and quotes a cell as it does."""

    def __len__(self) -> int:
        return 1

    def __arrow_array__(self, type=None):  # noqa: A002  # Arrow's name
        raise ValueError("SECRETCELL")


def test_a_column_whose_library_fails_is_refused_without_its_words() -> None:
    with pytest.raises(DataError, match="a type that Arrow cannot read") as caught:
        read({"x": Broken()}, "x")
    assert caught.value.__context__ is None


def not_text() -> pa.Array:
    return pa.array([b"a", b"\xffSECRETCELL"]).view(pa.string())


def test_text_that_is_not_utf8_is_a_matter_of_its_own_cell_in_a_mapping_as_in_a_table() -> None:
    column = Categorical(("a", "b"))
    for data in ({"g": not_text()}, pa.table({"g": not_text()}), {"g": pa.chunked_array([not_text()])}):
        (batch,) = frame_batches(data, {"g": column}, 1000)
        positions = declared_arrays(batch, {"g": column})[0]
        assert positions[0] == 0
        assert np.isnan(positions[1])


def test_an_array_that_leads_outside_its_buffers_is_refused_in_a_mapping_as_in_a_table() -> None:
    buffers = [None, pa.py_buffer(np.array([0, 9, 2], np.int32)), pa.py_buffer(b"ab")]
    damaged = pa.Array.from_buffers(pa.string(), 2, buffers)
    for data in ({"g": damaged}, pa.table({"g": damaged})):
        with pytest.raises(DataError, match="could not be read to its end") as caught:
            read(data, "g", column=Categorical(("a", "b")))
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "column", ["ab", b"ab", {0: 1.0, 1: 2.0}, {1.0, 2.0}, iter([1.0])], ids=lambda column: type(column).__name__
)
def test_a_column_keeps_its_values_in_an_order(column) -> None:
    with pytest.raises(DataError, match=r"column 'x': expected a list or an array"):
        read({"x": column}, "x")


def test_an_array_of_text_holds_no_numbers() -> None:
    for values in (np.array(["1.5", "2"]), np.array(["1.5", "2"], np.dtypes.StringDType())):
        batch = next(frame_batches({"x": values}, {"x": ANY}, 10))
        with pytest.raises(DataError, match=r"'x' must contain numbers, as declared, but has type string"):
            declared_arrays(batch, {"x": ANY})
        assert read({"x": values}, "x", column=Categorical(("1.5", "2"))) == {"x": ["1.5", "2"]}


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([1.5, 2.0]),
        pd.Index([1.5, 2.0], dtype="Float64"),
        pd.Index([1.5, 2.0], dtype=object),
        pd.CategoricalIndex([1.5, 2.0]),
    ],
    ids=lambda index: type(index.dtype).__name__,
)
def test_an_index_of_pandas_is_a_column(index) -> None:
    assert read({"x": index}, "x") == {"x": [1.5, 2.0]}


def test_one_cell_that_arrow_cannot_hold_does_not_stop_a_column_of_pandas_text() -> None:
    text = pd.Series(["a", "\ud800", pd.NA, "b"], dtype="string[python]")
    for column in (text, text.array, pd.Index(text)):
        assert read({"g": column}, "g", column=Categorical(("a", "b"))) == {"g": ["a", None, None, "b"]}


def test_a_decimal_with_more_digits_than_its_type_is_a_matter_of_its_own_cell() -> None:
    largest = (2**127 - 1).to_bytes(16, "little")
    values = pa.Array.from_buffers(pa.decimal128(38, 0), 2, [None, pa.py_buffer(largest + (3).to_bytes(16, "little"))])
    for data in ({"x": values}, pa.table({"x": values})):
        (batch,) = frame_batches(data, {"x": ANY}, 1000)
        assert declared_arrays(batch, {"x": ANY})[0].tolist() == [2.0**127, 3.0]


class Library:
    """A column as xarray and PyTorch have it: it gives an array, and entries that are such columns themselves."""

    def __init__(self, values) -> None:
        self._values = np.asarray(values)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self._values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key):
        return Library(self._values[key])

    def __iter__(self):
        return (Library(value) for value in self._values)


class Refusing(Library):
    """As a tensor that needs its gradient does."""

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        raise RuntimeError("SECRETCELL")


@pytest.mark.parametrize(
    "made", [Library, memoryview, lambda values: array("d", values), pd.array, pd.arrays.SparseArray]
)
def test_a_column_of_a_library_of_arrays_keeps_its_rows(made) -> None:
    values = [0.5, 1.5, 0.25]
    assert read({"x": made(np.array(values))}, "x") == {"x": values}


class Labelled(Library):
    """As xarray has it: as a stream it is a table."""

    def __arrow_c_stream__(self, requested_schema=None) -> object:
        return pa.table({"values": self._values}).__arrow_c_stream__()


def test_an_array_of_xarray_is_a_column(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", SimpleNamespace(DataArray=Labelled))
    assert read({"x": Labelled([0.5, 1.5])}, "x") == {"x": [0.5, 1.5]}


def test_objects_in_a_column_of_a_library_are_read_cell_by_cell() -> None:
    assert read({"x": Library(np.array([0.5, "n/a", 1], object))}, "x") == {"x": [0.5, None, 1.0]}


class Endless(list):
    def __iter__(self):
        raise RuntimeError("SECRETCELL")


class Closed(dict):
    def __getitem__(self, key):
        raise RuntimeError("SECRETCELL")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": Refusing([0.5])}, "column 'x': expected an array or a table, got an unreadable Refusing"),
        ({"x": Library([[0.5]])}, "column 'x' must be one-dimensional"),
        ({"x": memoryview(np.ones((3, 1)))}, "column 'x' must be one-dimensional"),
        ({"x": np.float64(0.5)}, "column 'x' must be one-dimensional"),
        ({"x": Library([0.5j])}, "column 'x' must contain real numbers, but contains complex numbers"),
        ({"x": memoryview(np.ones(3, complex))}, "column 'x' must contain real numbers, but contains complex numbers"),
        ({"x": Endless([0.5])}, "column 'x': expected a list or an array, got an unreadable Endless"),
        (Closed(x=[0.5]), "could not be read to its end"),
    ],
)
def test_a_column_that_gives_no_cells_is_refused_without_its_words(data, message) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(data, "x")
    assert "SECRETCELL" not in "".join(traceback.format_exception(caught.value))


REFUSED = {
    "lists of Arrow": pa.array([[0.5]]),
    "lists of polars": pl.Series([[0.5]]),
    "text": np.array(["0.5"]),
    "Arrow text": pa.array(["0.5"]),
    "dictionary of text": pa.array(["0.5"]).dictionary_encode(),
    "pandas text": pd.Series(["0.5"], dtype="string"),
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "pandas dates": pd.to_datetime(["2020-01-01"]).array,
    "pandas dates with a zone": pd.to_datetime(["2020-01-01"], utc=True).array,
    "complex numbers": np.array([0.5j]),
    "structs": pa.array([{"a": 0.5}]),
    "bytes": np.array([b"0.5"]),
}


@pytest.mark.parametrize("rows", [1, 0])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_is_refused_whether_there_are_rows_or_not(kind, rows) -> None:
    columns = {name: {"bounds": (0, 1), "missing": "drop"} for name in "xy"}
    values, design = REFUSED[kind][:rows], discreet.Design("y", columns)
    tables: list[object] = [{"x": values, "y": [0.5] * rows}]
    if isinstance(values, pa.Array):
        tables.append(pa.table({"x": values, "y": pa.array([0.5] * rows)}))
    for table in tables:
        with pytest.raises(
            DataError,
            match=r"column 'x' must contain (numbers, as declared, but has type|real numbers, but contains complex)",
        ):
            exact_release(table, design)


def test_a_category_of_pandas_has_no_type_of_its_own() -> None:
    for last in ("c", 0.5):
        values = pd.Categorical(["a", "b", last])
        assert read({"g": values}, "g", column=Categorical(("a", "b")))["g"][:2] == ["a", "b"]


@pytest.mark.parametrize("kind", ["sql", "table"])
def test_a_relation_of_a_closed_connection_is_refused_in_words(kind) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.sql("create table t as select 0.5 x, 0.25 y")
    relation = connection.sql("select x, y from t") if kind == "sql" else connection.table("t")
    connection.close()
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    for call in (discreet.check, lambda *given: discreet.release(*given, epsilon=1.0)):
        with pytest.raises(DataError, match="cannot be converted to Arrow columns"):
            call(relation, design)
