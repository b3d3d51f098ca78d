"""Every row of a design whose numbers are at the ends or the middle of their bounds, one table for each."""

from __future__ import annotations

import itertools

from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.design import Design

# designs with interactions on which a claim must be reached
CROSSED = {
    "number": {"x": (0, 1), "g": ["a", "b", "c"], "xg": {"formula": "x:g"}, "y": (0, 1)},
    "two categories": {"g": ["a", "b", "c"], "h": ["u", "v"], "gh": {"formula": "g:h"}, "y": (0, 1)},
    "boolean": {"b": bool, "g": ["a", "b", "c"], "bg": {"formula": "b:g"}, "y": (0, 1)},
    "slopes alone": {
        "u": {"bounds": (4, 8), "release": False}, "g": ["a", "b", "c"], "ug": {"formula": "u:g"}, "y": (0, 1),
    },
}  # fmt: skip


def corner_rows(design: Design) -> list[dict[str, list[object]]]:
    """Tables of one row."""
    cells = [_cells(column) for column in design.table_columns.values()]
    return [
        {name: [cell] for name, cell in zip(design.table_columns, row, strict=True)}
        for row in itertools.product(*cells)
    ]


def _cells(column: Base) -> list[object]:
    if isinstance(column, Numeric):
        return [column.bounds[0], column.mid, column.bounds[1]]
    return [False, True] if isinstance(column, Boolean) else list(column.levels)
