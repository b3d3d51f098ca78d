"""The fingerprint of rows: the same for the same rows, whatever the batches, and keyed."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.rows import RowDigest
from discreet.design.design import Design
from discreet.design.domain import RowDomain

DESIGN = Design("y", {"y": (0, 1), "x": (0, 1)})
ROWS = np.arange(30.0).reshape(3, 10)


def digest(*chunks: np.ndarray, persons: tuple[str, ...] = (), design: Design = DESIGN, key: bytes = b"key") -> str:
    made = RowDigest(design, RowDomain.of(design))
    for chunk in chunks:
        made.add(chunk)
    made.add_persons(persons)
    return made.keyed(key)


def test_batches_do_not_matter_and_rows_their_order_and_the_key_do():
    whole = digest(ROWS)
    assert digest(ROWS[:, :4], ROWS[:, 4:]) == whole
    changed = ROWS.copy()
    changed[2, 9] += 1
    for other in (digest(changed), digest(ROWS[:, ::-1]), digest(ROWS[:, :9]), digest(ROWS, key=b"other")):
        assert other != whole
        assert other.split(":")[:2] == whole.split(":")[:2]


def test_persons_matter_and_are_kept_apart():
    assert digest(ROWS, persons=("ab", "c")) != digest(ROWS, persons=("a", "bc"))
    assert digest(ROWS, persons=("a",)) != digest(ROWS)


@pytest.mark.parametrize("other", [Design("x", {"y": (0, 1), "x": (0, 1)}), Design("y", {"y": (0, 1), "x": (0, 2)})])
def test_a_fingerprint_names_its_design(other):
    assert digest(ROWS, design=other).split(":")[1] != digest(ROWS).split(":")[1]
