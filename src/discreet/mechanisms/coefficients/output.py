"""Output perturbation: the ridge coefficients inside a public ball, plus Gaussian noise. Proof: output.proof.md."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, Literal

from discreet.curator.sums.gram import ExactGram
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.mechanisms.calibration.pieces import Piece, pieces_law
from discreet.mechanisms.coefficients.ball_ridge import (
    BALL_SETTINGS,
    RowSensitivity,
    normal_equations,
    ridge_in_ball,
    rounding_sensitivity,
)
from discreet.mechanisms.interface.protocol import MechanismInfo, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import Coefficients, NoiseLaw, Settings

# covers the rounding of some tens of double operations, each relative 2**-53
_UP: Final = 1 + 2**-44


class OutputPerturbation:
    """Publishes the ridge coefficients of the table with noise for how far one unit can move them."""

    name: Final = "output"
    version: Final = "1"
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="Ridge coefficients inside a public ball, plus Gaussian noise for how far a row can move them.",
        document="the papers cited",
        notion="approximate",
        needs=("a public ridge strength and a public bound on the length of the scaled coefficients",),
        numerics="exact",
        references=("Chaudhuri, Monteleoni & Sarwate 2011", "Balle & Wang 2018"),
        settings={**BALL_SETTINGS, "strength": replace(BALL_SETTINGS["strength"], default=1000.0)},
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design, budget and settings in, no data."""
        size = coefficient_count(design)
        return pieces_law(
            domain, budget, {"coefficients": Piece(coefficient_sensitivity(design, domain, settings), 1, size)}
        )

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments, their minimum on the lattice, then noise on every coefficient."""
        design, law, released = context.design, context.law, len(context.design.released)
        moments = yield ExactGram(released, context.domain.grid_bits)
        gram, cross = normal_equations(moments.on_grid(law.unit), released, intercept=design.intercept)
        lattice = ridge_in_ball(gram, cross, law.grid_bits, context.settings)
        noise = context.sampler.draw([law.sigma["coefficients"]] * len(lattice))
        noisy = [value + variate for value, variate in zip(lattice, noise, strict=True)]  # [P:point-noise]
        return in_scaled_units(noisy, design, law)


def coefficient_count(design: Design) -> int:
    """Number of coefficients of (1, x), or of x in a design without intercept."""
    return len(design.released) - (1 if design.intercept else 2)


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


def in_scaled_units(steps: list[int], design: Design, law: NoiseLaw) -> Coefficients:
    """Published coefficients of (1, x) from integer steps of the product grid."""
    values = [step / law.unit for step in steps]
    return Coefficients(tuple(values if design.intercept else [0.0, *values]))
