"""Tables in memory that cannot be read rightly are refused, without a cell in the message."""

from __future__ import annotations

import re
from collections.abc import Callable

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import DataError, DiscreetError, SpecError
from support.refusals import COLUMNS, read_all, refusal

FRAME_FAULTS: dict[str, tuple[Callable[[], object], type[DiscreetError], str]] = {
    "pandas mixed": (lambda: frame(x=pd.Series([918273.5, "SECRETCELL"], dtype=object)), DataError, "'x' has a cell"),
    "pandas text": (lambda: frame(x=["SECRETCELL", "918273.5"]), DataError, (
        "'x' must contain numbers, as declared, but has type"
    )),
    "pandas duplicate labels": (lambda: pd.concat([frame(), frame()], axis=1), DataError, "more than one column 'x'"),
    "pandas labels alike": (lambda: frame().assign(X=1), DataError, "case, blanks"),
    "pandas MultiIndex": (
        lambda: frame().set_axis(pd.MultiIndex.from_product([["SECRETCELL"], COLUMNS]), axis=1), DataError, "no column"
    ),
    "pandas dates": (lambda: frame(x=pd.to_datetime(["2020-01-01", "2020-01-02"])), DataError, "timestamp"),
    "pandas durations": (lambda: frame(x=pd.to_timedelta([1, 2], "s")), DataError, "duration"),
    "pandas complex": (lambda: frame(x=[1j, 2j]), DataError, "complex"),
    "pandas missing": (lambda: frame(x=[0.5, None]), DataError, "'x' has a cell"),
    "pandas infinite": (lambda: frame(x=[0.5, np.inf]), DataError, "'x' has a cell"),
    "polars lists": (lambda: pl.DataFrame(frame().to_dict("list") | {"x": [[1.0], [2.0]]}), DataError, "list"),
    "polars lazy": (lambda: pl.DataFrame({"x": [1.0]}).lazy(), SpecError, r".collect\(\)"),
    "polars series": (lambda: pl.Series([1.0]).to_list(), SpecError, "cannot read an object of type list; expected a"),
    "arrow struct": (lambda: arrow(x=pa.array([{"a": 1}, {"a": 2}])), DataError, "struct"),
    "arrow binary": (lambda: arrow(x=pa.array([b"SECRETCELL", b""])), DataError, "binary"),
    "arrow text levels as numbers": (lambda: arrow(g=pa.array([918273.5, 1])), DataError, (
        "'g' must contain text, like its declared levels, but has type double"
    )),
    "arrow duplicate": (
        lambda: pa.Table.from_arrays([pa.array([1.0])] * 5, names=[*COLUMNS, "x"]), DataError,
            "more than one column 'x'"
    ),
    "arrow reader that fails": (lambda: failing_reader(), DataError, "to its end"),
    "duckdb early": (lambda: duckdb.connect().sql(QUERY.format(rows=2)), DataError, "cannot be converted|to its end"),
    "duckdb late": (lambda: duckdb.connect().sql(QUERY.format(rows=900_000)), DataError, (
        "cannot be converted|to its end"
    )),
    "duckdb connection": (lambda: duckdb.connect(), SpecError, r"pass a relation such as con\.sql"),
    "duckdb open result": (lambda: busy_relation(), DataError, "another unfinished result"),
    "numpy one dimension": (lambda: np.full(918273, 0.5), SpecError, "1 dimension"),
    "numpy other width": (lambda: np.zeros((918273, 3)), SpecError, "3 columns"),
    "numpy complex": (lambda: np.zeros((5, 4), complex), DataError, "complex"),
    "numpy mixed objects": (lambda: np.array([[0.5, 1, "a", 1], ["SECRETCELL"] * 4], object), DataError, "'x'"),
    "structured without a column": (lambda: np.zeros(3, [("x", "f8")]), DataError, "no column 'yes'"),
    "structured with a wide field": (
        lambda: np.zeros(3, [("x", "f8", 2), ("yes", "?"), ("g", "U1"), ("n", "i8")]), DataError, "one-dimensional"
    ),
    "mapping of other lengths": (lambda: {"x": [0.1], "yes": [True] * 2, "g": ["a"], "n": [1]}, DataError, "lengths"),
    "mapping of generators": (lambda: {name: iter([1]) for name in COLUMNS}, DataError, (
        "column 'x': expected a list or an array"
    )),
    "mapping of scalars": (lambda: dict.fromkeys(COLUMNS, 918273.5), DataError, (
        "'x': expected a list or an array, got float"
    )),
    "mapping mixed": (lambda: frame().to_dict("list") | {"x": [0.1, "SECRETCELL"]}, DataError, "'x' has a cell"),
    "pandas series": (lambda: pd.Series([918273.5]), DataError, "cannot be converted to Arrow columns"),
    "arrow array": (lambda: pa.chunked_array([["SECRETCELL"]]), DataError, "cannot be converted to Arrow columns"),
    "none": (lambda: None, SpecError, "NoneType"),
    "number": (lambda: 918273.5, SpecError, "float"),
    "generator": (lambda: iter([1.0]), SpecError, "cannot read an object of type"),
}  # fmt: skip
QUERY = (
    "select cast(case when i = {rows} - 1 then 'SECRETCELL' else '0.5' end as double) x, true yes, 'a' g, 1 n "
    "from range({rows}) t(i)"
)


class ResourceInUseException(Exception):  # noqa: N818  # DuckDB's name
    pass


class BusyRelation:
    """As a relation of DuckDB does it from version 2 on, while its connection has an open result."""

    def __arrow_c_stream__(self, requested_schema=None) -> object:
        raise ResourceInUseException("SECRETCELL")


def busy_relation() -> object:
    return BusyRelation()


def frame(**other: object) -> pd.DataFrame:
    return pd.DataFrame({"x": [0.1, 0.2], "yes": [True, False], "g": ["a", "b"], "n": [1, 2]} | other)


def arrow(**other: pa.Array) -> pa.Table:
    return pa.table({"x": [0.1, 0.2], "yes": [True, False], "g": ["a", "b"], "n": [1, 2]} | other)


def failing_reader() -> pa.RecordBatchReader:
    def batches():
        yield arrow().to_batches()[0]
        raise RuntimeError("SECRETCELL")

    return pa.RecordBatchReader.from_batches(arrow().schema, batches())


@pytest.mark.parametrize("fault", FRAME_FAULTS)
def test_a_faulty_frame_is_refused(fault) -> None:
    make, kind, pattern = FRAME_FAULTS[fault]
    message = refusal(make(), kind)
    assert re.search(pattern, message), message


def test_columns_that_are_not_declared_may_hold_anything() -> None:
    read_all(frame(other=pd.Series([1, "x"], dtype=object)))
    read_all(pl.DataFrame(frame().to_dict("list")).with_columns(other=pl.Series([object(), 1], dtype=pl.Object)))
    read_all(arrow(other=pa.array([{"a": [1]}, None])))
