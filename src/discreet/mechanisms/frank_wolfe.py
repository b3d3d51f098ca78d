"""Fit the lasso over a public L1 ball by private Frank-Wolfe steps. Proof: frank_wolfe.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from discreet.accounting.iterations import choices_query
from discreet.accounting.noise_distribution import Calibration, NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.residuals import ScoreSum, Weight
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.calibration import in_steps
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.gaussian_dp import rho_from
from discreet.privacy.lattice import ROUNDING
from discreet.releases.fields import Coefficients

# number of variates per call of the sampler
_BATCH: Final = 32


class PrivateFrankWolfe:
    """Lasso by Frank-Wolfe steps towards vertices of an L1 ball, which the exponential mechanism selects."""

    name: Final = "frank-wolfe"
    version: Final = VERSION
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="The lasso over an L1 ball, one private choice of a column in each pass; for many columns.",
        document="named in the technical report of Dandekar et al.; the algorithm is from the paper cited",
        notion="both",
        numerics="exact",
        references=("Talwar, Thakurta & Zhang 2015", "McSherry & Talwar 2007", "Cesar & Rogers 2021"),
        reads_again=True,
        settings=DECLARED["frank-wolfe"],
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise scale of each selection to the budget and settings."""
        iterations = int(settings["iterations"])
        each, calibration = epsilon_of_a_choice(budget, iterations)
        query = choices_query(design, iterations)
        scale = in_steps("selection", query.laplace_sensitivity / each, domain)  # [P:selection-scale]
        return NoiseDistribution(
            domain.grid_bits, {"selection": scale}, calibration, "discrete-laplace", {"iterations": iterations}
        )

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact scores, select a vertex and step towards it, in each of several passes."""
        size = len(context.design.released) - 1
        first = 0 if context.design.intercept else 1
        radius, weight = float(context.settings["radius_l1"]), clipped_at(float(context.settings["residual_bound"]))
        fitted = np.zeros(size)
        trace = []
        for iteration in range(context.distribution.parameters["iterations"]):
            summed = yield ScoreSum(context.domain, size, fitted.tolist(), weight, intercept=context.design.intercept)
            scores = summed.on_grid(context.distribution.unit)[first:]
            chosen = select(
                [*scores, *(-score for score in scores)], context.distribution.sigma["selection"], context.sampler
            )
            column, sign = first + chosen % len(scores), 1.0 if chosen < len(scores) else -1.0
            share = 2 / (iteration + 2)
            fitted = (1 - share) * fitted
            fitted[column] += share * sign * radius
            trace.append(tuple(fitted.tolist()))
        return Coefficients(trace[-1], tuple(trace))


def clipped_at(bound: float) -> Weight:
    """Return a function that clips residuals to [-bound, bound] and divides them by `bound`.

    >>> clipped_at(0.5)(np.array([0.25, -3.0])).tolist()
    [0.5, -1.0]
    """

    def weight(residuals: FloatArray) -> FloatArray:
        return np.clip(residuals / bound, -1.0, 1.0)

    return weight


def epsilon_of_a_choice(budget: PrivacyBudget, iterations: int) -> tuple[float, Calibration]:
    """Return the largest epsilon for each of `iterations` selections, and the calibration that allows this epsilon.

    >>> epsilon_of_a_choice(PrivacyBudget(1.0), 10)
    (0.1, 'pure')
    >>> each, calibration = epsilon_of_a_choice(PrivacyBudget(1.0, 1e-6), 20)
    >>> round(each, 4), calibration
    (0.0987, 'composed')
    """
    epsilon, delta = as_pair(budget)
    basic = epsilon / iterations  # [P:pure-split]
    if delta == 0:
        return basic, "pure"
    concentrated = math.sqrt(8 * rho_from(epsilon, delta) / iterations) / ROUNDING  # [P:zcdp-split]
    return (basic, "pure") if basic >= concentrated else (concentrated, "composed")


def select(scores: Sequence[int], scale: int, sampler: Sampler) -> int:
    """Select an index with probability exactly proportional to exp(score / scale).

    This is the exponential mechanism. A uniformly drawn index is accepted if a discrete Laplace variate is at least the
    best score minus the score of the index. This has probability exp(-difference / scale) times a constant. Otherwise a
    new index and a new variate are drawn.
    """
    best = max(scores)
    bits = (len(scores) - 1).bit_length()
    while True:
        for variate in sampler.laplace([scale] * _BATCH):
            index = sampler.bits(bits)
            if index < len(scores) and variate >= best - scores[index]:  # [P:accepted-vertex]
                return index


MECHANISM: Final = PrivateFrankWolfe()
