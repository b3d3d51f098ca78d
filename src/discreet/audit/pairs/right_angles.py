"""Neighbouring tables on which the smallest eigenvalue moves farthest: one row alone in its direction."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.audit.pairs.corners import corner_pairs
from discreet.audit.pairs.pair import NeighbourPair, Table
from discreet.design.columns import Numeric
from discreet.design.model import Design


def right_angle_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Pairs on which the eigenvalue moves as far as it can; for designs of numbers in their box."""
    numbers = {name: design.columns[name] for name in design.regressors}
    if design.radius is not None or not all(isinstance(column, Numeric) for column in numbers.values()):
        return ()
    if set(design.table_columns) != {*numbers, design.target}:
        return ()
    constant = design.needs_sums
    names = list(numbers)
    first = {} if constant else {names[0]: 1}
    # rows w with c.w = 0 for the corner row c, often enough that the direction of c is left to one row
    orthogonal = [first | {name: -1} for name in (names if constant else names[1:])]
    if not orthogonal:
        return ()
    others = _table(design, [row for row in orthogonal for _ in range(4 * (len(names) + constant))])
    corner, turned = ({**dict.fromkeys(names, 1), design.target: 1}, {**orthogonal[0], design.target: -1})
    if design.unit.neighbours == "add-remove":
        rows = [("corner row", _table(design, [corner]), _table(design, []))]
    else:
        rows = [("corner row turned", _table(design, [corner]), _table(design, [turned]))]
        rows += [(pair.name, pair.table, pair.neighbour) for pair in corner_pairs(design)]
    return tuple(
        NeighbourPair(f"{name} at right angles to the rest", _joined(others, one), _joined(others, other))
        for name, one, other in rows
    )


def _joined(one: Table, other: Table) -> dict[str, list[object]]:
    return {name: [*values, *other[name]] for name, values in one.items()}


def _table(design: Design, rows: Sequence[dict[str, int]]) -> Table:
    """Declared values of scaled rows of -1, 0 and 1; a boolean target is true at 1."""
    table: dict[str, list[object]] = {}
    for name, column in design.table_columns.items():
        scaled = [row.get(name, 0) for row in rows]
        if isinstance(column, Numeric):
            low, high = column.bounds
            values = {-1: low, 0: column.mid, 1: high}
            table[name] = [values[value] for value in scaled]
        else:
            table[name] = [value == 1 for value in scaled]
    return table
