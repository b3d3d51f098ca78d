"""Rows that were set aside come back as they were, and those of a person together."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

import discreet
from discreet.curator.kept_rows import KeptRows
from discreet.design.model import Design
from discreet.errors import AfterSpendError, BudgetError, CellError


def persons_of(rng: np.random.Generator, how_many: int) -> list[np.ndarray]:
    """Persons with one to seven rows of three values in grid steps, negative ones among them."""
    return [rng.integers(-(2**26), 2**26, (3, rng.integers(1, 8)), dtype=np.int32) for _ in range(how_many)]


def set_aside(kept: KeptRows, persons: list[np.ndarray], batch_rows: int) -> np.ndarray:
    """Add all rows in batches that may cut a person in two; give them as one array."""
    rows = np.concatenate(persons, axis=1)
    first = np.concatenate([np.arange(person.shape[1]) == 0 for person in persons])
    for start in range(0, rows.shape[1], batch_rows):
        kept.add(first[start : start + batch_rows], rows[:, start : start + batch_rows])
    return rows


@pytest.mark.parametrize("chunk_rows", [1, 2, 5, 16, 1000])
def test_every_chunk_has_the_rows_and_the_constant(chunk_rows):
    rng = np.random.default_rng(chunk_rows)
    with KeptRows(columns=4) as kept:
        rows = set_aside(kept, persons_of(rng, 40), batch_rows=7)
        # each pass gives the same again
        for _ in range(2):
            chunks = list(kept.chunks(unit=2**26, chunk_rows=chunk_rows))
            assert all(chunk.shape[1] <= chunk_rows for chunk in chunks)
            together = np.concatenate(chunks, axis=1)
            assert (together[0] == 2**26).all()
            assert (together[1:] == rows).all()


@pytest.mark.parametrize("chunk_rows", [1, 2, 5, 16, 1000])
def test_no_person_is_cut_in_two_or_joined_to_another(chunk_rows):
    rng = np.random.default_rng(chunk_rows)
    persons = persons_of(rng, 40)
    with KeptRows(columns=4) as kept:
        set_aside(kept, persons, batch_rows=7)
        found = []
        for chunk, starts in kept.whole_persons(unit=8, chunk_rows=chunk_rows):
            assert starts[0] == 0
            assert (chunk[0] == 8).all()
            found += np.split(chunk[1:], starts[1:], axis=1)
    assert len(found) == len(persons)
    assert all(np.array_equal(one, other) for one, other in zip(found, persons, strict=True))


def test_no_rows_give_no_chunks():
    with KeptRows(columns=2) as kept:
        assert not list(kept.chunks(unit=8, chunk_rows=3))
        assert not list(kept.whole_persons(unit=8, chunk_rows=3))


BUDGET = {"epsilon": 1.0, "delta": 1e-6}
PERSONS = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 2})
TABLE = {"person": ["a", "a", "a", "b"], "x": [0.5, 0.25, 0.75, 1.0], "y": [0.0, 0.5, 1.0, 1.0]}


def refuse(_):
    raise BudgetError("nothing left")


def stop(_):
    raise KeyboardInterrupt


def interrupted(_):
    raise RuntimeError("interrupted by a colleague")


ENDS = {
    "published": ({}, None, None),
    "table refused": ({"data": {**TABLE, "x": [None] * 4}}, None, CellError),
    "spend refused": ({"spend": refuse}, None, BudgetError),
    "interrupt in the hook": ({"spend": stop}, None, KeyboardInterrupt),
    "a hook's own words are no interrupt": ({"spend": interrupted}, None, RuntimeError),
    "failure in a later pass": ({}, RuntimeError("Query interrupted"), AfterSpendError),
    "interrupt in a later pass": ({}, KeyboardInterrupt(), KeyboardInterrupt),
}


@pytest.mark.parametrize("end", ENDS)
def test_nothing_of_the_rows_stays_behind_whatever_happens(end, files, tmp_path, monkeypatch):
    options, error, raised = ENDS[end]
    real, calls = KeptRows.chunks, []

    def chunks(self, unit, chunk_rows):
        calls.append(list(tmp_path.iterdir()))
        if error is not None and len(calls) == 2:
            # in the midst of a pass
            yield next(real(self, unit, chunk_rows))
            raise error
        yield from real(self, unit, chunk_rows)

    monkeypatch.setattr(KeptRows, "chunks", chunks)

    def release():
        return discreet.release(**{"data": TABLE, "design": PERSONS, "mechanism": "irls", **BUDGET, **options})

    if raised is None:
        assert release().private
        assert len(calls) > 2
    else:
        with pytest.raises(raised) as caught:
            release()
        assert type(caught.value) is raised
    # the database is gone before the first sum, and the file of kept rows has no name
    assert all(seen == [] for seen in calls)
    assert list(tmp_path.iterdir()) == []
    assert all(file.closed for file in files)
    # where the table is refused there was nothing to set aside
    assert len(files) == (end != "table refused")


def test_a_pass_over_kept_rows_takes_memory_by_the_chunk():
    rows, columns, chunk_rows = 400_000, 8, 2_048
    rng = np.random.default_rng(5)
    first = np.zeros(rows, dtype=bool)
    first[::3] = True
    with KeptRows(columns) as kept:
        kept.add(first, rng.integers(-(2**26), 2**26, (columns - 1, rows), dtype=np.int32))
        tracemalloc.start()
        try:
            seen = sum(chunk.shape[1] for chunk in kept.chunks(1, chunk_rows))
            whole = sum(chunk.shape[1] for chunk, _ in kept.whole_persons(1, chunk_rows))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert seen == whole == rows
    # a chunk as numbers of the file and as doubles, twice; all rows would be 25,600,000
    assert peak < 8 * chunk_rows * columns * 8


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 7, 100])
def test_whole_persons_are_never_cut(chunk_rows):
    rng = np.random.default_rng(chunk_rows)
    lengths = rng.integers(1, 9, 30)
    owner = np.repeat(np.arange(30), lengths)
    first = np.diff(owner, prepend=-1) > 0
    with KeptRows(2) as kept:
        # batches end anywhere
        for low, high in pairwise([0, 5, 6, 50, len(owner)]):
            kept.add(first[low:high], owner[None, low:high].astype(np.int32))
        for _ in range(2):
            chunks = [(chunk, starts) for chunk, starts in kept.whole_persons(9, chunk_rows)]
            persons = [part for chunk, starts in chunks for part in np.split(chunk[1], starts[1:])]
            assert [part.tolist() for part in persons] == [[k] * length for k, length in enumerate(lengths)]
            assert all((chunk[0] == 9).all() and starts[0] == 0 for chunk, starts in chunks)
            assert np.hstack(list(kept.chunks(9, chunk_rows)))[1].tolist() == owner.tolist()
