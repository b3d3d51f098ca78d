"""Files cut for several readers: every row once and in order, and lines counted in the file."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from discreet.design.columns import Numeric
from discreet.errors import DataError
from discreet.tables import csv as csv_module
from discreet.tables.file_formats import cut_files, uncut
from discreet.tables.opening import open_source

COLUMNS = {"x": Numeric((0, 1e6)), "y": Numeric((0, 1))}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_cut_off_while_it_is_read_is_not_called_badly_quoted(tmp_path, workers):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + '"1.5",0.5\n' * 4000)
    parts = open_source(path).parts(workers)
    batches = parts[-1].batches(COLUMNS, 7)
    next(batches)
    with path.open("r+b") as file:
        # behind an opening quote
        file.truncate(4 + 35_000 + 1)
    with pytest.raises(DataError, match=r"'t.csv' changed while it was read") as caught:
        list(batches)
    assert caught.value.__context__ is None
    # negative control: a file that was so from its beginning
    with pytest.raises(DataError, match="has an unclosed quote"):
        list(open_source(path).batches(COLUMNS, 7))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(csv_module, "LEAST_PIECE", 1)
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)


def numbers(part):
    return [x for batch in part.batches(COLUMNS, 7) for x in batch.column("x").to_pylist()]


def text(rows, end="\n", start=0):
    return "".join(f"{row}.5,0.{row % 10}{end}" for row in range(start, start + rows))


def table(rows, start=0):
    return pa.table({"x": np.arange(start, start + rows) + 0.5, "y": np.zeros(rows)})


def csv(folder, **how):
    (folder / "t.csv").write_text("x,y\n" + text(100, **how), newline="")
    return folder / "t.csv"


def crlf(folder):
    return csv(folder, end="\r\n")


def blank_lines(folder):
    (folder / "t.csv").write_text("\n" * 20 + "x,y\n\n\n" + text(100, end="\n\n\r\n"), newline="")
    return folder / "t.csv"


def marked_latin(folder):
    (folder / "t.csv").write_bytes(b"\xef\xbb\xbfx,y\n" + text(100).encode())
    return folder / "t.csv"


def parquet(folder):
    pq.write_table(table(100), folder / "t.parquet", row_group_size=9)
    return folder / "t.parquet"


def arrow(folder):
    with ipc.new_file(str(folder / "t.arrow"), table(1).schema) as writer:
        writer.write_table(table(100), max_chunksize=8)
    return folder / "t.arrow"


def several(folder):
    for number, rows in enumerate((3, 1, 60, 0, 36)):
        start = sum((3, 1, 60, 0, 36)[:number])
        pq.write_table(table(rows, start), folder / f"{number}.parquet", row_group_size=4)
    return folder


def several_texts(folder):
    for number in range(4):
        (folder / f"{number}.csv").write_text("x,y\n" + text(25, start=25 * number))
    return f"{folder}/*.csv"


@pytest.mark.parametrize("count", [2, 3, 4, 9, 300])
@pytest.mark.parametrize("make", [csv, crlf, blank_lines, marked_latin, parquet, arrow, several, several_texts])
def test_parts_have_every_row_once_and_in_order(make, count, tmp_path):
    source = open_source(str(make(tmp_path)))
    parts = source.parts(count)
    assert 1 < len(parts) <= count
    assert source.share_read == 0
    found = [numbers(part) for part in parts]
    assert [row for part in found for row in part] == [row + 0.5 for row in range(100)]
    assert source.share_read == pytest.approx(1)
    if count <= 4:
        assert max(map(len, found)) <= 2.2 * 100 / len(parts)


def one_group(folder):
    pq.write_table(table(100), folder / "t.parquet")
    return folder / "t.parquet"


def no_rows(folder):
    pq.write_table(table(0), folder / "t.parquet")
    return folder / "t.parquet"


def stream(folder):
    with ipc.new_stream(str(folder / "t.arrow"), table(1).schema) as writer:
        writer.write_table(table(100), max_chunksize=8)
    return folder / "t.arrow"


def packed(folder):
    with pa.output_stream(str(folder / "t.csv.gz"), compression="gzip") as out:
        out.write(("x,y\n" + text(100)).encode())
    return folder / "t.csv.gz"


def stata(folder):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(table(100).to_pydict()).to_stata(folder / "t.dta", write_index=False)
    return folder / "t.dta"


def old_lines(folder):
    return csv(folder, end="\r")


def late_header(folder):
    (folder / "t.csv").write_text("\n" * 200 + "x,y\n" + text(100))
    return folder / "t.csv"


def header_without_an_end(folder):
    (folder / "t.csv").write_text("x,y," + "z" * 70)
    return folder / "t.csv"


@pytest.mark.parametrize(
    "make", [one_group, no_rows, stream, packed, stata, old_lines, late_header, header_without_an_end]
)
def test_a_file_that_cannot_be_cut_is_one_part(make, tmp_path):
    source = open_source(make(tmp_path))
    assert source.parts(4) == [source]
    assert source.parts(1) == [source]


@pytest.mark.parametrize("how", [{"encoding": "utf-16"}, {"quoted_line_breaks": True}])
def test_text_whose_lines_cannot_be_found_from_its_midst_is_one_part(how, tmp_path):
    from discreet.tables.csv_format import ReadOptions

    (tmp_path / "t.csv").write_text("x,y\n" + text(100), encoding=how.get("encoding", "utf-8"))
    source = open_source(tmp_path / "t.csv", reading=ReadOptions(**how))
    assert source.parts(4) == [source]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "koi8-r"])
def test_text_of_one_byte_a_character_is_cut(encoding, tmp_path):
    from discreet.tables.csv_format import ReadOptions

    (tmp_path / "t.csv").write_text("x,y\n" + text(100), encoding=encoding)
    parts = open_source(tmp_path / "t.csv", reading=ReadOptions(encoding)).parts(3)
    assert len(parts) == 3
    assert [row for part in parts for row in numbers(part)] == [row + 0.5 for row in range(100)]


BAD_LINES = {
    "1,2,3": "line 92 of 't.csv' has more or fewer cells",
    '1,"2': "line 92 of 't.csv' has an unclosed quote",
    "1,\0": "line 92 of 't.csv' contains a NUL byte",
    "1,\udcff": "line 92 of 't.csv' is not valid UTF-8",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_fault_behind_a_cut_names_the_line_of_the_file(line, tmp_path):
    content = "x,y\r\n" + text(90, end="\r\n") + line + "\r\n" + text(9, end="\r\n")
    (tmp_path / "t.csv").write_bytes(content.encode(errors="surrogateescape"))
    first, *_, last = open_source(tmp_path / "t.csv").parts(3)
    assert len(numbers(first)) < 60
    with pytest.raises(DataError, match=BAD_LINES[line]):
        numbers(last)


def test_a_place_behind_a_cut_is_a_line_of_the_file(tmp_path):
    file = open_source(csv(tmp_path)).files[0]
    piece, share = file.pieces([0.5])[1]
    assert 0.3 < share < 0.7
    batch, _ = next(piece.batches(COLUMNS, 7))
    assert piece.line(0) == batch.column("x")[0].as_py() + 1.5


def test_a_line_too_long_for_a_cut_stays_with_the_part_before(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + text(3) + "1,0" + "0" * 400 + "\n" + text(3))
    source = open_source(tmp_path / "t.csv")
    parts = source.parts(2)
    with pytest.raises(DataError, match="has a line longer than"):
        [numbers(part) for part in parts]


def test_a_file_is_not_cut_below_a_size_that_is_worth_it(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_module, "LEAST_PIECE", 1 << 20)
    source = open_source(csv(tmp_path))
    assert source.parts(2) == [source]


def test_a_file_that_changes_is_refused_by_whoever_reads_any_part(tmp_path):
    several(tmp_path)
    parts = open_source(tmp_path).parts(2)
    pq.write_table(table(40), tmp_path / "4.parquet")
    with pytest.raises(DataError, match=r"'4.parquet' changed while it was read"):
        numbers(parts[0])


def test_every_part_refuses_files_of_different_types(tmp_path):
    several(tmp_path)
    pq.write_table(pa.table({"x": ["a"], "y": [0.5]}), tmp_path / "9.parquet")
    source = open_source(tmp_path)
    for part in source.parts(3):
        with pytest.raises(DataError, match=r"column 'x' has type string in '9.parquet' and type double"):
            numbers(part)


def test_what_is_wrong_with_a_file_is_left_to_its_reader(tmp_path):
    parquet(tmp_path)
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data[:-30] + b"\xff" * 22 + data[-8:])
    source = open_source(tmp_path / "t.parquet")
    assert source.parts(2) == [source]
    with pytest.raises(DataError, match="damaged"):
        numbers(source)


class Whole:
    """A file that can be cut anywhere."""

    def __init__(self, name, span=(0.0, 1.0)):
        self.name, self.span = name, span

    def pieces(self, cuts):
        ends = [0.0, *cuts, 1.0]
        return [
            (Whole(self.name, span), span[1] - span[0]) if span[1] > span[0] else None
            for span in itertools.pairwise(ends)
        ]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("sizes", [[10], [1, 1], [1, 100, 1], [5, 5, 5], [0, 3, 0], [100, 1, 1, 1]])
def test_pieces_of_files_are_of_one_size_and_in_order(sizes, count):
    lists = cut_files([(Whole(number), size) for number, size in enumerate(sizes)], count)
    flat = [(piece.name, *piece.span) for pieces in lists for piece, _ in pieces]
    assert flat == sorted(flat)
    for number, size in enumerate(sizes):
        spans = [span for name, *span in flat if name == number]
        assert spans[0][0] == 0
        assert spans[-1][1] == 1
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans)), size
    weights = [sum(weight for _, weight in pieces) for pieces in lists]
    assert weights == pytest.approx([sum(sizes) / count] * count)


def test_files_that_cannot_be_cut_go_whole():
    class Solid:
        def pieces(self, cuts):
            return uncut(self, cuts)

    lists = cut_files([(Solid(), 10), (Solid(), 10), (Solid(), 10)], 2)
    assert [len(pieces) for pieces in lists] == [2, 1]
