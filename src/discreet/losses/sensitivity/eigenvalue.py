"""How far one unit moves the smallest eigenvalue of X'X. Proof: adassp.proof.md."""

from __future__ import annotations

from discreet.design.domain import RowDomain, norm2
from discreet.design.model import Design


def eigenvalue_sensitivity(design: Design, domain: RowDomain) -> float:
    """Largest change of the smallest eigenvalue between neighbouring tables, in scaled units.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1)})
    >>> eigenvalue_sensitivity(design, RowDomain.of(design))
    3.0
    """
    row_norm = norm2(domain) + (1.0 if design.needs_sums else 0.0)
    return row_norm * design.unit.max_rows  # [P:eigenvalue-sensitivity]
