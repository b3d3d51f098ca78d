"""Rows that were set aside come back as they were, and those of a person together."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.kept_rows import KeptRows


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
