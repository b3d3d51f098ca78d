"""Account for mechanisms that release scores or weighted products in several passes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
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
from discreet.accounting.moments import (
    JOINT,
    Blocks,
    L1Geometry,
    gaussian_loss,
    gram_weight,
    l1_sensitivity,
    weighted_loss,
)
from discreet.accounting.noise_distribution import Calibration
from discreet.accounting.privacy_loss import Stated, concentrated_delta, iteration_count, split
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.lattice import ROUNDING
from discreet.privacy.spend import Loss, pure_mu

# -- scores ------------------------------------------------------------------------------------------------------------
# How far one unit moves sums that depend on residuals: scores and weighted products. Proof: irls.proof.md.

# covers the rounding of a few double operations
_ROUNDING: Final = 1 + 2**-44
# what an entry off the diagonal weighs: the square root of 2, rounded up
OFF_WEIGHT: Final = math.nextafter(math.sqrt(2), 2.0)


def row_norm(domain: RowDomain, *, intercept: bool) -> float:
    """Largest norm of (1, x), or of x without intercept, in scaled units, rounded up.

    >>> row_norm(RowDomain(3, 0, 0, None, False, 16), intercept=True)
    2.0000000000001137
    """
    return math.sqrt(norm2(domain) + intercept) * _ROUNDING


def score_sensitivity(domain: RowDomain, unit: PrivacyUnit, *, intercept: bool) -> float:
    """Largest Euclidean length of a change of a sum of scores between neighbouring tables, in scaled units."""
    apart = 1.0 if unit.neighbours == "add-remove" else 2.0
    return row_norm(domain, intercept=intercept) * apart * unit.max_rows  # [P:score-sensitivity]


def coordinate_sensitivity(unit: PrivacyUnit) -> int:
    """Largest change of any one coordinate of a sum of scores between neighbouring tables, in scaled units.

    >>> coordinate_sensitivity(PrivacyUnit(neighbours="replace"))
    2
    """
    return unit.max_rows * (1 if unit.neighbours == "add-remove" else 2)  # [P:coordinate-sensitivity]


def weighted_gram_sensitivity(domain: RowDomain, unit: PrivacyUnit, *, intercept: bool) -> tuple[float, float]:
    """Largest changes of weighted products between neighbouring tables, in scaled units, each by itself.

    Of the products of (1, x) with itself, as a Frobenius norm, and of those with y, as a Euclidean length.
    """
    length, rows = row_norm(domain, intercept=intercept), unit.max_rows
    gram, cross = length**2 * rows * _ROUNDING, length * rows
    if unit.neighbours == "replace":
        gram, cross = gram * math.sqrt(2), cross * 2  # [P:weighted-pieces]
    return gram, cross


def joint_part(gram: float, cross: float) -> float:
    """How much two parts of mu^2 are together, at most, where one row is replaced and each is counted at its maximum.

    With the two maxima of the Gram and of the products with y that no pair of rows reaches at once: the largest value
    of gram (1 - k^2) + cross (1 + k) / 2 over the cosine k.

    >>> joint_part(0.5, 0.5) <= 0.79, joint_part(0.0, 1.0) >= 1.0
    (True, True)
    """
    cosine = min(1.0, cross / (4 * gram)) if gram > 0 else 1.0
    return gram * (1 - cosine**2) + cross * (1 + cosine) / 2  # [P:parabola-maximum]


def gram_sensitivity(design: Design, domain: RowDomain) -> float:
    """Largest change of the Gram of (1, x), or of x without intercept, as a Frobenius norm, in scaled units."""
    constant = 1.0 if design.intercept else 0.0
    loss = weighted_loss(  # [P:gram-sensitivity]
        domain,
        design.unit.neighbours,
        Blocks(count=constant, sum_x=2 * constant, gram=1.0, sum_y=0.0, cross=0.0, target_square=0.0),
        count_public=design.count_public,
        rows_per_unit=design.unit.max_rows,
    )
    return math.sqrt(loss)


def gram_l1_sensitivity(design: Design, domain: RowDomain) -> float:
    """Largest L1 change of the upper triangle of the Gram of (1, x), entries off the diagonal weighed with sqrt(2)."""
    constant = 1.0 if design.intercept else 0.0
    weights = {
        "count": constant,
        "sum_x": OFF_WEIGHT * constant,
        "gram_diagonal": 1.0,
        "gram_off_diagonal": OFF_WEIGHT,
    }
    return l1_sensitivity(design, domain, weights)  # [P:gram-l1]


def score_l1_sensitivity(design: Design, domain: RowDomain) -> float:
    """Largest L1 change of a sum of scores between neighbouring tables, in scaled units, rounded up.

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
    """Largest squared length of a weighted row (1, x, y) whose columns are divided by their scales in grid steps."""
    unit2 = domain.unit**2
    return Fraction(unit2 + domain.norm2_bound, row**2) + Fraction(unit2, target**2)  # [P:weighted-shift]


# -- wishart -----------------------------------------------------------------------------------------------------------
# Wishart noise: `wishart`, and `irls` with it. Proof: maps.proof.md.


def all_moments(stated: Stated) -> Loss:
    """Map of `wishart`: all moments."""
    stated.check("wishart", ("chi-square",), stated.moments_blocks(), ["degrees"])
    if stated.design.count_public and not stated.flag("debiased"):
        raise SpecError("got debiased = false with a public number of rows, which this mechanism refuses")
    sigma = stated.law.sigma
    x = math.isqrt(sigma["gram_diagonal"])
    c, y = sigma["sum_x"] // x, sigma["cross"] // x
    _check_products(stated, {
        "count": 0 if stated.design.count_public else c * c, "sum_x": c * x, "gram_diagonal": x * x,
        "gram_off_diagonal": x * x, "sum_y": c * y, "cross": x * y, "target_square": y * y,
    })  # fmt: skip
    delta = _delta(stated, row_shift(stated.domain, c, x, y), stated.epsilon)
    return Loss.approximate(stated.epsilon, min(up(delta), 1 - 2**-20))


def weighted_moments(stated: Stated) -> Loss:
    """Map of `irls` with Wishart noise: weighted moments in every iteration."""
    stated.check(
        "wishart", ("composed",), ["gram_diagonal", "gram_off_diagonal", "cross", "target_square"], ["degrees"]
    )
    stated.word("form", ("moment",))
    rule = "advanced" if stated.word("composition", ("exact", "basic", "advanced")) == "advanced" else "basic"
    sigma = stated.law.sigma
    row = math.isqrt(sigma["gram_diagonal"])
    target = sigma["cross"] // row
    _check_products(stated, {
        "gram_diagonal": row * row, "gram_off_diagonal": row * row, "cross": row * target,
        "target_square": target * target,
    })  # fmt: skip
    stated.integer("iterations", 0, 1000)
    passes = iteration_count(stated.settings)
    if not stated.delta > 0:
        raise SpecError("Wishart noise needs delta above 0")
    each, _ = split(rule, stated.epsilon, stated.delta, passes)
    delta = up(_delta(stated, weighted_row_shift(stated.domain, row, target), each)) * passes * ROUNDING
    if rule == "advanced":
        delta += stated.delta / 2  # [P:forward-passes]
    return Loss.approximate(stated.epsilon, min(delta, 1 - 2**-20))


def _delta(stated: Stated, shift: Fraction, epsilon: float) -> Decimal:
    """Delta at epsilon of one Wishart matrix, proved from above."""
    unit, degrees = stated.design.unit, stated.law.parameters["degrees"] - stated.size + 1
    if unit.max_rows > 1:
        raise SpecError("the loss of Wishart noise is proved for one row of each person")
    if degrees < 3 or stated.law.parameters["degrees"] > 4_000_000:
        raise SpecError("the degrees of freedom of the noise are not those of this mechanism")
    if not (EPSILON_LOWEST <= epsilon <= EPSILON_HIGHEST and stated.delta >= DELTA_LOWEST):
        raise SpecError("Wishart noise is not proved for so small an epsilon or delta, or so large an epsilon")
    exchanged = unit.neighbours == "replace"
    served = served_epsilon(epsilon, exchanged=exchanged)
    share = best_share(degrees, float(shift), served, exchanged=exchanged)
    return max(proved_delta(degrees, shift, served, share, exchanged=exchanged), Decimal(0))  # [P:forward-wishart]


def _check_products(stated: Stated, wanted: dict[str, int]) -> None:
    """The scales of the entries are products of scales of columns."""
    if dict(stated.law.sigma) != wanted:
        raise SpecError("the scales of the noise are not products of scales of columns, which Wishart noise has")


# -- iterative ---------------------------------------------------------------------------------------------------------
# Mechanisms that go over the table in several passes: `gradient`, `irls`, `frank-wolfe`. Proof: maps.proof.md.

MOMENTUM: Final = "momentum_per_mille"
_GRAM: Final = ("gram_diagonal", "gram_off_diagonal")
_ADDED_UP: Final[tuple[Calibration, ...]] = (*JOINT, "composed")
_SCORE_ROUNDING: Final = 1 + Fraction(1, 2**44)


def gradient(stated: Stated) -> Loss:
    """Map of `gradient`: the number of rows unless it is public, and a sum of scores for each step."""
    design, sigma = stated.design, stated.law.sigma
    counted = () if design.count_public else ("count",)
    stated.check("discrete-gaussian", JOINT, [*counted, "score"], [MOMENTUM] if stated.flag("momentum") else [])
    steps = stated.integer("iterations", 1, 1000)
    square = (
        steps * stated.over(score_sensitivity(stated.domain, design.unit, intercept=design.intercept), "score") ** 2
    )
    variates = [(steps * stated.fitted, sigma["score"])]
    if counted:
        square += stated.over(Fraction(design.unit.max_rows), "count") ** 2
        variates.append((1, sigma["count"]))
    return gaussian_loss(stated, square, variates)  # [P:forward-steps]


def irls(stated: Stated) -> Loss:
    """Map of `irls`, whatever the form and the noise."""
    noise = stated.word("noise", ("auto", "gaussian", "laplace", "wishart"))
    stated.integer("iterations", 0, 1000)
    form = stated.word("form", ("score", "moment"))
    if noise == "wishart":
        return weighted_moments(stated)
    if noise == "laplace" or (noise == "auto" and stated.law.family == "discrete-laplace"):
        return _pure_scores(stated)
    return _scores(stated) if form == "score" else _weighted(stated)


def _scores(stated: Stated) -> Loss:
    design, sigma, passes = stated.design, stated.law.sigma, iteration_count(stated.settings)
    stated.check("discrete-gaussian", _ADDED_UP, [*_GRAM, "score"])
    gram = Fraction(gram_sensitivity(design, stated.domain)) ** 2 * gram_weight(stated, *_GRAM, columns=stated.fitted)
    score = score_sensitivity(stated.domain, design.unit, intercept=design.intercept)
    square = gram + passes * stated.over(score, "score") ** 2
    return gaussian_loss(stated, square, [*_gram_variates(stated, 1), (passes * stated.fitted, sigma["score"])])


def _weighted(stated: Stated) -> Loss:
    design, sigma, passes = stated.design, stated.law.sigma, iteration_count(stated.settings)
    stated.check("discrete-gaussian", _ADDED_UP, [*_GRAM, "cross"])
    of_gram, of_cross = weighted_gram_sensitivity(stated.domain, design.unit, intercept=design.intercept)
    gram = Fraction(of_gram) ** 2 * gram_weight(stated, *_GRAM, columns=stated.fitted)
    cross = stated.over(of_cross, "cross") ** 2
    if design.unit.neighbours == "replace":
        each = Fraction(joint_part(up(gram), up(cross))) * _SCORE_ROUNDING  # [P:forward-weighted]
    else:
        each = gram + cross
    return gaussian_loss(
        stated, passes * each, [*_gram_variates(stated, passes), (passes * stated.fitted, sigma["cross"])]
    )


def _gram_variates(stated: Stated, passes: int) -> list[tuple[int, int]]:
    size, sigma = stated.fitted, stated.law.sigma
    return [
        (passes * size, sigma["gram_diagonal"]),
        (passes * size * (size - 1) // 2, sigma["gram_off_diagonal"]),
    ]


def _pure_scores(stated: Stated) -> Loss:
    stated.check("discrete-laplace", ("pure",), [*_GRAM, "score"])
    stated.word("form", ("score",))
    passes = iteration_count(stated.settings, pure=True)
    weight = max(1 / stated.scale("gram_diagonal"), 1 / (Fraction(OFF_WEIGHT) * stated.scale("gram_off_diagonal")))
    epsilon = Fraction(gram_l1_sensitivity(stated.design, stated.domain)) * weight
    epsilon += passes * stated.over(score_l1_sensitivity(stated.design, stated.domain), "score")
    return Loss.pure(up(epsilon))  # [P:forward-pure-scores]


def frank_wolfe(stated: Stated) -> Loss:
    """Map of `frank-wolfe`: one choice by the exponential mechanism in each pass."""
    stated.check("discrete-laplace", ("pure", "composed"), ["selection"], ["iterations"])
    passes = stated.integer("iterations", 1, 1000)
    if stated.law.parameters["iterations"] != passes:
        raise SpecError(f"expected {passes} choices as in the settings, got {stated.law.parameters['iterations']}")
    each = 2 * stated.over(Fraction(coordinate_sensitivity(stated.design.unit)), "selection")
    rho = up(passes * each**2 / 8)
    mu = root_up(passes * Fraction(pure_mu(up(each))) ** 2)
    if stated.law.calibration == "pure":
        return Loss(up(passes * each), 0.0, mu, rho)
    delta = min(concentrated_delta(stated.epsilon, rho), 1 - 2**-20)
    return Loss(stated.epsilon, delta, mu, rho)  # [P:forward-choices]
