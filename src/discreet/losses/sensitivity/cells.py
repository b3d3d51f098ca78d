"""How far one unit moves the counts of cells, and how many cells there are. Proof: dpme.proof.md."""

from __future__ import annotations

import math

from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.privacy.unit import PrivacyUnit


def cells_l1_sensitivity(unit: PrivacyUnit) -> int:
    """Largest sum of sizes of the changes of all counts between neighbouring tables, in rows.

    >>> cells_l1_sensitivity(PrivacyUnit(neighbours="replace")), cells_l1_sensitivity(PrivacyUnit())
    (2, 1)
    """
    return (2 if unit.neighbours == "replace" else 1) * unit.max_rows  # [P:l1-cells]


def cells_l2_sensitivity(unit: PrivacyUnit) -> float:
    """Largest Euclidean length of the change of all counts between neighbouring tables, in rows."""
    return unit.max_rows * (math.sqrt(2) if unit.neighbours == "replace" else 1.0)  # [P:l2-cells]


def cell_count(design: Design, bins: int) -> int:
    """How many cells there are with so many intervals for each number.

    >>> cell_count(Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)}), 8)
    192
    """
    columns = [(name, design.columns[name]) for name in (*design.regressors, design.target)]
    return math.prod(
        bins if isinstance(column, Numeric) else len(column.released(name)) + 1 for name, column in columns
    )
