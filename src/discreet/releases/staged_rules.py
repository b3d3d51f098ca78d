"""Compute bounds and weights of a release by `staged` from its released numbers, so that a reader can repeat them.

Nothing here reads rows. Proof: mechanisms/staged.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.accounting.staged_queries import (
    BINS_PER_OCTAVE,
    ROW_NORMS,
    SCORE_BINS,
    SCORE_NORMS,
    has_score_products,
    staged_shares,
)
from discreet.design.columns import Boolean, Interaction, Numeric
from discreet.design.design import Design
from discreet.design.scales import released_columns
from discreet.errors import ReleaseFileError
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import symmetric
from discreet.releases.fields import StagedPart

_NORMAL: Final = NormalDist()
# smallest number of rows that a rule divides by
LEAST_ROWS: Final = 20.0
# what is added to the diagonal of a whitened Gram matrix, in units of a row: rare levels then do not rule the bound
_RIDGE: Final = 0.25
# variance allowed for clipped scores, in squares of what the tail model says they may have lost
ALLOWANCE: Final = 1.0
# standard deviations of noise above 0 from which bins surely, or very likely, have rows
_SURE_SDS: Final = 4.0
_LIKELY_SDS: Final = 3.0


# margin for the rounding of sums
_ROUNDED_UP: Final = 1 + 2.0**-40


# -- box ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowBox:
    """Public ranges of (1, z) and of the target less its centre, in scaled units.

    Attributes
    ----------
    low, high
        Ends of each coordinate of (1, z).
    target
        Ends of the centred target.
    longest
        Bound of the norm of (1, z), in which only one level of a factor is counted.
    starts
        First coordinate of each factor, and every coordinate that is in none.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    target: tuple[float, float]
    longest: float
    starts: tuple[int, ...]

    @property
    def span(self) -> float:
        """Largest distance of the target from its centre."""
        return max(map(abs, self.target))

    def largest_residual(self, line: Sequence[float]) -> float:
        """Return the largest residual of a line inside the box."""
        ends = np.outer(line, (1.0, 1.0)) * np.column_stack([self.low, self.high])
        # at most one level of a factor is not 0, and 0 is one end of its range
        least = float(np.minimum.reduceat(ends.min(axis=1), self.starts).sum())
        most = float(np.maximum.reduceat(ends.max(axis=1), self.starts).sum())
        return max(self.target[1] - least, most - self.target[0])

    def largest_length(self, matrix: FloatArray) -> float:
        """Return a bound of the length of a matrix times (1, z) inside the box.

        The squared length is a sum of products of two coordinates, each of which is at most its largest value over the
        corners of the box. The spectral norm gives another bound.
        """
        form = matrix.T @ matrix
        ends = np.array([self.low, self.high])
        terms = np.max([form * np.outer(one, other) for one in ends for other in ends], axis=0)
        largest = np.maximum.reduceat(np.maximum.reduceat(terms, self.starts, axis=0), self.starts, axis=1)
        # two levels of one factor have the product 0
        squares = form.diagonal() * np.square(ends).max(axis=0)
        np.fill_diagonal(largest, np.maximum.reduceat(squares, self.starts))
        spectral = self.longest * float(np.linalg.norm(matrix, 2))
        return min(spectral, math.sqrt(float(largest.sum()))) * _ROUNDED_UP


def box_of(design: Design, centres: Sequence[float], scales: Sequence[float], target_centre: float) -> RowBox:
    """Return the ranges of rows that are centred and scaled by released numbers.

    >>> box_of(Design("y", {"y": (0, 1), "x": (0, 1)}), [0.5], [0.25], 0.0).low
    (1.0, -6.0)
    """
    columns = released_columns(design, design.regressors)
    low, high = [1.0], [1.0]
    for column, centre, scale in zip(columns, centres, scales, strict=True):
        signed = isinstance(column, Numeric) or (isinstance(column, Interaction) and column.signed)
        low.append(((-1.0 if signed else 0.0) - centre) / scale)
        high.append((1.0 - centre) / scale)
    others = {place for first, last in design.factors for place in range(first + 1, last + 1)}
    starts = tuple(place for place in range(len(low)) if place not in others)
    squares = np.square([low, high]).max(axis=0)
    least = 0.0 if isinstance(design.columns[design.target], Boolean) else -1.0
    ends = (least - target_centre, 1.0 - target_centre)
    longest = math.sqrt(math.fsum(np.maximum.reduceat(squares, starts).tolist()))
    return RowBox(tuple(low), tuple(high), ends, longest, starts)


# -- histograms --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NoisyHistogram:
    """Noisy numbers of rows in bins of a positive quantity.

    Attributes
    ----------
    edges
        Ends of the bins, ascending, one more than there are bins.
    counts
        Noisy number of rows in each bin.
    sd
        Standard deviation of the noise of a count.
    """

    edges: FloatArray
    counts: FloatArray
    sd: float

    def log_quantile(self, tail: float, rows: float) -> float:
        """Return the logarithm of the value that the share `tail` of the rows exceeds."""
        beyond = np.append(np.cumsum(self.counts[::-1])[::-1], 0.0)
        falling = np.minimum.accumulate(beyond)
        wanted = tail * rows
        place = int(np.argmax(falling <= wanted)) if (falling <= wanted).any() else len(falling) - 1
        if place == 0:
            return math.log(self.edges[0])
        above, below = float(falling[place - 1]), float(falling[place])
        part = min(max((above - wanted) / (above - below), 0.0), 1.0) if above > below else 1.0
        low, high = math.log(self.edges[place - 1]), math.log(self.edges[place])
        return low + part * (high - low)

    def surely(self, sds: float) -> float:
        """Return the upper edge of the highest bin that, with those above it, surely has rows; 0 without one.

        Its noisy count is then this many standard deviations above 0.
        """
        beyond = np.cumsum(self.counts[::-1])[::-1]
        bins = np.arange(len(beyond), 0, -1)
        found = np.flatnonzero(beyond > sds * self.sd * np.sqrt(bins))
        return float(self.edges[found[-1] + 1]) if found.size else 0.0


def norm_edges(bins: int) -> list[float]:
    """Return the ends of the bins of the norms of rows.

    >>> norm_edges(4)[-1]
    2.0
    """
    return [math.pow(2.0, k / BINS_PER_OCTAVE) for k in range(bins + 1)]


def norm_histogram(counts: Sequence[int], noise: NoiseDistribution, longest: float) -> NoisyHistogram:
    """Return the histogram of norms of rows, up to the longest possible row."""
    edges = norm_edges(len(counts))
    # the last bin ends at or beyond the longest row
    used = next((k for k, edge in enumerate(edges) if edge >= longest and k > 0), len(counts))
    kept = np.array([count / noise.unit for count in counts[:used]])
    return NoisyHistogram(np.array(edges[: used + 1]), kept, noise.sd(ROW_NORMS))


def score_edges(largest: float) -> list[float]:
    """Return the ends of the bins of the norms of scores, half an octave each, down from the largest."""
    return [largest * math.pow(2.0, (k - SCORE_BINS) / 2) for k in range(SCORE_BINS + 1)]


# -- radius ------------------------------------------------------------------------------------------------------------

# part of n mu that the squared radius may be, and the share of rows that it may exceed at most
_RADIUS_PART: Final = 0.1
_RADIUS_TAIL: Final = 0.25


def radius_of(histogram: NoisyHistogram, noise: NoiseDistribution, rows: float, size: int, longest: float) -> float:
    """Return the radius of rows in the Gram matrix, which grows with the number of rows over the noise.

    It is rounded up so that the constant, divided by it, is a number of grid steps: it would otherwise be rounded by
    the same amount in every row.
    """
    quarter = math.exp(histogram.log_quantile(_RADIUS_TAIL, rows))
    grown = math.sqrt(_RADIUS_PART * rows / (noise.sd("count") * math.sqrt(2 * size)))
    radius = max(min(max(grown, quarter), max(histogram.surely(_LIKELY_SDS), quarter), longest), 1.0)
    steps = 1 << noise.grid_bits
    return steps / max(math.floor(steps / radius), 1)


def missing_part(histogram: NoisyHistogram, radius: float) -> float:
    """Return the part of the squared norms that weights take away, by the histogram; at most 1."""
    # squares of the geometric middles of the bins
    squares = histogram.edges[:-1] * histogram.edges[1:]
    used = histogram.edges[1:] <= max(histogram.surely(_SURE_SDS), radius)
    counts = np.where(used, np.maximum(histogram.counts, 0.0), 0.0)
    kept = float(counts @ np.minimum(squares, radius**2))
    lost = float(counts @ np.maximum(squares - radius**2, 0.0))
    return min(lost / kept, 1.0) if kept > 0 else 0.0


# -- whitening ---------------------------------------------------------------------------------------------------------


def whitening_of(gram: FloatArray, rows: float) -> FloatArray:
    """Return the lower triangular V with V (gram / rows + ridge) V' = 1, negative eigenvalues of the Gram set to 0."""
    values, axes = np.linalg.eigh(gram / rows)
    root = axes.T / np.sqrt(np.maximum(values, 0.0) + _RIDGE)[:, None]
    # reversed columns turn the upper triangle of a QR decomposition into a lower one
    triangle: FloatArray = np.asarray(np.linalg.qr(root[:, ::-1], mode="r"))
    upper = triangle[::-1, ::-1]
    signs = np.where(np.diag(upper) < 0, -1.0, 1.0)
    lower: FloatArray = np.tril(upper * signs[:, None])
    return lower


def largest_score(box: RowBox, whitening: FloatArray, line: Sequence[float]) -> float:
    """Return a bound of the norm of a whitened score: nothing is clipped there."""
    return max(box.largest_length(whitening) * box.largest_residual(line), 2.0**-40)


# -- pilot lines -------------------------------------------------------------------------------------------------------

_PRIORS: Final = 2.0 ** np.arange(-10.0, 6.01, 0.5)
COEFFICIENT_LIMIT: Final = 1e6
# smaller coefficients of a pilot line are 0
SMALLEST_COEFFICIENT: Final = 2.0**-100
# no entry of the whitening is larger: its spectral norm is at most 1 / sqrt(0.25); with a margin for rounding
LARGEST_WHITENING: Final = 2 * (1 + 1e-6)


def effective_mu(noise: NoiseDistribution, design: Design) -> float:
    """Return mu for one row of a score: divided by the sensitivity, which depends on the relation and the unit."""
    return 1 / (noise.sd("cross") * math.sqrt(staged_shares(design, robust=has_score_products(noise)).score))


def pilot_quantile(mu: float, rows: float) -> float:
    """Return the share of rows whose pilot score is not clipped."""
    return max(1 - max(0.05, 30 / (mu * rows)), 0.6)


def pilot_step(
    gram: FloatArray, gram_sd: float, score: FloatArray, score_sd: float, bound: float, quantile: float
) -> FloatArray:
    """Return the step of a pilot line: a posterior mean, averaged over prior variances by their likelihood."""
    size = len(score)
    values, axes = np.linalg.eigh(gram)
    values = np.maximum(values, 2 * math.sqrt(size) * gram_sd / math.sqrt(2))[:, None]
    along = (axes.T @ score)[:, None]
    s2 = (bound / (math.sqrt(size) * _NORMAL.inv_cdf((1 + quantile) / 2))) ** 2
    prior = s2 * _PRIORS[None, :]
    variance = prior * values**2 + score_sd**2 + s2 * values
    logs = -0.5 * (np.log(variance) + along**2 / variance).sum(axis=0)
    weights = np.exp(logs - logs.max())
    factors = (prior * values / variance) @ (weights / weights.sum())
    step: FloatArray = axes @ (factors * along[:, 0])
    return step


def limited_line(line: FloatArray) -> FloatArray:
    """Return a line whose coefficients are finite, and neither so large nor so small that sums with them overflow."""
    limited: FloatArray = np.clip(np.nan_to_num(line), -COEFFICIENT_LIMIT, COEFFICIENT_LIMIT)
    return np.where(np.abs(limited) < SMALLEST_COEFFICIENT, 0.0, limited)


# -- bound of the scores -----------------------------------------------------------------------------------------------

SLOPES: Final = (0.3, 1.5)
_TAILS: Final = (0.05, 0.75)
# the largest bound that costs little: this part of the sampling deviation of a score
_FREE: Final = 0.4
_BOUNDS_TRIED: Final = 13
# with a typical residual below the first number one outcome of a boolean target is rare; its scores are then at most
# about the second number times the root of the number of coefficients
_SMALL_RESIDUAL: Final = 0.3
_RARE_OUTCOME: Final = 2.0


@dataclass(frozen=True, slots=True)
class ScoreBound:
    """Bound at which whitened scores are clipped, and what the tail of their norms says about it.

    Attributes
    ----------
    bound
        Norm to which longer scores are shortened.
    lost
        Bound of the sum of what clipped scores lose, by the model of the tail.
    clipped
        Expected number of clipped rows, by the same model.
    sigma
        Rough standard deviation of the residuals, from a quantile of the norms.
    slope
        Standard deviation of the logarithm of the norms in their tail, from two quantiles, before it is limited.
    """

    bound: float
    lost: float
    clipped: float
    sigma: float
    slope: float


def score_bound(
    histogram: NoisyHistogram, noise: NoiseDistribution, design: Design, rows: float, largest: float
) -> ScoreBound:
    """Choose the bound of the scores: about a fixed number of rows is expected beyond it, fewer where that is cheap.

    The tail of the norms is extrapolated from two of its quantiles as that of a log-normal distribution. A rare outcome
    of a boolean target is not in such a tail: its rows have residuals near 1 and may be too few for the histogram.
    """
    size, sd, mu = len(design.released) - 1, noise.sd("cross"), effective_mu(noise, design)
    tail = min(max(0.01, 3 * histogram.sd * math.sqrt(8) / rows), 1 / 8)
    high, low = histogram.log_quantile(tail, rows), histogram.log_quantile(4 * tail, rows)
    at = _NORMAL.inv_cdf(1 - tail)
    spread = (high - low) / (at - _NORMAL.inv_cdf(1 - 4 * tail))
    slope = min(max(spread, SLOPES[0]), SLOPES[1])
    beyond = max(2 / mu, 0.05 * math.sqrt(rows))
    z = _NORMAL.inv_cdf(1 - min(beyond / rows, tail))
    quantile = max(math.exp(high + slope * max(z - at, 0.0)), histogram.surely(_SURE_SDS))
    shape = min(max(slope / max(z, 0.5), _TAILS[0]), _TAILS[1])
    sigma = math.exp(histogram.log_quantile(0.32, rows)) / math.sqrt(size)
    first = max(quantile, _FREE * sigma * math.sqrt(rows) / sd)
    if isinstance(design.columns[design.target], Boolean) and sigma < _SMALL_RESIDUAL:
        first = max(first, _RARE_OUTCOME * math.sqrt(size))

    def choice(bound: float) -> ScoreBound:
        if bound >= largest:
            return ScoreBound(largest, 0.0, 0.0, sigma, spread)
        clipped = beyond * (bound / quantile) ** (-1 / shape)
        return ScoreBound(bound, clipped * bound * shape / (1 - shape), clipped, sigma, spread)

    choices = [choice(first * math.pow(2.0, k / 4)) for k in range(_BOUNDS_TRIED)]
    return min(choices, key=lambda one: (one.bound * sd) ** 2 + ALLOWANCE * one.lost**2)


def square_bound_of(bound: float, size: int, largest_residual: float) -> float:
    """Return the bound to which residuals are clipped before they are squared."""
    return max(min(bound / math.sqrt(size), largest_residual), 2.0**-40)


def score_histogram(counts: Sequence[int], noise: NoiseDistribution, largest: float) -> NoisyHistogram:
    """Return the histogram of norms of whitened scores."""
    return NoisyHistogram(
        np.array(score_edges(largest)), np.array([count / noise.unit for count in counts]), noise.sd(SCORE_NORMS)
    )


# -- check -------------------------------------------------------------------------------------------------------------

# far above differences between machines in the last digits
_SAME_NUMBER: Final = 1e-6


def released_gram(part: StagedPart, noise: NoiseDistribution, totals: Sequence[int]) -> FloatArray:
    """Return the Gram matrix of (1, z): the released one in units of rows, raised by what weights take away."""
    size = len(part.line)
    sums: FloatArray = symmetric((total / noise.unit for total in totals), size + 1)[:-1, :-1]
    return sums * (part.radius**2 * (1 + part.missing))


def chosen_bound(part: StagedPart, design: Design, noise: NoiseDistribution, rows: float) -> ScoreBound:
    """Return the bound of the scores and the tail model behind it, computed again from released numbers."""
    box = box_of(design, part.centres, part.scales, part.target_centre)
    largest = largest_score(box, whitening_matrix(part), part.line)
    histogram = score_histogram(part.score_norms, noise, largest)
    return score_bound(histogram, noise, design, max(rows, LEAST_ROWS), largest)


def whitening_matrix(part: StagedPart) -> FloatArray:
    """Return the whitening matrix as an array, shape (p, p)."""
    size = len(part.line)
    return np.array([[*row, *[0.0] * (size - len(row))] for row in part.whitening])


def check_staged(
    part: StagedPart, design: Design, noise: NoiseDistribution, totals: Sequence[int], rows: float
) -> None:
    """Reject bounds and weights that are not those of the other released numbers."""
    n, size = max(rows, LEAST_ROWS), len(part.line)
    whitening = whitening_of(released_gram(part, noise, totals), n)
    if not np.allclose(whitening_matrix(part), whitening, rtol=_SAME_NUMBER, atol=_SAME_NUMBER):
        raise ReleaseFileError("staged.whitening is not that of the released products")
    box = box_of(design, part.centres, part.scales, part.target_centre)
    histogram = norm_histogram(part.norms, noise, box.longest)
    expected = {
        "radius": (part.radius, radius_of(histogram, noise, n, size, box.longest)),
        "missing": (part.missing, missing_part(histogram, part.radius)),
        "score_bound": (part.score_bound, chosen_bound(part, design, noise, n).bound),
        "residual_bound": (
            part.residual_bound, square_bound_of(part.score_bound, size, box.largest_residual(part.line)),
        ),
    }  # fmt: skip
    for name, (stated, computed) in expected.items():
        # only the missing part may be 0
        slack = _SAME_NUMBER if name == "missing" else 0.0
        if not math.isclose(stated, computed, rel_tol=_SAME_NUMBER, abs_tol=slack):
            raise ReleaseFileError(f"staged.{name} is {stated:.6g}, but the released numbers give {computed:.6g}")
