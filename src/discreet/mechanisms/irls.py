"""Fit robust regression by iteratively reweighted least squares with noise in every pass. Proof: irls.proof.md."""

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
    WeightedProductsQuery,
    joint_part,
    pure_score_queries,
    score_queries,
    weighted_row_shift,
)
from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_loss import iteration_count, split
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram, Sums, Totals
from discreet.curator.sums.residuals import ScoreSum, WeightedGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import UnsupportedError
from discreet.exact.arrays import FloatArray
from discreet.exact.elementary import exp, log
from discreet.exact.linear import position, symmetric
from discreet.exact.rounding import MARGIN
from discreet.mechanisms.calibration import JOINT_RULES, Share, in_steps, queries_distribution, triangle_steps
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.mechanisms.wishart import wishart_noise
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.lattice import approximate
from discreet.releases.fields import Coefficients

# -- iterates ----------------------------------------------------------------------------------------------------------
# Steps that all iterative mechanisms share. Proof: irls.proof.md.

# coefficients are clipped to this size, in scaled units, so that no residual overflows
LARGEST_COEFFICIENT: Final = 1e3


def fitted_indices(design: Design) -> range:
    """Return the indices of the fitted columns, which are those of (1, x), or of x if there is no intercept."""
    return range(0 if design.intercept else 1, len(design.released) - 1)


def variates(context: RunContext, scales: Sequence[int]) -> list[int]:
    """Draw an independent noise variate for each scale, from the family of the noise distribution."""
    pure = context.distribution.family == "discrete-laplace"
    return context.sampler.laplace(scales) if pure else context.sampler.draw(scales)  # [P:variate-family]


def noisy_score(sums: Totals, context: RunContext) -> FloatArray:
    """Return the noisy sum of scores of the fitted columns, in scaled units."""
    indices = fitted_indices(context.design)
    noise = variates(context, [context.distribution.sigma["score"]] * len(indices))
    exact = sums.on_grid(context.distribution.unit)[indices[0] :]
    return np.array([(a + b) / context.distribution.unit for a, b in zip(exact, noise, strict=True)])  # [P:score-noise]


def stepped(theta: FloatArray, step: FloatArray) -> FloatArray:
    """Add `step` to the fitted coefficients, which are the last entries of `theta`, and clip all coefficients."""
    full = np.concatenate([np.zeros(len(theta) - len(step)), step])
    inside: FloatArray = np.clip(theta + full, -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)
    return inside


def published(iterates: Sequence[FloatArray], *, average: bool) -> Coefficients:
    """Return the published coefficients, which are the last iterate or an average of iterates.

    With `average`, the second half of the iterates is averaged. All iterates are published as the trace.
    """
    last = iterates[len(iterates) // 2 :] if average else iterates[-1:]
    values = np.mean(last, axis=0)
    return Coefficients(tuple(values.tolist()), tuple(tuple(theta.tolist()) for theta in iterates))


# -- robust loss -------------------------------------------------------------------------------------------------------
# Losses with bounded scores, and the weights that belong to them. Proof: irls.proof.md.

# residuals are clipped to this size; predictions within the target's bounds never exceed it
LARGEST_RESIDUAL: Final = 2.0


@dataclass(frozen=True, slots=True)
class RobustLoss:
    """Convex loss that is squared up to a threshold, grows as a power of the residual up to 2, and is linear above 2.

    With c = threshold, the score is `psi(r) = r` if `abs(r) <= c`, and otherwise
    `psi(r) = c sign(r) (min(abs(r), 2) / c)^(power - 1)`. It is nondecreasing, with slope at most 1. With power 1 it is
    Huber's score.

    Attributes
    ----------
    power
        Power of the residual, from 1 to 2.
    threshold
        Largest residual with squared loss, in scaled units of the target, above 0 and at most 2.

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
        """Largest absolute value of the score psi."""
        return float(self.threshold * (LARGEST_RESIDUAL / self.threshold) ** (self.power - 1.0))

    def score(self, residual: FloatArray) -> FloatArray:
        """Return psi / bound for each residual. The bits of a result do not depend on the other residuals."""
        ratio = residual / self.threshold
        if self.power == 1.0:
            return np.clip(ratio, -1.0, 1.0)
        beyond = np.copysign(self._tail(np.abs(ratio)), ratio)
        return np.where(np.abs(ratio) < 1.0, ratio, beyond) / (self.bound / self.threshold)

    def root(self, residual: FloatArray) -> FloatArray:
        """Return the square root of the weight psi(r) / r, which is in [0, 1], for each residual r.

        The bits of a result do not depend on the other residuals.
        """
        ratio = np.maximum(np.abs(residual) / self.threshold, 1.0)
        return np.sqrt(self._tail(ratio) / ratio)  # [P:root-bits]

    def _tail(self, ratio: FloatArray) -> FloatArray:
        """Return |psi| / c given |r| / c, where |r| / c must be at least 1."""
        if self.power == 1.0:
            return np.ones_like(ratio)
        clipped = np.clip(ratio, 1.0, LARGEST_RESIDUAL / self.threshold)
        return exp((self.power - 1.0) * log(clipped))  # [P:tail-bits]


# -- pure scores -------------------------------------------------------------------------------------------------------
# Laplace noise on one Gram matrix and on the sums of scores of every iteration, under pure DP. Proof: irls.proof.md.

# share of epsilon for the Gram matrix, which affects only the speed of convergence
PURE_GRAM_SHARE: Final = 0.3


def pure_score_distribution(
    design: Design, domain: RowDomain, budget: PrivacyBudget, iterations: int
) -> NoiseDistribution:
    """Calibrate Laplace noise on the Gram matrix and on the scores of all iterations to a joint epsilon.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)}, intercept=False)
    >>> distribution = pure_score_distribution(design, RowDomain.of(design), PrivacyBudget(1.0), 9)
    >>> [round(scale / distribution.unit, 6) for scale in distribution.sigma.values()]
    [3.333333, 2.357023, 12.857143]
    """
    epsilon, _ = as_pair(budget, wanted="epsilon, and delta if any,")
    products, scores = pure_score_queries(design, domain, iterations)
    gram = products.laplace_sensitivity / (PURE_GRAM_SHARE * epsilon)  # [P:gram-epsilon]
    score = iterations * scores.laplace_sensitivity / ((1 - PURE_GRAM_SHARE) * epsilon)  # [P:score-epsilon]
    steps = triangle_steps(products, in_steps(products.diagonal, gram, domain))
    steps[scores.block] = in_steps(scores.block, score, domain)
    return NoiseDistribution(domain.grid_bits, steps, "pure", "discrete-laplace")


# -- wishart moments ---------------------------------------------------------------------------------------------------
# Wishart noise on the weighted moments of (1, x, y) in every iteration. Proof: irls.proof.md.

# more degrees of freedom would hardly reduce the noise, because its mean is subtracted
DEGREES: Final = 1000
# share of (1, x) in the squared length of a row divided by the noise scales; the rest is for y
ROW_SHARE: Final = 0.7
_MOST_COLUMNS: Final = 200


def wishart_distribution(
    design: Design, domain: RowDomain, budget: PrivacyBudget, iterations: int, rule: str
) -> NoiseDistribution:
    """Calibrate Wishart noise to a budget that is divided equally among all iterations.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> distribution = wishart_distribution(design, RowDomain.of(design), PrivacyBudget(1.0, 1e-6), 1, "basic")
    >>> round(distribution.sd("gram_off_diagonal"), 1), distribution.parameters["degrees"]
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
    return NoiseDistribution(domain.grid_bits, sigma, "composed", "wishart", {"degrees": DEGREES})


def accepted_scales(domain: RowDomain, size: int, epsilon: float, delta: float, *, exchanged: bool) -> tuple[int, int]:
    """Return the scales of (1, x) and of y, in grid steps, for which the proved delta is at most `delta`."""
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
    """Return the noisy weighted products of the fitted columns with each other and with the target.

    The mean of the noise is subtracted.
    """
    size = len(context.design.released)
    distribution, degrees = context.distribution, context.distribution.parameters["degrees"]
    row = math.isqrt(distribution.sigma["gram_diagonal"])
    scales = [row] * (size - 1) + [distribution.sigma["cross"] // row]
    noise = wishart_noise(scales, degrees, context.sampler)
    totals = [
        total + variate for total, variate in zip(moments.on_grid(distribution.unit), noise, strict=True)
    ]  # [P:wishart-moments]
    whole = symmetric((total / distribution.unit for total in totals), size)
    kept = np.array(fitted_indices(context.design))
    gram = whole[np.ix_(kept, kept)] - np.eye(len(kept)) * (degrees * row * row / distribution.unit)
    return gram, whole[kept, -1]


def _check(design: Design, size: int, epsilon: float, delta: float) -> None:
    if design.unit.max_rows > 1:
        raise UnsupportedError(
            f"noise = 'wishart' is proved only for one row per person, got max_rows = {design.unit.max_rows}",
            option="noise",
            remedy="set max_rows = 1 or leave out noise = 'wishart'",
        )
    if size > _MOST_COLUMNS:
        raise UnsupportedError(
            f"expected at most {_MOST_COLUMNS} released columns for Wishart noise, got {size}",
            option="noise",
            remedy="declare fewer columns or levels, or leave out noise = 'wishart'",
        )
    if not (EPSILON_LOWEST <= epsilon <= EPSILON_HIGHEST and delta >= DELTA_LOWEST):
        raise UnsupportedError(
            f"noise = 'wishart' needs epsilon from {EPSILON_LOWEST:g} to {EPSILON_HIGHEST:g} and delta of at least "
            f"{DELTA_LOWEST:g} in each iteration; got epsilon = {epsilon:g} and delta = {delta:g}",
            option="noise",
            remedy="leave out noise = 'wishart'",
        )


# -- irls --------------------------------------------------------------------------------------------------------------
# Robust regression by reweighted least squares with noise in every pass. Proof: irls.proof.md.

_Iterates: TypeAlias = Generator[Sums, Totals, list[FloatArray]]

# share of mu^2 for the Gram matrix of the score form, which affects only the speed of convergence
GRAM_SHARE: Final = 0.1
# share of mu^2 for the weighted Gram matrix of the moment form
WEIGHTED_GRAM_SHARE: Final = 0.5


class PrivateIRLS:
    """Regression with the Huber loss or a power loss, from noisy sums of scores or of weighted products."""

    name: Final = "irls"
    version: Final = VERSION
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

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget and settings, from public quantities only."""
        pure, rule = is_pure(budget, settings), str(settings["composition"])
        iterations = iteration_count(settings, pure=pure)
        if pure:
            _check_pure(settings)
            return pure_score_distribution(design, domain, budget, iterations)
        if settings["noise"] == "wishart":
            return wishart_distribution(design, domain, budget, iterations, _wishart_rule(settings))
        if settings["form"] == "score":
            shares = score_shares(design, domain, iterations)
        else:
            shares = moment_shares(design, domain, iterations, joint=rule in JOINT_RULES)
        return queries_distribution(domain, budget, shares, rule)

    def passes(self, context: RunContext) -> Passes:
        """Run the passes of the chosen form, and publish the last iterate or an average of iterates."""
        form = score_iterates if context.settings["form"] == "score" else moment_iterates
        iterates = yield from form(context)
        return published(iterates, average=bool(context.settings["average"]))


def is_pure(budget: PrivacyBudget, settings: Settings) -> bool:
    """Return whether the noise is Laplace noise, so that no delta is needed.

    >>> is_pure(PrivacyBudget(1.0), {"noise": "auto"}), is_pure(PrivacyBudget(1.0, 1e-6), {"noise": "auto"})
    (True, False)
    """
    return settings["noise"] == "laplace" or (settings["noise"] == "auto" and as_pair(budget)[1] == 0)


def _check_pure(settings: Settings) -> None:
    if settings["form"] != "score" or settings["composition"] not in ("exact", "basic"):
        raise UnsupportedError(
            "Laplace noise, which delta = 0 implies, needs form = 'score' and composition = 'exact' or 'basic'; got "
            f"form = {settings['form']!r} and composition = {settings['composition']!r}",
            option="noise",
            remedy="leave out both settings, or set noise = 'gaussian' and delta above 0, for instance delta = 1e-6",
        )


def _wishart_rule(settings: Settings) -> str:
    """Return the composition rule for passes with Wishart noise: advanced if the settings ask for it, or basic."""
    form, rule = settings["form"], settings["composition"]
    if form != "moment" or rule not in ("exact", "basic", "advanced"):
        raise UnsupportedError(
            "noise = 'wishart' needs form = 'moment' and composition = 'exact', 'basic' or 'advanced'; got "
            f"form = {form!r} and composition = {rule!r}",
            option="noise",
        )
    return "advanced" if rule == "advanced" else "basic"


def score_shares(design: Design, domain: RowDomain, iterations: int) -> list[Share]:
    """Return the queries of the score form with their shares of mu^2."""
    gram, score = score_queries(design, domain, iterations)
    return [(gram, GRAM_SHARE), (score, 1 - GRAM_SHARE)]


def moment_shares(design: Design, domain: RowDomain, iterations: int, *, joint: bool) -> list[Share]:
    """Return the queries of the moment form with their shares of mu^2.

    Under `replace`, no pair of rows attains both sensitivities at once. With `joint`, both are reduced accordingly.
    """
    query = WeightedProductsQuery.of(design, domain, iterations)
    gram, cross = query.gram, query.cross
    if joint and query.replaced:
        together = math.sqrt(joint_part(WEIGHTED_GRAM_SHARE, 1 - WEIGHTED_GRAM_SHARE)) * MARGIN
        gram = replace(gram, sensitivity=gram.sensitivity * together)
        cross = replace(cross, sensitivity=cross.sensitivity * together)  # [P:joint-pieces]
    return [(gram, WEIGHTED_GRAM_SHARE), (cross, 1 - WEIGHTED_GRAM_SHARE)]


def score_iterates(context: RunContext) -> _Iterates:
    """Take steps equal to noisy sums of scores times the inverse of a noisy Gram matrix.

    The matrix is shifted so that it dominates the exact Gram matrix.
    """
    size = len(context.design.released) - 1
    moments = yield ExactGram(size + 1, context.domain.grid_bits)
    gram = noisy_gram(moments, context)
    values, vectors = np.linalg.eigh(gram)
    edge = noise_edge(context, len(values))
    # the shifted matrix dominates the exact Gram matrix, so every step without noise lowers the loss
    values = values + max(edge, 2 * edge - float(values[0]))
    theta = np.zeros(size)
    iterates = []
    pure = context.distribution.family == "discrete-laplace"
    for loss in graduated(_loss(context), iteration_count(context.settings, pure=pure)):
        scores = yield ScoreSum(context.domain, size, theta.tolist(), loss.score, intercept=context.design.intercept)
        score = loss.bound * noisy_score(scores, context)
        theta = stepped(theta, vectors @ ((vectors.T @ score) / values))
        iterates.append(theta)
    return iterates


def graduated(loss: RobustLoss, iterations: int) -> list[RobustLoss]:
    """Return the loss for each iteration. Its threshold falls over the first third of the iterations.

    The threshold falls from the square root of the requested threshold, in scaled units, to the requested threshold. If
    all steps had the requested threshold, a step could move predictions by little more than this threshold. If the
    threshold started at 1, the first steps would be least-squares steps, and it would take many passes to undo the
    effect of outliers on them.

    >>> [round(loss.threshold, 3) for loss in graduated(RobustLoss(1.0, 0.04), 6)]
    [0.2, 0.089, 0.04, 0.04, 0.04, 0.04]
    """
    falling = iterations // 3
    first = max(math.sqrt(loss.threshold), loss.threshold)
    wide = [first * (loss.threshold / first) ** (step / falling) for step in range(falling)]
    return [replace(loss, threshold=threshold) for threshold in wide] + [loss] * (iterations - falling)


def moment_iterates(context: RunContext) -> _Iterates:
    """Solve weighted least squares with noisy weighted moments, whose weights come from the previous iterate."""
    size = len(context.design.released) - 1
    loss = _loss(context)
    theta = np.zeros(size)
    iterates = []
    for _ in range(iteration_count(context.settings)):
        moments = yield WeightedGram(
            context.domain, size, theta.tolist(), loss.root, intercept=context.design.intercept
        )
        if context.distribution.family == "wishart":
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
    """Return the noisy Gram matrix of the fitted columns, in scaled units."""
    indices = fitted_indices(context.design)
    diagonal, off = context.distribution.sigma["gram_diagonal"], context.distribution.sigma["gram_off_diagonal"]
    pairs = [(i, j) for i in indices for j in indices if i <= j]
    noise = variates(context, [diagonal if i == j else off for i, j in pairs])
    totals = moments.on_grid(context.distribution.unit)
    exact = [totals[position(i, j, indices[-1] + 2)] for i, j in pairs]
    released = [total + variate for total, variate in zip(exact, noise, strict=True)]  # [P:gram-noise]
    return symmetric((value / context.distribution.unit for value in released), len(indices))


def noisy_cross(moments: Totals, context: RunContext) -> FloatArray:
    """Return the noisy products of the fitted columns with the target, in scaled units."""
    indices = fitted_indices(context.design)
    target = indices[-1] + 1
    noise = context.sampler.draw([context.distribution.sigma["cross"]] * len(indices))
    totals = moments.on_grid(context.distribution.unit)
    exact = [totals[position(index, target, target + 1)] for index in indices]
    return np.array([(a + b) / context.distribution.unit for a, b in zip(exact, noise, strict=True)])  # [P:cross-noise]


def noise_edge(context: RunContext, size: int) -> float:
    """Return sd * sqrt(2 size), an upper bound on the mean of the largest eigenvalue of the noise, in scaled units."""
    return context.distribution.sd("gram_diagonal") * math.sqrt(2 * size)


def _loss(context: RunContext) -> RobustLoss:
    return RobustLoss(float(context.settings["power"]), float(context.settings["threshold"]))


MECHANISM: Final = PrivateIRLS()
