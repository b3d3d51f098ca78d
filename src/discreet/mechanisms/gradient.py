"""Fit least squares by full-batch gradient descent with clipped residuals and noise. Proof: gradient.proof.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import numpy as np

from discreet.accounting.iterations import MOMENTUM, gradient_queries, row_norm
from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.residuals import ScoreSum
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import OptionError
from discreet.mechanisms.calibration import Share, queries_distribution
from discreet.mechanisms.irls import RobustLoss, noisy_score, published, stepped
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget

# share of mu^2 for the number of rows, which determines the step length
COUNT_SHARE: Final = 0.02
# after half of the steps, e^-5 of the distance to the minimum should remain
AT_REST: Final = 5
# smallest and largest momentum
MOMENTA: Final = (0.5, 0.9)


class NoisyGradientDescent:
    """Gradient descent with noisy sums of clipped scores, and with public step length and momentum."""

    name: Final = "gradient"
    version: Final = VERSION
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="Full-batch noisy gradient descent on the squared loss with clipped residuals.",
        document="the papers cited; a general-purpose method to compare others with",
        notion="approximate",
        numerics="exact",
        references=(
            "Nesterov 1983",
            "Song, Chaudhuri & Sarwate 2013",
            "Bassily, Smith & Thakurta 2014",
            "Dong, Roth & Su 2022",
        ),
        reads_again=True,
        main="score",
        settings=DECLARED["gradient"],
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget and settings, from public quantities only."""
        iterations, step, carrying = int(settings["iterations"]), float(settings["step"]), bool(settings["momentum"])
        check_step(step, carrying=carrying)
        distribution = queries_distribution(domain, budget, gradient_shares(design, domain, iterations))
        if not carrying:
            return distribution
        length2 = row_norm(domain, intercept=design.intercept) ** 2
        return replace(distribution, parameters={MOMENTUM: momentum(length2, iterations, step)})

    def passes(self, context: RunContext) -> Passes:
        """Count the rows in the first pass, and make one more pass for each gradient step."""
        size, intercept = len(context.design.released) - 1, context.design.intercept
        clipped = RobustLoss(1.0, float(context.settings["clip"]))
        ones = yield ScoreSum(context.domain, size, [0.0] * size, np.ones_like)
        # psi / bound has slope at most 1 / bound, so the Hessian is at most rows * longest_row^2 / bound
        curvature = row_bound(ones, context) * row_norm(context.domain, intercept=intercept) ** 2
        rate = float(context.settings["step"]) * clipped.bound / curvature
        carried = context.distribution.parameters.get(MOMENTUM, 0) / 1000
        before = theta = np.zeros(size)
        iterates = []
        for _ in range(int(context.settings["iterations"])):
            ahead = theta + carried * (theta - before)
            scores = yield ScoreSum(context.domain, size, ahead.tolist(), clipped.score, intercept=intercept)
            before, theta = theta, stepped(ahead, rate * noisy_score(scores, context))
            iterates.append(theta)
        return published(iterates, average=bool(context.settings["average"]))


def gradient_shares(design: Design, domain: RowDomain, iterations: int) -> list[Share]:
    """Return the queries for the scores and, unless it is public, for the row count, with their shares of mu^2."""
    shares = {"count": COUNT_SHARE, "score": 1 - COUNT_SHARE}
    queries = gradient_queries(design, domain, iterations)
    return [(query, shares[query.block]) for query in queries]


def check_step(step: float, *, carrying: bool) -> None:
    """Reject a step length with which the loss could rise even without noise."""
    if step > 1 if carrying else step >= 2:
        raise OptionError(
            f"step: expected {'at most 1 with momentum' if carrying else 'below 2'}, got {step}; a longer step may "
            "increase the loss",
            option="step",
            given=step,
            remedy="choose a shorter step, or leave out step to use 1",
        )


def momentum(length2: float, iterations: int, step: float) -> int:
    """Return the momentum in thousandths. It depends on public numbers only.

    If a column is uniform on its bounds, its scaled squares sum to a third of the number of rows. A step without
    momentum then removes the fraction step / (3 length2) of the distance to the minimiser, and momentum b multiplies
    this fraction by 1 / (1 - b). The result is the b with which e^-5 of the distance is left after half of the steps,
    clipped to [0.5, 0.9]. A larger b would increase the variance of the iterates.

    >>> [momentum(length2, 200, 1.0) for length2 in (4, 21, 41, 101)]
    [500, 683, 837, 900]
    """
    least, most = MOMENTA
    carried = 1 - step * iterations / (6 * AT_REST * length2)
    return round(1000 * min(max(least, carried), most))


def row_bound(ones: Totals, context: RunContext) -> float:
    """Return an upper bound on the number of rows that rarely fails, from a sum of ones. It is at least 1."""
    if context.design.count_public:
        return max(1.0, ones.values[0] / ones.unit)
    (variate,) = context.sampler.draw([context.distribution.sigma["count"]])
    noisy = ones.on_grid(context.distribution.unit)[0] + variate  # [P:count-noise]
    return max(1.0, max(0.0, noisy / context.distribution.unit) + 2 * context.distribution.sd("count"))


MECHANISM: Final = NoisyGradientDescent()
