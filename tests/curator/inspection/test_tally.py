"""Exact counts with the first few places, over many batches."""

from __future__ import annotations

import numpy as np

from discreet.curator.inspection import FIRST, Finding, Tally
from discreet.tables.source import Place


def test_all_rows_are_counted_and_only_the_first_places_are_asked_for() -> None:
    rng = np.random.default_rng(1)
    marks = rng.random(1000) < 0.3
    asked = []
    tally = Tally()
    for start in range(0, 1000, 3):

        def place(row: int, start: int = start) -> Place:
            asked.append(start + row)
            return Place(start + row, "row")

        tally.add(marks[start : start + 3], place)
    found = tally.finding
    assert found.count == marks.sum()
    assert asked == [place.number for place in found.first] == np.flatnonzero(marks)[:FIRST].tolist()


def test_nothing_found_asks_for_no_place() -> None:
    tally = Tally()
    tally.add(np.zeros(4, dtype=bool), lambda row: 1 / 0)
    assert tally.finding == Finding()


def test_places_in_several_files_carry_the_name() -> None:
    found = Finding(1, (Place(4, "line", "b.csv"),))
    assert found.to_dict() == {"count": 1, "first": [{"file": "b.csv", "number": 4}]}
