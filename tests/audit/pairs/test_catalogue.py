"""Every mechanism has pairs of neighbours to audit."""

from __future__ import annotations

import pytest

import discreet
from discreet.audit.pairs import worst_pairs
from discreet.mechanisms.registry import mechanisms

NAMES = sorted(mechanisms())
COLUMNS = {"x": (0, 10), "b": bool, "g": ["red", "green", "blue"], "y": (-5, 5)}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", NAMES)
def test_it_names_neighbouring_tables_for_audits(name, neighbours):
    design = discreet.Design("y", COLUMNS, unit={"neighbours": neighbours})
    pairs = worst_pairs(name, design)
    assert pairs
    for pair in pairs:
        assert set(pair.table) == set(pair.neighbour) == {"x", "b", "g", "y"}
        lengths = [len(next(iter(side.values()))) for side in (pair.table, pair.neighbour)]
        assert abs(lengths[0] - lengths[1]) == (1 if neighbours == "add-remove" else 0)
        assert pair.table != pair.neighbour
