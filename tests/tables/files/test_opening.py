"""One table through every kind of source gives the same arrays, bit for bit."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, ipc

from discreet.design.columns import Boolean, Categorical, Fill, Numeric
from discreet.errors import DataError, SpecError
from discreet.tables.arrow import declared_arrays
from discreet.tables.csv_format import ReadOptions
from discreet.tables.opening import open_source

ROWS = 1000
COLUMNS = {
    "group": Categorical(("north", "söuth", 'o, "e"'), missing="drop"),
    "x": Numeric((-10, 10), missing=Fill(0.5)),
    "code": Categorical((3, 1, 2), missing=Fill(1)),
    "yes": Boolean(missing="drop"),
    "whole": Numeric((0, 100)),
    "y": Numeric((-1e9, 1e9), missing="drop"),
}


def made_table() -> pa.Table:
    rng = np.random.default_rng(7)

    def with_gaps(values):
        return [None if gap else value for value, gap in zip(values, rng.random(ROWS) < 0.1, strict=True)]

    tiny_to_huge = rng.normal(size=ROWS) * 10.0 ** rng.integers(-300, 300, ROWS)
    tiny_to_huge[:4] = [5e-324, -0.0, 1.7976931348623157e308, 0.1 + 0.2]
    return pa.table(
        {
            "unused": [f"row {number}" for number in range(ROWS)],
            "y": pa.array(with_gaps(tiny_to_huge.tolist()), pa.float64()),
            "x": pa.array(with_gaps(rng.normal(size=ROWS).tolist()), pa.float64()),
            "group": pa.array(with_gaps(rng.choice(["north", "söuth", 'o, "e"', "elsewhere"], ROWS).tolist())),
            "yes": pa.array(with_gaps((rng.random(ROWS) < 0.5).tolist()), pa.bool_()),
            "whole": pa.array(rng.integers(0, 2**60, ROWS)),
            "code": pa.array(with_gaps(rng.integers(0, 5, ROWS).tolist()), pa.int64()),
        }
    )


TABLE = made_table()
NAMES = list(COLUMNS)


def write_csv(path: Path, *, encoding="utf-8", delimiter=",", end="\n", quoting=csv.QUOTE_MINIMAL, part=TABLE) -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
        writer.writerow(part.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in part.columns), strict=True))
    return path


def write_ipc(path: Path, *, stream=False, codec=None, rows=300) -> Path:
    new = ipc.new_stream if stream else ipc.new_file
    with new(str(path), TABLE.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(TABLE, max_chunksize=rows)
    return path


def write_parquet(path: Path, part=TABLE, **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(part, path, **options)
    return path


def parquet_folder(folder: Path) -> Path:
    write_parquet(folder / "parts" / "a.parquet", TABLE.slice(0, 400))
    write_parquet(folder / "parts" / "b" / "c.parquet", TABLE.slice(400))
    (folder / "parts" / "_SUCCESS").touch()
    (folder / "parts" / "_temporary").mkdir()
    (folder / "parts" / "_temporary" / "half.parquet").write_bytes(b"PAR1")
    (folder / "parts" / "empty.parquet").mkdir()
    return folder / "parts"


def packed(plain: Path, name: str, codec: str) -> Path:
    path = plain.with_name(name)
    with pa.CompressedOutputStream(str(path), codec) as out:
        out.write(plain.read_bytes())
    return path


def csv_pattern(folder: Path) -> str:
    write_csv(folder / "part-1.csv", part=TABLE.slice(0, 123))
    write_csv(folder / "part-2.csv", part=TABLE.slice(123, 0))
    write_csv(folder / "part-3.csv", part=TABLE.slice(123))
    return str(folder / "part-*.csv")


def literal_brackets(folder: Path) -> str:
    return str(write_parquet(folder / "t[1]'; drop.parquet"))


def symlink(folder: Path) -> Path:
    (folder / "link.parquet").symlink_to(write_parquet(folder / "real.parquet"))
    return folder / "link.parquet"


def masked(name: str) -> np.ma.MaskedArray:
    column = TABLE[name]
    blank = {"x": 0.0, "y": 0.0, "code": 0, "whole": 0}[name]
    return np.ma.array(column.fill_null(blank).to_numpy(), mask=column.is_null().to_numpy())


def mapping_of_arrays(_: Path) -> dict[str, object]:
    numbers = {name: masked(name) for name in ("x", "y", "code", "whole")}
    return numbers | {
        "group": np.array(TABLE["group"].to_pylist(), dtype=object),
        "yes": TABLE["yes"].to_pylist(),
        "unused": (number for number in range(3)),
    }


def big_endian(folder: Path) -> dict[str, object]:
    data = mapping_of_arrays(folder)
    for name in ("x", "y"):
        values = TABLE[name].to_numpy().astype(">f8")
        values.flags.writeable = False
        data[name] = values
    return data


def structured(_: Path) -> np.ndarray:
    kinds = [("y", "f8"), ("x", "f8"), ("group", "O"), ("yes", "O"), ("whole", "i8"), ("code", "O")]
    rows = zip(*(TABLE[name].to_pylist() for name, _ in kinds), strict=True)
    return np.array(list(rows), dtype=kinds)


def in_columns_of_text(_: Path) -> pa.Table:
    """The table in other Arrow types that say the same."""
    table = TABLE.set_column(3, "group", TABLE["group"].dictionary_encode())
    return table.set_column(5, "whole", TABLE["whole"].cast(pa.uint64()))


MAKERS: dict[str, Callable[[Path], object]] = {
    "csv": lambda folder: write_csv(folder / "t.csv"),
    "csv path as text": lambda folder: str(write_csv(folder / "t.csv")),
    "csv upper case": lambda folder: write_csv(folder / "T.CSV"),
    "csv bom": lambda folder: write_csv(folder / "t.csv", encoding="utf-8-sig"),
    "csv crlf": lambda folder: write_csv(folder / "t.csv", end="\r\n"),
    "csv cr": lambda folder: write_csv(folder / "t.csv", end="\r"),
    "csv blank lines": lambda folder: write_csv(folder / "t.csv", end="\n\n"),
    "csv all quoted": lambda folder: write_csv(folder / "t.csv", quoting=csv.QUOTE_ALL),
    "csv pattern": csv_pattern,
    "tsv": lambda folder: write_csv(folder / "t.tsv", delimiter="\t"),
    "tab upper case": lambda folder: write_csv(folder / "T.TAB", delimiter="\t"),
    "csv gzip": lambda folder: packed(write_csv(folder / "t.csv"), "t.csv.gz", "gzip"),
    "tsv zstd": lambda folder: packed(write_csv(folder / "t.csv", delimiter="\t"), "t.tsv.zst", "zstd"),
    "parquet": lambda folder: write_parquet(folder / "t.parquet"),
    "parquet small groups": lambda folder: write_parquet(folder / "t.parquet", row_group_size=77, compression="zstd"),
    "parquet checksums": lambda folder: write_parquet(folder / "t.parquet", write_page_checksum=True),
    "parquet dictionary": lambda folder: write_parquet(folder / "t.parquet", in_columns_of_text(folder)),
    "parquet folder": parquet_folder,
    "parquet brackets": literal_brackets,
    "parquet symlink": symlink,
    "ipc file": lambda folder: write_ipc(folder / "t.arrow"),
    "ipc file lz4": lambda folder: write_ipc(folder / "t.ipc", codec="lz4"),
    "ipc stream": lambda folder: write_ipc(folder / "t.arrow", stream=True),
    "feather": lambda folder: feather.write_feather(TABLE, str(folder / "t.feather")) or folder / "t.feather",
    "pyarrow table": lambda _: TABLE,
    "pyarrow chunked": lambda _: pa.concat_tables([TABLE.slice(0, 10), TABLE.slice(10)]),
    "pyarrow batch": lambda _: TABLE.combine_chunks().to_batches()[0],
    "pyarrow reader": lambda _: TABLE.to_reader(max_chunksize=333),
    "pyarrow other types": in_columns_of_text,
    "pandas": lambda _: TABLE.to_pandas(),
    "pandas nullable": lambda _: TABLE.to_pandas().convert_dtypes(),
    "pandas arrow": lambda _: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categorical": lambda _: TABLE.to_pandas().astype({"group": "category"}),
    "pandas sparse": lambda _: TABLE.to_pandas().astype({"x": pd.SparseDtype(float), "whole": pd.SparseDtype(int, 0)}),
    "pandas other index": lambda _: TABLE.to_pandas().set_index("unused"),
    "polars": lambda _: pl.from_arrow(TABLE),
    "polars categorical": lambda _: pl.from_arrow(TABLE).with_columns(pl.col("group").cast(pl.Categorical)),
    "duckdb": lambda _: duckdb.connect().from_arrow(TABLE),
    "mapping of lists": lambda _: TABLE.to_pydict(),
    "mapping of arrays": mapping_of_arrays,
    "mapping of big-endian": big_endian,
    "mapping of arrow": lambda _: {name: TABLE[name] for name in TABLE.column_names},
    "mapping of series": lambda _: {name: pl.from_arrow(TABLE)[name] for name in TABLE.column_names},
    "structured array": structured,
    "object array": lambda _: np.array([TABLE[name].to_pylist() for name in NAMES], dtype=object).T,
}


def arrays_of(source, batch_rows: int) -> list[np.ndarray]:
    parts = []
    for batch in source.batches(COLUMNS, batch_rows):
        assert batch.schema.names == NAMES
        assert 0 < batch.num_rows <= batch_rows
        parts.append(declared_arrays(batch, COLUMNS))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def assert_same_bits(found, expected) -> None:
    for name, left, right in zip(NAMES, found, expected, strict=True):
        assert left.dtype == np.float64
        missing = np.isnan(right)
        assert np.array_equal(np.isnan(left), missing), name
        assert np.array_equal(left[~missing].view(np.int64), right[~missing].view(np.int64)), name


def expected_arrays() -> list[np.ndarray]:
    """The declared arrays by plain Python, one cell at a time."""

    def cell(column, value):
        if value is None:
            return np.nan
        if isinstance(column, Categorical):
            return float(column.levels.index(value)) if value in column.levels else np.nan
        return float(value)

    return [np.array([cell(COLUMNS[name], value) for value in TABLE[name].to_pylist()]) for name in NAMES]


@pytest.mark.parametrize("batch_rows", [65_536, 97])
@pytest.mark.parametrize("kind", MAKERS)
def test_every_source_gives_the_same_arrays(kind, batch_rows, tmp_path) -> None:
    source = open_source(MAKERS[kind](tmp_path))
    assert_same_bits(arrays_of(source, batch_rows), expected_arrays())


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "pyarrow reader"])
def test_every_other_source_gives_its_rows_again(kind, tmp_path) -> None:
    source = open_source(MAKERS[kind](tmp_path))
    assert_same_bits(arrays_of(source, 500), arrays_of(source, 65_536))


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("encoding", "delimiter"),
    [("latin-1", "|"), ("utf-16", ";"), ("utf-16", "\t"), ("cp1252", " "), ("utf-8-sig", "\t")],
)
def test_other_encodings_and_delimiters_give_the_same_arrays(encoding, delimiter, tmp_path, monkeypatch) -> None:
    # a block much smaller than the file, so that signs and rows are cut in the middle
    monkeypatch.setattr("discreet.tables.csv.BLOCK_BYTES", 1021)
    path = write_csv(tmp_path / "t.csv", encoding=encoding, delimiter=delimiter)
    source = open_source(path, reading=ReadOptions(encoding, delimiter))
    assert_same_bits(arrays_of(source, 65_536), expected_arrays())


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [200, 211, 223, 65_536])
def test_where_blocks_end_makes_no_difference(block, end, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("discreet.tables.csv.BLOCK_BYTES", block)
    path = write_csv(tmp_path / "t.csv", end=end)
    path.write_bytes(path.read_bytes().rstrip(b"\r\n"))
    assert_same_bits(arrays_of(open_source(path), 65_536), expected_arrays())


@pytest.mark.parametrize(
    "kind", ["csv", "csv pattern", "parquet small groups", "parquet folder", "ipc file", "ipc stream"]
)
def test_the_share_read_grows_to_one(kind, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("discreet.tables.csv.BLOCK_BYTES", 5000)
    source = open_source(MAKERS[kind](tmp_path))
    assert source.share_read == 0
    shares = [source.share_read for _ in source.batches(COLUMNS, 50)]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1
    assert source.share_read == 1


@pytest.mark.parametrize(
    "kind", ["pandas", "pandas sparse", "mapping of arrays", "mapping of big-endian", "structured array"]
)
def test_what_is_read_is_not_modified(kind, tmp_path) -> None:
    import copy

    data = MAKERS[kind](tmp_path)
    if isinstance(data, dict):
        del data["unused"]
    before = copy.deepcopy(data)
    arrays_of(open_source(data), 100)
    if isinstance(data, pd.DataFrame):
        pd.testing.assert_frame_equal(data, before)
    elif isinstance(data, dict):
        assert all(repr(data[name]) == repr(before[name]) for name in data)
    else:
        assert repr(data) == repr(before)


def test_numbers_in_rows_are_read_by_position() -> None:
    columns = {"a": Numeric((0, 9)), "b": Numeric((0, 9))}
    numbers = np.asfortranarray(np.arange(12.0).reshape(6, 2))[::-2]
    batch = next(open_source(numbers).batches(columns, 10))
    assert [array.tolist() for array in declared_arrays(batch, columns)] == [[10.0, 6.0, 2.0], [11.0, 7.0, 3.0]]


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "\n\na,b\r\n\r\n"])
def test_a_header_without_rows_gives_no_batch(text, tmp_path) -> None:
    (tmp_path / "t.csv").write_text(text, newline="")
    columns = {"a": Numeric((0, 9)), "b": Numeric((0, 9))}
    assert list(open_source(tmp_path / "t.csv").batches(columns, 10)) == []


def test_tables_without_rows_give_a_batch_without_rows(tmp_path) -> None:
    empty = TABLE.slice(0, 0)
    sources = [
        empty,
        empty.to_pandas(),
        pl.from_arrow(empty),
        empty.to_pydict(),
        write_parquet(tmp_path / "e.parquet", empty),
    ]
    for data in sources:
        (batch,) = open_source(data).batches(COLUMNS, 10)
        assert batch.num_rows == 0
        assert batch.schema.names == list(COLUMNS)


def test_a_dotted_name_is_the_column_of_that_name(tmp_path) -> None:
    table = pa.table({"a": [{"b": 1.0}], "a.b": [2.0], "a.c": [3.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    columns = {"a.c": Numeric((0, 9)), "a.b": Numeric((0, 9))}
    assert next(open_source(tmp_path / "t.parquet").batches(columns, 10)).to_pydict() == {"a.c": [3.0], "a.b": [2.0]}


def test_a_part_without_a_type_has_missing_cells(tmp_path) -> None:
    pq.write_table(pa.table({"x": pa.nulls(2)}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1.5]}), tmp_path / "b.parquet")
    columns = {"x": Numeric((0, 9), missing="drop")}
    parts = [declared_arrays(batch, columns)[0] for batch in open_source(tmp_path).batches(columns, 10)]
    assert np.array_equal(np.concatenate(parts), [np.nan, np.nan, 1.5], equal_nan=True)


@pytest.mark.parametrize(
    ("name", "value"), [("encoding", "latin-1"), ("delimiter", ";"), ("decimal", ","), ("thousands", "_")]
)
def test_how_csv_is_written_is_refused_for_other_tables(name, value, tmp_path) -> None:
    reading = ReadOptions(**{name: value})
    parquet = write_parquet(tmp_path / "t.parquet", TABLE)
    for data, what in ((parquet, "the file 't.parquet'"), (TABLE, "a table in memory")):
        with pytest.raises(
            SpecError, match=f"^{name} = '{value}' is allowed only for CSV files, not for {what}; leave {name} out$"
        ):
            open_source(data, reading=reading)
        open_source(data, reading=ReadOptions())


def test_a_fingerprint_is_of_the_bytes_in_order_and_keyed(tmp_path) -> None:
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("x\n1\n")
    two.write_text("x\n2\n")
    both = open_source(str(tmp_path / "*.csv")).fingerprint
    alone = open_source(one).fingerprint
    assert both is not None
    assert alone is not None
    known = both(b"key")
    assert known.startswith("files:")
    assert known == open_source(str(tmp_path / "*.csv")).fingerprint(b"key")
    assert len({known, both(b"other"), alone(b"key")}) == 3
    two.write_text("x\n3\n")
    assert open_source(str(tmp_path / "*.csv")).fingerprint(b"key") != known


def test_a_file_that_changes_or_vanishes_has_no_fingerprint(tmp_path) -> None:
    path = tmp_path / "1.csv"
    path.write_text("x\n1\n")
    changed, gone = open_source(path), open_source(path)
    path.write_text("x\n1\n2\n")
    with pytest.raises(DataError, match="changed while it was read"):
        changed.fingerprint(b"key")
    path.unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        gone.fingerprint(b"key")


def test_quoted_line_breaks_are_refused_for_other_tables(tmp_path) -> None:
    with pytest.raises(
        SpecError, match="quoted_line_breaks = True is allowed only for CSV files, not for a table in memory"
    ):
        open_source(TABLE, reading=ReadOptions(quoted_line_breaks=True))


def test_a_folder_of_parquet_and_csv_files_is_refused_in_words(tmp_path) -> None:
    folder = parquet_folder(tmp_path)
    write_csv(folder / "_notes.csv")
    open_source(folder)
    write_csv(folder / "b" / "old.csv")
    with pytest.raises(
        SpecError,
        match=r"contains both Parquet files and CSV files such as 'old\.csv'; select the files of .* by a pattern",
    ):
        open_source(folder)
    (folder / "b" / "old.csv").rename(folder / "b" / "old.tsv.gz")
    with pytest.raises(SpecError, match="contains both Parquet files and CSV files"):
        open_source(folder)


@pytest.mark.parametrize("name", ["t.xlsx", "T.XLS", "t.ods", "t.xlsm", "t.xlsb"])
def test_a_spreadsheet_is_refused_with_advice(name, tmp_path) -> None:
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(SpecError, match=r"spreadsheets such as .* are not supported, .* save the sheet as CSV"):
        open_source(tmp_path / name)


def test_commas_and_tabs_in_one_pattern_need_a_delimiter(tmp_path) -> None:
    write_csv(tmp_path / "a.csv")
    write_csv(tmp_path / "b.tsv")
    with pytest.raises(SpecError, match=r"files of one format, but matches \.csv and \.tsv files; set a delimiter"):
        open_source(str(tmp_path / "*"))
    assert open_source(str(tmp_path / "*"), reading=ReadOptions(delimiter=",")).read_as["delimiter"] == ","


def test_how_a_file_is_read_is_known_from_its_source(tmp_path) -> None:
    assert open_source(TABLE).read_as == {"encoding": "utf-8", "delimiter": ","}
    source = open_source(write_csv(tmp_path / "t.tsv", delimiter="\t"))
    assert source.read_as == {"encoding": "utf-8", "delimiter": "\t"}
    assert source.origin is None
    assert open_source(tmp_path / "t.tsv", reading=ReadOptions(quoted_line_breaks=True)).origin == "quoted"


@pytest.mark.parametrize("sign", [",", "."])
def test_decimals_and_groups_give_the_same_arrays_as_plain_numbers(sign, tmp_path) -> None:
    columns = {"x": Numeric((-1e9, 1e9)), "n": Categorical((1, 2000)), "yes": Boolean()}
    rng = np.random.default_rng(8)
    values = (rng.normal(size=200) * 10.0 ** rng.integers(0, 8, 200)).round(4)
    other = "." if sign == "," else ","

    def local(value: float) -> str:
        return f"{value:,.4f}".translate(str.maketrans({",": other, ".": sign}))

    rows = [f"{local(value)};{local(2000.0)};1{sign}0\n" for value in values]
    (tmp_path / "t.csv").write_text("x;n;yes\n" + "".join(rows))
    source = open_source(tmp_path / "t.csv", reading=ReadOptions(delimiter=";", decimal=sign, thousands=other))
    (batch,) = source.batches(columns, 1000)
    x, n, yes = declared_arrays(batch, columns)
    assert x.tolist() == values.tolist()
    assert set(n.tolist()) == set(yes.tolist()) == {1.0}
