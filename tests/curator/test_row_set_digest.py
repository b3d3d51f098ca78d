"""A fingerprint of rows in any order: the same rows have one, other rows another."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.engine import RowSetDigest
from discreet.design.design import Design
from discreet.design.domain import RowDomain

DESIGN = Design("y", {"y": (0, 1), "x": (0, 1)})
ROWS = np.array([[8.0, 8.0, 8.0, 8.0], [1.0, 2.0, 2.0, -3.0], [4.0, 5.0, 5.0, 6.0]])


def fingerprint(*chunks, counts=(4, 4, 0), design=DESIGN, key=b"key", bits=16):
    total = 0
    for chunk in chunks:
        part = RowSetDigest(design, RowDomain.of(design, bits))
        part.add(chunk)
        total += part.total
    whole = RowSetDigest(design, RowDomain.of(design, bits))
    whole.take(total, counts)
    return whole.keyed(key)


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 0, 3, 2]])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_order_and_parts_do_not_matter(order, at):
    rows = ROWS[:, order]
    assert fingerprint(rows[:, :at], rows[:, at:]) == fingerprint(ROWS)


def test_every_change_matters():
    other = ROWS.copy()
    other[1, 0] = 7.0
    swapped = ROWS[[0, 2, 1]]
    changed = [
        fingerprint(other),
        fingerprint(swapped),
        fingerprint(ROWS[:, :3]),
        fingerprint(ROWS, counts=(5, 4, 0)),
        fingerprint(ROWS, key=b"another"),
        fingerprint(ROWS, bits=15),
        fingerprint(ROWS, design=Design("y", {"y": (0, 2), "x": (0, 1)})),
    ]
    assert len({fingerprint(ROWS), *changed}) == 8


def test_a_row_that_is_there_twice_does_not_cancel():
    assert fingerprint(ROWS[:, [0]]) != fingerprint(ROWS[:, [0, 1, 2]])
