"""How far one unit moves the numbers of rows that fit and of rows that do not. Proof: mechanisms/guard.proof.md."""

from __future__ import annotations

import math

from discreet.design.model import Design
from discreet.losses.law import GUARD, GUARD_COUNTS
from discreet.losses.sensitivity.before.counts import CountsBefore
from discreet.privacy.unit import PrivacyUnit


def guard_sensitivity(unit: PrivacyUnit) -> float:
    """Largest Euclidean length of the change of the two counts between neighbouring tables, rounded up.

    >>> guard_sensitivity(PrivacyUnit(id="person", max_rows=3))
    3.0
    """
    apart = 1.0 if unit.neighbours == "add-remove" else math.nextafter(math.sqrt(2), 2.0)
    return unit.max_rows * apart  # [P:guard-sensitivity]


def guard_l1_sensitivity(unit: PrivacyUnit) -> int:
    """Largest sum of sizes of the changes of the two counts between neighbouring tables.

    >>> guard_l1_sensitivity(PrivacyUnit(neighbours="replace"))
    2
    """
    return unit.max_rows * (1 if unit.neighbours == "add-remove" else 2)  # [P:guard-l1-sensitivity]


def guard_block(design: Design) -> CountsBefore:
    """The two counts of a guard.

    >>> guard_block(Design("y", {"y": (0, 1), "x": (0, 1)})).numbers
    2
    """
    unit = design.unit
    return CountsBefore(GUARD, GUARD_COUNTS, guard_sensitivity(unit), guard_l1_sensitivity(unit))
