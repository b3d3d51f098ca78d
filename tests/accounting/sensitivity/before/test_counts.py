"""What is stated of counts that are released before a mechanism."""

from __future__ import annotations

from discreet.accounting.noise_distribution import BEFORE
from discreet.accounting.preliminary_counts import bounds_query, guard_query
from discreet.design.design import Design


def test_every_block_before_a_mechanism_has_its_counts():
    design = Design("y", {"y": (0, 1), "x": "private"}, unit={"neighbours": "replace"})
    blocks = [guard_query(design), bounds_query(design)]
    assert [one.block for one in blocks] == list(BEFORE)
    assert (blocks[0].entries, blocks[0].l1_sensitivity, blocks[0].times) == (2, 2, 1)
    assert (blocks[1].entries, blocks[1].l1_sensitivity) == (83, 2)
