"""What workers do with their part: together exactly what one machine does with the whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.curator import engine as tasks
from discreet.curator.engine import NoSums, Work, capped_rows, capped_sums, part_rows, part_sums, person_rows
from discreet.curator.individuals import IndividualCap
from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.residuals import ResidualGram
from discreet.curator.table import Table, accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.pretend_spark import PretendFrame

COLUMNS = {"y": {"bounds": [0, 1], "missing": "drop"}, "x": {"bounds": [-1, 1], "missing": "drop"}}
ROWS = Design("y", COLUMNS)
PERSONS = Design("y", COLUMNS, unit={"id": "who", "max_rows": 2})
KEY = b"k" * 64


def table(rows=240, seed=3):
    rng = np.random.default_rng(seed)
    x = [None if cell > 0.9 else cell for cell in rng.choice([0.0, -0.75, 0.3, 0.95, *rng.uniform(-2, 2, 5)], rows)]
    return pa.table({"y": rng.random(rows).round(1), "x": x, "who": [f"p{one}" for one in rng.integers(0, 90, rows)]})


def work(design, **options):
    return Work(design, RowDomain.of(design), options.pop("chunk_rows", 16), **options)


def everything(totals):
    return totals.values, totals.unit, totals.counts.packed()


def one_machine(design, sums=None, **options):
    return accumulate(open_source(table()), design, RowDomain.of(design), ComputeOptions(), sums, **options)


def placed(batches):
    """Persons together and rows numbered, as the window has them."""
    frame = PretendFrame([pa.Table.from_batches(batches)])
    place = "row_number() OVER (PARTITION BY person ORDER BY kept DESC NULLS LAST, digest, row) AS place"
    return frame.selectExpr("kept", "row", place)


def capped(design, given, most=2, batch=50):
    rows = placed(list(person_rows(table().to_batches(max_chunksize=60), given, KEY))).where(f"place <= {most}")
    return [part.to_batches(max_chunksize=batch) for part in rows._compute()]


def test_parts_of_rows_add_up():
    given, batches = work(ROWS, clip_counts=True), table().to_batches(max_chunksize=60)
    found = [part_sums(batches[number::2], given, ExactGram(3, 16), number) for number in (0, 1)]
    assert everything((found[0] + found[1]).totals) == everything(one_machine(ROWS, clip_counts=True))
    assert found[0].parts + found[1].parts == (0, 1)


def test_rows_are_handed_on_as_they_were_summed():
    given = work(ROWS, clip_counts=True, digest=True)
    *blocks, counts = part_rows(table().to_batches(max_chunksize=60), given, 0)
    summed = part_sums(table().to_batches(), given, ExactGram(3, 16), 0)
    assert (counts.totals.counts.packed(), counts.digest) == (summed.totals.counts.packed(), summed.digest)
    rows = np.concatenate(blocks, axis=1).astype(float)
    assert (rows[0] == 1).all()
    rows[0] = given.domain.unit
    gram = ExactGram(3, 16)
    gram.add(rows)
    assert gram.totals() == summed.totals.values


def test_a_part_without_rows_has_counts_of_zero():
    (only,) = part_rows([], work(ROWS), 4)
    assert (only.totals.counts.units, only.parts, only.digest) == (0, (4,), 0)


@pytest.mark.parametrize("clip_counts", [False, True])
def test_the_same_rows_of_persons_count(clip_counts):
    given = work(PERSONS, clip_counts=clip_counts)
    found = [capped_sums(part, given, ExactGram(3, 16), n) for n, part in enumerate(capped(PERSONS, given))]
    assert everything((found[0] + found[1]).totals) == everything(one_machine(PERSONS, clip_counts=clip_counts))


@pytest.mark.parametrize("name", ["_TOP", "_TOP_32"])
def test_without_the_top_bit_other_rows_would_count(monkeypatch, name):
    # digests spread over all 64 bits, values over both signs; equal digests are rare, so values need equal digests
    if name == "_TOP_32":
        monkeypatch.setattr(tasks, "row_digests", lambda values, key: np.zeros(values.shape[1], dtype=np.uint64))
    given = work(PERSONS)
    right = [capped_sums(part, given, ExactGram(3, 16), n) for n, part in enumerate(capped(PERSONS, given))]
    monkeypatch.setattr(tasks, name, type(getattr(tasks, name))(0))
    wrong = [capped_sums(part, given, ExactGram(3, 16), n) for n, part in enumerate(capped(PERSONS, given))]
    assert (right[0] + right[1]).totals.values != (wrong[0] + wrong[1]).totals.values


def test_ties_are_broken_by_values_as_the_database_breaks_them(monkeypatch):
    zeros = lambda values, key: np.zeros(values.shape[1], dtype=np.uint64)  # noqa: E731  # short
    monkeypatch.setattr(tasks, "row_digests", zeros)
    monkeypatch.setattr("discreet.curator.individuals.row_digests", zeros)
    given = work(PERSONS)
    found = [capped_sums(part, given, ExactGram(3, 16), n) for n, part in enumerate(capped(PERSONS, given))]
    assert everything((found[0] + found[1]).totals) == everything(one_machine(PERSONS))


def test_rows_of_a_person_are_taken_together():
    given, domain = work(PERSONS, chunk_rows=7), RowDomain.of(PERSONS)
    sums = ResidualGram(domain, 2, (0.25, 0.5), 1.0, 2)
    found = [capped_sums(part, given, sums.empty(), n) for n, part in enumerate(capped(PERSONS, given, batch=5))]
    with Table(open_source(table()), PERSONS, domain, ComputeOptions(), again=True) as one:
        assert (found[0] + found[1]).totals.values == one.sums(sums).values


def test_rows_of_persons_are_handed_on_with_their_first_ones():
    given = work(PERSONS, clip_counts=True, digest=True)
    *blocks, counts = capped_rows(capped(PERSONS, given)[0], given, 0)
    summed = capped_sums(capped(PERSONS, given)[0], given, ExactGram(3, 16), 0)
    rows = np.concatenate(blocks, axis=1)
    # the mark of a first row, the values and two marks of clipped cells
    assert len(rows) == 1 + 2 + 2
    assert counts.digest == summed.digest != 0
    assert (counts.totals.counts.units, counts.totals.counts.fitting) == (
        summed.totals.counts.units,
        summed.totals.counts.fitting,
    )
    # persons without a row that fits have no first one
    assert 0 < rows[0].sum() <= counts.totals.counts.units
    assert rows[3:].sum(axis=1).tolist() == list(summed.totals.counts.clipped)


def test_a_batch_of_rows_that_rules_drop_is_no_block():
    rows = pa.record_batch({"y": [0.5], "x": [None], "who": ["a"]}, schema=table().schema)
    *blocks, counts = part_rows([rows], work(ROWS), 0)
    assert (blocks, counts.totals.counts.units, counts.totals.counts.fitting) == ([], 1, (0, 1))
    placed_rows = placed(list(person_rows([rows], work(PERSONS), KEY)))._compute()
    *blocks, counts = capped_rows([one for part in placed_rows for one in part.to_batches()], work(PERSONS), 0)
    assert (blocks, counts.totals.counts.units, counts.totals.counts.fitting) == ([], 1, (0, 1))


def test_rows_out_of_their_order_are_refused():
    given = work(PERSONS)
    batch = capped(PERSONS, given, batch=400)[0][0]
    with pytest.raises(RuntimeError, match="out of order"):
        capped_sums([batch.take(list(reversed(range(batch.num_rows))))], given, ExactGram(3, 16), 0)


def test_wide_types_of_spark_are_read_too():
    given = work(PERSONS)
    part = pa.Table.from_batches(capped(PERSONS, given)[0])
    wide = part.set_column(part.schema.get_field_index("row"), "row", part["row"].cast(pa.large_binary()))
    both = [capped_sums(one.to_batches(), given, ExactGram(3, 16), 0).totals for one in (part, wide)]
    assert both[0].values == both[1].values


def test_what_leaves_a_worker_holds_no_id():
    batch = next(person_rows(table().to_batches(), work(PERSONS), KEY))
    again = next(person_rows(table().to_batches(), work(PERSONS), b"another" * 9))
    assert all(len(cell) == 32 for cell in batch["person"].to_pylist())
    assert not set(batch["person"].to_pylist()) & set(again["person"].to_pylist())
    # the order of rows does not depend on the key
    assert batch["digest"] == again["digest"]


def test_digests_are_those_of_one_machine():
    batch = next(person_rows(table().to_batches(), work(PERSONS), KEY))
    with IndividualCap(PERSONS, 2) as cap:
        key = cap._key
    values = tasks._values(batch["row"], 2)
    flipped = np.from_dlpack(batch["digest"]).view(np.uint64) ^ np.uint64(1 << 63)
    assert (flipped == tasks.row_digests(values, key)).all()


def test_rows_without_an_id_are_left_out_where_no_error_is_allowed():
    total = Design(
        "y",
        {"y": {"bounds": [0, 1], "missing": "drop"}, "x": {"bounds": [-1, 1], "missing": "drop"}},
        unit={"id": "who", "max_rows": 2},
    )
    assert total.total
    rows = pa.record_batch({"y": [0.5, 0.5], "x": [0.0, 0.0], "who": ["a", None]})
    (batch,) = person_rows([rows], work(total), KEY)
    assert batch.num_rows == 1


def test_no_sums_sum_nothing():
    nothing = NoSums()
    nothing.add(np.ones((2, 2)))
    assert (nothing.empty() is nothing, nothing.totals()) == (True, ())
