"""Numbers 55 to 67: Parquet, DuckDB and tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support.bad_inputs.case import TABLE, Case, frame_of, memory_twin, python, released, twin
from support.cli_folder import SECRET

NUMBERS: Final = 'target = "income"\n[columns.income]\nbounds = [0, 1000000]\n[columns.age]\nbounds = [18, 90]\n'
TWO: Final = np.column_stack([TABLE["income"], TABLE["age"]])


def content(**options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: values * 40 for name, values in TABLE.items()}), sink, **options)
    return sink.getvalue().to_pybytes()


def file_of(make: Callable[[], bytes], name: str = "bad.parquet") -> Callable[[Path], list[str]]:
    def write(folder: Path) -> list[str]:
        (folder / name).write_bytes(make())
        return released(data=name)

    return write


def damaged_page() -> bytes:
    whole = bytearray(content(write_page_checksum=True, compression="none", use_dictionary=False))
    for place in range(2000, 2064):
        whole[place] ^= 0xFF
    return bytes(whole)


def parts(*tables: pa.Table) -> Callable[[Path], list[str]]:
    def write(folder: Path) -> list[str]:
        (folder / "rows").mkdir()
        for index, table in enumerate(tables):
            pq.write_table(table, folder / "rows" / f"{index}.parquet")
        return released(data="rows")

    return write


WHOLE: Final = pa.table(TABLE)


def query(text: str) -> Callable[[], Any]:
    def make() -> Any:
        connection = duckdb.connect()
        connection.register("people", WHOLE)
        return connection.sql(text)

    return make


def masked() -> dict[str, object]:
    return TABLE | {"age": np.ma.masked_array(TABLE["age"], [True] + [False] * (len(TABLE["age"]) - 1))}


def twice() -> Any:
    import pandas as pd

    return frame_of(lambda frame: pd.concat([frame, frame], axis=1))


def many_labels() -> Any:
    import pandas as pd

    return frame_of(lambda frame: frame.set_axis(pd.MultiIndex.from_product([[SECRET], frame.columns]), axis=1))


def categories() -> Any:
    return frame_of(lambda frame: frame.astype({"region": "category"}))


def sparse() -> Any:
    import pandas as pd

    return frame_of(age=pd.arrays.SparseArray(TABLE["age"]))


def read_only() -> dict[str, object]:
    ages = np.array(TABLE["age"])
    ages.flags.writeable = False
    return TABLE | {"age": ages}


ARRAYS: Final[dict[str, Callable[[], object]]] = {
    "non-contiguous": lambda: TABLE | {"age": np.repeat(TABLE["age"], 2)[::2]},
    "big-endian": lambda: TABLE | {"age": np.array(TABLE["age"], ">f8")},
    "read-only": read_only,
    "objects": lambda: TABLE | {"age": np.array(TABLE["age"], object)},
    "categories of pandas": categories,
    "sparse column of pandas": sparse,
    "relation of DuckDB": query("select * from people"),
    "stream that is read once": lambda: WHOLE.to_reader(),
}
CASES: Final = [
    Case(55, "cut", file_of(lambda: content()[:-100]), 2, "truncated"),
    Case(55, "no footer", file_of(lambda: b"PAR1" + bytes(50) + b"PAR1"), 2, "cannot be read"),
    Case(55, "bad magic", file_of(lambda: b"PARX" + content()[4:-4] + b"PARX"), 2, "not in the Parquet format"),
    Case(56, "damaged page with a checksum", file_of(damaged_page), 2, "cannot be read"),
    Case(57, "encrypted", file_of(lambda: b"PARE" + bytes(20) + b"PARE"), 2, "encrypted"),
    Case(
        58,
        "other order of columns",
        parts(WHOLE.slice(0, 30), WHOLE.slice(30).select([3, 1, 0, 2])),
        0,
        "",
        twin(data="rows"),
    ),
    Case(
        58,
        "other types",
        parts(WHOLE, WHOLE.set_column(1, "age", pa.array([SECRET] * len(WHOLE)))),
        2,
        "'age' has type",
    ),
    Case(60, "query that draws", python(query("select *, random() as drawn from people")), 0, "", api=True),
    Case(
        60,
        "query that fails",
        python(query(f"select * replace (cast('{SECRET}' || age as double) as age) from people")),
        2,
        "cannot be converted to Arrow columns",
        api=True,
    ),
    Case(
        62,
        "hostile column name",
        python(lambda: TABLE | {"'); drop table rows; --": [SECRET] * len(WHOLE)}),
        0,
        "",
        memory_twin(lambda: TABLE | {"'); drop table rows; --": [SECRET] * len(WHOLE)}),
        api=True,
    ),
    Case(64, "empty part", parts(WHOLE, WHOLE.slice(0, 0)), 0, "", twin(data="rows")),
    Case(
        64, "parts of all sizes", parts(WHOLE.slice(0, 1), WHOLE.slice(1, 2), WHOLE.slice(3)), 0, "", twin(data="rows")
    ),
    Case(65, "labels twice", python(twice), 2, "more than one column 'income'", api=True),
    Case(65, "labels of two levels", python(many_labels), 2, "no column", api=True),
    Case(66, "generator", python(lambda: iter(TABLE)), 2, "cannot read an object of type", api=True),
    Case(
        66,
        "mapping of generators",
        python(lambda: {name: iter(cells) for name, cells in TABLE.items()}),
        2,
        "column 'income': expected a list or an array",
        api=True,
    ),
    Case(67, "complex", python(lambda: TABLE | {"age": np.array(TABLE["age"], complex)}), 2, "complex", api=True),
    Case(67, "masked", python(masked), 2, "'age'", api=True),
    Case(
        67,
        "array without names",
        python(lambda: TWO, NUMBERS),
        0,
        "",
        memory_twin(lambda: TWO, design=NUMBERS),
        api=True,
    ),
    *(Case(67, name, python(make), 0, "", memory_twin(make), api=True) for name, make in ARRAYS.items()),
]
NOT_APPLICABLE: Final = {
    59: "a row group larger than memory: batches are read from it; tests/tables/files/test_memory.py measures the peak",
    61: "DuckDB runs on rows that it is given, in a private folder, and reads no path of the user",
    63: "Spark needs its own environment: tests/spark/test_spark.py has its bad inputs, make test-spark runs them",
}
