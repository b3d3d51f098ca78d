"""Fit robust regression by reweighted least squares with noise in every pass. Proof: irls.proof.md."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from discreet.accounting.chi_square import (
    DELTA_LOWEST,
    EPSILON_HIGHEST,
    EPSILON_LOWEST,
    largest_shift,
    proved_delta,
    served_epsilon,
)
from discreet.accounting.iterations import (
    gram_l1_sensitivity,
    gram_sensitivity,
    joint_part,
    score_l1_sensitivity,
    score_sensitivity,
    weighted_gram_sensitivity,
    weighted_row_shift,
)
from discreet.accounting.noise_distribution import NoiseLaw, Settings
from discreet.accounting.privacy_loss import iteration_count, split
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram, Sums, Totals
from discreet.curator.sums.residuals import ScoreSum, WeightedGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.exact.elementary import exp, log
from discreet.exact.linear import position, symmetric
from discreet.mechanisms.calibration import JOINT_RULES, Piece, in_steps, pieces_law
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.mechanisms.sampler import rounded_up
from discreet.mechanisms.wishart import wishart_noise
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.lattice import approximate
from discreet.releases.fields import Coefficients

# -- iterates ----------------------------------------------------------------------------------------------------------
# What iterative mechanisms share: scores, their noise, the box of the iterates. Proof: irls.proof.md.

# iterates stay in the box of this half-width, in scaled units, so that no residual overflows
LARGEST_COEFFICIENT: Final = 1e3


def fitted_indices(design: Design) -> range:
    """Which of the columns (1, x) are fitted."""
    return range(0 if design.intercept else 1, len(design.released) - 1)


def variates(context: RunContext, scales: Sequence[int]) -> list[int]:
    """One independent variate for each scale, of the family that the law of the noise names."""
    pure = context.law.family == "discrete-laplace"
    return context.sampler.laplace(scales) if pure else context.sampler.draw(scales)  # [P:variate-family]


def noisy_score(sums: Totals, context: RunContext) -> FloatArray:
    """The sums of scores of the fitted columns, with noise added on the product grid; in scaled units."""
    indices = fitted_indices(context.design)
    noise = variates(context, [context.law.sigma["score"]] * len(indices))
    exact = sums.on_grid(context.law.unit)[indices[0] :]
    return np.array([(a + b) / context.law.unit for a, b in zip(exact, noise, strict=True)])  # [P:score-noise]


def stepped(theta: FloatArray, step: FloatArray) -> FloatArray:
    """Coefficients after a step of the fitted ones, which come last, inside the box."""
    full = np.concatenate([np.zeros(len(theta) - len(step)), step])
    inside: FloatArray = np.clip(theta + full, -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)
    return inside


def published(iterates: Sequence[FloatArray], *, average: bool) -> Coefficients:
    """The last iterate, or the mean of the last half of them, and all of them as trace."""
    last = iterates[len(iterates) // 2 :] if average else iterates[-1:]
    values = np.mean(last, axis=0)
    return Coefficients(tuple(values.tolist()), tuple(tuple(theta.tolist()) for theta in iterates))


# -- robust loss -------------------------------------------------------------------------------------------------------
# Losses that grow like a power beyond a threshold: bounded scores, and their weights. Proof: irls.proof.md.

# residuals count at most this much: a prediction inside the target's bounds leaves no larger one
LARGEST_RESIDUAL: Final = 2.0


@dataclass(frozen=True, slots=True)
class RobustLoss:
    """A convex loss: squared up to a threshold, like a power of the residual beyond it, linear beyond a residual of 2.

    With c = threshold its score is `psi(r) = r` up to c and `psi(r) = c sign(r) (min(|r|, 2) / c)^(power - 1)` beyond.
    It never falls and its slope is at most 1. With power 1 it is Huber's.

    Attributes
    ----------
    power
        From 1 to 2.
    threshold
        In scaled units of the target, above 0 and at most 2.

    Examples
    --------
    >>> huber = RobustLoss(1.0, 0.5)
    >>> huber.bound, huber.score(np.array([-2.0, 0.25])).tolist()
    (0.5, [-1.0, 0.5])
    """

    power: float
    threshold: float

    @property
    def bound(self) -> float:
        """Largest size of psi."""
        return float(self.threshold * (LARGEST_RESIDUAL / self.threshold) ** (self.power - 1.0))

    def score(self, residual: FloatArray) -> FloatArray:
        """Give psi / bound, each a function of its own residual with the same bits wherever it is."""
        ratio = residual / self.threshold
        if self.power == 1.0:
            return np.clip(ratio, -1.0, 1.0)
        beyond = np.copysign(self._tail(np.abs(ratio)), ratio)
        return np.where(np.abs(ratio) < 1.0, ratio, beyond) / (self.bound / self.threshold)

    def root(self, residual: FloatArray) -> FloatArray:
        """Square root of the weight psi(r) / r, a number in [0, 1], under the same condition."""
        ratio = np.maximum(np.abs(residual) / self.threshold, 1.0)
        return np.sqrt(self._tail(ratio) / ratio)  # [P:root-bits]

    def _tail(self, ratio: FloatArray) -> FloatArray:
        """|psi| / c from |r| / c, for those that are at least 1."""
        if self.power == 1.0:
            return np.ones_like(ratio)
        clipped = np.clip(ratio, 1.0, LARGEST_RESIDUAL / self.threshold)
        return exp((self.power - 1.0) * log(clipped))  # [P:tail-bits]


# -- pure scores -------------------------------------------------------------------------------------------------------
# Laplace noise for a Gram matrix once and for sums of scores in every iteration, under epsilon alone.
#
# Proof: irls.proof.md.

# share of epsilon for the Gram, which sets how fast iterates move and not where they come to rest
PURE_GRAM_SHARE: Final = 0.3


def pure_score_law(design: Design, domain: RowDomain, budget: PrivacyBudget, iterations: int) -> NoiseLaw:
    """Scales of discrete Laplace noise under which the Gram and all scores together keep epsilon.

    The scale of the Gram is that of its diagonal; off the diagonal it may be smaller by sqrt(2).

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)}, intercept=False)
    >>> law = pure_score_law(design, RowDomain.of(design), PrivacyBudget(1.0), 9)
    >>> [round(scale / law.unit, 6) for scale in law.sigma.values()]
    [3.333333, 12.857143]
    """
    epsilon, _ = as_pair(budget, wanted="epsilon, and delta if any,")
    gram = gram_l1_sensitivity(design, domain) / (PURE_GRAM_SHARE * epsilon)  # [P:gram-epsilon]
    score = iterations * score_l1_sensitivity(design, domain) / ((1 - PURE_GRAM_SHARE) * epsilon)  # [P:score-epsilon]
    steps = {name: in_steps(name, scale, domain) for name, scale in (("gram", gram), ("score", score))}
    return NoiseLaw(domain.grid_bits, steps, "pure", "discrete-laplace")


# -- wishart moments ---------------------------------------------------------------------------------------------------
# Wishart noise for the weighted moments of (1, x, y) in every iteration. Proof: irls.proof.md.

# with the mean taken away more degrees give less noise, but there are none much better
DEGREES: Final = 1000
# share of the squared length of a scaled row for (1, x), the rest is for y
ROW_SHARE: Final = 0.7
_MOST_COLUMNS: Final = 200


def wishart_law(design: Design, domain: RowDomain, budget: PrivacyBudget, iterations: int, rule: str) -> NoiseLaw:
    """Scales under which all iterations together keep the budget, each with the same epsilon and delta.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> law = wishart_law(design, RowDomain.of(design), PrivacyBudget(1.0, 1e-6), 1, "basic")
    >>> round(law.sd("gram_off_diagonal"), 1), law.parameters["degrees"]
    (9.8, 1000)
    """
    size = len(design.released)
    epsilon, delta = split(rule, *approximate(budget), iterations)  # [P:wishart-split]
    _check(design, size, epsilon, delta)
    row, target = accepted_scales(domain, size, epsilon, delta, exchanged=design.unit.neighbours == "replace")
    sigma = {
        "gram_diagonal": row * row,
        "gram_off_diagonal": row * row,
        "cross": row * target,
        "target_square": target * target,
    }
    return NoiseLaw(domain.grid_bits, sigma, "composed", "wishart", {"degrees": DEGREES})


def accepted_scales(domain: RowDomain, size: int, epsilon: float, delta: float, *, exchanged: bool) -> tuple[int, int]:
    """Scales of the columns (1, x) and of y, in grid steps, whose delta is proved to be at most this one."""
    nu, served = DEGREES - size + 1, served_epsilon(epsilon, exchanged=exchanged)
    shift, share = largest_shift(nu, served, delta, exchanged=exchanged)
    while True:
        row = domain.unit * math.sqrt((1 + norm2(domain)) / (ROW_SHARE * shift))
        target = domain.unit / math.sqrt((1 - ROW_SHARE) * shift)
        scales = math.ceil(row), math.ceil(target)
        if proved_delta(nu, weighted_row_shift(domain, *scales), served, share, exchanged=exchanged) <= delta:
            return scales  # [P:wishart-accepted]
        shift *= 1 - 1e-6


def noisy_moments(moments: Totals, context: RunContext) -> tuple[FloatArray, FloatArray]:
    """Weighted products of the fitted columns, and theirs with the target, less the mean of the noise; scaled units."""
    size = len(context.design.released)
    law, degrees = context.law, context.law.parameters["degrees"]
    row = math.isqrt(law.sigma["gram_diagonal"])
    scales = [row] * (size - 1) + [law.sigma["cross"] // row]
    noise = wishart_noise(scales, degrees, context.sampler)
    totals = [
        total + variate for total, variate in zip(moments.on_grid(law.unit), noise, strict=True)
    ]  # [P:wishart-moments]
    whole = symmetric((total / law.unit for total in totals), size)
    kept = np.array(fitted_indices(context.design))
    gram = whole[np.ix_(kept, kept)] - np.eye(len(kept)) * (degrees * row * row / law.unit)
    return gram, whole[kept, -1]


def _check(design: Design, size: int, epsilon: float, delta: float) -> None:
    if design.unit.max_rows > 1:
        raise SpecError(
            f"the loss of Wishart noise is proved for one row of each person; got max_rows = {design.unit.max_rows}; "
            "set max_rows = 1 or leave out noise = 'wishart'"
        )
    if size > _MOST_COLUMNS:
        raise SpecError(
            f"expected at most {_MOST_COLUMNS} released columns for Wishart noise, got {size}; declare fewer columns "
            "or levels, or leave out noise = 'wishart'"
        )
    if not (EPSILON_LOWEST <= epsilon <= EPSILON_HIGHEST and delta >= DELTA_LOWEST):
        raise SpecError(
            f"Wishart noise is proved for epsilon from {EPSILON_LOWEST:g} to {EPSILON_HIGHEST:g} and delta from "
            f"{DELTA_LOWEST:g} in each iteration; got epsilon = {epsilon:g} and delta = {delta:g}; leave out "
            "noise = 'wishart'"
        )


# -- irls --------------------------------------------------------------------------------------------------------------
# Robust regression by reweighted least squares with noise in every pass. Proof: irls.proof.md.

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
