"""The joint Laplace release of all moments of (1, x, y), under epsilon alone. Proof: laplace.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.accounting.moments import clips_l1_sensitivity, l1_sensitivity
from discreet.accounting.noise_distribution import BLOCKS, CLIPPED, NoiseLaw, Settings, entry_blocks
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
    """Adds independent discrete Laplace noise to the exact moments, calibrated jointly over all entries.

    Attributes
    ----------
    clip_counts
        Whether a share of epsilon pays for noisy counts of clipped rows, one for each numeric column.
    """

    clip_counts: bool = False

    name: ClassVar[str] = "laplace"
    version: ClassVar[str] = "1"
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Joint Laplace release of all moments under epsilon alone; any model from one release.",
        document="notebook of Neunhoeffer and technical report of Dandekar et al., corrected",
        notion="pure",
        numerics="exact",
        references=("Dwork, McSherry, Nissim & Smith 2006", "Ghosh, Roughgarden & Sundararajan 2012"),
        clip_counts=True,
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        if self.clip_counts:
            clip_columns(design)
        return pure_law(design, domain, budget, block_weights(design, domain), clip_counts=self.clip_counts)

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments, then noise on every entry."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        totals = noisy_totals(moments, context.law, context.sampler)
        noise = context.sampler.laplace([context.law.sigma[CLIPPED]] * len(moments.clipped)) if self.clip_counts else ()
        return NoisyMoments(totals, clipped=on_product_grid(moments.clipped, noise, context.law))


def block_costs(columns: int) -> dict[str, float]:
    """What a unit of variance in every entry of a block costs: the variance it brings to the normal equations.

    The d + 1 equations count alike. Equation j gets the noise of its entry of X'y, of X'X theta and of sum x times the
    intercept; the last one that of sum y, of theta' sum x and of n times the intercept. The scaled slopes are taken to
    have length 1, spread evenly, and the intercept to be 1/2. The sum of y^2 enters no equation and costs as much as n.

    >>> block_costs(4)["cross"], block_costs(4)["gram_off_diagonal"]
    (4.0, 3.0)
    """
    d = float(columns)
    return {
        "count": 0.25, "sum_x": d / 4 + 1, "gram_diagonal": 1.0, "gram_off_diagonal": d - 1, "sum_y": 1.0, "cross": d,
        "target_square": 0.25,
    }  # fmt: skip


def block_weights(design: Design, domain: RowDomain) -> dict[str, float]:
    """One over the scale of each block, up to a common factor: the split of epsilon that makes the cost least.

    If one pair of tables moves every block by its largest L1 change L, the shares of epsilon that minimise the sum of
    cost * (L / share)^2 are proportional to (cost * L^2)^(1/3). Where no pair does, they are a public choice like any
    other: the privacy loss is computed jointly for whatever weights come.
    """
    costs = block_costs(len(design.released) - 2)
    weights: dict[str, float] = {}
    for block in BLOCKS:
        sensitivity = l1_sensitivity(design, domain, {block: 1.0})
        if sensitivity > 0:
            weights[block] = (costs[block] / sensitivity) ** (1 / 3)
    # off-diagonal entries that no row can move still get noise, like those of the diagonal
    weights.setdefault("gram_off_diagonal", weights["gram_diagonal"])
    return weights


def pure_law(
    design: Design, domain: RowDomain, budget: PrivacyBudget, weights: Mapping[str, float], *, clip_counts: bool = False
) -> NoiseLaw:
    """Discrete Laplace noise with scales in proportion to 1 / weight, just large enough for epsilon.

    A block without a weight is not released; a count that is public has no noise.

    Parameters
    ----------
    design, domain
        Public geometry and neighbouring relation.
    budget
        In epsilon, with any delta.
    weights
        By block; all above 0.
    clip_counts
        Whether counts of clipped rows are released beside the moments, for a share of epsilon.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> law = pure_law(design, RowDomain.of(design), PrivacyBudget(0.5), {"count": 1.0, "sum_x": 2.0})
    >>> [scale / 4**16 for scale in law.sigma.values()]
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
        sigma[CLIPPED] = _steps(CLIPPED, clips_l1_sensitivity(design) / for_clips, domain)  # [P:clip-scale]
    return NoiseLaw(domain.grid_bits, sigma, "pure", family="discrete-laplace")


def noisy_totals(moments: Totals, law: NoiseLaw, sampler: Sampler) -> tuple[int | None, ...]:
    """Exact totals plus one independent variate each, in unlimited integers; none for a block that is not released."""
    exact = moments.on_grid(law.unit)
    size = size_of(len(exact))
    noise = sampler.laplace(law.steps(size))
    return tuple(
        total + variate if block in law.sigma else None  # [P:released-entries]
        for block, total, variate in zip(entry_blocks(size), exact, noise, strict=True)
    )


def _steps(block: str, scale: Fraction, domain: RowDomain) -> int:
    """A scale in steps of the product grid, rounded up to what the sampler takes."""
    steps = math.ceil(scale * 4**domain.grid_bits)
    if steps > MAX_SIGMA:
        raise GridTooFineError(
            f"the noise of block '{block}' has a scale of {float(scale):.3g} scaled units, too much for the 64-bit "
            f"sampler at grid_bits = {domain.grid_bits}"
        )
    return rounded_up(steps)  # [P:scale-rounded-up]
