"""No cell changes how another is read: what a table gives is what its parts give, one behind the other.

Each row of a table full of odd cells gives the same bits alone and among the others. So exact sums over a union are the
sums over its parts.
"""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from discreet.curator.table import accumulate
from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing
from discreet.tables.csv import TextCells
from discreet.tables.csv_format import ReadOptions
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions

COLUMNS = {
    "x": Numeric((-2000, 2000), missing="drop"),
    "yes": Boolean(missing="drop"),
    "g": Categorical(("a", 'd "e"'), missing="drop"),
    "n": Categorical((1, 2), missing="drop"),
}
DESIGN = Design("x", COLUMNS)
ODD = [
    "", " ", "nan", "inf", "1e999", "-0", "0x10", "1_000", "1.5", "1,5", "1.234,5", "1,234.5", "1'234", "1 234",
    "1\u202f234", "SECRETCELL", "true", "１", "é", "a,b", "a;b", "a\tb", "a|b", "'", "-", "+", "e5", "1e5", "#", "\\",
    "\\N", "NULL", "2020-01-01", "1" * 400, "1e-400", "a b", ' "', "\u2028", "\x1f", "\x85", "\ufeff",
]  # fmt: skip
BREAKING = [*ODD, "\n", "\r", "\r\n", "\n\n", 'a"', '"', '""', '"\n"', ",\n,", "1\n", "a\r\nb,1,2,3\r\n", 'x","y\n"']
FIRST = [["1", "true", "a", "1"], ["-3", "0", "a", "2"]]


def as_csv(rows: list[list[str]], *, sign: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sign, lineterminator="\r\n", quoting=quoting)
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue().encode()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


WAYS = {
    "plain": ("t.csv", as_csv, ReadOptions(), ODD),
    "tabs": ("t.tsv", lambda rows: as_csv(rows, sign="\t"), ReadOptions(), ODD),
    "decimal comma": ("t.csv", lambda rows: as_csv(rows, sign=";"), ReadOptions(delimiter=";", decimal=","), ODD),
    "decimal comma between commas": ("t.csv", as_csv, ReadOptions(decimal=","), ODD),
    "German": ("t.csv", lambda rows: as_csv(rows, sign=";"), ReadOptions("utf-8", ";", ",", "."), ODD),
    "French": ("t.csv", lambda rows: as_csv(rows, sign=";"), ReadOptions("utf-8", ";", ",", "\u202f"), ODD),
    "American": ("t.csv", as_csv, ReadOptions(thousands=","), ODD),
    "gzip": ("t.csv.gz", lambda rows: gzip.compress(as_csv(rows)), ReadOptions(), ODD),
    "zstd": ("t.tsv.zst", lambda rows: zstd(as_csv(rows, sign="\t")), ReadOptions(), ODD),
    "line breaks": ("t.csv", as_csv, ReadOptions(quoted_line_breaks=True), BREAKING),
    "line breaks, all quoted": (
        "t.csv", lambda rows: as_csv(rows, quoting=csv.QUOTE_ALL), ReadOptions(quoted_line_breaks=True), BREAKING
    ),
    "line breaks and a decimal comma": (
        "t.csv.gz",
        lambda rows: gzip.compress(as_csv(rows, sign=";")),
        ReadOptions(delimiter=";", decimal=",", quoted_line_breaks=True),
        BREAKING,
    ),
}  # fmt: skip


def read(path: Path, reading: ReadOptions) -> list[list[bytes]]:
    """The settled cells of every row that counts, as their bits."""
    rows = []
    for batch in open_source(path, reading=reading).batches(COLUMNS, 3):
        settled, _ = settle_missing(COLUMNS, declared_arrays(batch, COLUMNS))
        rows += [[value.tobytes() for value in row] for row in zip(*settled, strict=True)]
    return rows


def odd_rows(odd: list[str]) -> list[list[str]]:
    """Each odd cell as the number of a row that is otherwise right, and in one other column."""
    rows = []
    for number, cell in enumerate(odd):
        for position in (0, 1 + number % 3):
            row = list(FIRST[number % 2])
            row[position] = cell
            rows.append(row)
    return rows


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("way", WAYS)
def test_an_odd_cell_of_a_text_file_changes_its_own_row_only(way, tmp_path) -> None:
    name, written, reading, odd = WAYS[way]
    path = tmp_path / name

    def rows_of(*rows: list[str]) -> list[list[bytes]]:
        path.write_bytes(written(rows))
        return read(path, reading)

    rows = [FIRST[0], *odd_rows(odd), FIRST[1]]
    together = rows_of(*rows)
    assert len(rows) > len(together) > 2
    assert together == [found for row in rows for found in rows_of(row)]


@pytest.mark.parametrize("way", WAYS)
def test_exact_sums_over_a_union_are_the_sums_over_its_parts(way, tmp_path) -> None:
    name, written, reading, odd = WAYS[way]

    def totals(rows: list[list[str]]) -> list[int]:
        (tmp_path / name).write_bytes(written(rows))
        source = open_source(tmp_path / name, reading=reading)
        return list(accumulate(source, DESIGN, RowDomain.of(DESIGN, 16), ComputeOptions()).values)

    rows = [*FIRST, *odd_rows(odd)]
    for some, others in ((rows[::2], rows[1::2]), (FIRST, odd_rows(odd))):
        assert totals([*some, *others]) == [one + two for one, two in zip(totals(some), totals(others), strict=True)]


def test_a_reader_that_looks_at_the_whole_column_is_seen(tmp_path, monkeypatch) -> None:
    ordinary = TextCells.numbers

    def of_the_column(self: TextCells, text: pa.ChunkedArray) -> pa.ChunkedArray:
        found = ordinary(self, text)
        return found if found.null_count == text.null_count else pa.chunked_array([pa.nulls(len(text), pa.float64())])

    monkeypatch.setattr(TextCells, "numbers", of_the_column)
    with pytest.raises(AssertionError):
        test_an_odd_cell_of_a_text_file_changes_its_own_row_only("German", tmp_path)
    with pytest.raises(AssertionError):
        test_exact_sums_over_a_union_are_the_sums_over_its_parts("German", tmp_path)


NUMBERS = [np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0, 0.1, 1.0, 2.0, 1.5, -1e300, 2.0**53 + 2, 1e-200]
TEXTS = ["", " ", " a", "a ", "SECRETCELL", "é", "b\nc", "1", "x" * 200]
WRITERS = {"t.dta": pyreadstat.write_dta, "t.sav": pyreadstat.write_sav}


@pytest.mark.parametrize("name", WRITERS)
def test_an_odd_cell_of_a_statistics_file_changes_its_own_row_only(name, tmp_path) -> None:
    path = tmp_path / name

    def rows_of(*rows: tuple[float, float, str, float]) -> list[list[bytes]]:
        frame = pd.DataFrame(list(rows), columns=list(COLUMNS)).astype({"x": float, "yes": float, "n": float})
        WRITERS[name](frame, str(path))
        return read(path, ReadOptions())

    first, last = (1.0, 1.0, "a", 1.0), (7.0, 0.0, "a", 2.0)
    around = rows_of(first), rows_of(last)
    odd = [(cell, 1.0, "a", 1.0) for cell in NUMBERS] + [(1.0, cell, "a", 1.0) for cell in NUMBERS]
    odd += [(1.0, 1.0, "a", cell) for cell in NUMBERS] + [(1.0, 1.0, cell, 1.0) for cell in TEXTS]
    if name == "t.dta":
        # larger ones stand for missing cells there, and its writer refuses them
        odd = [row for row in odd if not abs(row[0]) > 8e307 and not abs(row[1]) > 8e307 and not abs(row[3]) > 8e307]
    for row in odd:
        assert rows_of(first, row, last) == [*around[0], *rows_of(row), *around[1]], row
