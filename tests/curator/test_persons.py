"""Units of several rows: what counts of a person depends on that person's rows alone."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections import defaultdict

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

import discreet
from discreet.accounting.moments import Blocks, weighted_loss
from discreet.curator.individuals import IndividualCap, Places, known_persons, row_digests
from discreet.curator.sums.residuals import ResidualGram
from discreet.curator.table import accumulate
from discreet.design.columns import Identifier
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError, SpecError
from discreet.tables.cells import cell_array
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import exact_release

COLUMNS = {"x": (0, 1), "g": ["a", "b", "c"], "y": (-1, 1)}


def design(max_rows=2, neighbours="add-remove", **options) -> Design:
    return Design("y", COLUMNS, unit={"id": "person", "max_rows": max_rows, "neighbours": neighbours}, **options)


def rows_of(person, how_many, rng):
    return [(person, rng.random(), str(rng.choice(["a", "b", "c"])), rng.uniform(-1, 1)) for _ in range(how_many)]


def table_of(rows):
    person, x, g, y = zip(*rows, strict=True)
    return {"person": list(person), "x": list(x), "g": list(g), "y": list(y)}


def totals(rows, plan, **options):
    return accumulate(open_source(table_of(rows)), plan, RowDomain.of(plan), ComputeOptions(**options)).values


@pytest.fixture
def scratch_here(tmp_path, monkeypatch) -> None:
    """Rows that wait on disk do so in the test's own folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def test_no_more_rows_of_a_person_count_than_declared():
    rng = np.random.default_rng(1)
    rows = [*rows_of("p", 9, rng), *rows_of("q", 1, rng), *rows_of("r", 2, rng)]
    for cap, counted in ((1, 3), (2, 5), (9, 12), (50, 12)):
        assert totals(rows, design(cap))[0] == counted * 4**16


@pytest.mark.parametrize("in_memory", [0, 2**26])
def test_rows_that_a_rule_drops_take_the_seat_of_no_other(in_memory, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", in_memory)
    columns = {**COLUMNS, "x": {"bounds": [0, 1], "missing": "drop"}}
    plan = Design("y", columns, unit={"id": "person", "max_rows": 2})
    rng = np.random.default_rng(8)
    for _ in range(10):
        complete = rows_of("p", 2, rng)
        dropped = [("p", float("nan"), g, y) for _, _, g, y in rows_of("p", 6, rng)]
        assert totals(dropped + complete, plan) == totals(complete, plan)


@pytest.mark.no_cover
@pytest.mark.parametrize("grid_bits", [16, 26])
def test_ten_row_orders_give_one_result(grid_bits):
    rng = np.random.default_rng(2)
    rows = [row for k in range(60) for row in rows_of(f"p{k}", int(rng.integers(1, 7)), rng)]
    rows += rows[:40]  # twins of rows, too
    plan = design(3)
    domain = RowDomain.of(plan, grid_bits)
    results = set()
    for _ in range(10):
        shuffled = [rows[k] for k in rng.permutation(len(rows))]
        options = ComputeOptions(batch_rows=int(rng.integers(1, 300)), chunk_rows=int(rng.integers(1, 300)))
        results.add(accumulate(open_source(table_of(shuffled)), plan, domain, options).values)
    assert len(results) == 1


@pytest.mark.parametrize("in_memory", [0, 4_000, 2**26])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_totals_are_those_of_integers_row_by_row_wherever_rows_wait(in_memory, max_rows, monkeypatch):
    """Persons with equal rows, rows that a rule drops and more rows than a batch; in Python's own integers."""
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", in_memory)
    rng = np.random.default_rng(max_rows)
    columns = {"x": {"bounds": (0, 1), "missing": "drop"}, "y": (0, 1)}
    plan = Design("y", columns, unit={"id": "person", "max_rows": max_rows})
    domain = RowDomain.of(plan, 8)
    x = [None if rng.random() < 0.2 else int(v) / 4 for v in rng.integers(0, 5, 300)]
    y = [int(v) / 4 for v in rng.integers(0, 5, 300)]
    person = [f"p{k}" if k < 25 else "q" for k in rng.integers(0, 40, 300)]
    key = int.from_bytes(hashlib.sha256(plan.to_toml().encode()).digest()[:8], "big")

    def digest(row):
        return int(row_digests(np.array(row, dtype=np.int32)[:, None], key)[0])

    by_person = defaultdict(list)
    for one, a, b in zip(person, x, y, strict=True):
        scaled = None if a is None else (round((2 * a - 1) * 256), round((2 * b - 1) * 256))
        by_person[one].append(scaled)
    ranked = {one: sorted((digest(r), r) for r in rows if r) for one, rows in by_person.items()}
    counted = [(256, *row) for rows in ranked.values() for _, row in rows[:max_rows]]
    expected = tuple(sum(row[i] * row[j] for row in counted) for i in range(3) for j in range(i, 3))
    for batch_rows in (7, 300):
        table = {"person": person, "x": x, "y": y}
        options = ComputeOptions(batch_rows=batch_rows, chunk_rows=16)
        found = accumulate(open_source(table), plan, domain, options)
        assert (found.values, found.counts.units) == (expected, len(by_person))
        fits = {one: min(len(rows), max_rows) for one, rows in ranked.items()}
        dropped = [min(len(rows) - len(ranked[one]), max_rows - fits[one]) for one, rows in by_person.items()]
        assert found.counts.fitting == (len(counted), sum(dropped))


def test_places_go_on_from_batch_to_batch_whatever_the_cuts():
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 6, 50)
    owner = np.repeat(np.arange(50), lengths)
    expected = np.concatenate([np.arange(length) for length in lengths])
    # persons that differ in one of two numbers only
    columns = [owner // 2, owner % 2]
    for step in (1, 2, 7, 1000):
        places = Places()
        cuts = range(0, len(owner), step)
        found = [places.of([column[start : start + step] for column in columns]) for start in cuts]
        assert np.concatenate(found).tolist() == expected.tolist()
        assert places.of([np.empty(0), np.empty(0)]).tolist() == []


def test_the_database_uses_as_many_threads_as_it_is_given():
    for threads in (1, 2):
        with IndividualCap(design(), len(design().released) - 1, threads=threads) as cap:
            assert cap._database.execute("SELECT current_setting('threads')").fetchone() == (threads,)


def test_the_rows_that_count_do_not_depend_on_other_persons():
    rng = np.random.default_rng(3)
    plan = design(2)
    person, others = rows_of("p", 6, rng), rows_of("q", 6, rng)
    alone, rest = totals(person, plan), totals(others, plan)
    assert totals(person + others, plan) == tuple(a + b for a, b in zip(alone, rest, strict=True))


@pytest.mark.no_cover
@pytest.mark.parametrize("trials", [15, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_person_moves_the_moments_by_more_than_claimed(neighbours, trials):
    """Exact neighbours over persons: all rows of one added or removed, or exchanged for another person's."""
    rng = np.random.default_rng(4)
    weights = Blocks(1, 2, 3, 4, 5, 6)
    for cap in (1, 2, 4):
        plan = design(cap, neighbours)
        bound = weighted_loss(RowDomain.of(plan), neighbours, weights, count_public=False, rows_per_unit=cap)
        base = [row for k in range(3) for row in rows_of(f"p{k}", int(rng.integers(1, 6)), rng)]
        before = totals(base, plan)
        corner = [("new", 1.0, "b", 1.0)] * int(cap)
        for trial in range(trials):
            person = corner if trial == 0 else rows_of("new", int(rng.integers(1, 6)), rng)
            if neighbours == "add-remove":
                change = np.array(totals(base + person, plan), dtype=object) - np.array(before, dtype=object)
            else:
                other = rows_of("old", int(rng.integers(1, 6)), rng)
                change = np.array(totals(base + person, plan), dtype=object) - np.array(
                    totals(base + other, plan), dtype=object
                )
            assert loss(change, plan, weights) <= bound
            if trial == 0 and neighbours == "add-remove":
                assert loss(change, plan, weights) >= 0.999 * bound


def loss(change, plan, w) -> float:
    from discreet.releases import block_of

    size = len(plan.released)
    weight = {
        "count": w.count, "sum_x": w.sum_x, "gram_diagonal": w.gram, "gram_off_diagonal": 2 * w.gram, "sum_y": w.sum_y,
        "cross": w.cross, "target_square": w.target_square,
    }  # fmt: skip
    indices = [(i, j) for i in range(size) for j in range(i, size)]
    return sum(weight[block_of(i, j, size)] * (v / 4**16) ** 2 for (i, j), v in zip(indices, change, strict=True))


def test_under_replace_the_number_of_persons_is_public_and_the_count_is_noisy():
    rng = np.random.default_rng(5)
    rows = [row for k in range(7) for row in rows_of(f"p{k}", 3, rng)]
    release = discreet.release(table_of(rows), design(2, "replace"), epsilon=1.0, delta=1e-6)
    assert release.units_public == 7
    assert release.noise_sd[0, 0] > 0
    assert discreet.release(table_of(rows), design(2), epsilon=1.0, delta=1e-6).units_public is None


def test_every_source_gives_the_same_persons(tmp_path):

    rng = np.random.default_rng(6)
    rows = [row for k in range(30) for row in rows_of(k, int(rng.integers(1, 6)), rng)]
    plan = design(2)
    table = pa.table(table_of(rows))
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    arrow_csv.write_csv(table, tmp_path / "t.csv")
    named = table.set_column(0, "person", table.column("person").cast(pa.string()).dictionary_encode())
    sources = [table, named, table.to_pandas(), tmp_path / "t.parquet", tmp_path / "t.csv"]
    assert len({exact_release(source, plan).totals for source in sources}) == 1


def test_a_row_without_an_id_is_refused_or_left_out():
    rows = [("p", 0.5, "a", 0.0), (None, 0.5, "a", 0.0)]
    with pytest.raises(DataError, match="id column 'person' has a cell that is missing"):
        totals(rows, design())
    dropping = {name: {**column.to_dict(), "missing": "drop"} for name, column in design().columns.items()}
    total = Design("y", dropping, unit={"id": "person", "max_rows": 2})
    assert totals(rows, total)[0] == 4**16
    assert totals([(None, None, None, None)], total)[0] == 0
    assert totals([*rows, ("q", None, "a", 0.0)], total)[0] == 4**16


def total_design():
    dropping = {name: {**column.to_dict(), "missing": "drop"} for name, column in design().columns.items()}
    return Design("y", dropping, unit={"id": "person", "max_rows": 2})


# from 2**53 on doubles skip integers, so that two persons may have become one; 2**24 in single precision
NO_ID = [float("nan"), None, float("inf"), 0.5, 2.0**53, -(2.0**53), 1e300]


@pytest.mark.parametrize("cell", NO_ID)
def test_a_float_that_is_no_id_is_a_missing_id(cell):
    values = pa.array([3.0, cell, 4.0], pa.float64())
    with pytest.raises(
        DataError, match=r"id column 'person' has a cell that is missing or not an integer below 2\*\*53"
    ):
        known_persons("person", values, total=False)
    persons, known = known_persons("person", values, total=True)
    assert persons.to_pylist() == ["3", "4"]
    assert known.tolist() == [True, False, True]
    # cells that come one by one are read alike
    listed = cell_array(Identifier(), [3.0, cell, np.float32(4)])
    assert listed.to_pylist() == ["3", None, "4"]


def test_single_precision_holds_fewer_ids():
    values = pa.array([2.0**24 - 1, 2.0**24], pa.float32())
    assert known_persons("person", values, total=True)[0].to_pylist() == [str(2**24 - 1)]


def test_a_pandas_column_with_a_missing_id_gives_the_ids_of_the_others():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    rows = [row for k in range(9) for row in rows_of(k, int(rng.integers(1, 5)), rng)]
    whole = pd.DataFrame(table_of(rows))
    assert whole["person"].dtype == np.int64
    holed = pd.DataFrame(table_of([*rows, (None, 0.5, "a", 0.0)]))
    assert holed["person"].dtype == np.float64
    assert exact_release(holed, total_design()).totals == exact_release(whole, total_design()).totals
    with pytest.raises(DataError, match="id column 'person' has a cell that is missing"):
        exact_release(holed, design())


def test_persons_whose_rows_are_all_dropped_still_count_as_persons():
    dropping = {name: {**column.to_dict(), "missing": "drop"} for name, column in design().columns.items()}
    plan = Design("y", dropping, unit={"id": "person", "max_rows": 2, "neighbours": "replace"})
    table = table_of([("p", 0.5, "a", 0.0), ("q", None, "a", 0.0)])
    moments = accumulate(open_source(table), plan, RowDomain.of(plan), ComputeOptions())
    assert moments.counts.units == 2
    assert moments.values[0] == 4**16


def test_residuals_of_persons_without_rows_sum_to_nothing():
    dropping = {name: {**column.to_dict(), "missing": "drop"} for name, column in design().columns.items()}
    plan = Design("y", dropping, unit={"id": "person", "max_rows": 2})
    gram = ResidualGram(RowDomain.of(plan), 4, [0.0] * 4, 0.5, 2)
    table = table_of([("p", None, "a", 0.0)])
    assert set(accumulate(open_source(table), plan, RowDomain.of(plan), ComputeOptions(), gram).values) == {0}


@pytest.mark.usefixtures("scratch_here")
def test_the_spill_folder_is_private_and_goes_away(tmp_path, monkeypatch):
    seen = []

    def watch(_share):
        # while the table is read; it is gone before the rows are summed
        seen.extend(folder.stat().st_mode & 0o777 for folder in tmp_path.iterdir())

    rng = np.random.default_rng(7)
    totals(rows_of("p", 3, rng), design(), progress=watch)
    assert set(seen) == {0o700}
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError):
        totals([("p", None, "a", 0.0)], design())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Query interrupted"),
        duckdb.InterruptException("INTERRUPT Error: Interrupted!"),
        KeyboardInterrupt(),
    ],
)
@pytest.mark.parametrize("at", ["CREATE", "INSERT", "SELECT"])
@pytest.mark.usefixtures("scratch_here")
def test_an_interrupt_of_the_database_is_one_of_the_user_and_leaves_no_folder(error, at, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("discreet.curator.individuals._duckdb_connect", lambda: stopping(at, error))
    with pytest.raises(KeyboardInterrupt) as caught:
        totals([("p", 0.5, "a", 0.0)], design())
    assert caught.value.__cause__ is None
    assert list(tmp_path.iterdir()) == []


def test_many_columns_get_memory_for_a_block_of_each(tmp_path, monkeypatch):
    asked = []

    def connect(path, config):
        asked.append(config["memory_limit"])
        return duckdb.connect(path, config=config)

    monkeypatch.setattr("discreet.curator.individuals._duckdb_connect", lambda: connect)
    for columns in (5, 512, 700):
        with IndividualCap(design(), columns) as cap:
            assert cap._database is cap._opened
    assert asked == ["512MB", "512MB", "700MB"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("SECRET could not allocate", "sorted by person in memory; declare fewer columns or levels, or"),
        ("SECRET. This limit was set by the 'max_temp_directory_size' setting", "stored on disk; free some space, or"),
    ],
)
@pytest.mark.usefixtures("scratch_here")
def test_too_little_memory_is_not_called_a_full_disk(words, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    error = duckdb.OutOfMemoryException(words)
    monkeypatch.setattr("discreet.curator.individuals._duckdb_connect", lambda: stopping("INSERT", error))
    with pytest.raises(DataError, match=f"^rows could not be {expected}") as caught:
        totals([("p", 0.5, "a", 0.0)], design())
    assert "SECRET" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("scratch_here")
def test_memory_that_really_is_too_little(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("discreet.curator.individuals._MEMORY", 1)
    monkeypatch.setattr("discreet.curator.individuals._MEMORY_OF_COLUMN", 0)
    rows = [(f"p{index % 7000}", 0.5, "a", 0.0) for index in range(20_000)]
    with pytest.raises(DataError, match=r"^rows could not be sorted by person in memory"):
        totals(rows, design())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("at", ["SET", "CREATE", "INSERT"])
@pytest.mark.usefixtures("scratch_here")
def test_another_failure_of_the_database_is_told_without_its_words(at, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(
        "discreet.curator.individuals._duckdb_connect", lambda: stopping(at, duckdb.IOException("SECRET"))
    )
    with pytest.raises(DataError, match=r"^rows could not be stored on disk; free some space, or set TMPDIR"):
        totals([("p", 0.5, "a", 0.0)], design())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError("cannot close"), KeyboardInterrupt()])
@pytest.mark.usefixtures("scratch_here")
def test_a_database_that_cannot_be_closed_does_not_keep_its_folder(error, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("discreet.curator.individuals._duckdb_connect", lambda: stopping("close", error))
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            totals([("p", 0.5, "a", 0.0)], design())
    else:
        assert totals([("p", 0.5, "a", 0.0)], design())[0] == 4**16
    assert list(tmp_path.iterdir()) == []


def stopping(at, error):
    """A database that fails in the statement that begins like `at`, or when it is closed."""

    class Stopping:
        def __init__(self, *given, **options):
            self.real = duckdb.connect(*given, **options)

        def __getattr__(self, name):
            return getattr(self.real, name)

        def execute(self, statement):
            if statement.startswith(at):
                raise error
            return self.real.execute(statement)

        def sql(self, statement):
            if statement.startswith(at):
                raise error
            return self.real.sql(statement)

        def close(self):
            self.real.close()
            if at == "close":
                raise error

    return Stopping


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("sent", "ended"),
    [(signal.SIGINT, (130, "interrupted")), (signal.SIGTERM, (143, "terminated")), (signal.SIGHUP, (129, "hung up"))],
)
def test_a_signal_while_the_database_sorts_ends_the_program_like_any_interrupt(sent, ended, tmp_path):
    # sends itself the signal once the rows are in the database and it is asked for the ones that stay
    code = (
        "import os, signal, threading, time\n"
        f"signal.signal({int(sent)}, signal.SIG_DFL)\n"
        "from discreet.cli.main import run\n"
        "from discreet.curator.individuals import IndividualCap\n"
        "keep = IndividualCap.keep\n"
        f"def late():\n    time.sleep(0.02)\n    os.kill(os.getpid(), {int(sent)})\n"
        "def asked(*given):\n    threading.Thread(target=late).start()\n    return keep(*given)\n"
        "IndividualCap.keep = asked\n"
        "run()"
    )
    rng = np.random.default_rng(8)
    table = {"person": rng.integers(0, 300_000, 600_000), "x": rng.random(600_000), "y": rng.random(600_000)}
    pa.parquet.write_table(pa.table(table), tmp_path / "rows.parquet")
    plan = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 1})
    (tmp_path / "design.toml").write_text(plan.to_toml())
    (tmp_path / "spill").mkdir()
    words = ["release", "rows.parquet", "--design", "design.toml", "--epsilon", "1", "--delta", "1e-6", "-o", "o.json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path / "spill")}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (ended[0], f"error: {ended[1]}; nothing was written\n")
    assert list((tmp_path / "spill").iterdir()) == []


def test_the_database_reaches_nothing_outside_and_draws_nothing():
    with IndividualCap(design(), len(design().released) - 1) as cap:
        for setting in ("enable_external_access", "autoinstall_known_extensions", "enable_progress_bar"):
            assert cap._database.execute(f"SELECT current_setting('{setting}')").fetchone() == (False,)


def test_without_duckdb_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(SpecError, match=r"^an id of persons needs 'duckdb'.*pip install 'discreet\[duckdb\]'"):
        totals([("p", 0.5, "a", 0.0)], design())


def test_digests_depend_on_key_and_values_and_spread():
    values = np.arange(40_000, dtype=np.int32).reshape(2, -1)
    one, other = row_digests(values, 1), row_digests(values, 2)
    assert len(set(one.tolist())) == values.shape[1]
    assert not (one == other).any()
    # halves of 20,000 spread digests differ by less than 6 standard deviations: false alarm below 2e-9
    high = int((one > 2**63).sum())
    assert abs(high - 10_000) < 6 * np.sqrt(5_000)


@pytest.mark.parametrize("in_memory", [0, 1_000, 2**26])
@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_persons_over_their_cap_are_counted_as_the_cap_counts_them(max_rows, in_memory, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", in_memory)
    declared = design(max_rows)
    rng = np.random.default_rng(8)
    persons = rng.integers(0, 30, 100)
    kept = rng.random(100) < 0.7
    with IndividualCap(declared, len(declared.released) - 1, count_over=True) as cap:
        for rows in (slice(0, 60), slice(60, 100), slice(100, 100)):
            zeros = np.zeros((len(declared.released), int(kept[rows].sum())))
            cap.add(pa.array(persons[rows].astype(str)), kept[rows], zeros)
        found = cap.over_cap()
    rows_of_each = np.bincount(persons[kept], minlength=30)
    beyond = np.maximum(rows_of_each - max_rows, 0)
    assert found == (len(np.unique(persons)), int((beyond > 0).sum()), int(beyond.sum()))


def test_a_table_without_rows_has_nobody_over_the_cap():
    with IndividualCap(design(), len(design().released) - 1) as cap:
        assert cap.over_cap() == (0, 0, 0)


def test_rows_that_fit_in_memory_open_no_database(monkeypatch):
    monkeypatch.setattr("discreet.curator.individuals._duckdb_connect", lambda: pytest.fail)
    assert totals([("p", 0.5, "a", 0.0)], design())[0] == 4**16
