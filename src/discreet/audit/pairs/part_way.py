"""Neighbouring tables on which sums of products move farthest where rows go part of the way between corners."""

from __future__ import annotations

import itertools
from typing import Final

from discreet.audit.pairs.corners import corner_pairs
from discreet.audit.pairs.pair import NeighbourPair
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.model import Design

# how far a row moves to the opposite corner in the pairs for audits
_WAYS: Final = (0.0, 0.25, 0.375, 0.5, 0.75, 1.0)


def l1_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Neighbouring tables on which the L1 change of sums of products is largest.

    Under `replace` the diagonal of the moments moves only if a row leaves its corner part of the way.
    """
    corners = corner_pairs(design)
    if design.unit.neighbours == "add-remove":
        return corners
    corner = corners[0].table
    part_way = [
        NeighbourPair(
            f"replace {x:.0%} of the way, target {y:.0%}",
            corner,
            {
                name: [_moved(column, y if name == design.target else x, corner[name][0])]
                for name, column in design.table_columns.items()
            },
        )
        for x, y in itertools.product(_WAYS, _WAYS)
        if x or y
    ]
    # booleans and levels go all of the way or none, so that many of the rows are the same
    pairs = list(corners)
    for pair in part_way:
        if pair.neighbour not in [one.neighbour for one in pairs]:
            pairs.append(pair)
    return tuple(pairs)


def middle_target_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Corner rows, and each exchange that flips the target also with the target in the middle of its bounds.

    Opposite targets have the same square. A target in the middle moves the sum of squares farthest.

    >>> design = Design("y", {"y": (-1, 1), "b": (0, 10)}, unit={"neighbours": "replace"})
    >>> [pair.name for pair in middle_target_pairs(design)]
    ['replace y', 'replace b', 'replace y, b', 'replace y, target in the middle', 'replace y, b, target in the middle']
    """
    corners, target = corner_pairs(design), design.columns[design.target]
    if design.unit.neighbours == "add-remove" or not isinstance(target, Numeric):
        return corners
    flipped = [pair for pair in corners if pair.neighbour[design.target] == [target.bounds[0]]]
    return (
        *corners,
        *(
            NeighbourPair(
                f"{pair.name}, target in the middle", pair.table, {**pair.neighbour, design.target: [target.mid]}
            )
            for pair in flipped
        ),
    )


def _moved(column: Base, way: float, corner: object) -> object:
    if isinstance(column, Numeric):
        low, high = column.bounds
        return high - way * (high - low)
    if isinstance(column, Boolean):
        return way < 0.5
    return corner if way == 0 else next(level for level in reversed(column.levels) if level != corner)
