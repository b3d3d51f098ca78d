"""What is stated of counts that are released before a mechanism."""

from __future__ import annotations

from discreet.accounting.noise_distribution import BEFORE
from discreet.accounting.preliminary_counts import CountsBefore, discovery_block, guard_block
from discreet.design.design import Design


def test_every_block_before_a_mechanism_has_its_counts():
    design = Design("y", {"y": (0, 1), "x": "private"}, unit={"neighbours": "replace"})
    blocks = [guard_block(design), discovery_block(design)]
    assert [one.block for one in blocks] == list(BEFORE)
    assert blocks[0] == CountsBefore("guard", 2, blocks[0].sensitivity, 2)
    assert (blocks[1].numbers, blocks[1].l1_sensitivity) == (83, 2)
