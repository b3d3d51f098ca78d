"""Fit a single model by noisy sums of scores of privately scaled rows. Proof: refined.proof.md."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

import numpy as np

from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.queries import Query, blocks_of
from discreet.accounting.search_queries import (
    LAST,
    RADIUS_QUANTILE,
    STEPS,
    in_declared_ball,
    refined_queries,
    searched_columns,
)
from discreet.curator.sums.cell_counts import ColumnCells
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.scaled_rows import (
    ClippedScores,
    OffsetSum,
    RowNorms,
    Scaling,
    ShrunkRows,
    coefficient_bits,
    on_grid,
)
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import pairs, position, symmetric
from discreet.mechanisms.calibration import Share, queries_distribution
from discreet.mechanisms.column_search import (
    TargetScale,
    columns_centred,
    columns_scaled,
    columns_sized,
    noisy,
    search,
    target_centred,
)
from discreet.mechanisms.column_search import (
    quantile_in_steps as in_steps,
)
from discreet.mechanisms.irls import fitted_indices
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget
from discreet.releases.fields import Coefficients

# -- shrinkage ---------------------------------------------------------------------------------------------------------
# Post-processing in `refined`: a preconditioner from a noisy Gram matrix, and shrinkage of the result.

# smallest eigenvalue of the preconditioner relative to the largest
_LEAST_PART: Final = 0.05
# binary logarithms of prior scales, and powers of the eigenvalues to which prior variances are proportional
_PRIOR_SCALES: Final = np.arange(-10.0, 6.01, 0.25)
_PRIOR_SHAPES: Final = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Preconditioner:
    """Eigendecomposition of a noisy Gram matrix whose eigenvalues are raised so that noise does not lengthen steps.

    Attributes
    ----------
    values, vectors
        Raised eigenvalues, by which steps are divided, and eigenvectors.
    sums
        Sum of squares of the rows along each eigenvector. These are the eigenvalues before the smallest were raised.
    """

    values: FloatArray
    vectors: FloatArray
    sums: FloatArray

    @classmethod
    def of(cls, gram: FloatArray, sd: float, rate: float) -> Preconditioner:
        """Build a preconditioner from a noisy Gram matrix.

        The noise has standard deviation `sd` on the diagonal and sd / sqrt(2) off it. Off-diagonal entries are shrunk
        towards 0, and diagonal entries towards their mean, in proportion to their noise. The spectral edge of the
        remaining noise is added to the eigenvalues, all of it for short steps and two thirds of it for full steps
        (`rate` = 1). A step then never overshoots its target by more than half.
        """
        size = len(gram)
        diagonal = np.diag(gram).copy()
        mean = max(float(diagonal.mean()), 1e-9)
        off_part = diagonal_part = 1.0
        if size >= 3:
            off = gram[~np.eye(size, dtype=np.bool_)]
            off_part = _signal_part(float(np.mean(off * off)), sd**2 / 2)
            diagonal_part = _signal_part(float(diagonal.var()), sd**2)
        shrunk = off_part * gram
        np.fill_diagonal(shrunk, mean + diagonal_part * (diagonal - mean))
        edge = math.sqrt(2 * size * off_part) * sd + math.sqrt(2 * math.log(size) * diagonal_part) * sd
        values, vectors = np.linalg.eigh(shrunk)
        damped = np.maximum(values, 0.0) + (1 - rate / 3) * edge
        return cls(np.maximum(damped, max(_LEAST_PART * float(damped.max()), 1e-6 * sd)), vectors, damped)

    def step(self, score: FloatArray) -> FloatArray:
        """Multiply a score by the inverse of the preconditioner."""
        out: FloatArray = self.vectors @ ((self.vectors.T @ score) / self.values)
        return out


def _signal_part(square: float, noise: float) -> float:
    """Return the share of the signal in a mean square whose noise has expectation `noise`."""
    signal = max(square - noise, 0.0)
    return signal / (signal + noise)


def shrunk(theta: FloatArray, basis: Preconditioner, sd: float, most: float) -> FloatArray:
    """Shrink coefficients towards 0, by an average of their posterior means under several normal priors.

    Each prior is weighted by its likelihood. In the eigenbasis, the noise of a coordinate has standard deviation `sd`
    divided by its eigenvalue. `most` bounds the sum of squared predictions under each prior, because no model explains
    more than the variation of the target.

    >>> basis, theta = Preconditioner(np.ones(2), np.eye(2), np.ones(2)), np.array([1.0, 1.0])
    >>> strong, weak, bounded = (shrunk(theta, basis, *case) for case in [(1e-3, 9.0), (10.0, 9.0), (1.0, 0.01)])
    >>> bool(strong[0] > 0.99), bool(weak[0] < 0.2), bool(bounded[0] < 0.01)
    (True, True, True)
    """
    seen = basis.vectors.T @ theta
    noise = (sd / basis.values) ** 2
    size = float(np.mean(seen * seen))
    if size == 0.0:
        return theta
    relative = np.maximum(basis.values / basis.values.max(), 1e-6)
    priors = np.array([size * 2.0**scale * relative**shape for shape in _PRIOR_SHAPES for scale in _PRIOR_SCALES])
    priors *= np.minimum(1.0, most / (priors @ basis.sums))[:, None]
    marginal = priors + noise
    log_weights = -0.5 * np.sum(np.log(marginal) + seen * seen / marginal, axis=1)
    weights = np.exp(log_weights - log_weights.max())
    mean = (weights[:, None] * (priors / marginal)).sum(axis=0) / weights.sum() * seen
    out: FloatArray = basis.vectors @ mean
    return out


# -- refined -----------------------------------------------------------------------------------------------------------
# One model from clipped scores of privately scaled rows, without tuning parameters. Proof: refined.proof.md.

# shares of mu^2; the rest, including unused shares, goes to the steps
SHARES: Final = {
    "count": 0.005, "centre": 0.045, "spread": 0.015, "zoomed_centre": 0.025, "zoomed_spread": 0.015,
    "one_spread": 0.1, "mean_square": 0.02, "target_mean": 0.07, "target_spread": 0.01, "target_zoom": 0.05,
    "radius": 0.008, "clip": 0.016, "gram_diagonal": 0.15, "offset": 0.06,
}  # fmt: skip
# part of the steps' share for counting the unclipped rows
BELOW_PART: Final = 0.05
# coordinates are clipped at this many scales, or at more if the ratio of rows to noise exceeds the second number
_CLIP, _MANY = 4.0, 1000.0
# ratio of rows to noise above which the radius of the rows is larger than estimated
_REACHING: Final = 300.0
# scale of an indicator, whose centre stays at 0
_INDICATOR_SCALE: Final = 0.5
# smallest clip of scores, relative to the target's largest distance from its centre, and to its spread
_LEAST_OF_SPAN, _LEAST_OF_SPREAD = 1 / 256, 0.15
# At most half of the scores are clipped. The noise is proportional to the clip divided by the unclipped share. For
# standard normal scores this ratio is 1.35 if half are clipped, 1.48 if 30% are, and never below 1.25.
_LEAST_QUANTILE: Final = 0.5
# number of final iterates that are averaged
_LAST_ITERATES: Final = 8
# additional prior standard deviation of the offset, relative to its bound
_OFFSET_PRIOR: Final = 0.05

_Scaled: TypeAlias = Generator[Sums, Totals, tuple[Scaling, TargetScale, float]]


class RefinedRegression:
    """Single model from noisy sums of clipped scores of privately scaled rows, with shrinkage."""

    name: Final = "refined"
    version: Final = VERSION
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="Best predictions: columns are scaled privately, then clipped-score steps; nothing to tune.",
        document="this library, from noisy gradient descent and private quantiles",
        notion="approximate",
        numerics="exact",
        references=(
            "Song, Chaudhuri & Sarwate 2013",
            "Andrew, Thakkar, McMahan & Ramaswamy 2021",
            "Balle & Wang 2018",
            "Dong, Roth & Su 2022",
        ),
        reads_again=True,
        main="score",
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget and settings, from public quantities only."""
        return queries_distribution(domain, budget, refined_shares(design))

    def passes(self, context: RunContext) -> Passes:
        """Make passes over the table for the column scales, the radius, the Gram matrix, the steps and the offset."""
        scaling, target, many = yield from _scaled(context)
        pace = Pace.of(context, many)
        radius = yield from _radius(context, scaling, pace)
        thresholds = [target.span * math.pow(2, (k - LAST["clip"]) / 4) for k in range(LAST["clip"] + 1)]
        totals = yield ShrunkRows(context.domain, scaling, radius, target.centre, thresholds)
        basis = Preconditioner.of(_noisy_gram(totals, context), context.distribution.sd("gram_diagonal"), pace.rate)
        least = min(max(_LEAST_OF_SPAN * target.span, _LEAST_OF_SPREAD * target.spread), target.span)
        first = thresholds[_first_clip(totals, context, pace)]
        theta, clip = yield from _steps(context, pace, basis, (first, least, target.span), target.likely_sd)
        offset = 0.0
        if context.design.intercept:
            offset = yield from _offset(context, pace, theta, radius, clip, target)
        return _published(scaling, target, theta, radius, offset)


def refined_shares(design: Design) -> list[Share]:
    """Return the queries with their shares of mu^2. What the other queries leave goes to the steps."""
    queries = refined_queries(design)
    steps = _share_of_steps(queries)
    shares = SHARES | {"score": steps * (1 - BELOW_PART), "below": steps * BELOW_PART}
    return [(query, shares[next(iter(query.blocks))]) for query in queries]  # [P:refined-pieces]


def _share_of_steps(queries: Sequence[Query]) -> float:
    return 1 - math.fsum(SHARES[block] for block in blocks_of(queries) if block in SHARES)


@dataclass(frozen=True, slots=True)
class Pace:
    """Amount of clipping and step length, computed from released numbers.

    Attributes
    ----------
    many
        Released number of rows.
    quantile
        Share of rows whose scores should not be clipped.
    rate
        Step length relative to a full step.
    reach
        Radius to which rows are shrunk, relative to the estimated radius.
    """

    many: float
    quantile: float
    rate: float
    reach: float

    @classmethod
    def of(cls, context: RunContext, many: float) -> Pace:
        """Choose less clipping and longer steps if there are more rows relative to the noise.

        The bias from clipping and weighting then vanishes together with the noise. With a larger radius, some rows have
        longer scores, so fewer scores should be clipped.
        """
        strength = _strength(context, many)
        reach = 1.0 if in_declared_ball(context.design) else max(math.sqrt(strength / _REACHING), 1.0)
        quantile = min(max(1 - 40 / (strength * reach), _LEAST_QUANTILE), 0.998)
        return cls(many, quantile, strength / (strength + 30), reach)

    @property
    def correlated(self) -> float:
        """Assumed variance of a mean of iterates, divided by that of a mean of equally many independent iterates."""
        return 3 - 2 * self.rate**2


def _strength(context: RunContext, many: float) -> float:
    """Return the number of rows divided by the noise of all steps over all coordinates."""
    all_steps = context.distribution.sd("score") * math.sqrt((1 - BELOW_PART) / STEPS)
    return many / (all_steps * math.sqrt(len(fitted_indices(context.design))))


def _scaled(context: RunContext) -> _Scaled:
    """Compute the noisy scales of the columns and of the target, and the noisy number of rows, in one pass."""
    design = context.design
    searched = [] if in_declared_ball(design) else searched_columns(design)
    totals = yield ColumnCells(context.domain, [*searched, len(design.released) - 1])
    cells = totals.cells
    if cells is None:
        raise SpecError("the totals of the first pass must include counts by cell, got none")
    rows = int(cells[-1].sum())
    many = float(rows)
    if not design.count_public:
        (count,) = noisy(context, "count", [rows * context.distribution.unit])
        # sums are divided by this number, so it must not be close to 0
        many = math.hypot(max(count / context.distribution.unit, 0.0), context.distribution.sd("count"))
    many = max(many, 20.0)
    size = len(design.released) - 2
    declared = in_declared_ball(design)
    centres, scales = [0.0] * size, [1.0 if declared else _INDICATOR_SCALE] * size
    if searched and design.intercept:
        found_centres, widths = columns_centred(context, cells[:-1], rows, many)
    else:
        found_centres = [0.0] * len(searched)
        widths = columns_scaled(context, cells[:-1], rows, many) if searched else []
    if searched:
        widths = columns_sized(context, cells[:-1], rows, many, found_centres, widths)
    for column, centre, scale in zip(searched, found_centres, widths, strict=True):
        centres[column - 1], scales[column - 1] = centre, scale
    target = target_centred(context, cells[-1], rows, many)
    steps = _share_of_steps(refined_queries(design))
    clip = _CLIP * max(1.0, math.sqrt(_strength(context, many) / math.sqrt(steps) / _MANY))
    return Scaling(tuple(centres), tuple(scales), clip, int(design.intercept)), target, many


def _radius(context: RunContext, scaling: Scaling, pace: Pace) -> Generator[Sums, Totals, float]:
    """Return the declared radius or, if there is none, a multiple of the estimated 40% quantile of row norms."""
    if in_declared_ball(context.design):
        return math.sqrt(norm2(context.domain))
    last = LAST["radius"]
    top = math.sqrt(scaling.constant + len(scaling.centres) * min(scaling.clip, 8.0) ** 2)
    thresholds = [top * math.pow(2, (k - last) / 6) for k in range(last + 1)]
    totals = yield RowNorms(context.domain, scaling, thresholds)
    *counts, rows = totals.values
    below = in_steps(context, RADIUS_QUANTILE)
    index = search(context, "radius", counts.__getitem__, rows, below)
    farthest = math.sqrt(scaling.constant + len(scaling.centres) * scaling.clip**2)
    return max(min(pace.reach * thresholds[index], farthest), 1.0)


def _noisy_gram(totals: Totals, context: RunContext) -> FloatArray:
    """Return the noisy Gram matrix of the fitted columns, in scaled units."""
    indices, size = fitted_indices(context.design), len(context.design.released) - 1
    exact = totals.on_grid(context.distribution.unit)
    entries = [exact[position(indices[i], indices[j], size)] for i, j in pairs(len(indices))]
    diagonal, off = context.distribution.sigma["gram_diagonal"], context.distribution.sigma["gram_off_diagonal"]
    noise = context.sampler.draw([diagonal if i == j else off for i, j in pairs(len(indices))])
    released = [total + variate for total, variate in zip(entries, noise, strict=True)]  # [P:refined-gram]
    return symmetric((value / context.distribution.unit for value in released), len(indices))


def _first_clip(totals: Totals, context: RunContext, pace: Pace) -> int:
    """Return the index of the threshold that leaves a share `pace.quantile` of the first scores unclipped."""
    unit = context.distribution.unit
    *counts, rows = (value // unit for value in totals.on_grid(unit)[-LAST["clip"] - 2 :])
    return search(context, "clip", counts.__getitem__, rows, round(pace.quantile * unit))


def _steps(
    context: RunContext, pace: Pace, basis: Preconditioner, clips: tuple[float, float, float], target_sd: float
) -> Generator[Sums, Totals, tuple[FloatArray, float]]:
    """Take steps by noisy sums of clipped scores.

    Return the shrunk mean of the last iterates, and the last value to which scores were clipped. `clips` holds the
    first, the smallest and the largest such value.
    """
    indices, unit = fitted_indices(context.design), context.distribution.unit
    theta, iterates, used = np.zeros(len(context.design.released) - 1), [], []
    first, *bounds = clips
    clip = _within(first, bounds)
    # difference in counts that moves the clip by its largest step
    largest = 0.6 * min(pace.quantile, 1 - pace.quantile) * pace.many
    gain = 1 / (1 + (context.distribution.sd("below") / largest) ** 2)
    for _ in range(STEPS):
        totals = yield ClippedScores(context.domain, on_grid(theta, context.domain), clip)
        *scores, below, all_rows = totals.on_grid(unit)
        score = np.array(noisy(context, "score", scores[indices[0] :])) / unit
        # centred by the expected number of unclipped rows
        centred = below - round(pace.quantile * unit) * (all_rows // unit)
        (left,) = noisy(context, "below", [centred])
        theta = theta.copy()
        theta[indices[0] :] += pace.rate * basis.step(clip / pace.quantile * score)
        theta = released_coefficients(theta, context.domain)
        iterates.append(theta[indices[0] :])
        used.append(clip)
        excess = gain * left / unit / largest
        clip = _within(clip * math.exp(-0.3 * min(max(excess, -1.0), 1.0)), bounds)
    mean = np.mean(iterates[-_LAST_ITERATES:], axis=0)
    scale = math.sqrt(math.fsum(clip * clip for clip in used) / STEPS) / pace.quantile
    noise = context.distribution.sd("score") * math.sqrt(pace.correlated / _LAST_ITERATES) * scale
    theta = np.concatenate([np.zeros(indices[0]), shrunk(mean, basis, noise, pace.many * target_sd**2)])
    return released_coefficients(theta, context.domain), clip


def released_coefficients(theta: FloatArray, domain: RowDomain) -> FloatArray:
    """Round coefficients to the grid on which residuals are exact, and clip them to the range of the grid."""
    return np.array(on_grid(theta, domain)) * 2.0 ** -coefficient_bits(domain, len(theta))


def _offset(
    context: RunContext, pace: Pace, theta: FloatArray, radius: float, clip: float, target: TargetScale
) -> Generator[Sums, Totals, float]:
    """Estimate the mean prediction error over unweighted rows, and shrink it towards 0."""
    residual_sd = clip / NormalDist().inv_cdf((1 + pace.quantile) / 2)
    bound = min(max(3 * residual_sd, target.spread), target.span)
    totals = yield OffsetSum(context.domain, on_grid(theta, context.domain), radius, bound)
    (released,) = noisy(context, "offset", totals.on_grid(context.distribution.unit))
    error = bound * context.distribution.sd("offset") / pace.many
    prior = target.variance + (_OFFSET_PRIOR * bound) ** 2
    return bound * released / context.distribution.unit / pace.many * prior / (prior + error**2)


def _published(scaling: Scaling, target: TargetScale, theta: FloatArray, radius: float, offset: float) -> Coefficients:
    """Return the coefficients of (1, x) in scaled units, and the range to which each column of x is clipped."""
    slopes = theta[1:] / (radius * np.array(scaling.scales))
    constant = 0.0
    if scaling.constant:
        constant = target.centre + offset + float(theta[0]) / radius
        constant -= math.fsum(slope * centre for slope, centre in zip(slopes, scaling.centres, strict=True))
    return Coefficients((constant, *slopes.tolist()), ranges=scaling.ranges())


def _within(value: float, bounds: Sequence[float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


MECHANISM: Final = RefinedRegression()
