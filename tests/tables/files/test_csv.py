"""The fast and the careful way of reading CSV cells agree, whatever stands in the rows around a cell."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.design.design import Design
from discreet.errors import DataError
from discreet.privacy.spend import untracked
from discreet.tables import csv as csv_files
from discreet.tables.arrow import declared_arrays
from discreet.tables.csv import CsvFile
from discreet.tables.csv_format import ReadOptions
from discreet.tables.opening import open_source
from discreet.testing import exact_release

COLUMNS = {
    "x": Numeric((-1, 1), missing="drop"),
    "yes": Boolean(missing="drop"),
    "g": Categorical(("a", "b c"), missing="drop"),
    "n": Categorical((1, 2), missing="drop"),
}
number_like = st.text("+-.0123456789eEnaif x\t", max_size=12)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.3e}"),
    st.integers(-(10**30), 10**30).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    number_like,
)
words = st.sampled_from(["true", "FALSE", "1", "0", "1.0", "0.0", "1e0", "-0", "2", "nan", "yes", "", " true", "True"])
texts = st.one_of(st.sampled_from(["a", "b c", " a", ""]), st.text('a",; \té', max_size=5))
rows = st.lists(
    st.tuples(numbers, words, texts, st.one_of(st.sampled_from(["1", "2.0", "1e0"]), number_like)), min_size=1
)


def as_csv(cells, *, quoting=csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=quoting)
    writer.writerow(COLUMNS)
    writer.writerows(cells)
    return text.getvalue().encode()


def arrays_of(path) -> list[np.ndarray]:
    parts = [declared_arrays(batch, COLUMNS) for batch in open_source(path).batches(COLUMNS, 7)]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def finite_bits(arrays) -> list[list[int | None]]:
    return [[int(v.view(np.int64)) if math.isfinite(v) else None for v in column] for column in arrays]


@pytest.mark.no_cover
@given(rows=rows, quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_a_cell_is_read_alike_alone_and_among_others(rows, quoting, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_bytes(as_csv(rows, quoting=quoting))
    together = finite_bits(arrays_of(path))
    for number, row in enumerate(rows):
        path.write_bytes(as_csv([row]))
        assert [column[0] for column in finite_bits(arrays_of(path))] == [column[number] for column in together]


@given(cells=st.lists(numbers, min_size=1))
def test_numbers_are_what_python_makes_of_them(cells, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    path.write_bytes(as_csv([(cell, "1", "a", "1") for cell in cells]))
    for cell, found in zip(cells, arrays_of(path)[0], strict=True):
        try:
            expected = float(cell) if cell == cell.strip() and "_" not in cell else math.nan
        except ValueError:
            expected = math.nan
        if math.isfinite(expected):
            assert found == expected
            assert math.copysign(1, found) == math.copysign(1, expected)
        else:
            assert not math.isfinite(found)


@pytest.mark.no_cover
def test_the_careful_way_gives_the_same_bits_as_the_fast_one(tmp_path, monkeypatch) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    values = values[np.isfinite(values)]
    path = tmp_path / "t.csv"
    path.write_bytes(as_csv([(repr(float(value)), "1", "a", "2") for value in values]))
    fast = finite_bits(arrays_of(path))
    monkeypatch.setattr(csv_files, "_padded", lambda *_: True)
    assert finite_bits(arrays_of(path)) == fast
    assert fast[0] == values.view(np.int64).tolist()


@pytest.mark.parametrize("digits", [20, 800, 5000])
def test_numbers_of_many_digits_are_rounded_once(digits, tmp_path) -> None:
    cells = ["0." + "3" * digits, "1" * 300 + "." + "7" * digits, "1e" + "0" * digits + "5", "1e-" + "9" * digits, "x"]
    (tmp_path / "t.csv").write_bytes(as_csv([(cell, "1", "a", "1") for cell in cells]))
    assert arrays_of(tmp_path / "t.csv")[0][:4].tolist() == [float(cell) for cell in cells[:4]]


@pytest.mark.parametrize("delimiter", [",", "\t", " ", ";"])
@pytest.mark.parametrize("cell", ["0.5", " 0.5", "0.5 ", "\t0.5", "0.5\t", '" 0.5"', '"0.5\t"', '"\t0.5"', '"0.5"'])
@pytest.mark.parametrize("first", [True, False])
def test_blanks_at_the_ends_of_a_number_are_never_trimmed(delimiter, cell, first, tmp_path) -> None:
    if delimiter in cell and '"' not in cell:
        cell = f'"{cell}"'
    row = ["0.5", "1", "a", "1"]
    row[0 if first else 3] = cell if first else cell.replace("0.5", "1")
    text = delimiter.join(COLUMNS) + "\n" + delimiter.join(row)
    (tmp_path / "t.csv").write_text(text)
    batch, share = next(CsvFile(tmp_path / "t.csv", ReadOptions(delimiter=delimiter)).batches(COLUMNS, 9))
    found = declared_arrays(batch, COLUMNS)
    assert share == 1
    kept = cell.strip('"') == "0.5"
    assert np.isfinite(found[0][0]) == (kept or not first)
    assert np.isfinite(found[3][0]) == (kept or first)


def test_one_bad_cell_does_not_change_the_other_columns(tmp_path) -> None:
    good = as_csv([("0.1", "1", "a", "1"), ("0.2", "0", "b c", "2")])
    (tmp_path / "good.csv").write_bytes(good)
    (tmp_path / "bad.csv").write_bytes(good.replace(b"0.2", b"zero"))
    before, after = arrays_of(tmp_path / "good.csv"), arrays_of(tmp_path / "bad.csv")
    assert finite_bits(before)[1:] == finite_bits(after)[1:]
    assert finite_bits(after)[0] == [finite_bits(before)[0][0], None]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_a_sign_cut_in_the_middle_waits_for_its_rest(encoding, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 4)
    (tmp_path / "t.csv").write_bytes("a,é\n1,2\n".encode(encoding))
    columns = {"é": Numeric((0, 9)), "a": Numeric((0, 9))}
    found = [batch.to_pydict() for batch, _ in CsvFile(tmp_path / "t.csv", ReadOptions(encoding)).batches(columns, 9)]
    assert found == [{"é": [2.0], "a": [1.0]}]


@pytest.mark.parametrize("beside", ["", "7"])
def test_a_column_of_booleans_with_a_gap_is_read_from_csv_as_from_a_frame(beside, tmp_path) -> None:
    frame = pd.DataFrame({"yes": [True, None, False, True], "y": [0.1, 0.2, 0.3, 0.4]}).astype({"yes": float})
    design = Design("y", {"y": (0, 1), "yes": {"dtype": "bool", "missing": "drop"}})
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = (tmp_path / "t.csv").read_text()
    assert "1.0,0.1" in text
    # a cell that is no boolean sends the whole block the careful way
    (tmp_path / "t.csv").write_text(text + f"{beside},0.5\n")
    assert exact_release(tmp_path / "t.csv", design).totals == exact_release(frame, design).totals


@pytest.mark.parametrize(("cell", "value"), [("1.", 1), ("+1", 1), ("1e0", 1), ("-0.00", 0), (".0", 0), ("1.5", None)])
def test_a_boolean_is_a_number_however_it_is_written(cell, value, tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes(as_csv([("0.5", cell, "a", "1")]))
    found = arrays_of(tmp_path / "t.csv")[1][0]
    assert (math.isnan(found) and value is None) or found == value


BREAKS = ReadOptions(quoted_line_breaks=True)
STRICT = {"x": Numeric((0, 9)), "g": Categorical(("a", "b"), missing="drop")}
GOOD = 'x,remark,g\n1,"one\ntwo ""three"",\r\n",a\n2,,b\n'


def strict_rows(folder, text: str, reading: ReadOptions = BREAKS, batch_rows: int = 10) -> list[dict[str, object]]:
    (folder / "t.csv").write_bytes(text.encode())
    source = open_source(folder / "t.csv", reading=reading)
    return [row for batch in source.batches(STRICT, batch_rows) for row in batch.to_pylist()]


def test_line_breaks_inside_quoted_cells_are_read_when_asked_for(tmp_path) -> None:
    assert strict_rows(tmp_path, GOOD) == [{"x": 1.0, "g": "a"}, {"x": 2.0, "g": "b"}]
    with pytest.raises(DataError) as caught:
        strict_rows(tmp_path, GOOD, ReadOptions())
    assert str(caught.value) == (
        "line 2 of 't.csv' has an unclosed quote, or a quote inside a cell; quote the whole cell, "
        "double the quotes inside it, and keep each row on one line; if cells contain line breaks, write the table as "
        "Parquet, or pass quoted_line_breaks=True"
    )


STRICT_FAULTS = {
    "a quote that is not closed": (GOOD + '3,"SECRETCELL,a\n4,b,a\n', "line 6 .* later records cannot be identified"),
    "a quote inside a cell": (GOOD + '3,SECRET"CELL,a\n', "line 6 .* quote"),
    "text behind a quote": (GOOD + '3,"SECRET"CELL,a\n', "line 6 .* quote"),
    "an odd quote that swallows rows": (GOOD + '3,"SECRETCELL,a\n4,b"a,a\n', "line 7 .* quote"),
    "a short record": (GOOD + "3,a\n", "the record that begins on line 6 .* more or fewer cells than the header"),
    "a long record": (GOOD + '3,"\n",a,SECRETCELL\n', "the record that begins on line 6 "),
    "a blank line": (GOOD + "\n3,b,a\n", "the record that begins on line 6 .* is blank or has more or fewer cells"),
    "a blank line before the header": ("\n" + GOOD, (
        "the first line of 't.csv' must contain the column names, but is blank"
    )),
    "a blank line at the end": (GOOD + "\r\n", "the record that begins on line 6 "),
    "a record that is too long": (GOOD + '3,"' + "SECRETCELL\n" * 220_000, "a record longer than"),
    "a header that is not closed": ('x,"SECRETCELL\n1,a\n', "line 1 .* quote"),
    "NUL": (GOOD + '3,"\n\0",a\n', "line 7 .* NUL"),
}  # fmt: skip


@pytest.mark.parametrize("fault", STRICT_FAULTS)
def test_a_file_whose_quotes_or_records_are_wrong_is_refused_as_a_whole(fault, tmp_path) -> None:
    text, pattern = STRICT_FAULTS[fault]
    with pytest.raises(DataError) as caught:
        strict_rows(tmp_path, text)
    assert re.search(pattern, str(caught.value)), str(caught.value)
    assert "SECRETCELL" not in str(caught.value)
    assert caught.value.__context__ is None


def test_two_wrong_quotes_can_hide_a_row_which_is_why_the_promise_names_them(tmp_path) -> None:
    # one person's cell ends in the middle of another's, and every record still has three cells
    assert strict_rows(tmp_path, GOOD + '3,"remark,a\n4,"",a\n5,",a\n')[2:] == [{"x": 3.0, "g": "a"}]


@pytest.mark.parametrize("block", [40, 53, 64, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_records_are_the_same_wherever_blocks_end(block, end, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", block)
    remarks = ["", "plain", f"two{end}lines", f'"{end}{end}', "a,b", "é" * 9, f"{end}", '""']
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["x", f"re{end}mark", "g"])
    writer.writerows((number % 7, remark, "ab"[number % 2]) for number, remark in enumerate(remarks * 4))
    written = text.getvalue()
    expected = [{"x": float(number % 7), "g": "ab"[number % 2]} for number in range(32)]
    assert strict_rows(tmp_path, written, batch_rows=3) == expected
    assert strict_rows(tmp_path, written.removesuffix(end)) == expected


def test_a_row_stands_on_the_line_on_which_its_record_begins(tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes((GOOD + '3,"\n\n",a\n4,,b').encode())
    source = open_source(tmp_path / "t.csv", reading=BREAKS)
    places = [source.place(row).number for batch in source.batches(STRICT, 3) for row in range(batch.num_rows)]
    assert places == [2, 5, 6, 9]


def test_a_release_that_rests_on_quotes_says_so_and_is_another_request(tmp_path) -> None:
    rows = "".join(f'{number % 9},"line\nbreak",{"ab"[number % 2]}\n' for number in range(40))
    (tmp_path / "t.csv").write_text("x,remark,g\n" + rows, newline="")
    design = Design("x", {"x": (0, 9), "g": ["a", "b"]})
    asked = []

    def spend(request):
        asked.append(request.specification["read_as"])
        return untracked(request)

    def released(**options):
        return discreet.release(tmp_path / "t.csv", design, epsilon=1.0, delta=1e-6, spend=spend, **options)

    made = released(reading=BREAKS)
    assert made.guarantee.conditions[-1] == "every cell of the file is quoted correctly"
    again = discreet.Release.from_json(made.to_json())
    assert again.guarantee == made.guarantee
    assert "every cell of the file is quoted correctly" in again.guarantee.sentence()
    assert json.loads(made.to_json())["guarantee"]["conditions"][-1] == "quoted-cells"
    with pytest.raises(DataError, match="pass quoted_line_breaks=True"):
        released()
    assert discreet.check(tmp_path / "t.csv", design, reading=BREAKS).rows_fit == 40
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text().replace("line\nbreak", ""), newline="")
    assert len(released().guarantee.conditions) + 1 == len(made.guarantee.conditions)
    usual = {"encoding": "utf-8", "delimiter": ","}
    assert asked == [usual | {"quoted_line_breaks": True}, usual]
