"""The same rows give the same sums, errors and fingerprints from every source, in any batches, by any workers."""

from __future__ import annotations

import itertools
import threading

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc

import discreet
from discreet.curator.sums.cell_counts import ColumnCells, DyadicCells
from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.residuals import ResidualGram
from discreet.curator.sums.scaled_rows import Scaling, ShrunkRows
from discreet.curator.table import Table
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.tables import csv as csv_module
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import SeededSampler
from discreet.workflow import release_with

ROWS = 900
COLUMNS = {
    "y": (0, 1),
    "x": {"bounds": (-1, 1), "missing": "drop"},
    "k": {"bounds": (0, 9), "missing": {"fill": 3}},
    "g": ["a", "b", "c"],
}
ALONE = Design("y", COLUMNS)
PERSONS = Design("y", COLUMNS, unit={"id": "person", "max_rows": 2})
SEARCHED = Design("y", {**COLUMNS, "x": {"bounds": "private", "missing": "drop"}})
POINT = (0.1, -0.3, 0.2, 0.4, -0.1)


def synthetic(rows=ROWS):
    rng = np.random.default_rng(8)
    return pa.table(
        {
            "person": pa.array(rng.integers(0, rows // 2, rows)),
            "y": rng.random(rows),
            "x": pa.array([None if cell > 1.2 else cell for cell in rng.uniform(-1.3, 1.4, rows)]),
            "k": pa.array([None if cell == 9 else int(cell) for cell in rng.integers(0, 10, rows)], pa.int64()),
            "g": rng.choice(["a", "b", "c"], rows),
        }
    )


def write_arrow(table, path):
    with ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=70)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """One table in every form, files in two ways of splitting them."""
    folder, table = tmp_path_factory.mktemp("forms"), synthetic()
    arrow_csv.write_csv(table, folder / "t.csv")
    pq.write_table(table, folder / "t.parquet", row_group_size=100)
    pq.write_table(table, folder / "one group.parquet")
    write_arrow(table, folder / "t.arrow")
    with ipc.new_stream(str(folder / "stream.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    for name, cuts in (("few", (0, 700, ROWS)), ("many", (0, 1, 2, 300, 301, 600, ROWS))):
        (folder / name).mkdir()
        (folder / f"{name} texts").mkdir()
        for number, (start, end) in enumerate(itertools.pairwise(cuts)):
            part = table.slice(start, end - start)
            pq.write_table(part, folder / name / f"{number}.parquet", row_group_size=37)
            arrow_csv.write_csv(part, folder / f"{name} texts" / f"{number}.csv")
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.register("given", table)
        database.execute("CREATE TABLE people AS SELECT * FROM given")
        database.execute("CREATE VIEW seen AS SELECT * FROM people")
    shuffled = table.take(np.random.default_rng(3).permutation(ROWS))
    return {
        "csv": folder / "t.csv",
        "parquet": folder / "t.parquet",
        "one row group": folder / "one group.parquet",
        "arrow": folder / "t.arrow",
        "arrow stream": folder / "stream.arrow",
        "few files": folder / "few",
        "many files": folder / "many",
        "few texts": f"{folder}/few texts/*.csv",
        "many texts": f"{folder}/many texts/*.csv",
        "database": discreet.DatabaseTable(folder / "t.duckdb", "people"),
        "view": discreet.DatabaseTable(folder / "t.duckdb", "seen"),
        "pyarrow": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "mapping": {name: table.column(name).to_pylist() for name in table.column_names},
        "other order": shuffled,
    }


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(csv_module, "LEAST_PIECE", 1)
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 4096)


def passes(data, design, options):
    """The totals of several passes: products, persons, counts by cell, and rows that are written anew."""
    domain = RowDomain.of(design)
    size = len(ALONE.released)
    with Table(open_source(data), design, domain, options, again=True, clip_counts=True) as table:
        first = table.sums(DyadicCells(design)) if design.searched else table.sums()
        if design.searched:
            table.resolve(design.with_found({"x": (-1.0, 1.0)}))
        found = [
            first,
            table.sums(ExactGram(size, 16)),
            table.sums(ResidualGram(domain, size - 1, POINT, 0.4, 2)),
            table.sums(ColumnCells(domain, [1, 2])),
            table.sums(ShrunkRows(domain, Scaling((0.0,) * 4, (0.5,) * 4, 4.0, 1), 1.2, 0.1, [0.2, 0.4])),
            table.sums(ExactGram(size, 24)),
        ]
    return [
        (
            one.values,
            one.unit,
            one.counts.units,
            one.counts.clipped,
            one.counts.fitting,
            None if one.cells is None else one.cells.tolist(),
        )
        for one in found
    ]


DESIGNS = {"rows": ALONE, "persons": PERSONS, "bounds to be found": SEARCHED}
_expected = {}


def expected(kind):
    if kind not in _expected:
        _expected[kind] = passes(synthetic(), DESIGNS[kind], ComputeOptions(workers=1))
    return _expected[kind]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_every_source_batch_chunk_worker_and_split_gives_the_same_totals(sources, data):
    kind = data.draw(st.sampled_from(list(DESIGNS)))
    form = data.draw(st.sampled_from(list(sources)))
    options = ComputeOptions(
        workers=data.draw(st.sampled_from([1, 2, 3, 5])),
        batch_rows=data.draw(st.integers(20, 1000)),
        chunk_rows=data.draw(st.integers(10, 400)),
    )
    assert passes(sources[form], DESIGNS[kind], options) == expected(kind)


@pytest.mark.parametrize("kind", DESIGNS)
def test_two_workers_share_every_form(sources, kind, monkeypatch):
    """All forms at least once, and threads are at work where there is more than one batch."""
    seen = []
    real = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (seen.append(self.name), real(self)))
    options = ComputeOptions(workers=2, batch_rows=100, chunk_rows=64)
    for form in sources if kind == "rows" else ["csv", "many files", "pandas"]:
        seen.clear()
        assert passes(sources[form], DESIGNS[kind], options) == expected(kind)
        assert {"discreet-0", "discreet-1"} <= set(seen)


def test_a_row_more_gives_other_totals():
    """Negative control."""
    table = synthetic()
    more = pa.concat_tables([table, table.slice(0, 1)])
    assert passes(more, ALONE, ComputeOptions(workers=2, batch_rows=100)) != expected("rows")


@pytest.mark.parametrize("mechanism", ["gaussian", "irls", "staged"])
def test_a_release_with_the_same_noise_is_the_same_whatever_the_workers(sources, mechanism):
    options, budget = ReleaseOptions(mechanism=mechanism, robust=mechanism == "gaussian"), PrivacyBudget(2.0, 1e-6)
    made = [
        release_with(
            SeededSampler(1), sources[form], ALONE, budget, options,
            compute=ComputeOptions(workers=workers, batch_rows=100, chunk_rows=chunk),
        ).to_json()
        for form, workers, chunk in (("pandas", 1, 500), ("csv", 3, 64), ("database", 2, 200))
    ]  # fmt: skip
    assert len(set(made)) == 1


@pytest.mark.parametrize("form", ["csv", "many files", "pyarrow", "database"])
def test_the_fingerprint_is_the_same_whatever_the_workers(sources, form):
    found = set()
    for workers, batch in ((1, 1000), (2, 100), (3, 33)):
        source = open_source(sources[form])
        options = ComputeOptions(workers=workers, batch_rows=batch)
        with Table(source, ALONE, RowDomain.of(ALONE), options, digest=source.fingerprint is None) as table:
            table.sums()
            found.add((source.fingerprint or table.fingerprint)(b"key"))
    assert len(found) == 1


# what is wrong in two places: the first is reported, whoever finds one first
FAULTS = {
    "two columns": ({200: ("x", "oops"), 700: ("k", "oops")}, "column 'x'"),
    "two columns the other way": ({200: ("k", "oops"), 700: ("x", "oops")}, "column 'k'"),
    "cell before line": ({200: ("k", "oops"), 700: ("x", '"')}, "column 'k'"),
    "line before cell": ({300: ("x", '"'), 800: ("k", "oops")}, r"line 302 of '.*' has an unclosed quote"),
    "two lines": ({450: ("x", '"'), 899: ("x", "1,2")}, r"line 452 of '.*' has an unclosed quote"),
    "the last line": ({899: ("x", "1,2")}, "line 901 of '.*' has more or fewer cells"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_error_is_that_of_the_earliest_row_whatever_the_workers(fault, tmp_path):
    cells, message = FAULTS[fault]
    strict = Design("y", {"y": (0, 1), "x": (-2, 2), "k": (0, 9)})
    lines = ["y,x,k", *("0.5,0.25,1" for _ in range(ROWS))]
    for row, (name, cell) in cells.items():
        lines[row + 1] = f"0.5,{cell},1" if name == "x" else f"0.5,0.25,{cell}"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    spent = []
    for workers in (1, 2, 4) * 3:
        options = ComputeOptions(workers=workers, batch_rows=50)
        with pytest.raises(DataError, match=message):
            discreet.release(tmp_path / "t.csv", strict, epsilon=1.0, compute=options, spend=spent.append)
    assert spent == []


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_file_that_changes_while_it_is_read_costs_nothing(tmp_path, workers):
    spent, table = [], synthetic()
    for number in range(4):
        # the last one is long: it is still being read when the first progress is heard, whatever the worker
        rows = pa.concat_tables([table] * (50 if number == 3 else 1))
        pq.write_table(rows, tmp_path / f"{number}.parquet", row_group_size=100)

    def change(share):
        pq.write_table(table.slice(0, 10), tmp_path / "3.parquet")

    options = ComputeOptions(workers=workers, batch_rows=100, progress=change)
    # by the end of the reading, or in the midst of it
    with pytest.raises(DataError, match=r"'3.parquet' (changed while it was read|cannot be read: it is damaged)"):
        discreet.release(tmp_path, ALONE, epsilon=1.0, compute=options, spend=spent.append)
    assert spent == []


@pytest.mark.parametrize("workers", [1, 3])
def test_files_of_different_types_cost_nothing(tmp_path, workers):
    spent, table = [], synthetic()
    for number in range(3):
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=100)
    pq.write_table(table.set_column(1, "y", table.column("k").cast(pa.string())), tmp_path / "3.parquet")
    with pytest.raises(DataError, match=r"column 'y' has type string in '3.parquet' and type double in an earlier"):
        discreet.release(tmp_path, ALONE, epsilon=1.0, compute=ComputeOptions(workers=workers), spend=spent.append)
    assert spent == []


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_progress_grows_to_the_end_and_is_heard_in_the_caller(sources, workers):
    heard = []
    options = ComputeOptions(
        workers=workers, batch_rows=50, progress=lambda share: heard.append((threading.current_thread(), share))
    )
    with Table(open_source(sources["parquet"]), ALONE, RowDomain.of(ALONE), options) as table:
        table.sums()
    assert {thread for thread, _ in heard} == {threading.current_thread()}
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert len(shares) >= ROWS / 50


def test_an_interrupt_stops_all_workers_and_nothing_is_spent_or_left(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    spent, kept = [], []

    def stop(share):
        kept.extend(tmp_path.iterdir())
        raise KeyboardInterrupt

    for form, design in itertools.product(("parquet", "pandas"), (ALONE, PERSONS)):
        options = ComputeOptions(workers=3, batch_rows=50, progress=stop)
        with pytest.raises(KeyboardInterrupt):
            discreet.release(
                sources[form], design, epsilon=1.0, delta=1e-6, mechanism="irls", compute=options, spend=spent.append
            )
        assert not any(thread.name.startswith("discreet-") for thread in threading.enumerate())
        assert list(tmp_path.iterdir()) == []
    assert spent == []


def test_pandas_rows_that_a_thread_sums_are_those_of_the_frame():
    """A frame is read by the caller and summed by others: no batch is used before it is complete."""
    frame = pd.DataFrame({"y": np.tile([0.25, 0.75], 40_000), "x": 0.5, "k": 1, "g": "a"})
    totals = [passes(frame, ALONE, ComputeOptions(workers=w, batch_rows=1000)) for w in (1, 4)]
    assert totals[0] == totals[1]
