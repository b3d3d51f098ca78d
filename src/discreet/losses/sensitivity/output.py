"""How far one unit moves ridge coefficients inside a ball. Proof: output.proof.md."""

from __future__ import annotations

import math
from typing import Final

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.losses.law import Settings
from discreet.losses.sensitivity.ball import RowSensitivity, coefficient_count, rounding_sensitivity

# covers the rounding of some tens of double operations, each relative 2**-53
_UP: Final = 1 + 2**-44


def coefficient_sensitivity(design: Design, domain: RowDomain, settings: Settings) -> float:
    """Largest change of the lattice point between neighbouring tables, in scaled units.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> round(coefficient_sensitivity(design, RowDomain.of(design), {"strength": 100.0, "bound": 1.0}), 6)
    0.033473
    """
    bound, strength = float(settings["bound"]), float(settings["strength"])
    sensitivity = RowSensitivity.of(design, domain, bound)
    exact = minimum_sensitivity(sensitivity, strength, bound)
    if design.unit.neighbours == "replace":
        exact = min(exact, exchange_sensitivity(sensitivity, strength, bound))
    step = math.ldexp(1.0, -2 * domain.grid_bits)
    return (exact + 2 * rounding_sensitivity(coefficient_count(design)) * step) * _UP  # [P:lattice-distance]


def minimum_sensitivity(sensitivity: RowSensitivity, strength: float, bound: float) -> float:
    """Largest change of the exact minimum between neighbouring tables, in scaled units.

    >>> minimum_sensitivity(RowSensitivity(norm=1.0, residual=2.0, rows=1), 1.0, 1.0)
    1.0000000000000568
    """
    both = sensitivity.rows * sensitivity.norm**2
    steepest = (
        math.sqrt(sensitivity.rows / strength) / 2
        if strength <= both
        else sensitivity.rows * sensitivity.norm / (strength + both)
    )
    return min(sensitivity.residual * steepest, 2 * bound) * _UP  # [P:minimum-distance]


def exchange_sensitivity(sensitivity: RowSensitivity, strength: float, bound: float) -> float:
    """Largest change of the exact minimum where rows are exchanged one by one; a bound that serves large strengths.

    The residuals of an old and of a new row cannot both be largest and pull the same way.

    >>> sensitivity = RowSensitivity(norm=1.0, residual=2.0, rows=2)
    >>> round(exchange_sensitivity(sensitivity, 100.0, 1.0), 6), round(minimum_sensitivity(sensitivity, 100.0, 1.0), 6)
    (0.025981, 0.039216)
    """
    part = sensitivity.norm * bound
    sine = 2 * part / (1 + math.sqrt(1 + 8 * part**2))
    pair = 2 * sensitivity.norm * math.sqrt(1 - sine**2) * (1 + part * sine)
    return sensitivity.rows / 2 * pair / strength * _UP  # [P:pair-distance]
