"""How far one unit moves the counts by cell and the number of rows. Proof: mechanisms/discovery.proof.md."""

from __future__ import annotations

from fractions import Fraction

from discreet.design.dyadic import cell_edges
from discreet.design.model import Design
from discreet.exact.rounding import root_up
from discreet.losses.law import DISCOVERY
from discreet.losses.sensitivity.before.counts import CountsBefore
from discreet.privacy.unit import PrivacyUnit


def discovery_sensitivity(columns: int, unit: PrivacyUnit) -> float:
    """Largest Euclidean length of the change of all counts between neighbouring tables, rounded up.

    Parameters
    ----------
    columns
        How many are searched, at least 1: a row is in one cell of each.
    unit
        Whose rows they are.

    Examples
    --------
    >>> discovery_sensitivity(3, PrivacyUnit(id="person", max_rows=2))
    4.0
    """
    squares = columns + 1 if unit.neighbours == "add-remove" else 2 * columns
    return root_up(Fraction(unit.max_rows**2 * squares))  # [P:discovery-sensitivity]


def discovery_l1_sensitivity(columns: int, unit: PrivacyUnit) -> int:
    """Largest sum of sizes of the changes of all counts between neighbouring tables.

    >>> discovery_l1_sensitivity(3, PrivacyUnit(neighbours="replace"))
    6
    """
    return unit.max_rows * (columns + 1 if unit.neighbours == "add-remove" else 2 * columns)  # [P:discovery-l1]


def discovery_block(design: Design) -> CountsBefore:
    """The counts by cell of all columns whose bounds are to be found, or were found, and the number of rows.

    >>> discovery_block(Design("y", {"y": (0, 1), "x": "private"})).numbers
    83
    """
    numbers = 1 + sum(len(cell_edges(*ends)) - 1 for ends in design.ranges.values())
    columns, unit = len(design.ranges), design.unit
    return CountsBefore(
        DISCOVERY, numbers, discovery_sensitivity(columns, unit), discovery_l1_sensitivity(columns, unit)
    )
