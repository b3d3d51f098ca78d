"""What workers hand on: exact, opaque, and complete or refused."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.engine import PartSums, Work
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError


def everything(part):
    totals = part.totals
    cells = None if totals.cells is None else totals.cells.tolist()
    return totals.values, totals.unit, totals.counts.packed(), cells, part.digest, part.parts


@pytest.mark.parametrize("cells", [None, np.arange(6).reshape(2, 3), np.zeros(0, dtype=np.int64)])
def test_sums_survive_the_way_to_another_worker(cells):
    part = PartSums(Totals((2**200, -(2**200), 0), 2**32, RowCounts(10**15, (5, 6), (3, 4)), cells), 2**190 + 1, (3, 1))
    assert everything(PartSums.unpacked(part.packed())) == everything(part)
    # Spark may hand on another kind of bytes
    assert everything(PartSums.unpacked(bytearray(part.packed()))) == everything(part)


def test_sums_do_not_show_themselves():
    assert "12345" not in repr(PartSums(Totals((12345,), 1, RowCounts(12345)), 12345, (0,)))


@pytest.mark.parametrize("parts", [(), (0,), (2, 0, 1)])
def test_all_parts_once_are_complete(parts):
    PartSums(Totals((), 1, RowCounts(0)), 0, parts).check_complete()


@pytest.mark.parametrize("parts", [(1,), (0, 0), (0, 2), (0, 1, 1)])
def test_a_part_that_is_missing_or_doubled_is_refused(parts):
    with pytest.raises(DataError, match="lost or summed twice"):
        PartSums(Totals((), 1, RowCounts(0)), 0, parts).check_complete()


@pytest.mark.parametrize(
    ("unit", "bounds", "clip_counts", "marks"),
    [
        ({"id": "p", "max_rows": 2}, (0, 1), True, 2),
        ({"id": "p", "max_rows": 2}, (0, 1), False, 0),
        ({"id": "p", "max_rows": 2}, "private", True, 0),
        (None, (0, 1), True, 0),
    ],
)
def test_marks_follow_rows_of_persons_alone(unit, bounds, clip_counts, marks):
    design = Design("y", {"y": (0, 1), "x": bounds}, **({} if unit is None else {"unit": unit}))
    assert Work(design, RowDomain.of(design), 8, clip_counts).marks == marks
