"""Tables of every library with one odd cell: the other rows are read as if it were not there."""

from __future__ import annotations

import pytest

from discreet.audit import situations as containers
from discreet.audit.runs import SyntheticRows
from discreet.audit.situations import container_pairs
from discreet.design.design import Design
from discreet.design.domain import RowDomain

DESIGN = Design("y", {name: {"bounds": (-1, 1), "missing": "drop"} for name in ("y", "x")})
PAIRS = {pair.name: pair for pair in container_pairs()}


@pytest.mark.parametrize("name", PAIRS)
def test_the_other_rows_are_read_as_before(name):
    one, other = (
        SyntheticRows(table, DESIGN, RowDomain.of(DESIGN)).grid for table in (PAIRS[name].table, PAIRS[name].neighbour)
    )
    assert other.shape[1] == 4
    assert (one[:, :4] == other).all()
    assert one.shape[1] in (4, 5)


def test_libraries_that_are_not_installed_are_left_out(monkeypatch):
    assert {name.rpartition(" ")[2] for name in PAIRS} == {"arrow", "pandas", "polars"}
    monkeypatch.setattr(containers, "find_spec", lambda name: None)
    assert {pair.name.rpartition(" ")[2] for pair in container_pairs()} == {"arrow"}
