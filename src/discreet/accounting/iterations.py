"""List the queries of iterative mechanisms and of Wishart noise, and compute their privacy loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.accounting.chi_square import (
    DELTA_LOWEST,
    EPSILON_HIGHEST,
    EPSILON_LOWEST,
    best_share,
    proved_delta,
    row_shift,
    served_epsilon,
)
from discreet.accounting.moments import OFF_WEIGHT, Blocks, L1Geometry, l1_sensitivity, weighted_loss
from discreet.accounting.noise_distribution import JOINT, Calibration
from discreet.accounting.privacy_loss import Stated, concentrated_delta, iteration_count, split
from discreet.accounting.queries import (
    NOTHING_KEPT,
    Account,
    BlockScales,
    GramQuery,
    MomentsQuery,
    Query,
    SeparateQuery,
    VectorQuery,
    blocks_of,
)
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import SpecError
from discreet.exact.linear import entry_count
from discreet.exact.rounding import MARGIN, root_up, up
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.lattice import ROUNDING
from discreet.privacy.spend import Loss, pure_mu

# -- scores ------------------------------------------------------------------------------------------------------------
# Sensitivity of sums of scores and of weighted products. Proof: irls.proof.md.


def row_norm(domain: RowDomain, *, intercept: bool) -> float:
    """Return the largest norm of (1, x), or of x if there is no intercept, in scaled units and rounded up."""
    return math.sqrt(norm2(domain) + intercept) * MARGIN


def score_sensitivity(domain: RowDomain, unit: PrivacyUnit, *, intercept: bool) -> float:
    """Return the L2 sensitivity of a sum of scores, in scaled units."""
    apart = 1.0 if unit.neighbours == "add-remove" else 2.0
    return row_norm(domain, intercept=intercept) * apart * unit.max_rows  # [P:score-sensitivity]


def coordinate_sensitivity(unit: PrivacyUnit) -> int:
    """Return the sensitivity of one coordinate of a sum of scores, in scaled units."""
    return unit.max_rows * (1 if unit.neighbours == "add-remove" else 2)  # [P:coordinate-sensitivity]


def weighted_gram_sensitivity(domain: RowDomain, unit: PrivacyUnit, *, intercept: bool) -> tuple[float, float]:
    """Return the sensitivities of the weighted matrix X'WX and of the vector X'Wy, in scaled units.

    X has rows (1, x), or x without intercept. The first sensitivity is in the Frobenius norm, the second in the
    Euclidean norm.
    """
    length, rows = row_norm(domain, intercept=intercept), unit.max_rows
    gram, cross = length**2 * rows * MARGIN, length * rows
    if unit.neighbours == "replace":
        gram, cross = gram * math.sqrt(2), cross * 2  # [P:weighted-pieces]
    return gram, cross


def joint_part(gram: float, cross: float) -> float:
    """Return the most that a Gram matrix and the products with y can jointly add to mu^2 under `replace`.

    `gram` and `cross` are their separate maxima, which no pair of rows attains at once. The result is the maximum of
    gram (1 - k^2) + cross (1 + k) / 2 over the cosine k.
    """
    cosine = min(1.0, cross / (4 * gram)) if gram > 0 else 1.0
    return gram * (1 - cosine**2) + cross * (1 + cosine) / 2  # [P:parabola-maximum]


def gram_sensitivity(design: Design, domain: RowDomain) -> float:
    """Return the Frobenius sensitivity of X'X in scaled units. X includes the constant if there is an intercept."""
    return _gram_sensitivity(domain, design.unit, intercept=design.intercept, count_public=design.count_public)


@lru_cache(maxsize=64)
def _gram_sensitivity(domain: RowDomain, unit: PrivacyUnit, *, intercept: bool, count_public: bool) -> float:
    # cached because the search under `replace` is slow
    constant = 1.0 if intercept else 0.0
    loss = weighted_loss(  # [P:gram-sensitivity]
        domain,
        unit.neighbours,
        Blocks(count=constant, sum_x=2 * constant, gram=1.0, sum_y=0.0, cross=0.0, target_square=0.0),
        count_public=count_public,
        rows_per_unit=unit.max_rows,
    )
    return math.sqrt(loss)


def gram_l1_sensitivity(design: Design, domain: RowDomain) -> float:
    """Return the L1 sensitivity of the upper triangle of X'X, with weight sqrt(2) on off-diagonal entries."""
    constant = 1.0 if design.intercept else 0.0
    weights = {
        "count": constant,
        "sum_x": OFF_WEIGHT * constant,
        "gram_diagonal": 1.0,
        "gram_off_diagonal": OFF_WEIGHT,
    }
    return l1_sensitivity(design, domain, weights)  # [P:gram-l1]


def score_l1_sensitivity(design: Design, domain: RowDomain) -> float:
    """Return the L1 sensitivity of a sum of scores, in scaled units and rounded up.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)}, unit={"neighbours": "replace"})
    >>> score_l1_sensitivity(design, RowDomain.of(design))
    6.0
    """
    geometry = L1Geometry.of(design, domain)
    longest = min(geometry.box, geometry.ball) + (1 if design.intercept else 0)
    apart = 1 if design.unit.neighbours == "add-remove" else 2
    exact = longest * apart * design.unit.max_rows  # [P:score-l1]
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


def weighted_row_shift(domain: RowDomain, row: int, target: int) -> Fraction:
    """Return the largest squared norm of a weighted row (1, x, y) whose columns are divided by their scales.

    `row` is the scale of (1, x) and `target` that of y, both in grid steps.
    """
    unit2 = domain.unit**2
    return Fraction(unit2 + domain.norm2_bound, row**2) + Fraction(unit2, target**2)  # [P:weighted-shift]


# -- wishart -----------------------------------------------------------------------------------------------------------
# Wishart noise in `wishart` and `irls`. Proof: maps.proof.md.


def wishart(stated: Stated) -> Account:
    """Return the privacy account of `wishart`, which adds a Wishart matrix to the matrix of moments."""
    query = MomentsQuery(stated.design, stated.domain)
    stated.check_count()
    stated.check("wishart", ("chi-square",), query.blocks, ["degrees"])
    if stated.design.count_public and not stated.flag("debiased"):
        raise SpecError("the mechanism 'wishart' with a public number of rows needs debiased = true, got false")
    return _WishartAccount(stated, [query])


class _WishartAccount(Account):
    """Account of one Wishart matrix that is added to all moments."""

    def loss(self) -> Loss:
        stated, sigma = self.stated, self.stated.distribution.sigma
        x = math.isqrt(sigma["gram_diagonal"])
        c, y = sigma["sum_x"] // x, sigma["cross"] // x
        _check_products(stated, {
            "count": 0 if stated.design.count_public else c * c, "sum_x": c * x, "gram_diagonal": x * x,
            "gram_off_diagonal": x * x, "sum_y": c * y, "cross": x * y, "target_square": y * y,
        })  # fmt: skip
        delta = _delta(stated, row_shift(stated.domain, c, x, y), stated.epsilon)
        return Loss.approximate(stated.epsilon, min(up(delta), NOTHING_KEPT))


def wishart_products(stated: Stated) -> Account:
    """Return the privacy account of `irls` with Wishart noise.

    The mechanism releases the weighted products of (1, x, y) in every pass.
    """
    columns = stated.size - 1
    query = SeparateQuery({
        "gram_diagonal": columns, "gram_off_diagonal": entry_count(columns) - columns, "cross": columns,
        "target_square": 1,
    })  # fmt: skip
    stated.check("wishart", ("composed",), query.blocks, ["degrees"])
    stated.word("form", ("moment",))
    stated.word("composition", ("exact", "basic", "advanced"))
    stated.integer("iterations", 0, 1000)
    if not stated.delta > 0:
        raise SpecError("Wishart noise needs delta above 0, got delta = 0")
    return _WishartPassesAccount(stated, [query])


class _WishartPassesAccount(Account):
    """Account of one Wishart matrix in each pass, composed by the rule chosen in the settings."""

    def loss(self) -> Loss:
        stated, sigma = self.stated, self.stated.distribution.sigma
        rule = "advanced" if stated.settings["composition"] == "advanced" else "basic"
        row = math.isqrt(sigma["gram_diagonal"])
        target = sigma["cross"] // row
        _check_products(stated, {
            "gram_diagonal": row * row, "gram_off_diagonal": row * row, "cross": row * target,
            "target_square": target * target,
        })  # fmt: skip
        passes = iteration_count(stated.settings)
        each, _ = split(rule, stated.epsilon, stated.delta, passes)
        delta = up(_delta(stated, weighted_row_shift(stated.domain, row, target), each)) * passes * ROUNDING
        if rule == "advanced":
            delta += stated.delta / 2  # [P:forward-passes]
        return Loss.approximate(stated.epsilon, min(delta, NOTHING_KEPT))


# range in which chi_square.proof.md bounds delta
_MOST_DEGREES: Final = 100_000
_LARGEST_SHIFT: Final = 10**9


def _delta(stated: Stated, shift: Fraction, epsilon: float) -> Decimal:
    """Return a proved upper bound on delta at epsilon for one Wishart matrix."""
    unit, degrees = stated.design.unit, stated.distribution.parameters["degrees"] - stated.size + 1
    if unit.max_rows > 1:
        raise SpecError(f"Wishart noise is proved only for one row per person, got max_rows = {unit.max_rows}")
    if degrees < 3 or stated.distribution.parameters["degrees"] > _MOST_DEGREES:
        raise SpecError(
            f"expected at least {stated.size + 2} and at most {_MOST_DEGREES:,} degrees of freedom, got "
            f"{stated.distribution.parameters['degrees']}"
        )
    if not (EPSILON_LOWEST <= epsilon <= EPSILON_HIGHEST and stated.delta >= DELTA_LOWEST):
        raise SpecError(
            f"Wishart noise needs epsilon from {EPSILON_LOWEST:g} to {EPSILON_HIGHEST:g} and delta of at least "
            f"{DELTA_LOWEST:g}; got epsilon = {epsilon:g} and delta = {stated.delta:g}"
        )
    exchanged = unit.neighbours == "replace"
    return Decimal(1) if shift > _LARGEST_SHIFT else _proved(degrees, shift, epsilon, exchanged=exchanged)


def _proved(degrees: int, shift: Fraction, epsilon: float, *, exchanged: bool) -> Decimal:
    """Return the bound on delta for a shift that is in the range of the proof."""
    served = served_epsilon(epsilon, exchanged=exchanged)
    share = best_share(degrees, float(shift), served, exchanged=exchanged)
    return max(proved_delta(degrees, shift, served, share, exchanged=exchanged), Decimal(0))  # [P:forward-wishart]


def _check_products(stated: Stated, products: dict[str, int]) -> None:
    """Check that the noise scale of every block is a product of two column scales."""
    if dict(stated.distribution.sigma) != products:
        raise SpecError("every scale of Wishart noise must be a product of two column scales")


# -- iterative ---------------------------------------------------------------------------------------------------------
# `gradient`, `irls` and `frank-wolfe`, which make several passes over the table. Proof: maps.proof.md.

MOMENTUM: Final = "momentum_per_mille"
_GRAM: Final = ("gram_diagonal", "gram_off_diagonal")
_ADDED_UP: Final[tuple[Calibration, ...]] = (*JOINT, "composed")


def fitted_columns(design: Design) -> int:
    """Return the number of fitted columns, including the constant if the design has an intercept."""
    return len(design.released) - (1 if design.intercept else 2)


def gradient_queries(design: Design, domain: RowDomain, iterations: int) -> list[VectorQuery]:
    """List the queries of `gradient`: the sum of scores in each step, and the number of rows unless it is public."""
    sensitivity = score_sensitivity(domain, design.unit, intercept=design.intercept)
    score = VectorQuery("score", fitted_columns(design), sensitivity, times=iterations)
    if design.count_public:  # [P:count-piece]
        return [score]
    return [VectorQuery("count", 1, float(design.unit.max_rows)), score]  # [P:forward-steps]


def gradient(stated: Stated) -> Account:
    """Return the privacy account of `gradient`."""
    parameters = [MOMENTUM] if stated.flag("momentum") else []
    queries = gradient_queries(stated.design, stated.domain, stated.integer("iterations", 1, 1000))
    stated.check("discrete-gaussian", JOINT, blocks_of(queries), parameters)
    return Account(stated, queries)


def score_queries(design: Design, domain: RowDomain, passes: int) -> tuple[GramQuery, VectorQuery]:
    """List the queries of the score form of `irls`: one Gram matrix, and the sum of scores in each pass."""
    columns = fitted_columns(design)
    score = score_sensitivity(domain, design.unit, intercept=design.intercept)
    return (
        GramQuery(*_GRAM, columns, gram_sensitivity(design, domain)),
        VectorQuery("score", columns, score, times=passes),
    )


def pure_score_queries(design: Design, domain: RowDomain, passes: int) -> tuple[GramQuery, VectorQuery]:
    """List the queries of the score form of `irls` for Laplace noise, with their L1 sensitivities."""
    gram, score = score_queries(design, domain, passes)
    return (
        replace(gram, l1_sensitivity=gram_l1_sensitivity(design, domain)),
        replace(score, l1_sensitivity=score_l1_sensitivity(design, domain)),
    )  # [P:forward-pure-scores]


@dataclass(frozen=True, slots=True)
class WeightedProductsQuery:
    """The weighted products X'WX and X'Wy that the moment form of `irls` releases in every pass.

    Attributes
    ----------
    gram, cross
        Query for each kind of product, with its own sensitivity.
    replaced
        Whether the neighbouring relation is `replace`. Then no pair of rows attains both sensitivities at once.
    """

    gram: GramQuery
    cross: VectorQuery
    replaced: bool

    @classmethod
    def of(cls, design: Design, domain: RowDomain, passes: int) -> WeightedProductsQuery:
        """Build the query from public quantities."""
        columns = fitted_columns(design)
        gram, cross = weighted_gram_sensitivity(domain, design.unit, intercept=design.intercept)
        return cls(
            GramQuery(*_GRAM, columns, gram, times=passes),
            VectorQuery("cross", columns, cross, times=passes),
            design.unit.neighbours == "replace",
        )

    @property
    def blocks(self) -> dict[str, int]:
        """Number of noisy entries by block."""
        return {**self.gram.blocks, **self.cross.blocks}

    @property
    def labels(self) -> dict[str, str]:
        """Description of the entries by block."""
        return {**self.gram.labels, **self.cross.labels}

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2 of all passes."""
        passes = self.cross.times
        gram, cross = (replace(part, times=1).squared_loss(scales) for part in (self.gram, self.cross))
        if self.replaced:
            return passes * (Fraction(joint_part(up(gram), up(cross))) * Fraction(MARGIN))  # [P:forward-weighted]
        return passes * (gram + cross)

    def pure_loss(self, scales: BlockScales) -> Fraction:
        """Raise an error, because the moment form does not support Laplace noise."""
        raise SpecError("weighted products need Gaussian or Wishart noise, got Laplace noise")


def irls(stated: Stated) -> Account:
    """Return the privacy account of `irls`, in either form and with any noise family."""
    noise = stated.word("noise", ("auto", "gaussian", "laplace", "wishart"))
    stated.integer("iterations", 0, 1000)
    form = stated.word("form", ("score", "moment"))
    if noise == "wishart":
        return wishart_products(stated)
    design, domain = stated.design, stated.domain
    if noise == "laplace" or (noise == "auto" and stated.distribution.family == "discrete-laplace"):
        scores = pure_score_queries(design, domain, iteration_count(stated.settings, pure=True))
        stated.check("discrete-laplace", ("pure",), blocks_of(scores))
        stated.word("form", ("score",))
        return Account(stated, scores)
    passes = iteration_count(stated.settings)
    queries: Sequence[Query] = (
        score_queries(design, domain, passes) if form == "score" else [WeightedProductsQuery.of(design, domain, passes)]
    )
    stated.check("discrete-gaussian", _ADDED_UP, blocks_of(queries))
    return Account(stated, queries)


def choices_query(design: Design, passes: int) -> VectorQuery:
    """Return the query for the selections of `frank-wolfe`. Each of them costs epsilon = 2 * sensitivity / scale."""
    moved = 2 * coordinate_sensitivity(design.unit)
    return VectorQuery("selection", 1, float(moved), moved, times=passes)


def frank_wolfe(stated: Stated) -> Account:
    """Return the privacy account of `frank-wolfe`."""
    passes = stated.integer("iterations", 1, 1000)
    query = choices_query(stated.design, passes)
    stated.check("discrete-laplace", ("pure", "composed"), query.blocks, ["iterations"])
    if stated.distribution.parameters["iterations"] != passes:
        raise SpecError(
            f"expected noise for {passes} iterations, as in the settings, got "
            f"{stated.distribution.parameters['iterations']}"
        )
    return _ChoicesAccount(stated, [query])


class _ChoicesAccount(Account):
    """Account of selections by the exponential mechanism, composed either by adding epsilon or by zCDP."""

    def loss(self) -> Loss:
        stated, scales = self.stated, self.stated.scales
        total = sum((query.pure_loss(scales) for query in self.queries), Fraction(0))
        passes = stated.distribution.parameters["iterations"]
        each = total / passes
        rho = up(passes * each**2 / 8)
        mu = root_up(passes * Fraction(pure_mu(up(each))) ** 2)
        if stated.distribution.calibration == "pure":
            return Loss(up(total), 0.0, mu, rho)
        delta = min(concentrated_delta(stated.epsilon, rho), NOTHING_KEPT)
        return Loss(stated.epsilon, delta, mu, rho)  # [P:forward-choices]
