"""Two tables one unit apart."""

from __future__ import annotations

import pytest

from discreet.audit.pairs import NeighbourPair


def test_a_pair_is_a_value():
    pair, same = (NeighbourPair("one row more", {"x": [1, 2]}, {"x": [1]}) for _ in range(2))
    assert pair == same
    assert pair != NeighbourPair("one row more", {"x": [1, 2]}, {"x": [2]})


def test_a_pair_cannot_be_changed():
    pair = NeighbourPair("one row more", {"x": [1, 2]}, {"x": [1]})
    with pytest.raises(AttributeError):
        pair.table = {}
