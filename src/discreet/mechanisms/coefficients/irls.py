"""Robust regression by reweighted least squares with noise in every pass. Proof: irls.proof.md."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import Final, Literal, TypeAlias

import numpy as np

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import Sums, Totals
from discreet.curator.sums.scores import ScoreSum, WeightedGram
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.exact.triangle import position, symmetric
from discreet.losses.composition import iteration_count
from discreet.losses.sensitivity.scores import (
    gram_sensitivity,
    joint_part,
    score_sensitivity,
    weighted_gram_sensitivity,
)
from discreet.losses.settings import DECLARED
from discreet.mechanisms.calibration.pieces import JOINT_RULES, Piece, pieces_law
from discreet.mechanisms.coefficients.iterates import fitted_indices, noisy_score, published, stepped, variates
from discreet.mechanisms.coefficients.pure_scores import pure_score_law
from discreet.mechanisms.coefficients.robust_loss import RobustLoss
from discreet.mechanisms.coefficients.wishart_moments import noisy_moments, wishart_law
from discreet.mechanisms.interface.protocol import MechanismInfo, Passes, RunContext
from discreet.mechanisms.sampling.sampler import rounded_up
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.releases import NoiseLaw, Settings

_Iterates: TypeAlias = Generator[Sums, Totals, list[FloatArray]]

# share of mu^2 for the Gram of the score form: it sets how fast iterates move, not where they come to rest
GRAM_SHARE: Final = 0.1
# share of mu^2 for the weighted Gram of the moment form
WEIGHTED_GRAM_SHARE: Final = 0.5
# covers the rounding of a few double operations
_ROUNDING: Final = 1 + 2**-44


class PrivateIRLS:
    """Huber regression, or a loss of another power, from noisy sums of clipped scores or of weighted products."""

    name: Final = "irls"
    version: Final = "2"
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="Robust regression by reweighted least squares; outliers in the target move it little.",
        document="note of Park & Welling, with other noise and accounting",
        notion="both",
        numerics="exact",
        references=("Park & Welling 2016", "Huber 1981", "Balle & Wang 2018", "Dong, Roth & Su 2022"),
        reads_again=True,
        main="score",
        settings=DECLARED["irls"],
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design, budget and settings in, no data."""
        pure, rule = is_pure(budget, settings), str(settings["composition"])
        iterations = iteration_count(settings, pure=pure)
        if pure:
            _check_pure(settings)
            return triangular(pure_score_law(design, domain, budget, iterations))
        if settings["noise"] == "wishart":
            return wishart_law(design, domain, budget, iterations, _wishart_rule(settings))
        if settings["form"] == "score":
            pieces = score_pieces(design, domain, iterations)
        else:
            pieces = moment_pieces(design, domain, iterations, joint=rule in JOINT_RULES)
        return triangular(pieces_law(domain, budget, pieces, rule))

    def passes(self, context: RunContext) -> Passes:
        """The passes of the form that was chosen, then the mean of the last iterates."""
        form = score_iterates if context.settings["form"] == "score" else moment_iterates
        iterates = yield from form(context)
        return published(iterates, average=bool(context.settings["average"]))


def is_pure(budget: PrivacyBudget, settings: Settings) -> bool:
    """Whether the noise is Laplace, and keeps epsilon alone.

    >>> is_pure(PrivacyBudget(1.0), {"noise": "auto"}), is_pure(PrivacyBudget(1.0, 1e-6), {"noise": "auto"})
    (True, False)
    """
    return settings["noise"] == "laplace" or (settings["noise"] == "auto" and as_pair(budget)[1] == 0)


def _check_pure(settings: Settings) -> None:
    if settings["form"] != "score" or settings["composition"] not in ("exact", "basic"):
        raise SpecError(
            "Laplace noise, and with it delta = 0, is offered for form = 'score', where epsilons add up whatever the "
            f"setting 'composition' says; got form = {settings['form']!r} and composition = "
            f"{settings['composition']!r}; leave them out, or set delta above 0, for instance delta = 1e-6, and "
            "noise = 'gaussian'"
        )


def _wishart_rule(settings: Settings) -> str:
    """The rule that adds up passes with Wishart noise: basic unless advanced is asked for."""
    form, rule = settings["form"], settings["composition"]
    if form != "moment" or rule not in ("exact", "basic", "advanced"):
        raise SpecError(
            "Wishart noise is offered for form = 'moment', with the composition 'basic' or 'advanced' ('exact' stands "
            f"for 'basic'); got form = {form!r} and composition = {rule!r}"
        )
    return "advanced" if rule == "advanced" else "basic"


def score_pieces(design: Design, domain: RowDomain, iterations: int) -> dict[str, Piece]:
    """What the score form releases: the Gram of (1, x) once, and a sum of scores in every iteration."""
    size = len(fitted_indices(design))
    score = score_sensitivity(domain, design.unit, intercept=design.intercept)
    return {
        "gram": Piece(gram_sensitivity(design, domain), GRAM_SHARE, size**2),
        "score": Piece(score, 1 - GRAM_SHARE, size, iterations),
    }


def moment_pieces(design: Design, domain: RowDomain, iterations: int, *, joint: bool) -> dict[str, Piece]:
    """What the moment form releases in every iteration: weighted products of (1, x) with itself and with y.

    With `joint` the sensitivities are those that one pair of rows can have at once; a single piece may have more.
    """
    size = len(fitted_indices(design))
    gram, cross = weighted_gram_sensitivity(domain, design.unit, intercept=design.intercept)
    if joint and design.unit.neighbours == "replace":
        together = math.sqrt(joint_part(WEIGHTED_GRAM_SHARE, 1 - WEIGHTED_GRAM_SHARE)) * _ROUNDING
        gram, cross = gram * together, cross * together  # [P:joint-pieces]
    return {
        "gram": Piece(gram, WEIGHTED_GRAM_SHARE, size**2, iterations),
        "cross": Piece(cross, 1 - WEIGHTED_GRAM_SHARE, size, iterations),
    }


def score_iterates(context: RunContext) -> _Iterates:
    """Steps by noisy sums of scores, multiplied by the inverse of one noisy Gram that lies above the exact one."""
    size = len(context.design.released) - 1
    moments = yield ExactGram(size + 1, context.domain.grid_bits)
    gram = noisy_gram(moments, context)
    values, vectors = np.linalg.eigh(gram)
    edge = noise_edge(context, len(values))
    # with one edge more it lies above the exact Gram, so that every step without noise lowers the loss
    values = values + max(edge, 2 * edge - float(values[0]))
    theta = np.zeros(size)
    iterates = []
    pure = context.law.family == "discrete-laplace"
    for loss in graduated(_loss(context), iteration_count(context.settings, pure=pure)):
        scores = yield ScoreSum(context.domain, size, theta.tolist(), loss.score, intercept=context.design.intercept)
        score = loss.bound * noisy_score(scores, context)
        theta = stepped(theta, vectors @ ((vectors.T @ score) / values))
        iterates.append(theta)
    return iterates


def graduated(loss: RobustLoss, iterations: int) -> list[RobustLoss]:
    """The loss of each iteration: thresholds fall to the one asked for over the first third of them.

    They start at its square root, in scaled units. With the last threshold from the start a step would move a
    prediction by little more than it; with 1, the first steps would be those of least squares, and where outliers
    lead these far away the rest of the passes would be spent on the way back.

    >>> [round(one.threshold, 3) for one in graduated(RobustLoss(1.0, 0.04), 6)]
    [0.2, 0.089, 0.04, 0.04, 0.04, 0.04]
    """
    falling = iterations // 3
    first = max(math.sqrt(loss.threshold), loss.threshold)
    wide = [first * (loss.threshold / first) ** (step / falling) for step in range(falling)]
    return [replace(loss, threshold=threshold) for threshold in wide] + [loss] * (iterations - falling)


def moment_iterates(context: RunContext) -> _Iterates:
    """Weighted least squares on noisy weighted moments, whose weights come from the iterate before."""
    size = len(context.design.released) - 1
    loss = _loss(context)
    theta = np.zeros(size)
    iterates = []
    for _ in range(iteration_count(context.settings)):
        moments = yield WeightedGram(
            context.domain, size, theta.tolist(), loss.root, intercept=context.design.intercept
        )
        if context.law.family == "wishart":
            gram, cross = noisy_moments(moments, context)
        else:
            gram = noisy_gram(moments, context)
            cross = noisy_cross(moments, context)
        values, vectors = np.linalg.eigh(gram)
        values = values + max(0.0, noise_edge(context, len(values)) - float(values[0]))
        theta = stepped(np.zeros(size), vectors @ ((vectors.T @ cross) / values))
        iterates.append(theta)
    return iterates


def noisy_gram(moments: Totals, context: RunContext) -> FloatArray:
    """The part of the products that belongs to (1, x), or to x without intercept, with noise; in scaled units."""
    indices = fitted_indices(context.design)
    diagonal, off = context.law.sigma["gram_diagonal"], context.law.sigma["gram_off_diagonal"]
    pairs = [(i, j) for i in indices for j in indices if i <= j]
    noise = variates(context, [diagonal if i == j else off for i, j in pairs])
    totals = moments.on_grid(context.law.unit)
    exact = [totals[position(i, j, indices[-1] + 2)] for i, j in pairs]
    released = [total + variate for total, variate in zip(exact, noise, strict=True)]  # [P:gram-noise]
    return symmetric((value / context.law.unit for value in released), len(indices))


def noisy_cross(moments: Totals, context: RunContext) -> FloatArray:
    """The products of (1, x), or of x without intercept, with the target, with noise; in scaled units."""
    indices = fitted_indices(context.design)
    target = indices[-1] + 1
    noise = context.sampler.draw([context.law.sigma["cross"]] * len(indices))
    totals = moments.on_grid(context.law.unit)
    exact = [totals[position(index, target, target + 1)] for index in indices]
    return np.array([(a + b) / context.law.unit for a, b in zip(exact, noise, strict=True)])  # [P:cross-noise]


def noise_edge(context: RunContext, size: int) -> float:
    """What the largest eigenvalue of the Gram's noise is at most on average: sd sqrt(2 size), in scaled units."""
    return context.law.sd("gram_diagonal") * math.sqrt(2 * size)


def _loss(context: RunContext) -> RobustLoss:
    return RobustLoss(float(context.settings["power"]), float(context.settings["threshold"]))


def triangular(law: NoiseLaw) -> NoiseLaw:
    """The Gram's noise with its off-diagonal scale, smaller by sqrt(2) because such an entry counts for two."""
    diagonal = law.sigma["gram"]
    off = rounded_up(math.isqrt((diagonal**2 + 1) // 2 - 1) + 1)  # [P:off-diagonal]
    rest = {name: sigma for name, sigma in law.sigma.items() if name != "gram"}
    return replace(law, sigma={"gram_diagonal": diagonal, "gram_off_diagonal": off, **rest})
