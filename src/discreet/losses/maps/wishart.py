"""Wishart noise: `wishart`, and `irls` with it. Proof: maps.proof.md."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.losses.chi_square import (
    DELTA_LOWEST,
    EPSILON_HIGHEST,
    EPSILON_LOWEST,
    best_share,
    proved_delta,
    served_epsilon,
)
from discreet.losses.composition import iteration_count, split
from discreet.losses.maps.stated import Stated
from discreet.losses.sensitivity.scores import weighted_row_shift
from discreet.losses.sensitivity.wishart import row_shift
from discreet.privacy.lattice import ROUNDING
from discreet.privacy.loss import Loss


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
