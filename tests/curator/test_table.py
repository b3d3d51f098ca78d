"""A table summed again and again: it is read once, all passes see the same rows, nothing stays behind."""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.curator.individuals import IndividualCap, row_digests
from discreet.curator.rows import GridRows
from discreet.curator.sums.cell_counts import ColumnCells
from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.residuals import ResidualGram
from discreet.curator.sums.scaled_rows import ClippedScores, Scaling, ShrunkRows
from discreet.curator.table import Table, accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import AfterSpendError, DataError
from discreet.privacy.spend import SpendReceipt
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import seeded_release

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
PERSONS = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 2})
ROWS = Design("y", {"x": (0, 1), "y": (0, 1)})


def random_persons(rng, rows, persons):
    """Rows of random persons: some twins, some with a missing cell, some persons without any complete row."""
    table = {
        "person": [f"p{k}" for k in rng.integers(0, persons, rows)],
        "x": rng.choice([0.0, 0.25, 1.0, *rng.random(5)], rows).tolist(),
        "y": rng.random(rows).round(1).tolist(),
    }
    for at in np.flatnonzero(rng.random(rows) < 0.2):
        table["x"][at] = None
    return table


def design(max_rows):
    columns = {name: {"bounds": [0, 1], "missing": "drop"} for name in ("x", "y")}
    return Design("y", columns, unit={"id": "person", "max_rows": max_rows})


def rows_that_count(table, plan, domain):
    """By definition: of each person the rows of least digest and value, as integers (1, x, y)."""
    complete = [at for at, x in enumerate(table["x"]) if x is not None]
    rows = GridRows(plan, domain, 1)
    cells = [np.array([table[name][at] for at in complete], dtype=float) for name in ("x", "y")]
    grid = rows.encoded(cells).astype(np.int64)
    with IndividualCap(plan, len(plan.released) - 1) as cap:
        digests = row_digests(grid[1:].astype(np.int32), cap._key)
    of_person = defaultdict(list)
    for index, at in enumerate(complete):
        of_person[table["person"][at]].append((int(digests[index]), *map(int, grid[:, index])))
    return [[row[1:] for row in sorted(of_person[name])[: plan.unit.max_rows]] for name in sorted(of_person)]


def products(persons):
    kept = [row for rows in persons for row in rows]
    return tuple(sum(row[i] * row[j] for row in kept) for i in range(3) for j in range(i, 3))


@pytest.mark.no_cover
@pytest.mark.parametrize("grid_bits", [16, 26])
@pytest.mark.parametrize("max_rows", [1, 2, 5, 1000])
def test_every_pass_gives_the_sums_of_the_definition_and_of_a_pass_anew(max_rows, grid_bits):
    rng = np.random.default_rng([max_rows, grid_bits])
    for _ in range(4):
        rows = int(rng.integers(1, 120))
        table = random_persons(rng, rows, int(rng.integers(1, 30)))
        plan = design(max_rows)
        domain = RowDomain.of(plan, grid_bits)
        options = ComputeOptions(batch_rows=int(rng.integers(7, 200)), chunk_rows=int(rng.integers(1, 40)))
        counting = rows_that_count(table, plan, domain)

        def residuals(round_, domain=domain):
            return ResidualGram(domain, 2, [0.1 * round_, 0.3], 0.5, max_rows)

        with Table(open_source(table), plan, domain, options) as summed:
            for round_ in range(3):
                moments = summed.sums()
                assert moments.values == products(counting)
                assert moments.counts.units == len(set(table["person"]))
                again = summed.sums(residuals(round_))
                assert again.counts.units == moments.counts.units
                one_by_one = residuals(round_)
                for person in counting:
                    one_by_one.add_persons(np.array(person, dtype=float).T, np.array([0]))
                assert again.values == one_by_one.totals()
                anew = accumulate(open_source(table), plan, domain, ComputeOptions(), residuals(round_))
                assert (again.values, again.counts.units) == (anew.values, anew.counts.units)


class Watched:
    """A source that counts how often it is read, and fails in the reads it is told to."""

    origin = None

    def __init__(self, data, failing=()):
        self.source = open_source(data)
        self.reads = 0
        self.failing = failing

    @property
    def share_read(self):
        return self.source.share_read

    def batches(self, columns, batch_rows):
        self.reads += 1
        yield from self.source.batches(columns, batch_rows)
        if self.reads in self.failing:
            raise DataError("cut short")

    def parts(self, count):
        return [self]


TABLE = {"person": ["a", "a", "a", "b"], "x": [0.5, 0.25, 0.75, 1.0], "y": [0.0, 0.5, 1.0, 1.0]}


@pytest.mark.parametrize("plan", [PERSONS, ROWS])
def test_a_table_is_read_once_and_summed_as_often_as_asked(plan):
    source, seen = Watched(TABLE), []
    options = ComputeOptions(batch_rows=1, progress=seen.append)
    with Table(source, plan, RowDomain.of(plan), options, again=True) as table:
        first = table.sums()
        assert [(again.values, again.counts.units) for again in (table.sums(), table.sums())] == [
            (first.values, first.counts.units)
        ] * 2
    # four batches and the end of the reading; no pass over rows that were set aside
    assert source.reads == 1
    assert len(seen) == 5
    assert seen[-1] is None


@pytest.mark.no_cover
@pytest.mark.parametrize("ids", [False, True])
def test_what_is_reported_does_not_depend_on_how_many_passes_the_values_need(ids, monkeypatch):
    """`objective` goes over the rows until its minimum is certified; the callback sees the reading alone."""
    rng = np.random.default_rng(3)
    rows = 200
    x = rng.uniform(-1, 1, rows)
    columns = {"x": (-1, 1), "y": (-1, 1)}
    plan = Design("y", columns, unit={"id": "person", "max_rows": 1} if ids else {})
    asked = []
    sums = Table.sums
    monkeypatch.setattr(Table, "sums", lambda *given: asked.append(given) or sums(*given))
    passes, reported = [], []
    # a line, a step and two lines: the values decide where the loss is curved
    for y in (0.2 * x, np.sign(x) * 0.9, np.where(np.arange(rows) % 2, x, -x)):
        for _ in range(4):
            seen = []
            asked.clear()
            compute = ComputeOptions(batch_rows=50, progress=seen.append)
            table = {"person": [str(k) for k in range(rows)], "x": x, "y": y}
            discreet.release(table, plan, epsilon=8.0, delta=1e-6, mechanism="objective", compute=compute)
            passes.append(len(asked))
            reported.append(seen)
    # two passes for the line, nine and more for two lines: that all twelve agree has no chance to speak of
    assert len(set(passes)) > 1
    assert all(seen == [None] * 5 for seen in reported)


@pytest.mark.parametrize("grid_bits", [8, 26])
def test_rows_that_are_set_aside_come_back_to_the_bit(grid_bits):
    rng = np.random.default_rng(grid_bits)
    domain = RowDomain.of(ROWS, grid_bits)
    data = {"x": rng.random(3000), "y": rng.random(3000)}
    with Table(open_source(data), ROWS, domain, ComputeOptions(chunk_rows=256), again=True) as table:
        assert table.sums().values == table.sums().values == table.sums(ExactGram(3, grid_bits)).values


def test_a_read_that_failed_is_not_taken_for_the_table():
    with Table(Watched(TABLE, failing=(1,)), PERSONS, RowDomain.of(PERSONS), ComputeOptions()) as table:
        with pytest.raises(DataError, match="cut short"):
            table.sums()
        expected = accumulate(open_source(TABLE), PERSONS, RowDomain.of(PERSONS), ComputeOptions())
        assert table.sums().values == expected.values


@pytest.mark.no_cover
@pytest.mark.parametrize("plan", [PERSONS, ROWS])
@pytest.mark.parametrize("options", [{"mechanism": "irls"}, {"mechanism": "gradient"}, {"robust": True}], ids=str)
def test_a_table_that_can_be_read_once_serves_every_mechanism(options, plan):
    release = discreet.release(pa.table(TABLE).to_reader(), plan, **BUDGET, **options)
    assert release.private
    # the errors of persons are clustered, which needs their summed residuals
    staged = "robust" in options and plan is ROWS
    assert (release.residuals is not None) == ("robust" in options and not staged)
    assert (release.staged is not None) == staged


@pytest.mark.parametrize("plan", [PERSONS, ROWS])
def test_noise_from_a_seed_is_the_same_over_tables_that_can_and_cannot_be_read_again(plan):
    made = [
        seeded_release(data, plan, seed=3, mechanism="irls", **BUDGET).coefficients
        for data in (TABLE, pa.table(TABLE).to_reader())
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize("plan", [PERSONS, ROWS])
def test_a_file_may_go_away_after_the_first_pass(tmp_path, plan):
    path = tmp_path / "t.csv"
    path.write_text("person,x,y\na,0.5,0.5\nb,0.25,1\n")

    def hook(_):
        path.unlink()
        return SpendReceipt("ledger entry 1")

    assert discreet.release(path, plan, **BUDGET, mechanism="irls", spend=hook).anchor == "ledger entry 1"


def test_kept_rows_that_cannot_be_read_after_the_spend_end_as_any_failure_there(files, monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)

    def hook(_):
        files[0].close()
        return SpendReceipt("ledger entry 1")

    with pytest.raises(AfterSpendError, match=r"unexpected failure \(ValueError\)"):
        discreet.release(TABLE, PERSONS, **BUDGET, mechanism="irls", spend=hook, compute=ComputeOptions(chunk_rows=1))


def test_a_closed_table_gives_nothing():
    with Table(open_source(TABLE), PERSONS, RowDomain.of(PERSONS), ComputeOptions()) as table:
        table.sums()
    with pytest.raises(ValueError, match="closed"):
        table.sums()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a disk that is always full")
def test_a_full_disk_stops_the_release_before_the_spend(monkeypatch):
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "w+b"))  # noqa: SIM115
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    each_row = ComputeOptions(chunk_rows=1)
    spent = []
    for plan in (PERSONS, ROWS):
        with pytest.raises(DataError, match=r"No space left.*set TMPDIR"):
            discreet.release(TABLE, plan, **BUDGET, mechanism="irls", spend=spent.append, compute=each_row)
    assert spent == []


@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_rows_that_fit_and_rows_that_do_not_share_the_cap_of_a_person(max_rows):
    rng = np.random.default_rng(max_rows)
    design = Design(
        "y", {"x": {"bounds": (0, 1), "missing": "drop"}, "y": (0, 1)}, unit={"id": "person", "max_rows": max_rows}
    )
    table = random_persons(rng, 400, 120)
    by_person = defaultdict(lambda: [0, 0])
    for person, x in zip(table["person"], table["x"], strict=True):
        by_person[person][x is None] += 1
    fits = [min(max_rows, fit) for fit, _ in by_person.values()]
    others = [min(max_rows - fit, other) for fit, (_, other) in zip(fits, by_person.values(), strict=True)]
    found = accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions(batch_rows=37)).counts.fitting
    assert found == (sum(fits), sum(others))
    # negative control: without a common cap one person could add more than max_rows
    assert sum(min(max_rows, other) for _, other in by_person.values()) > sum(others)


@pytest.mark.parametrize("again", [False, True])
def test_rows_that_fit_and_rows_that_do_not_add_up_to_the_rows_read(again):
    design = Design("y", {"x": {"bounds": (0, 1), "missing": "drop"}, "y": (0, 1)})
    table = {"x": [0.5, None, float("nan"), 7.0, 0.1], "y": [0.1] * 5}
    with Table(open_source(table), design, RowDomain.of(design), ComputeOptions(batch_rows=2), again=again) as rows:
        assert rows.sums().counts.fitting == (3, 2)
        if again:
            assert rows.sums().counts.fitting == (3, 2)


def test_rows_are_digested_only_where_that_is_asked_for():
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    rows = {"x": [1.0, 0.5], "y": [1.0, 1.0]}
    made = []
    for digest in (False, True, True):
        with Table(
            open_source(rows), design, RowDomain.of(design), ComputeOptions(batch_rows=1), digest=digest
        ) as table:
            table.sums()
            made.append(None if table.fingerprint is None else table.fingerprint(b"key"))
    assert made[0] is None
    assert made[1] is not None
    assert made[1] == made[2]


@pytest.mark.parametrize("unit", [{}, {"id": "who", "max_rows": 2}])
def test_rows_that_were_written_anew_are_what_later_passes_see(unit):
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)}, unit=unit)
    domain, rng = RowDomain.of(design), np.random.default_rng(1)
    table = {"x": rng.uniform(-1, 1, 50), "y": rng.uniform(-1, 1, 50), "who": [f"p{k // 2}" for k in range(50)]}
    scaling = Scaling((0.1,), (0.25,), 4.0, 1)
    found = []
    for chunk_rows in (7, 1000):
        options = ComputeOptions(batch_rows=11, chunk_rows=chunk_rows)
        with Table(open_source(table), design, domain, options, again=True) as rows:
            cells = rows.sums(ColumnCells(domain, [1])).cells
            shrunk = rows.sums(ShrunkRows(domain, scaling, 2.0, 0.0, [0.5])).values
            scores = [rows.sums(ClippedScores(domain, [0, 0], 0.25)).values for _ in range(2)]
        assert scores[0] == scores[1]
        found.append((cells.tolist(), shrunk, scores[0]))
    assert found[0] == found[1]
    assert found[0][1][-1] == found[0][2][-1] == 50 * 4**16
    # the same in one piece
    grid = np.rint(np.stack([np.ones(50), table["x"], table["y"]]) * 2**16)
    sums = ClippedScores(domain, [0, 0], 0.25)
    sums.add(ShrunkRows(domain, scaling, 2.0, 0.0, [0.5]).recoded(grid))
    assert sums.totals() == found[0][2]
