"""The joint Gaussian release of all moments of rows with declared weights. Proof: weighted.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

from discreet.curator.sums.protocol import Totals
from discreet.curator.sums.sample_weights import row_products
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.design.submodels import model_domain
from discreet.errors import SpecError
from discreet.exact.triangle import entry_count
from discreet.losses.law import WEIGHT_STEPS, Columns
from discreet.losses.sensitivity.scaled import ROWS
from discreet.mechanisms.calibration.blocks import (
    block_sigmas,
    by_block,
    gram_shares,
    in_steps,
    residual_steps,
    shares_by_design,
)
from discreet.mechanisms.interface.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.moments.gaussian import plus_noise
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import ROUNDING, gaussian_mu
from discreet.releases import Calibration, NoiseLaw, Settings

# share of mu^2 of the number of rows, unless it is public; sums over residuals have theirs, the moments get the rest
ROWS_SHARE: Final = 0.01


@dataclass(frozen=True, slots=True)
class WeightedMoments:
    """Adds independent discrete Gaussian noise to the exact moments of rows times their weights over the largest one.

    Attributes
    ----------
    robust
        Whether a share of the budget is kept for what robust standard errors need.
    models
        Columns of further models that get what robust standard errors need.
    """

    robust: bool = False
    models: tuple[Columns, ...] = ()

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
        models = {columns: model_domain(design, domain, columns) for columns in self.models}
        domains = [domain, *models.values()] if self.robust else []

        def law(mu: float, calibration: Calibration) -> NoiseLaw:
            return replace(weighted_law(design, domain, domains, mu, calibration), models=tuple(models))

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


def weighted_law(
    design: Design, domain: RowDomain, residuals: Sequence[RowDomain], mu: float, calibration: Calibration
) -> NoiseLaw:
    """Noise under which all releases together are mu-Gaussian-private: everything has its share of mu^2.

    Parameters
    ----------
    design, domain
        What was declared, and the domain of its rows.
    residuals
        Domains of the rows of all models with residual Grams; none without robust standard errors.
    mu
        What all releases together cost.
    calibration
        By which rule that keeps the promise.
    """
    rows_share = 0.0 if design.rows_public else ROWS_SHARE
    spent = math.fsum((rows_share, *gram_shares(residuals, design.unit.neighbours)))
    neighbours, size = design.unit.neighbours, len(design.released)
    sigmas = block_sigmas(
        domain,
        neighbours,
        mu * math.sqrt(1 - spent),
        shares_by_design(
            domain, neighbours, size - 2, count_public=False, factors=design.factors, indicators=design.indicators
        ),
        count_public=False,  # [P:weights-as-absence]
        rows_per_unit=design.unit.max_rows,
        indicators=design.indicators,
    )
    scaled = by_block(sigmas)
    if rows_share:
        scaled[ROWS] = design.unit.max_rows * ROUNDING / (mu * math.sqrt(rows_share))  # [P:weighted-rows]
    steps = {block: in_steps(block, sigma, domain) for block, sigma in scaled.items()}
    steps |= residual_steps(residuals, neighbours, mu)  # [P:weighted-residual-share]
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
    } | law.residual_entries(x + 2)  # fmt: skip
    return [(entries.get(block, 1), sigma) for block, sigma in law.sigma.items()]
