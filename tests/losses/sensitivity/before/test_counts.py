"""What is stated of counts that are released before a mechanism."""

from __future__ import annotations

from discreet.design.model import Design
from discreet.losses.law import BEFORE
from discreet.losses.sensitivity.before.counts import CountsBefore
from discreet.losses.sensitivity.before.discovery import discovery_block
from discreet.losses.sensitivity.before.guard import guard_block


def test_every_block_before_a_mechanism_has_its_counts():
    design = Design("y", {"y": (0, 1), "x": "private"}, unit={"neighbours": "replace"})
    blocks = [guard_block(design), discovery_block(design)]
    assert [one.block for one in blocks] == list(BEFORE)
    assert blocks[0] == CountsBefore("guard", 2, blocks[0].sensitivity, 2)
    assert (blocks[1].numbers, blocks[1].l1_sensitivity) == (83, 2)
