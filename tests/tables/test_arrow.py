"""Arrow columns to float64 arrays: which types are allowed, and what becomes NaN."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc

import discreet
from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.errors import CellError, DataError, SpecError
from discreet.tables.arrow import check_buffers, declared_array, declared_arrays, missing_cells
from discreet.testing.not_private import exact_release

NUMBER, TRUTH = Numeric((0, 1)), Boolean()
TEXT, CODE = Categorical(("a", "b")), Categorical((0, 7))


def read(column, values: pa.Array) -> list[float | None]:
    found = declared_array("c", column, values)
    assert found.dtype == np.float64
    return [None if np.isnan(value) else float(value) for value in found]


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(30, 3)],
)
def test_every_numeric_type_is_read(kind) -> None:
    values = pa.array([0, 7, None], pa.int64()).cast(kind)
    assert read(NUMBER, values) == [0.0, 7.0, None]
    if not pa.types.is_decimal(kind):
        assert read(CODE, values) == [0.0, 1.0, None]


def test_whole_numbers_beyond_doubles_are_rounded() -> None:
    assert read(NUMBER, pa.array([2**63 - 1, 2**53 + 1])) == [2.0**63, 2.0**53]
    assert read(NUMBER, pa.array([2**64 - 1], pa.uint64())) == [2.0**64]
    assert read(NUMBER, pa.array([Decimal(10) ** 60], pa.decimal256(70, 0))) == [1e60]


def test_truth_is_zero_or_one_and_nothing_else() -> None:
    assert read(TRUTH, pa.array([True, False, None])) == [1.0, 0.0, None]
    assert read(TRUTH, pa.array([1, 0, 2, -1, None])) == [1.0, 0.0, None, None, None]
    assert read(TRUTH, pa.array([1.0, 0.5, -0.0, float("nan")])) == [1.0, None, 0.0, None]
    assert read(NUMBER, pa.array([True, None])) == [1.0, None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_levels_are_found_in_text_of_any_kind(kind) -> None:
    values = pa.array(["b", None, "z", "a", "A", ""], kind)
    assert read(TEXT, values) == [1.0, None, None, 0.0, None, None]
    indices = pa.array([0, None, 2, 1], pa.int8())
    assert read(TEXT, pa.DictionaryArray.from_arrays(indices, pa.array(["b", "z", "a"], kind))) == [
        1.0,
        None,
        0.0,
        None,
    ]


def test_a_dictionary_may_hold_numbers_nulls_or_nothing() -> None:
    pairs = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 2]), pa.array([0.25, 0.5, None]))
    assert read(NUMBER, pairs) == [0.5, 0.25, None, None]
    assert read(TEXT, pa.array([None, None], pa.dictionary(pa.int8(), pa.string()))) == [None, None]


def test_a_minus_zero_is_the_level_zero() -> None:
    assert read(CODE, pa.array([-0.0, 0.0, 7.0, 7.5, float("inf"), float("nan")])) == [0.0, 0.0, 1.0, None, None, None]


def test_levels_that_share_a_double_are_refused() -> None:
    with pytest.raises(SpecError, match=r"2\*\*53"):
        read(Categorical((1, 2**53)), pa.array([1]))
    assert read(Categorical((1, 2**53 - 1)), pa.array([2**53 - 1, 2**53])) == [1.0, None]


def test_a_column_without_a_type_is_all_missing() -> None:
    for column in (NUMBER, TRUTH, TEXT, CODE):
        assert read(column, pa.nulls(2)) == [None, None]


WRONG = {
    "text": pa.array(["SECRETCELL"]),
    "dates": pa.array([datetime.date(2020, 1, 1)]),
    "times": pa.array([datetime.datetime(2020, 1, 1)]),
    "durations": pa.array([datetime.timedelta(1)]),
    "lists": pa.array([[1.0]]),
    "structs": pa.array([{"a": 1.0}]),
    "bytes": pa.array([b"SECRETCELL"]),
    "dictionary of text": pa.array(["SECRETCELL"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("column", [NUMBER, TRUTH, CODE])
def test_other_types_are_refused_by_name(kind, column) -> None:
    with pytest.raises(DataError, match=r"column 'c' must contain .*declared.*, but has type") as caught:
        read(column, WRONG[kind])
    assert "SECRETCELL" not in str(caught.value)


@pytest.mark.parametrize("column", [NUMBER, TRUTH])
@pytest.mark.parametrize("kind", ["text", "dictionary of text", "dates"])
def test_a_column_of_words_may_have_levels(kind, column) -> None:
    with pytest.raises(DataError) as caught:
        read(column, WRONG[kind])
    assert str(caught.value).endswith("; convert the column, or declare levels instead") == (kind != "dates")


@pytest.mark.parametrize("values", [pa.array([1]), pa.array([1.5]), pa.array([True]), pa.array([b"a"])])
def test_text_levels_need_text(values) -> None:
    with pytest.raises(DataError, match="must contain text, like its declared levels"):
        read(TEXT, values)


def test_columns_come_in_declared_order() -> None:
    batch = pa.record_batch({"b": [0.5], "a": ["b"], "z": [9]})
    assert [array.tolist() for array in declared_arrays(batch, {"a": TEXT, "b": NUMBER})] == [[1.0], [0.5]]


def text_from(kind, offsets, data=b"ab\xff"):
    size = np.int64 if kind == pa.large_string() else np.int32
    buffers = [None, pa.py_buffer(np.array(offsets, size)), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_may_be_any_bytes_but_must_lie_in_its_buffers(kind) -> None:
    good, bytes_only, outside = (text_from(kind, ends) for ends in ([0, 1, 2], [0, 1, 3], [0, 9, 2]))
    numbers = pa.array([1, 2])
    for text in (good, bytes_only):
        check_buffers(pa.record_batch({"t": text, "n": numbers}))
        check_buffers(pa.record_batch({"t": pa.DictionaryArray.from_arrays(numbers.cast("int8"), pa.array(["a"] * 3))}))
        check_buffers(pa.record_batch({"t": pa.DictionaryArray.from_arrays(pa.array([0, 1]), text)}))
    with pytest.raises(pa.ArrowInvalid):
        check_buffers(pa.record_batch({"n": numbers, "t": outside}))
    with pytest.raises(pa.ArrowInvalid):
        check_buffers(pa.record_batch({"d": pa.DictionaryArray.from_arrays(pa.array([0, 1]), outside, safe=False)}))


def test_a_view_of_text_may_be_any_bytes() -> None:
    check_buffers(pa.record_batch({"t": pa.array([b"a", b"\xff"], pa.binary_view()).view(pa.string_view())}))


DROP = {"bounds": (0, 9), "missing": "drop"}
LEVELS = discreet.Design("y", {"x": {"levels": ["a", "b"], "missing": "drop"}, "y": DROP})
NUMBERS = discreet.Design("y", {"x": DROP, "y": DROP})
PERSONS = discreet.Design("y", {"z": DROP, "y": DROP}, unit={"id": "x", "max_rows": 2})
CELLS = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]


def coded(indices, kind, entries) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind), pa.array(entries), safe=False)


def released(x, design, folder):
    """The sums of the same rows in every container that holds Arrow columns as they are."""
    table = pa.table({"x": x, "y": CELLS[: len(x)], "z": CELLS[: len(x)]})
    with ipc.new_stream(folder / "t.arrow", table.schema) as file:
        file.write_table(table)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    typed = pd.DataFrame(
        {name: pd.Series(values, dtype=pd.ArrowDtype(values.type)) for name, values in columns.items()}
    )
    return [exact_release(data, design).totals for data in (table, columns, typed, folder / "t.arrow")]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("kind", "beyond"),
    [(pa.int8(), 2), (pa.int8(), -1), (pa.int8(), 127), (pa.int64(), 2**60), (pa.uint64(), 2**64 - 1)],
)
@pytest.mark.parametrize("design", [LEVELS, NUMBERS, PERSONS], ids=["levels", "numbers", "persons"])
def test_an_index_beyond_its_dictionary_is_a_bad_cell_of_its_own(design, kind, beyond, tmp_path) -> None:
    words = design is not NUMBERS
    first, second = (["a", "b"], ["b", "c"]) if words else ([1.0, 2.0], [2.0, 99.0])
    good = coded([0, 1, None, 1], kind, first)
    bad = coded([0, 1, beyond, 1], kind, first)
    more = coded([0, None], kind, second)
    for one, other in ((good, bad), (pa.chunked_array([good, more]), pa.chunked_array([bad, more]))):
        assert released(other, design, tmp_path) == released(one, design, tmp_path)


class Converted:
    """A column of a library that converts itself."""

    def __init__(self, values) -> None:
        self._values = values

    def __arrow_array__(self, type=None):  # noqa: A002  # Arrow's name
        return self._values


@pytest.mark.parametrize("chunked", [False, True])
def test_a_column_that_converts_itself_is_read_as_what_it_gives(chunked) -> None:
    good, bad = (coded([0, 1, index, 1], pa.int8(), ["a", "b"]) for index in (None, 77))
    if chunked:
        more = coded([0, None], pa.int8(), ["b", "c"])
        good, bad = pa.chunked_array([good, more]), pa.chunked_array([bad, more])
    y = CELLS[: len(good)]
    expected = exact_release({"x": good, "y": y}, LEVELS).totals
    assert exact_release({"x": Converted(bad), "y": y}, LEVELS).totals == expected


def test_a_code_beyond_the_categories_of_pandas_is_a_bad_cell_of_its_own() -> None:
    good = pd.Categorical.from_codes([0, 1, -1, 1], ["a", "b"])
    bad = pd.Categorical.from_codes([0, 1, 0, 1], ["a", "b"])
    bad._ndarray[2] = 77
    one, other = (exact_release(pd.DataFrame({"x": x, "y": CELLS[:4]}), LEVELS).totals for x in (good, bad))
    assert one == other


def test_an_index_beyond_its_dictionary_is_refused_where_a_missing_cell_is() -> None:
    design = discreet.Design("y", {"x": ["a", "b"], "y": DROP})
    with pytest.raises(CellError, match="column 'x' has a cell"):
        exact_release({"x": coded([0, 5], pa.int8(), ["a", "b"]), "y": CELLS[:2]}, design)
    persons = discreet.Design("y", {"z": (0, 9), "y": DROP}, unit={"id": "x", "max_rows": 2})
    with pytest.raises(DataError, match="the id column 'x' has a cell that is missing"):
        exact_release({"x": coded([0, 5], pa.int8(), ["a", "b"]), "y": CELLS[:2], "z": CELLS[:2]}, persons)


@pytest.mark.parametrize("cells", [[0, 86_400_000], [0, 5]])
def test_a_type_is_refused_before_its_cells_are_looked_at(cells) -> None:
    dates = pa.array(cells, pa.int64()).view(pa.date64())
    with pytest.raises(DataError, match="column 'x' must contain numbers, as declared, but has type date64"):
        exact_release({"x": dates, "y": CELLS[:2]}, NUMBERS)


CODES = discreet.Design("y", {"x": {"levels": [1, 2], "missing": "drop"}, "y": DROP})
OF_POLARS = {
    "Int128": pl.Series([1, 2, None, 2**100, 2, -1], dtype=pl.Int128),
    "UInt128": pl.Series([1, 2, None, 2**100, 2, 2**128 - 1], dtype=pl.UInt128),
    "Object": pl.Series([1, 2.0, None, "a", Decimal(2), object()], dtype=pl.Object),
}


@pytest.mark.parametrize("kind", OF_POLARS)
@pytest.mark.parametrize("design", [CODES, NUMBERS, PERSONS, LEVELS], ids=["codes", "numbers", "persons", "levels"])
def test_types_of_polars_that_arrow_does_not_have_are_read_cell_by_cell(design, kind) -> None:
    series = OF_POLARS[kind]
    columns = {"x": series, "y": CELLS, "z": CELLS}
    expected = exact_release({**columns, "x": series.to_list()}, design).totals
    for data in (pl.DataFrame(columns), columns):
        assert exact_release(data, design).totals == expected


@pytest.mark.parametrize(
    "kind", [pa.decimal128(38, 0), pa.decimal256(50, 0), pa.decimal32(5, 0), pa.decimal64(9, 0)], ids=str
)
def test_decimals_without_a_fraction_are_integers(kind) -> None:
    whole = [1, 2, None, 99, 2, -1]
    for design in (CODES, NUMBERS, PERSONS):
        one, other = (
            exact_release({"x": x, "y": CELLS, "z": CELLS}, design).totals
            for x in (pa.array(whole, pa.int64()), pa.array(whole, kind))
        )
        assert one == other


def test_a_level_is_the_same_number_in_any_decimal() -> None:
    x = pa.array([Decimal("1.00"), Decimal("1.01"), Decimal("2.00")], pa.decimal128(5, 2))
    expected = exact_release({"x": [1, None, 2], "y": CELLS[:3]}, CODES).totals
    assert exact_release({"x": x, "y": CELLS[:3]}, CODES).totals == expected
    with pytest.raises(
        DataError, match=r"the id column 'x' must contain text or integers, but has type decimal128\(5, 2\)"
    ):
        exact_release({"x": x, "y": CELLS[:3], "z": CELLS[:3]}, PERSONS)


def test_a_hugeint_of_duckdb_may_be_a_level_or_an_id() -> None:
    query = "SELECT (i % 3)::{kind} AS x, 0.5::DOUBLE AS y, i % 5 + 1.5::DOUBLE AS z FROM range(20) t(i)"
    for design in (CODES, PERSONS):
        one, other = (
            exact_release(duckdb.sql(query.format(kind=kind)), design).totals for kind in ("BIGINT", "HUGEINT")
        )
        assert one == other


@pytest.mark.parametrize(
    "kind", [pa.float64(), pa.float32(), pa.float16(), pa.int64(), pa.string(), pa.decimal128(38, 2)]
)
def test_missing_cells_are_null_or_nan_in_every_type(kind) -> None:
    cells = pa.array([1.0, None, 2.0]).cast(pa.int64()).cast(kind)
    assert missing_cells(None, cells).tolist() == [False, True, False]
    if kind != pa.float16():
        # Arrow makes no dictionary of these
        assert missing_cells(None, cells.dictionary_encode()).tolist() == [False, True, False]
    if pa.types.is_floating(kind):
        assert missing_cells(None, pa.array(np.array([1.0, np.nan, np.inf], kind.to_pandas_dtype()))).tolist() == [
            False, True, False,
        ]  # fmt: skip


def test_an_index_beyond_its_dictionary_and_a_column_without_a_type_are_missing() -> None:
    beyond = pa.DictionaryArray.from_arrays(pa.array([0, 5, 1]), pa.array(["a", None]), safe=False)
    assert missing_cells(None, beyond).tolist() == [False, True, True]
    assert missing_cells(None, pa.nulls(2)).tolist() == [True, True]


@pytest.mark.parametrize(
    "kind", [pa.float16(), pa.float32(), pa.float64(), pa.decimal32(9, 3), pa.decimal128(20, 5), pa.decimal256(40, 6)]
)
@pytest.mark.parametrize("as_dictionary", [False, True])
def test_a_code_is_recognised_as_the_type_of_its_column_holds_it(kind, as_dictionary):
    texts = ["99.9", "0.07", "-9.9", "98", "0.875"]
    decimal = pa.types.is_decimal(kind)
    plain = pa.array(
        [Decimal(text) if decimal else float(text) for text in [*texts, "99.5"]], None if decimal else kind
    )
    cells = plain.cast(kind)
    if as_dictionary:
        cells = pa.DictionaryArray.from_arrays(pa.array(range(len(cells))), cells)
    column = Numeric((0, 120), "drop", missing_codes=(*map(float, texts), 1e300, 0.1234567))
    assert np.isnan(declared_array("x", column, cells)).tolist() == [True] * 5 + [False]
    assert missing_cells(column, cells).tolist() == [True] * 5 + [False]
