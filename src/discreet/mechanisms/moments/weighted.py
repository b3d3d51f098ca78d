"""The joint Gaussian release of all moments of rows with declared weights. Proof: weighted.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from discreet.curator.sums.protocol import Totals
from discreet.curator.sums.sample_weights import row_products
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.triangle import entry_count
from discreet.losses.law import RESIDUAL_BLOCKS, WEIGHT_STEPS
from discreet.losses.sensitivity.residuals import residual_sensitivity
from discreet.losses.sensitivity.scaled import ROWS
from discreet.mechanisms.calibration.blocks import block_sigmas, by_block, in_steps, shares_by_design
from discreet.mechanisms.interface.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.moments.gaussian import plus_noise
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import ROUNDING, gaussian_mu
from discreet.releases import Calibration, NoiseLaw, Settings

# shares of mu^2: of the number of rows, unless it is public, and of sums over residuals; the moments get the rest
ROWS_SHARE: Final = 0.01
RESIDUAL_SHARE: Final = 0.27


@dataclass(frozen=True, slots=True)
class WeightedMoments:
    """Adds independent discrete Gaussian noise to the exact moments of rows times their weights over the largest one.

    Attributes
    ----------
    robust
        Whether a share of the budget is kept for what robust standard errors need.
    """

    robust: bool = False

    name: ClassVar[str] = "gaussian"
    version: ClassVar[str] = "weighted-2"
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Joint Gaussian release of all moments of rows with declared weights.",
        document="this library; the papers cited",
        notion="approximate",
        numerics="exact",
        references=("Balle & Wang 2018", "Canonne, Kamath & Steinke 2020", "Dong, Roth & Su 2022"),
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        if design.weights is None:
            raise SpecError("expected a design with weights, got one without")
        beside = weighted_shares(design, robust=self.robust)

        def law(mu: float, calibration: Calibration) -> NoiseLaw:
            return weighted_law(design, domain, beside, mu, calibration)

        mu, rule = gaussian_mu(budget, lambda mu: variates(law(mu, "gaussian"), design))
        return law(mu, rule)

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments of weighted rows and the number of rows, then noise on every entry."""
        totals = yield row_products(len(context.design.released), context.domain)
        return self.randomise(totals, context.design, context.law, context.sampler)

    def randomise(self, moments: Totals, design: Design, law: NoiseLaw, sampler: Sampler) -> NoisyMoments:
        """Exact totals plus one independent variate each, added in unlimited integers.

        None where all rows have 0; squares of indicators are copies of their noisy sums.
        """
        *exact, rows = moments.on_grid(law.unit)
        size = len(design.released)
        noisy = plus_noise(exact, sampler.draw(law.steps(size)), law, size)  # [P:weighted-noise]
        if design.rows_public:
            return NoisyMoments(noisy)
        (more,) = sampler.draw([law.sigma[ROWS]])
        return NoisyMoments(noisy, {ROWS: rows + more})  # [P:weighted-rows-noise]


def weighted_shares(design: Design, *, robust: bool) -> dict[str, float]:
    """Share of mu^2 of everything beside the moments, by the name of its scale; a Gram has two scales."""
    rows = {} if design.rows_public else {ROWS: ROWS_SHARE}
    return rows | ({RESIDUAL_BLOCKS[0]: RESIDUAL_SHARE} if robust else {})


def weighted_law(
    design: Design, domain: RowDomain, beside: Mapping[str, float], mu: float, calibration: Calibration
) -> NoiseLaw:
    """Noise under which all releases together are mu-Gaussian-private: everything has its share of mu^2."""
    neighbours, size = design.unit.neighbours, len(design.released)
    sigmas = block_sigmas(
        domain,
        neighbours,
        mu * math.sqrt(1 - math.fsum(beside.values())),
        shares_by_design(
            domain, neighbours, size - 2, count_public=False, factors=design.factors, indicators=design.indicators
        ),
        count_public=False,  # [P:weights-as-absence]
        rows_per_unit=design.unit.max_rows,
        indicators=design.indicators,
    )
    scaled = by_block(sigmas)
    diagonal, off = RESIDUAL_BLOCKS
    if diagonal in beside:
        sigma = residual_sensitivity(domain, neighbours) * ROUNDING / (mu * math.sqrt(beside[diagonal]))
        scaled |= {diagonal: sigma, off: sigma / math.sqrt(2)}  # [P:weighted-residual-share]
    if ROWS in beside:
        scaled[ROWS] = design.unit.max_rows * ROUNDING / (mu * math.sqrt(beside[ROWS]))  # [P:weighted-rows]
    steps = {block: in_steps(block, sigma, domain) for block, sigma in scaled.items()}
    return NoiseLaw(
        domain.grid_bits,
        steps,
        calibration,
        parameters={WEIGHT_STEPS: domain.weight_bits},
        factors=design.factors,
        indicators=design.indicators,
    )


def variates(law: NoiseLaw, design: Design) -> list[tuple[int, int]]:
    """How many variates of a law have which standard deviation."""
    x = len(design.released) - 2
    entries = {
        "sum_x": x, "gram_diagonal": x - len(law.indicator_columns),
        "gram_off_diagonal": entry_count(x) - x - law.zeros, "cross": x,
        "residual_diagonal": x + 1, "residual_off_diagonal": entry_count(x + 1) - x - 1,
    }  # fmt: skip
    return [(entries.get(block, 1), sigma) for block, sigma in law.sigma.items()]
