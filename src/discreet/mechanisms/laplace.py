"""Release all moments of (1, x, y) with joint Laplace noise under pure DP. Proof: laplace.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal

from discreet.accounting.moment_queries import clip_query
from discreet.accounting.moments import l1_sensitivity
from discreet.accounting.noise_distribution import BLOCKS, CLIPPED, NoiseDistribution, Settings, entry_blocks
from discreet.accounting.privacy_maps import VERSION
from discreet.curator.sums.gram import ExactGram, Totals
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import GridTooFineError
from discreet.exact.linear import size_of
from discreet.mechanisms.gaussian import CLIP_EPSILON_SHARE, clip_columns, on_product_grid
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.sampler import MAX_SIGMA, Sampler, rounded_up
from discreet.privacy.budget import PrivacyBudget, as_pair


@dataclass(frozen=True, slots=True)
class LaplaceMoments:
    """Independent discrete Laplace noise on the exact moments, calibrated jointly over all entries.

    Attributes
    ----------
    clip_counts
        Whether part of epsilon is used for a noisy count of clipped rows in each numeric column.
    """

    clip_counts: bool = False

    name: ClassVar[str] = "laplace"
    version: ClassVar[str] = VERSION
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Joint Laplace release of all moments under epsilon alone; any model from one release.",
        document="notebook of Neunhoeffer and technical report of Dandekar et al., corrected",
        notion="pure",
        numerics="exact",
        references=("Dwork, McSherry, Nissim & Smith 2006", "Ghosh, Roughgarden & Sundararajan 2012"),
        clip_counts=True,
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        if self.clip_counts:
            clip_columns(design)
        return pure_distribution(design, domain, budget, block_weights(design, domain), clip_counts=self.clip_counts)

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass, and add noise to every entry."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        totals = noisy_totals(moments, context.distribution, context.sampler)
        noise = (
            context.sampler.laplace([context.distribution.sigma[CLIPPED]] * len(moments.counts.clipped))
            if self.clip_counts
            else ()
        )
        return NoisyMoments(totals, clipped=on_product_grid(moments.counts.clipped, noise, context.distribution))


def block_costs(columns: int) -> dict[str, float]:
    """Return how much noise variance in each block adds to the variance of the normal equations.

    The d + 1 equations have equal weight. Equation j contains the noise in entry j of X'y, of X'X theta, and of sum x
    times the intercept. The last equation contains the noise in sum y, in theta' sum x, and in n times the intercept.
    The costs assume scaled slopes of equal size with norm 1 and an intercept of 1/2. The sum of y^2 is in no equation,
    and its cost is set to that of n.

    >>> block_costs(4)["cross"], block_costs(4)["gram_off_diagonal"]
    (4.0, 3.0)
    """
    d = float(columns)
    return {
        "count": 0.25, "sum_x": d / 4 + 1, "gram_diagonal": 1.0, "gram_off_diagonal": d - 1, "sum_y": 1.0, "cross": d,
        "target_square": 0.25,
    }  # fmt: skip


def block_weights(design: Design, domain: RowDomain) -> dict[str, float]:
    """Return weights such that noise scales proportional to their reciprocals divide epsilon well among blocks.

    If a single pair of tables attains the L1 sensitivity L of every block, the shares of epsilon that minimise the sum
    of cost * (L / share)^2 are proportional to (cost * L^2)^(1/3). Otherwise the weights are still valid, because they
    are public and the privacy loss is computed jointly for any weights.
    """
    costs = block_costs(len(design.released) - 2)
    weights: dict[str, float] = {}
    for block in BLOCKS:
        sensitivity = l1_sensitivity(design, domain, {block: 1.0})
        if sensitivity > 0:
            weights[block] = (costs[block] / sensitivity) ** (1 / 3)
    # off-diagonal entries that no row can change get the same noise as diagonal entries
    weights.setdefault("gram_off_diagonal", weights["gram_diagonal"])
    return weights


def pure_distribution(
    design: Design, domain: RowDomain, budget: PrivacyBudget, weights: Mapping[str, float], *, clip_counts: bool = False
) -> NoiseDistribution:
    """Return the smallest discrete Laplace noise that satisfies epsilon-DP with scales proportional to 1 / weight.

    `weights` maps blocks to positive weights. A block without a weight is not released, and a public count has no
    noise. The delta of the budget is ignored. With `clip_counts`, a share of epsilon is used for counts of clipped
    rows.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> distribution = pure_distribution(design, RowDomain.of(design), PrivacyBudget(0.5), {"count": 1.0, "sum_x": 2.0})
    >>> [scale / 4**16 for scale in distribution.sigma.values()]
    [6.0, 3.0]
    """
    epsilon, _ = as_pair(budget, wanted="epsilon, and delta if any,")
    charged = {block: weight for block, weight in weights.items() if block != "count" or not design.count_public}
    for_clips = Fraction(epsilon) * CLIP_EPSILON_SHARE if clip_counts else Fraction(0)
    loss = Fraction(l1_sensitivity(design, domain, charged)) / (Fraction(epsilon) - for_clips)
    sigma: dict[str, int] = {"count": 0} if design.count_public else {}
    for block in BLOCKS:
        if block in charged:
            sigma[block] = _steps(block, loss / Fraction(charged[block]), domain)  # [P:laplace-scales]
    if clip_counts:
        sigma[CLIPPED] = _steps(
            CLIPPED, Fraction(clip_query(design).laplace_sensitivity) / for_clips, domain
        )  # [P:clip-scale]
    return NoiseDistribution(domain.grid_bits, sigma, "pure", family="discrete-laplace")


def noisy_totals(moments: Totals, distribution: NoiseDistribution, sampler: Sampler) -> tuple[int | None, ...]:
    """Add an independent noise variate to each exact total. Entries of unreleased blocks are None."""
    exact = moments.on_grid(distribution.unit)
    size = size_of(len(exact))
    noise = sampler.laplace(distribution.steps(size))
    return tuple(
        total + variate if block in distribution.sigma else None  # [P:released-entries]
        for block, total, variate in zip(entry_blocks(size), exact, noise, strict=True)
    )


def _steps(block: str, scale: Fraction, domain: RowDomain) -> int:
    """Convert a noise scale to product-grid steps, rounded up to an integer that the sampler accepts."""
    steps = math.ceil(scale * 4**domain.grid_bits)
    if steps > MAX_SIGMA:
        raise GridTooFineError(
            f"the noise on '{block}' needs a scale of {float(scale):.3g} scaled units, which the 64-bit sampler cannot "
            f"draw at grid_bits = {domain.grid_bits}"
        )
    return rounded_up(steps)  # [P:scale-rounded-up]


MECHANISM: Final = LaplaceMoments()
