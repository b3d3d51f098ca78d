"""Release a Gram matrix and the clipped residual score of a private pilot line. Proof: staged.proof.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np

from discreet.accounting.noise_distribution import ROWS, Calibration, NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.queries import variates
from discreet.accounting.search_queries import SIZE, searched_columns, target_searched
from discreet.accounting.staged_queries import (
    BISECTIONS,
    BOOLEAN_CENTRE,
    LARGEST_SCALE,
    PILOT_BOUND,
    PILOT_COMPARISONS,
    PILOT_SCORES,
    ROW_NORMS,
    SCORE_NORMS,
    SCORE_PRODUCTS,
    SCORE_SQUARES,
    SMALLEST_SCALE,
    TARGET_MEDIAN,
    UNSEARCHED_SCALE,
    MomentSensitivities,
    earlier_queries,
    norm_bins,
    product_query,
    query_share,
    staged_queries,
    staged_shares,
)
from discreet.curator.sums.cell_counts import CELLS, ColumnCells
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.scaled_rows import RowNorms, Scaling
from discreet.curator.sums.staged_rows import ScoredRows, ScoreNorms, StagedGram, StagedScores
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError, UnsupportedError
from discreet.exact.arrays import FloatArray, IntArray
from discreet.exact.linear import entry_count, pairs, symmetric
from discreet.mechanisms.calibration import in_steps, spread_scale
from discreet.mechanisms.column_search import Counts, column_sizes, columns_found, noisy
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import ROUNDING, gaussian_mu
from discreet.releases.fields import StagedPart
from discreet.releases.staged_rules import (
    LEAST_ROWS,
    RowBox,
    box_of,
    effective_mu,
    largest_score,
    limited_line,
    missing_part,
    norm_edges,
    norm_histogram,
    pilot_quantile,
    pilot_step,
    radius_of,
    score_bound,
    score_edges,
    score_histogram,
    square_bound_of,
    whitening_of,
)

# points of the search for the bound of a pilot score, three in an octave
_PILOT_POINTS: Final = 1 << PILOT_COMPARISONS

# the exact number of rows up to a point of a grid
_CountAt: TypeAlias = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class StagedMoments:
    """Gram matrix of weighted rows, whitened score of the residuals from a pilot line, and squared residuals.

    Attributes
    ----------
    robust
        Whether part of the budget is reserved for products of scores, for robust standard errors.
    """

    robust: bool = False

    name: ClassVar[str] = "staged"
    version: ClassVar[str] = VERSION
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Least squares in stages: scales, a pilot line, and the clipped score of its residuals.",
        document="this library, from private quantiles and one whitened Newton step",
        notion="approximate",
        numerics="exact",
        references=("Balle & Wang 2018", "Dong, Roth & Su 2022"),
        domain="box",
        reads_again=True,
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        if design.radius is not None:
            raise UnsupportedError(
                "the mechanism 'staged' finds its own radius, but the design declares one",
                option="mechanism",
                remedy="leave the radius out, or use mechanism 'gaussian'",
            )
        queries = staged_queries(design, domain, robust=self.robust)

        def distribution(mu: float, calibration: Calibration) -> NoiseDistribution:
            return staged_distribution(design, domain, mu, calibration, robust=self.robust)

        mu, rule = gaussian_mu(budget, lambda mu: variates(queries, distribution(mu, "gaussian").sigma))
        return distribution(mu, rule)

    def passes(self, context: RunContext) -> Passes:
        """Make a pass each for columns, norms, Gram matrix, two pilot scores and a search between them, and scores."""
        design, noise = context.design, context.distribution
        centres, rows_before = yield from _column_stage(context)
        n = max(rows_before.many, LEAST_ROWS)
        box = box_of(design, centres.scaling.centres, centres.scaling.scales, centres.target)
        norms = yield from _norm_stage(context, centres.scaling)
        histogram = norm_histogram(norms, noise, box.longest)
        size = len(design.released) - 1
        radius = radius_of(histogram, noise, n, size, box.longest)
        missing = missing_part(histogram, radius)
        weighted = ScoredRows(context.domain, centres.scaling, centres.target, (0.0,) * size, radius)
        released, gram, line = yield from _pilots(context, weighted, n, box)
        gram = gram * (1 + missing)
        whitening = whitening_of(gram, n)
        rows = ScoredRows(
            context.domain,
            centres.scaling,
            centres.target,
            tuple(line.tolist()),
            None,
            tuple(tuple(row[: place + 1]) for place, row in enumerate(whitening.tolist())),
        )
        largest = largest_score(box, whitening, rows.line)
        score_norms = yield from _score_norm_stage(context, rows, largest)
        choice = score_bound(score_histogram(score_norms, noise, largest), noise, design, n, largest)
        square = square_bound_of(choice.bound, size, box.largest_residual(rows.line))
        sums = (yield StagedScores(rows, choice.bound, square, products=self.robust)).on_grid(noise.unit)
        scores = noisy(context, "cross", sums[:size])  # [P:staged-score-noise]
        (squares,) = noisy(context, "target_square", sums[size : size + 1])
        products = _score_products_with_noise(context, size, sums[size + 1 :]) if self.robust else ()
        part = StagedPart(
            centres=centres.scaling.centres,
            scales=centres.scaling.scales,
            target_centre=centres.target,
            norms=tuple(norms),
            radius=radius,
            missing=missing,
            line=rows.line,
            whitening=rows.whitening,
            score_norms=tuple(score_norms),
            score_bound=choice.bound,
            residual_bound=square,
            score_products=products,
        )
        scalars = {} if rows_before.released is None else {ROWS: rows_before.released}
        return NoisyMoments(_triangle(released, scores, squares), scalars, staged=part)


MECHANISM: Final = StagedMoments()


def staged_distribution(
    design: Design, domain: RowDomain, mu: float, calibration: Calibration, *, robust: bool = False
) -> NoiseDistribution:
    """Return noise under which all queries together are mu-Gaussian-private: each has its share of mu^2."""
    # [P:staged-shares]
    scaled = {query.block: spread_scale(query, query_share(query), mu) for query in earlier_queries(design)}
    shares, most = staged_shares(design, robust=robust), MomentSensitivities.of(design)
    if robust:
        products = spread_scale(product_query(design), shares.products, mu)
        scaled |= {SCORE_SQUARES: products, SCORE_PRODUCTS: products / math.sqrt(2)}
    gram, score, square = (
        sensitivity * ROUNDING / (mu * math.sqrt(share))
        for sensitivity, share in (
            (most.gram, shares.gram), (most.score, shares.score), (most.square, shares.square),
        )
    )  # fmt: skip
    off = gram / math.sqrt(2)
    moments = {
        "count": gram, "sum_x": off, "gram_diagonal": gram, "gram_off_diagonal": off,
        "sum_y": score, "cross": score, "target_square": square,
    }  # fmt: skip
    steps = {block: in_steps(block, sigma, domain) for block, sigma in (moments | scaled).items()}
    return NoiseDistribution(domain.grid_bits, steps, calibration, factors=design.factors)


@dataclass(frozen=True, slots=True)
class _RowCount:
    """Number of rows: released, on the product grid, or None where it is public; and as a number for later rules."""

    released: int | None
    many: float


@dataclass(frozen=True, slots=True)
class _Centres:
    """Scaling of the columns, and centre of the target."""

    scaling: Scaling
    target: float


def _column_stage(context: RunContext) -> Generator[Sums, Totals, tuple[_Centres, _RowCount]]:
    """Return scaling, centre of the target and number of rows, from one pass."""
    design, unit = context.design, context.distribution.unit
    searched = searched_columns(design)
    cells = (yield ColumnCells(context.domain, [*searched, len(design.released) - 1])).cells
    if cells is None:
        raise SpecError("expected counts by cell in the totals of the first pass, got none")
    exact = int(cells[-1].sum())
    rows = _RowCount(None, float(exact))
    if not design.count_public:
        (released,) = noisy(context, ROWS, [exact * unit])
        rows = _RowCount(released, released / unit)
    many = max(rows.many, LEAST_ROWS)
    size = len(design.released) - 2
    centres, scales = [0.0] * size, [UNSEARCHED_SCALE] * size
    if searched:
        found, spreads, misfits = columns_found(context, cells[:-1], exact, many)
        sizes = column_sizes(context, SIZE, cells[:-1], [round(centre * CELLS) for centre in found], many)
        sd = 4 * context.distribution.sd(SIZE) / many
        for column, centre, spread, root, misfit in zip(searched, found, spreads, sizes, misfits, strict=True):
            centres[column - 1] = centre
            # The square of `root` was lowered by one standard deviation of its noise. It is lowered by two more, as too
            # large a scale costs more than too small a one. Where the spread misfits, it is raised to what the noise
            # may hide: with too small a scale the weighted products would be far too small, and intervals wrong.
            distance = math.sqrt(max(root**2 + (sd if misfit else -2 * sd), 0.0))
            scales[column - 1] = min(max(spread, distance, SMALLEST_SCALE), LARGEST_SCALE)
    target = _median(context, cells[-1], exact) if target_searched(design) else BOOLEAN_CENTRE
    return _Centres(Scaling(tuple(centres), tuple(scales), math.inf, 1), target), rows


def _median(context: RunContext, cells: IntArray, rows: int) -> float:
    """Estimate the median of the target by noisy bisections. Return the middle of the last interval."""
    counts, parts = Counts(cells[None, :]), 1 << BISECTIONS
    step = 2 * CELLS // parts
    half = context.distribution.unit // 2
    place = _quantile_search(
        context, TARGET_MEDIAN, parts, lambda k: counts.up_to([(k + 1) * step - CELLS])[0], rows, half
    )
    return ((place + 0.5) * step - CELLS) / CELLS


def _quantile_search(context: RunContext, block: str, points: int, count_at: _CountAt, rows: int, below: int) -> int:
    """Return the index of the first point up to which a quantile of the rows lies, by noisy binary search.

    `points` is a power of two, `rows` the exact number of rows and `below` the quantile in steps of the product grid.
    Only the sum over rows of 1[value up to the point] - quantile is used, with noise.
    """
    low, high = 0, points - 1
    for _ in range(high.bit_length()):
        middle = (low + high) // 2
        (value,) = noisy(
            context, block, [count_at(middle) * context.distribution.unit - below * rows]
        )  # [P:staged-count]
        low, high = (low, middle) if value >= 0 else (middle + 1, high)
    return high


def _norm_stage(context: RunContext, scaling: Scaling) -> Generator[Sums, Totals, list[int]]:
    """Return noisy numbers of rows by norm of (1, z), from one pass."""
    inner = norm_edges(norm_bins(context.design))[1:-1]
    return _noisy_bins(context, ROW_NORMS, (yield RowNorms(context.domain, scaling, inner)))


def _score_norm_stage(context: RunContext, rows: ScoredRows, largest: float) -> Generator[Sums, Totals, list[int]]:
    """Return noisy numbers of rows by norm of their score, from one pass."""
    return _noisy_bins(context, SCORE_NORMS, (yield ScoreNorms(rows, score_edges(largest)[1:-1])))


def _noisy_bins(context: RunContext, block: str, totals: Totals) -> list[int]:
    """Return noisy numbers of rows in bins, from exact numbers up to their inner ends and of all rows."""
    up_to = totals.on_grid(context.distribution.unit)
    exact = [after - before for before, after in zip((0, *up_to[:-1]), up_to, strict=True)]  # [P:bins]
    return noisy(context, block, exact)


def _pilots(
    context: RunContext, rows: ScoredRows, n: float, box: RowBox
) -> Generator[Sums, Totals, tuple[list[int], FloatArray, FloatArray]]:
    """Return the noisy Gram matrix, as integers and in units of (1, z), and the line of two pilot scores."""
    design, noise, radius = context.design, context.distribution, rows.radius or 1.0
    size = rows.size
    thresholds = [box.span * radius * math.pow(2.0, (k + 1 - _PILOT_POINTS) / 3) for k in range(_PILOT_POINTS)]
    quantile = pilot_quantile(effective_mu(noise, design), n)
    below = round(quantile * noise.unit)
    line = np.zeros(size)
    released: list[int] = []
    gram = np.zeros((size, size))
    gram_sd = noise.sd("count") * radius**2
    for block in PILOT_SCORES:
        at = ScoredRows(rows.domain, rows.scaling, rows.centre, tuple(line.tolist()), rows.radius)
        if released:
            *counts, many = (yield ScoreNorms(at, thresholds)).values
        else:
            exact = (yield StagedGram(at, radius, thresholds)).on_grid(noise.unit)
            released = _products_with_noise(context, exact[: entry_count(size)])
            gram = symmetric((total / noise.unit for total in released), size) * radius**2
            *counts, many = (count // noise.unit for count in exact[entry_count(size) :])
        bound = thresholds[_quantile_search(context, PILOT_BOUND, _PILOT_POINTS, counts.__getitem__, many, below)]
        score = noisy(context, block, list((yield StagedScores(at, bound)).on_grid(noise.unit)))
        vector = np.array([total / noise.unit for total in score]) * bound
        line = limited_line(line + pilot_step(gram, gram_sd, vector, noise.sd(block) * bound, bound, quantile))
    return released, gram, line


def _products_with_noise(context: RunContext, exact: Sequence[int]) -> list[int]:
    """Return the noisy upper triangle of the products, without noise where a product is 0 in every row."""
    size = len(context.design.released) - 1
    scales = _gram_steps(context.distribution, size)
    noise = context.sampler.draw(scales)
    return [total + variate for total, variate in zip(exact, noise, strict=True)]  # [P:staged-gram-noise]


def _score_products_with_noise(context: RunContext, size: int, exact: Sequence[int]) -> tuple[int, ...]:
    """Return the noisy upper triangle of the products of scores."""
    sigma = context.distribution.sigma
    scales = [sigma[SCORE_SQUARES if i == j else SCORE_PRODUCTS] for i, j in pairs(size)]
    noise = context.sampler.draw(scales)
    return tuple(total + variate for total, variate in zip(exact, noise, strict=True))  # [P:score-product-noise]


def _gram_steps(noise: NoiseDistribution, size: int) -> list[int]:
    """Return the scales of the products of (1, z): those of all moments without the last column."""
    steps = noise.steps(size + 1)
    # row i of the triangle of all moments begins with its diagonal entry and ends with the target
    out: list[int] = []
    start = 0
    for width in range(size + 1, 1, -1):
        out += steps[start : start + width - 1]
        start += width
    return out


def _triangle(gram: Sequence[int], scores: Sequence[int], square: int) -> tuple[int, ...]:
    """Return the upper triangle of all moments, row by row, from products, scores and the square."""
    out: list[int] = []
    start, size = 0, len(scores)
    for place, score in enumerate(scores):
        out += [*gram[start : start + size - place], score]
        start += size - place
    return (*out, square)
