"""Neighbouring tables on which sums of products move farthest: corner rows, added or exchanged."""

from __future__ import annotations

import itertools

from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.model import Design
from discreet.mechanisms.registry import NeighbourPair


def corner_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Corner rows: one added beside its twin, or replaced by rows that flip signs, levels and target."""
    corner = _corner(design, flipped=frozenset())
    if design.unit.neighbours == "add-remove":
        twice = {name: [*values, *values] for name, values in corner.items()}
        return (NeighbourPair("second corner row", twice, corner),)
    names = list(design.table_columns)
    numeric = [name for name in names if isinstance(design.columns[name], Numeric) and name != design.target]
    others = [name for name in names if name not in (*numeric, design.target)]
    pairs = []
    for flips in range(len(numeric) + 1):
        for with_others, with_target in itertools.product((False, True), repeat=2):
            flipped = {
                *numeric[:flips],
                *(others if with_others else ()),
                *((design.target,) if with_target else ()),
            }
            if flipped:
                other = _corner(design, flipped=frozenset(flipped))
                label = f"replace {', '.join(name for name in names if name in flipped)}"
                pairs.append(NeighbourPair(label, corner, other))
    return tuple(pairs)


def _corner(design: Design, *, flipped: frozenset[str]) -> dict[str, list[object]]:
    return {name: [_extreme(column, flipped=name in flipped)] for name, column in design.table_columns.items()}


def _extreme(column: Base, *, flipped: bool) -> object:
    if isinstance(column, Numeric):
        return column.bounds[0] if flipped else column.bounds[1]
    if isinstance(column, Boolean):
        return not flipped
    codes = column.indicator_codes
    if not flipped:
        return column.levels[codes[0]]
    return column.levels[codes[1]] if len(codes) > 1 else column.reference
