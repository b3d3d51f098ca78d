"""List the queries of `staged`, with their sensitivities and shares of mu^2. Proof: mechanisms/staged.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting.noise_distribution import JOINT, ROWS, NoiseDistribution
from discreet.accounting.privacy_loss import Stated
from discreet.accounting.queries import (
    Account,
    BlockScales,
    GramQuery,
    MomentsQuery,
    Query,
    VectorQuery,
    blocks_of,
    gram_weight,
    rows_query,
)
from discreet.accounting.search_queries import SIZE, search_query, searched_columns, target_searched
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.rounding import MARGIN

# bisections of the target's range, for its centre
TARGET_MEDIAN: Final = "target_median"
BISECTIONS: Final = 6
# numbers of rows by norm of (1, z)
ROW_NORMS: Final = "row_norms"
# comparisons in the searches for the bounds of both pilot scores, and these scores
PILOT_BOUND: Final = "pilot_bound"
PILOT_COMPARISONS: Final = 5
PILOT_SCORES: Final = ("first_pilot", "second_pilot")
# numbers of rows by norm of their whitened score
SCORE_NORMS: Final = "score_norms"
SCORE_BINS: Final = 40
# products of two entries of the whitened score, for robust standard errors
SCORE_SQUARES: Final = "score_diagonal"
SCORE_PRODUCTS: Final = "score_off_diagonal"
# a bin of norms of rows is this part of an octave
BINS_PER_OCTAVE: Final = 4
# smallest scale of a searched column, and the scale of all others, in scaled units
SMALLEST_SCALE: Final = 1 / 64
UNSEARCHED_SCALE: Final = 1 / 2
# largest scale of a searched column: no value is farther from its centre
LARGEST_SCALE: Final = 2.0
# centre of a boolean target, which is not searched
BOOLEAN_CENTRE: Final = 0.5

# shares of mu^2; the sum of scores gets the rest, with the shares that a design does not use
_SHARES: Final[Mapping[str, float]] = {
    ROWS: 0.005, "centre": 0.035, "spread": 0.012, "zoomed_centre": 0.02, "zoomed_spread": 0.012, SIZE: 0.02,
    TARGET_MEDIAN: 0.01, ROW_NORMS: 0.015, PILOT_BOUND: 0.01, PILOT_SCORES[0]: 0.04, PILOT_SCORES[1]: 0.06,
    SCORE_NORMS: 0.04,
}  # fmt: skip
_GRAM_SHARE: Final = 0.25
# with more coefficients than this the Gram matrix gets the larger share
_MANY_COEFFICIENTS: Final = 12
_LARGE_GRAM_SHARE: Final = 0.4
_SQUARE_SHARE: Final = 0.03
_PRODUCT_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class StagedShares:
    """Shares of mu^2 of the Gram matrix, of the sums of scores, squared residuals and products of scores."""

    gram: float
    score: float
    square: float
    products: float


def norm_bins(design: Design) -> int:
    """Return the number of bins that hold every norm of (1, z), whatever centres and scales are released.

    >>> norm_bins(Design("y", {"y": (0, 1), "x": (0, 1)}))
    29
    """
    searched, columns = len(searched_columns(design)), len(design.released) - 2
    # a searched column is at most two scaled units from its centre
    longest = 1 + searched * (2 / SMALLEST_SCALE) ** 2 + (columns - searched) / UNSEARCHED_SCALE**2
    return max(math.ceil(BINS_PER_OCTAVE * math.log2(longest) / 2), 1)


def staged_queries(design: Design, domain: RowDomain, *, robust: bool = False) -> list[Query]:
    """List the queries of `staged`: moments first, then what is released before them, then products of scores."""
    queries: list[Query] = [StagedMomentsQuery(design, domain), *earlier_queries(design)]
    return [*queries, product_query(design)] if robust else queries


def product_query(design: Design) -> GramQuery:
    """Return the query for the products of whitened scores, for robust standard errors."""
    return GramQuery(
        SCORE_SQUARES,
        SCORE_PRODUCTS,
        columns=len(design.released) - 1,
        sensitivity=MomentSensitivities.of(design).gram,  # [P:score-products]
        label=("squares of the whitened residual score", "products of entries of the whitened residual score"),
    )


def earlier_queries(design: Design) -> list[VectorQuery]:
    """List the queries that are released before the moments."""
    rows, replaced = design.unit.max_rows, design.unit.neighbours == "replace"
    searched, coefficients = len(searched_columns(design)), len(design.released) - 1
    one_bin = (math.sqrt(2) if replaced else 1.0) * MARGIN * rows  # [P:one-bin]
    score = (2.0 if replaced else 1.0) * rows  # [P:pilot-scores]
    queries: list[VectorQuery] = []
    queries += [] if design.count_public else [rows_query(design)]  # [P:staged-rows]
    if searched:
        grids = ("centre", "spread", "zoomed_centre", "zoomed_spread")
        queries += [search_query(design, grid, searched) for grid in grids]
        label = "squared distances of regressors from their centres"
        queries.append(
            VectorQuery(SIZE, searched, math.sqrt(searched) * MARGIN * rows, label=label)
        )  # [P:staged-sizes]
    if target_searched(design):
        half = 1.0 if replaced else 0.5  # [P:bisection]
        label = "comparisons in the search for the median of the target"
        queries.append(VectorQuery(TARGET_MEDIAN, 1, half * rows, times=BISECTIONS, label=label))
    queries += [
        VectorQuery(ROW_NORMS, norm_bins(design), one_bin, label="numbers of rows by norm"),
        VectorQuery(
            PILOT_BOUND,
            1,
            float(rows),  # [P:pilot-bound]
            times=len(PILOT_SCORES) * PILOT_COMPARISONS,
            label="comparisons in the searches for bounds of the pilot scores",
        ),
    ]
    queries += [
        VectorQuery(block, coefficients, score, label=f"{block.replace('_', ' ')} score") for block in PILOT_SCORES
    ]
    return [*queries, VectorQuery(SCORE_NORMS, SCORE_BINS, one_bin, label="numbers of rows by norm of the score")]


def staged_shares(design: Design, *, robust: bool = False) -> StagedShares:
    """Return the shares of mu^2 of what is released last; they and the other shares add up to 1.

    >>> staged_shares(Design("y", {"y": (0, 1), "x": (0, 1)}), robust=True)
    StagedShares(gram=0.25, score=0.341, square=0.03, products=0.1)
    """
    gram = _LARGE_GRAM_SHARE if len(design.released) - 1 > _MANY_COEFFICIENTS else _GRAM_SHARE
    products = _PRODUCT_SHARE if robust else 0.0
    used = math.fsum(query_share(query) for query in earlier_queries(design))
    return StagedShares(gram, round(1 - gram - _SQUARE_SHARE - products - used, 12), _SQUARE_SHARE, products)


def query_share(query: VectorQuery) -> float:
    """Return the share of mu^2 of a query that is released before the moments."""
    return _SHARES[query.block]


@dataclass(frozen=True, slots=True)
class MomentSensitivities:
    """Largest changes of the three kinds of moments between neighbouring tables, in scaled units.

    `gram` is a Frobenius norm, `score` a Euclidean length.
    """

    gram: float
    score: float
    square: float

    @classmethod
    def of(cls, design: Design) -> MomentSensitivities:
        """Return the sensitivities under the neighbouring relation of a design."""
        rows, replaced = design.unit.max_rows, design.unit.neighbours == "replace"
        # [P:staged-moments]
        return cls((math.sqrt(2) if replaced else 1.0) * MARGIN * rows, (2.0 if replaced else 1.0) * rows, float(rows))


@dataclass(frozen=True, slots=True)
class StagedMomentsQuery(MomentsQuery):
    """Gram matrix of weighted rows, sum of clipped whitened scores, and sum of clipped squared residuals.

    Each is in units of its bound. Products of two levels of one factor are 0 in every row and have no noise.
    """

    @property
    def factors(self) -> tuple[tuple[int, int], ...]:
        """First and last column of every factor whose products with each other have no noise."""
        return self.design.factors

    @property
    def labels(self) -> dict[str, str]:
        """Description of the entries by block."""
        return {
            "count": "sum of squared weights",
            "sum_x": "weighted sums of regressors",
            "gram_diagonal": "weighted squares of regressors",
            "gram_off_diagonal": "weighted products of regressors",
            "sum_y": "first entry of the whitened residual score",
            "cross": "other entries of the whitened residual score",
            "target_square": "squared residuals",
        }

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2: the losses of the three kinds of moments, each kind of entry at its least scale."""
        most = MomentSensitivities.of(self.design)
        gram = gram_weight(
            min(scales["count"], scales["gram_diagonal"]),
            min(scales["sum_x"], scales["gram_off_diagonal"]),
            columns=self.columns + 1,
        )
        score = Fraction(most.score) / min(scales["sum_y"], scales["cross"])
        square = Fraction(most.square) / scales["target_square"]
        return gram * Fraction(most.gram) ** 2 + score**2 + square**2  # [P:forward-staged]


def staged(stated: Stated) -> Account:
    """Account for `staged`: searches, histograms, pilot scores, three kinds of moments, and products of scores."""
    queries = staged_queries(stated.design, stated.domain, robust=has_score_products(stated.distribution))
    stated.check("discrete-gaussian", JOINT, blocks_of(queries), factors=stated.design.factors)
    if stated.distribution.sigma["count"] == 0:
        raise SpecError("expected noise on the sum of squared weights, got none")
    return Account(stated, queries)


def is_staged(distribution: NoiseDistribution) -> bool:
    """Return whether the noise is that of a release by `staged`."""
    return SCORE_NORMS in distribution.sigma


def has_score_products(distribution: NoiseDistribution) -> bool:
    """Return whether the noise is that of a release by `staged` with robust standard errors."""
    return SCORE_SQUARES in distribution.sigma or SCORE_PRODUCTS in distribution.sigma
