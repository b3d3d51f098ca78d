"""What one row can do to ridge coefficients in a ball, and how exact their solver is. Proof: ball_ridge.proof.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.design.domain import RowDomain, norm2
from discreet.design.model import Design

# how far from the exact minimum the solution may be before it is rounded, in steps of the product grid
SOLVER_STEPS: Final = Fraction(1, 16)
# covers the rounding of some tens of double operations, each relative 2**-53
_UP: Final = 1 + 2**-44


@dataclass(frozen=True, slots=True)
class RowSensitivity:
    """What one row can do, in scaled units, rounded up.

    Attributes
    ----------
    norm
        Largest length of z.
    residual
        Largest |y - z'theta| inside the ball.
    rows
        How many rows of two neighbouring tables differ, counted in both.
    """

    norm: float
    residual: float
    rows: int

    @classmethod
    def of(cls, design: Design, domain: RowDomain, bound: float) -> RowSensitivity:
        """Read off public quantities.

        >>> design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"}, intercept=False)
        >>> sensitivity = RowSensitivity.of(design, RowDomain.of(design), 2.0)
        >>> round(sensitivity.norm, 9), round(sensitivity.residual, 9), sensitivity.rows
        (1.0, 3.0, 2)
        """
        norm = math.sqrt(norm2(domain) + (1.0 if design.intercept else 0.0)) * _UP
        k = design.unit.max_rows
        rows = k if design.unit.neighbours == "add-remove" else 2 * k  # [P:rows-that-differ]
        return cls(norm, (1.0 + norm * bound) * _UP, rows)


def rounding_sensitivity(size: int) -> float:
    """Largest distance from the exact minimum to the lattice point that represents it, in steps of the product grid."""
    return (math.sqrt(size) / 2 + float(SOLVER_STEPS)) * _UP  # [P:rounded-point]


def coefficient_count(design: Design) -> int:
    """Number of coefficients of (1, x), or of x in a design without intercept."""
    return len(design.released) - (1 if design.intercept else 2)
