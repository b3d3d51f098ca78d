"""Rows that were set aside come back as they were, and those of a person together."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import discreet
from discreet.curator import buffered_rows as scratch
from discreet.curator.buffered_rows import KeptRows
from discreet.design.design import Design
from discreet.errors import AfterSpendError, BudgetError, CellError
from discreet.tables.source import ComputeOptions


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


@pytest.fixture(params=["memory", "disk", "both"])
def place(request, monkeypatch):
    """Where rows wait: as many bytes in memory as the name says."""
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", {"memory": 2**26, "disk": 0, "both": 500}[request.param])
    return request.param


def in_copies(chunks):
    """All chunks at once; each is valid only until the next one."""
    return [chunk.copy() for chunk in chunks]


@pytest.mark.parametrize("chunk_rows", [1, 2, 5, 16, 1000])
@pytest.mark.parametrize("batch_rows", [1, 7, 500])
def test_every_chunk_has_the_rows_and_the_constant(chunk_rows, batch_rows, place):
    rng = np.random.default_rng(chunk_rows)
    with KeptRows(columns=4, unit=2**26, chunk_rows=chunk_rows) as kept:
        rows = set_aside(kept, persons_of(rng, 40), batch_rows)
        # each pass gives the same again
        for _ in range(2):
            chunks = in_copies(kept.chunks())
            assert all(chunk.shape[1] == chunk_rows for chunk in chunks[:-1])
            together = np.concatenate(chunks, axis=1)
            assert (together[0] == 2**26).all()
            assert (together[1:] == rows).all()


@pytest.mark.parametrize("chunk_rows", [1, 2, 5, 16, 1000])
def test_no_person_is_cut_in_two_or_joined_to_another(chunk_rows, place):
    rng = np.random.default_rng(chunk_rows)
    persons = persons_of(rng, 40)
    with KeptRows(columns=4, unit=8, chunk_rows=chunk_rows) as kept:
        set_aside(kept, persons, batch_rows=7)
        found = []
        for chunk, starts in kept.whole_persons():
            assert starts[0] == 0
            assert (chunk[0] == 8).all()
            found += np.split(chunk[1:].copy(), starts[1:], axis=1)
    assert len(found) == len(persons)
    assert all(np.array_equal(one, other) for one, other in zip(found, persons, strict=True))


def test_no_rows_give_no_chunks(place):
    with KeptRows(columns=2, unit=8, chunk_rows=3) as kept:
        assert not list(kept.chunks())
        assert not list(kept.whole_persons())


def test_rows_that_wait_cannot_be_changed_and_have_no_signed_zeros(place):
    with KeptRows(columns=2, unit=8, chunk_rows=2) as kept:
        kept.add(np.ones(5, dtype=bool), np.array([[-0.0, 1.0, -0.0, 2.0, -0.0]]))
        for chunk in kept.chunks():
            assert not np.signbit(chunk).any()
            with pytest.raises(ValueError, match="read-only"):
                chunk[0] = 1.0


def test_only_what_is_beyond_the_stated_size_goes_to_disk(files, monkeypatch):
    """Two columns of doubles, three rows in a chunk: two full chunks are 96 bytes."""
    for limit, opened in ((96, 0), (95, 1)):
        monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", limit)
        with KeptRows(columns=2, unit=8, chunk_rows=3) as kept:
            kept.add(np.ones(8, dtype=bool), np.arange(8)[None, :])
            assert np.hstack(in_copies(kept.chunks()))[1].tolist() == list(range(8))
        assert len(files) == opened
    assert files[0].closed


def test_rows_that_are_gone_from_disk_are_an_error_and_no_rows(files, monkeypatch):
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", 0)
    with KeptRows(columns=2, unit=8, chunk_rows=3) as kept:
        kept.add(np.ones(3, dtype=bool), np.arange(3)[None, :])
        files[0].truncate(4)
        with pytest.raises(OSError, match="the file of buffered rows is shorter than expected"):
            list(kept.chunks())


def test_closed_rows_are_given_to_nobody(place):
    kept = KeptRows(columns=2, unit=8, chunk_rows=3)
    kept.add(np.ones(7, dtype=bool), np.arange(7)[None, :])
    kept.close()
    with pytest.raises(ValueError, match="closed"):
        list(kept.chunks())


BUDGET = {"epsilon": 1.0, "delta": 1e-6}
PERSONS = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 2})
EACH_ROW = ComputeOptions(chunk_rows=1, workers=1)
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
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", 0)

    def chunks(self):
        calls.append(list(tmp_path.iterdir()))
        if error is not None and len(calls) == 2:
            # in the midst of a pass
            yield next(real(self))
            raise error
        yield from real(self)

    monkeypatch.setattr(KeptRows, "chunks", chunks)

    def release():
        return discreet.release(
            **{"data": TABLE, "design": PERSONS, "mechanism": "irls", **BUDGET, "compute": EACH_ROW, **options}
        )

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
    # a table that is refused has no rows to set aside
    assert [file.closed for file in files] == [True] * (raised is not CellError)


def test_a_pass_over_kept_rows_takes_memory_by_the_chunk(monkeypatch):
    rows, columns, chunk_rows = 400_000, 8, 2_048
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", 0)
    rng = np.random.default_rng(5)
    first = np.zeros(rows, dtype=bool)
    first[::3] = True
    with KeptRows(columns, 1, chunk_rows) as kept:
        kept.add(first, rng.integers(-(2**26), 2**26, (columns - 1, rows), dtype=np.int32))
        tracemalloc.start()
        try:
            seen = sum(chunk.shape[1] for chunk in kept.chunks())
            whole = sum(chunk.shape[1] for chunk, _ in kept.whole_persons())
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert seen == whole == rows
    # a chunk as numbers of the file and as doubles, twice; all rows would be 25,600,000
    assert peak < 8 * chunk_rows * columns * 8


def test_parts_share_the_room_in_memory(monkeypatch):
    block = 2 * 3 * 8
    monkeypatch.setattr(scratch, "IN_MEMORY_BYTES", 4 * block)
    for parts, on_disk in ((1, 0), (2, 2), (4, 3), (8, 4)):
        with KeptRows(columns=2, unit=8, chunk_rows=3, parts=parts) as kept:
            kept.add(np.ones(12, dtype=bool), np.arange(12)[None, :])
            assert kept._on_disk == on_disk
            assert [value for chunk in kept.chunks() for value in chunk[1].tolist()] == list(range(12))
