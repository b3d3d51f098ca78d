"""How far one unit moves sums that depend on residuals: scores and weighted products. Proof: irls.proof.md."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.design.domain import RowDomain, norm2
from discreet.design.model import Design
from discreet.losses.sensitivity.l1_sensitivity import L1Geometry, l1_sensitivity
from discreet.losses.sensitivity.l2_sensitivity import Blocks, weighted_loss
from discreet.privacy.unit import PrivacyUnit

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
