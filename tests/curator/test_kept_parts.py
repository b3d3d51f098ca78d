"""Rows in several files: each row once, persons whole, no more files than asked for."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.buffered_rows import KeptParts, KeptRows


def rows_of(kept):
    return [[chunk[1:].T.tolist() for chunk in part.chunks()] for part in kept.parts]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_row_is_kept_once_and_persons_are_whole(count):
    rng = np.random.default_rng(count)
    persons = np.repeat(np.arange(60), rng.integers(1, 8, 60))
    first = np.r_[True, persons[1:] != persons[:-1]]
    values = np.stack([persons, np.arange(len(persons))]).astype(np.int32)
    with KeptParts(lambda: KeptRows(3, 8, 7), count) as kept:
        start = 0
        while start < len(persons):
            end = start + int(rng.integers(1, 12))
            kept.add(first[start:end], values[:, start:end])
            start = end
        parts = [[row for chunk in part for row in chunk] for part in rows_of(kept)]
        assert len(parts) == count
        assert sorted(row for part in parts for row in part) == values.T.tolist()
        owners = [{person for person, _ in part} for part in parts]
        assert sum(map(len, owners)) == 60
        if count > 1:
            assert min(map(len, owners)) > 60 / count / 3
        starts = [len(places) for part in kept.parts for _, places in part.whole_persons()]
        assert sum(starts) == 60


def test_a_person_without_a_beginning_in_the_batch_goes_on_where_it_was():
    with KeptParts(lambda: KeptRows(2, 8, 1000), 2) as kept:
        for number, first in enumerate([True, False, False, True]):
            kept.add(np.array([first]), np.array([[number]], dtype=np.int32))
        assert rows_of(kept) == [[[[0.0], [1.0], [2.0]]], [[[3.0]]]]


def test_files_are_made_when_they_are_needed_and_closed_together():
    made = []

    def new():
        made.append(KeptRows(2, 8, 1000))
        return made[-1]

    with KeptParts(new, 4) as kept:
        assert made == []
        kept.add(np.array([True]), np.array([[1]], dtype=np.int32))
        kept.own()
        assert kept.parts == made
        assert len(made) == 2
    assert all(part._closed for part in made)
