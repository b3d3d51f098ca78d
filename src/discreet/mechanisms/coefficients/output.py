"""Output perturbation: the ridge coefficients inside a public ball, plus Gaussian noise. Proof: output.proof.md."""

from __future__ import annotations

from typing import Final, Literal

from discreet.curator.sums.gram import ExactGram
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.losses.sensitivity.ball import coefficient_count
from discreet.losses.sensitivity.output import coefficient_sensitivity
from discreet.losses.settings import DECLARED
from discreet.mechanisms.calibration.pieces import Piece, pieces_law
from discreet.mechanisms.coefficients.ball_ridge import (
    normal_equations,
    ridge_in_ball,
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
        settings=DECLARED["output"],
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


def in_scaled_units(steps: list[int], design: Design, law: NoiseLaw) -> Coefficients:
    """Published coefficients of (1, x) from integer steps of the product grid."""
    values = [step / law.unit for step in steps]
    return Coefficients(tuple(values if design.intercept else [0.0, *values]))
