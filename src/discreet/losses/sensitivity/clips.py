"""How far one unit moves the counts of clipped rows. Proof: clip_counts.proof.md."""

from __future__ import annotations

import math

from discreet.design.model import Design


def clips_l1_sensitivity(design: Design) -> int:
    """Largest sum of sizes of the changes of all counts between neighbouring tables, in rows.

    >>> clips_l1_sensitivity(Design("y", {"y": (0, 1), "x": (0, 5)}))
    2
    """
    return len(design.clippable) * design.unit.max_rows  # [P:clip-l1-sensitivity]


def clips_l2_sensitivity(design: Design) -> float:
    """Largest Euclidean length of the change of all counts between neighbouring tables, in rows."""
    return math.sqrt(len(design.clippable)) * design.unit.max_rows  # [P:clip-sensitivity]
