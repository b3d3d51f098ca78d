"""Least squares by full-batch gradient descent with clipped residuals and noise. Proof: gradient.proof.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import numpy as np

from discreet.accounting.iterations import row_norm, score_sensitivity
from discreet.accounting.noise_distribution import NoiseLaw, Settings
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.residuals import ScoreSum
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.calibration import Piece, pieces_law
from discreet.mechanisms.irls import RobustLoss, fitted_indices, noisy_score, published, stepped
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget

# share of mu^2 for the number of rows, which sets the length of a step
COUNT_SHARE: Final = 0.02
# what remains of the distance to rest, in powers of e, when half of the steps are done
AT_REST: Final = 5
# part of a step that is carried into the next one, at least and at most
MOMENTA: Final = (0.5, 0.9)
# the name under which a release gives that part, in thousandths
MOMENTUM: Final = "momentum_per_mille"


class NoisyGradientDescent:
    """Descends along noisy sums of clipped gradients of the squared loss, with steps and momentum of public length."""

    name: Final = "gradient"
    version: Final = "2"
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

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design, budget and settings in, no data."""
        iterations, step, carrying = int(settings["iterations"]), float(settings["step"]), bool(settings["momentum"])
        check_step(step, carrying=carrying)
        law = pieces_law(domain, budget, gradient_pieces(design, domain, iterations))
        if not carrying:
            return law
        length2 = row_norm(domain, intercept=design.intercept) ** 2
        return replace(law, parameters={MOMENTUM: momentum(length2, iterations, step)})

    def passes(self, context: RunContext) -> Passes:
        """One pass for the number of rows, one for each step."""
        size, intercept = len(context.design.released) - 1, context.design.intercept
        clipped = RobustLoss(1.0, float(context.settings["clip"]))
        ones = yield ScoreSum(context.domain, size, [0.0] * size, np.ones_like)
        # (psi/bound) has slope 1/bound, so the Hessian of what is summed is at most rows * longest^2 / bound
        curvature = row_bound(ones, context) * row_norm(context.domain, intercept=intercept) ** 2
        rate = float(context.settings["step"]) * clipped.bound / curvature
        carried = context.law.parameters.get(MOMENTUM, 0) / 1000
        before = theta = np.zeros(size)
        iterates = []
        for _ in range(int(context.settings["iterations"])):
            ahead = theta + carried * (theta - before)
            scores = yield ScoreSum(context.domain, size, ahead.tolist(), clipped.score, intercept=intercept)
            before, theta = theta, stepped(ahead, rate * noisy_score(scores, context))
            iterates.append(theta)
        return published(iterates, average=bool(context.settings["average"]))


def gradient_pieces(design: Design, domain: RowDomain, iterations: int) -> dict[str, Piece]:
    """What is released: the number of rows unless it is public, and a sum of clipped gradients for each step."""
    sensitivity = score_sensitivity(domain, design.unit, intercept=design.intercept)
    score = Piece(sensitivity, 1 - COUNT_SHARE, len(fitted_indices(design)), iterations)
    if design.count_public:
        return {"score": score}
    return {"count": Piece(float(design.unit.max_rows), COUNT_SHARE, 1), "score": score}  # [P:count-piece]


def check_step(step: float, *, carrying: bool) -> None:
    """Refuse a step that need not go downhill on every table, noise aside.

    >>> check_step(1.0, carrying=True)
    """
    if step > 1 if carrying else step >= 2:
        raise SpecError(
            f"step: expected at most 1 with momentum, below 2 without; got {step}; choose a shorter step, or leave it "
            "out for 1: with a longer step the loss may grow, and the budget would be spent all the same"
        )


def momentum(length2: float, iterations: int, step: float) -> int:
    """Part of a step that is carried into the next one, in thousandths, from public numbers.

    A column that fills its bounds evenly has a third of the rows as its sum of squares, so that a step of plain
    descent takes away step / (3 length2) of the distance to rest, and momentum b multiplies that by 1 / (1 - b). This
    is the b with which e^-5 of the distance remains when half of the steps are done, between 0.5 and 0.9. More of it
    would scatter the iterates more, and help where columns use little of their bounds.

    >>> [momentum(length2, 200, 1.0) for length2 in (4, 21, 41, 101)]
    [500, 683, 837, 900]
    """
    least, most = MOMENTA
    carried = 1 - step * iterations / (6 * AT_REST * length2)
    return round(1000 * min(max(least, carried), most))


def row_bound(ones: Totals, context: RunContext) -> float:
    """A number of rows that is seldom below the exact one and never below 1, from a sum of ones."""
    if context.design.count_public:
        return max(1.0, ones.values[0] / ones.unit)
    (variate,) = context.sampler.draw([context.law.sigma["count"]])
    noisy = ones.on_grid(context.law.unit)[0] + variate  # [P:count-noise]
    return max(1.0, max(0.0, noisy / context.law.unit) + 2 * context.law.sd("count"))
