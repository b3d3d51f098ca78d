"""Neighbouring tables on which sums of products move farthest: corner rows, added, exchanged or dropped."""

from __future__ import annotations

import itertools
from typing import Final

from discreet.audit.pairs.pair import NeighbourPair
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.model import Design

_OPPOSED: Final = (4, 16)


def corner_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Corner rows: one added beside its twin, or replaced by rows that flip signs, levels and target.

    Where a rule drops rows, a row is also replaced by one that is dropped: the table that counts loses a row.

    >>> declared = {name: {"dtype": "bool", "missing": "drop"} for name in ("y", "b")}
    >>> corner_pairs(Design("y", declared, unit={"neighbours": "replace"}))[-1].neighbour
    {'y': [None], 'b': [True]}
    """
    corner = _corner(design, flipped=frozenset())
    if design.unit.neighbours == "add-remove":
        twice = {name: [*values, *values] for name, values in corner.items()}
        return (NeighbourPair("second corner row", twice, corner),)
    names = list(design.table_columns)
    numeric = [name for name in names if isinstance(design.columns[name], Numeric) and name != design.target]
    others = [name for name in names if name not in (*numeric, design.target)]
    pairs: list[NeighbourPair] = []
    for flips in range(len(numeric) + 1):
        for with_others, with_target in itertools.product((False, True), repeat=2):
            flipped = {
                *numeric[:flips],
                *(others if with_others else ()),
                *((design.target,) if with_target else ()),
            }
            label = f"replace {', '.join(name for name in names if name in flipped)}"
            if flipped and label not in [pair.name for pair in pairs]:
                pairs.append(NeighbourPair(label, corner, _corner(design, flipped=frozenset(flipped))))
    dropping = [name for name, column in design.table_columns.items() if column.missing == "drop"]
    if dropping:
        pairs.append(NeighbourPair("replace by a row that is dropped", corner, {**corner, dropping[0]: [None]}))
    return tuple(pairs)


def clipped_pairs(design: Design, pairs: tuple[NeighbourPair, ...]) -> tuple[NeighbourPair, ...]:
    """The same pairs of upper corners, with every number of the first row above its bounds and none of the neighbour.

    Clipping takes it back to the corner, so the sums change as before, and every count of clipped rows by one.

    >>> design = Design("y", {"y": (-1, 1), "b": (0, 10)})
    >>> [(pair.table, pair.neighbour) for pair in clipped_pairs(design, corner_pairs(design))]
    [({'y': [2.0, 1.0], 'b': [15.0, 10.0]}, {'y': [1.0], 'b': [10.0]})]
    """
    columns = design.table_columns.items()
    above = {name: column.bounds[1] + column.half for name, column in columns if isinstance(column, Numeric)}
    return tuple(
        NeighbourPair(
            f"{pair.name}, clipped",
            {name: [above.get(name, values[0]), *values[1:]] for name, values in pair.table.items()},
            pair.neighbour,
        )
        for pair in pairs
    )


def across_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """A corner row added beside a row at right angles to it, which says nothing of the direction of the corner.

    None without an intercept or numbers, or where rows are exchanged.

    >>> design = Design("y", {"y": (-1, 1), "a": (-1, 1), "b": (0, 10)})
    >>> [pair.table for pair in across_pairs(design)]
    [{'y': [0.0, 1.0], 'a': [-0.5, 1.0], 'b': [2.5, 10.0]}]
    """
    columns = design.table_columns
    numbers = [name for name, column in columns.items() if isinstance(column, Numeric) and name != design.target]
    target = columns[design.target]
    if design.unit.neighbours != "add-remove" or not (design.intercept and numbers and isinstance(target, Numeric)):
        return ()
    across = {name: _extreme(column, flipped=True) for name, column in columns.items()}
    for name, column in columns.items():
        if isinstance(column, Numeric):
            across[name] = column.mid - (column.half / len(numbers) if name in numbers else 0.0)
    beside: dict[str, list[object]] = {name: [value] for name, value in across.items()}
    corner = _corner(design, flipped=frozenset())
    added = {name: [*values, *corner[name]] for name, values in beside.items()}
    return (NeighbourPair("corner row beside one at right angles", added, beside),)


def opposed_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """A corner row added beside rows that are like it but for the opposite target, and pull coefficients away from it.

    Where noise brings the coefficients back to the corner row, it changes both the loss and its curvature most. How
    many rows that takes depends on the noise, so there are several pairs. None where rows are exchanged.

    >>> design = Design("y", {"y": (-1, 1), "b": (0, 10)})
    >>> [pair.table["y"].count(-1) for pair in opposed_pairs(design)]
    [4, 16]
    """
    if design.unit.neighbours != "add-remove":
        return ()
    corner, opposite = (_corner(design, flipped=frozenset(flipped)) for flipped in ((), (design.target,)))
    pairs = []
    for rows in _OPPOSED:
        rest = {name: values * rows for name, values in opposite.items()}
        added = {name: [*values, *corner[name]] for name, values in rest.items()}
        pairs.append(NeighbourPair(f"corner row beside {rows} of the opposite target", added, rest))
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
