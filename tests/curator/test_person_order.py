"""Rows of persons in memory: in the order that the database on disk gives them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator import buffered_rows as scratch
from discreet.curator import individuals as order_module
from discreet.curator import individuals as persons_module
from discreet.curator.buffered_rows import KeptRows
from discreet.curator.individuals import Candidates, IndividualCap, IndividualRows, cap_key, ordered_rows, row_digests
from discreet.design.design import Design

PLAN = {"y": (0, 1), "x": (0, 1), "z": (0, 1)}


def tables():
    """Few persons, few digests of few bits at either end, few values: ties of every kind, and dropped rows.

    Rows of one digest may differ, as chance alone would make none; equal rows have one digest.
    """
    row = st.tuples(st.integers(0, 3), st.booleans(), st.integers(-1, 1), st.integers(-1, 1))
    digest = st.sampled_from([0, 1, 2, 2**63, 2**63 + 1, 2**64 - 1])
    return st.tuples(st.lists(row, max_size=40), st.lists(digest, min_size=9, max_size=9))


def columns_of(rows, digests):
    persons, kept, *values = ([row[index] for row in rows] for index in range(4))
    marks = np.array(kept, dtype=np.bool_)
    # what is dropped has no values
    cells = np.where(marks, np.array(values, dtype=np.int32).reshape(2, -1), 0).astype(np.int32)
    return np.array(persons, dtype=np.int32), marks, digests_of(cells, digests), cells


def digests_of(values, digests):
    return np.array(digests, dtype=np.uint64)[3 * (values[0] + 1) + values[1] + 1]


@given(tables())
def test_rows_are_sorted_as_tuples_are(table):
    persons, kept, digests, values = columns_of(*table)
    order = ordered_rows(persons, kept, digests, values)
    assert sorted(order.tolist()) == list(range(len(persons)))

    def told(at):
        return int(persons[at]), not kept[at], int(digests[at]), *values[:, at].tolist()

    assert [told(at) for at in order] == sorted(map(told, range(len(persons))))


def test_rows_in_a_long_tie_find_their_places():
    digests = np.full(1000, 7, dtype=np.uint64)
    values = np.zeros((2, 1000), dtype=np.int32)
    # by the last bit of the digest, then by the first value, then by the second
    values[:, 700], digests[700] = (5, 5), 6
    values[:, 500], values[:, 300] = (-1, 0), (0, -1)
    order = ordered_rows(np.zeros(1000, dtype=np.int32), np.ones(1000, dtype=np.bool_), digests, values)
    assert order[:3].tolist() == [700, 500, 300]


@pytest.mark.no_cover
@given(tables(), st.integers(1, 4), st.integers(1, 50), st.integers(1, 50))
def test_the_rows_that_stay_are_those_of_the_database(table, max_rows, batch_rows, chunk_rows):
    persons, kept, _, values = columns_of(*table)
    rows = len(persons)
    plan = Design("y", PLAN, unit={"id": "who", "max_rows": max_rows})
    found = []
    for in_memory in (2**26, 600, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scratch, "IN_MEMORY_BYTES", in_memory)
            patch.setattr(persons_module, "row_digests", lambda values, key: digests_of(values, table[1]))
            with IndividualCap(plan, 2) as cap, KeptRows(3, 1, 1000) as aside:
                for start in range(0, rows, batch_rows):
                    part = slice(start, start + batch_rows)
                    grid = np.concatenate([np.ones((1, rows)), values])[:, part][:, kept[part]]
                    whole = bool(kept[part].all())
                    cap.add(pa.array(persons[part].astype(str)), None if whole else kept[part], grid)
                counts = cap.keep(aside, chunk_rows)
                assert cap.over_cap()[0] == counts[0] == len(set(persons.tolist()))
                chunks = list(aside.whole_persons())
        whole_persons = [
            chunk[1:, start:end].T.tolist()
            for chunk, starts in chunks
            for start, end in zip(starts, [*starts[1:], chunk.shape[1]], strict=True)
        ]
        # which person comes first is no part of the rule, the order of the rows of one is
        found.append((counts, sorted(whole_persons)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("at_once", [1, 2**18])
def test_candidates_hold_the_first_rows_of_each_person_in_any_batches(at_once, monkeypatch):
    """Pruned or not after each batch, in one piece or many, with ids that change their type: as sorted tuples."""
    monkeypatch.setattr(order_module, "_ROWS_AT_ONCE", at_once)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        # unequal rows of one digest, or of digests that differ in their last bit, are common
        table = rng.integers([0, 0, -1, -1], [rng.integers(1, 9), 5, 2, 2], (40, 4)).tolist()
        digests = [[0, 1, 2, 3, 2**63, 2**64 - 2, 2**64 - 1][at] for at in rng.integers(0, 7, 9)]
        persons, kept, digest, values = columns_of([(who, drop > 0, *cells) for who, drop, *cells in table], digests)
        told = [(not kept[at], int(digest[at]), *values[:, at].tolist()) for at in range(40)]
        most, cuts = int(rng.integers(1, 4)), [0, *sorted(rng.choice(range(1, 40), 8, replace=False).tolist()), 40]
        candidates = Candidates(most, 2)
        for start, end in pairwise(cuts):
            ids = pa.array(persons[start:end])
            ids = ids.cast(pa.string()) if rng.random() < 0.2 else ids
            # what is handed over is written over afterwards
            rows = IndividualRows(persons, kept, digest, values).some(np.arange(start, end))
            candidates.add([ids.slice(0, 1), ids.slice(1)], rows)
            rows.kept[:], rows.digests[:], rows.values[:] = True, 0, 0
            if rng.random() < 0.7:
                candidates.prune()
                assert np.bincount(candidates.rows.persons).max() <= most
        found = {}
        for rows in candidates.by_person():
            for at, number in enumerate(rows.persons):
                row = not rows.kept[at], int(rows.digests[at]), *rows.values[:, at].tolist()
                found.setdefault(int(candidates.ids[number].as_py()), []).append(row)
        expected = {who: sorted(told[at] for at in np.flatnonzero(persons == who)) for who in set(persons.tolist())}
        assert candidates.persons == len(expected)
        assert {who: rows[:most] for who, rows in found.items()} == {w: rows[:most] for w, rows in expected.items()}


def test_memory_grows_with_persons_and_not_with_their_rows(monkeypatch):
    """Rows of a hundred times the memory: the first ones of each person stay, and none is on disk."""
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", 4_000)
    monkeypatch.setattr(persons_module, "_duckdb_connect", lambda: pytest.fail)
    rng = np.random.default_rng(5)
    rows, plan = 20_000, Design("y", PLAN, unit={"id": "who", "max_rows": 3})
    who, values = rng.integers(0, 30, rows), rng.integers(-5, 5, (2, rows)).astype(np.int32)
    kept = rng.random(rows) < 0.9
    most = 0
    with IndividualCap(plan, 2) as cap, KeptRows(3, 1, 1000) as aside:
        for start in range(0, rows, 100):
            part = slice(start, start + 100)
            grid = np.concatenate([np.ones((1, rows)), values])[:, part][:, kept[part]]
            cap.add(pa.array(who[part]), kept[part], grid)
            most = max(most, cap._candidates.nbytes)
        assert cap.keep(aside, 10) == (30, (90, 0))
        chunks = list(aside.chunks())
    cells = np.where(kept, values, 0).astype(np.int32)
    order = ordered_rows(who.astype(np.int32), kept, row_digests(cells, cap_key(plan)), cells)
    first = [order[who[order] == person][:3] for person in range(30)]
    assert sorted(np.concatenate(chunks, axis=1)[1:].T.tolist()) == sorted(cells[:, np.concatenate(first)].T.tolist())
    assert most < 3 * 4_000


@pytest.mark.parametrize("in_memory", [0, 2**26])
def test_integers_and_their_text_are_one_person_in_different_batches(in_memory, monkeypatch):
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", in_memory)
    plan = Design("y", PLAN, unit={"id": "who", "max_rows": 1})
    batches = [pa.array([1, 2]), pa.array([2, 3], pa.uint8()), pa.array(["3", "4"])]
    with IndividualCap(plan, 2, count_over=True) as cap, KeptRows(3, 1, 10) as aside:
        for persons in batches:
            cap.add(persons, None, np.zeros((3, 2)))
        assert cap.over_cap() == (4, 2, 2)
        assert cap.keep(aside, 10) == (4, (4, 0))


@pytest.mark.parametrize("in_memory", [0, 5_000, 2**26])
def test_small_batches_are_joined_and_give_the_same_rows(in_memory, monkeypatch):
    """One-row batches of a stream: few of them wait, and few are written, wherever they do."""
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", in_memory)
    monkeypatch.setattr(persons_module, "_FEW_ROWS", 64)
    rng = np.random.default_rng(4)
    who, grid = rng.integers(0, 90, 300), rng.integers(-9, 9, (3, 300)).astype(np.float64)
    kept = rng.random(300) < 0.9
    design = Design("y", PLAN, unit={"id": "p", "max_rows": 2})
    found, most = [], []
    for step in (1, 300):
        with IndividualCap(design, 2, count_over=True) as cap, KeptRows(3, 1, 1000) as aside:
            for start in range(0, 300, step):
                part = slice(start, start + step)
                cap.add(pa.array(who[part]), kept[part], grid[:, part][:, kept[part]])
                most.append(len(cap._ids))
            counts = cap.over_cap(), cap.keep(aside, 50)
            rows = [row for chunk, _ in aside.whole_persons() for row in chunk.T.tolist()]
        found.append((counts, sorted(rows)))
    assert found[0] == found[1]
    assert max(most) <= 5


def test_a_table_without_rows_has_no_persons():
    with IndividualCap(Design("y", PLAN, unit={"id": "who", "max_rows": 1}), 2) as cap, KeptRows(3, 1, 10) as aside:
        assert cap.over_cap() == (0, 0, 0)
        assert cap.keep(aside, 10) == (0, (0, 0))
