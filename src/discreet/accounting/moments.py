"""Compute the sensitivities of moments and of the statistics released with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.accounting.noise_distribution import BLOCKS
from discreet.design.columns import Categorical, Column, Interaction, SplineBasis
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.design.formula_syntax import Spline
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import MARGIN
from discreet.privacy.budget import Neighbours

# -- l1 sensitivity ----------------------------------------------------------------------------------------------------
# Sensitivity of the moments of (1, x, y) in a weighted L1 norm, in scaled units. Proof: l1_sensitivity.proof.md.
#
# The *weighted L1 sensitivity* is the largest value, over neighbouring tables, of
#
#     sum over entries i <= j of  w_block(i, j) * | change of entry (i, j) |.
#
# With w = 1 / scale, it is the epsilon of a release with independent Laplace noise. It is computed in exact fractions
# and rounded up to a double. Only a bound for a ball under `replace` is computed in doubles, with a rounding margin.

# number of cells in the search for a ball
_CELLS: Final = 4096
_ZERO: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Group:
    """Indicators of a factor, or columns of a spline or interaction, whose absolute values sum to about 1 in each row.

    Attributes
    ----------
    total
        Largest sum of absolute values of the columns in one row, after rounding to the grid.
    active
        Number of nonzero columns in one row.
    wide
        Number of columns that are nonzero in at least one of two rows.
    """

    total: Fraction
    active: int
    wide: int


@dataclass(frozen=True, slots=True)
class L1Geometry:
    """Publicly known set of possible encoded rows, which determines the L1 sensitivity.

    Attributes
    ----------
    numeric, nonnegative
        Number of regressors with range [-1, 1] and number with range [0, 1]. Both exclude regressors in groups.
    groups
        One-hot factors, splines and interactions.
    columns
        Number of released regressor columns.
    norm2
        Largest squared norm of x, after rounding to the grid.
    ball
        Bound on the sum of absolute values of x that follows from `norm2`, after rounding to the grid.
    target_nonnegative
        Whether y lies in [0, 1] rather than [-1, 1].

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool, "g": ["a", "b", "c"]}, radius=1.0)
    >>> geometry = L1Geometry.of(design, RowDomain.of(design))
    >>> geometry.box, round(float(geometry.ball), 3)
    (Fraction(3, 1), 1.732)
    """

    numeric: int
    nonnegative: int
    groups: tuple[Group, ...]
    columns: int
    norm2: Fraction
    ball: Fraction
    target_nonnegative: bool

    @classmethod
    def of(cls, design: Design, domain: RowDomain) -> L1Geometry:
        """Build the geometry from a design."""
        regressors = [design.columns[name] for name in design.regressors]
        groups = tuple(_group(c, domain) for c in regressors if isinstance(c, SplineBasis) or _several(c))
        numeric, nonnegative = domain.numeric, domain.boolean
        nonzero = numeric + nonnegative + sum(group.active for group in groups)
        return cls(
            numeric=numeric,
            nonnegative=nonnegative,
            groups=groups,
            columns=len(design.released) - 2,
            norm2=Fraction(domain.norm2_bound, domain.unit**2),
            ball=Fraction(math.isqrt(nonzero * domain.norm2_bound), domain.unit),  # [P:ball-bound]
            target_nonnegative=domain.target_nonnegative,
        )

    @property
    def free(self) -> int:
        """Number of regressors that are in no group."""
        return self.numeric + self.nonnegative

    @property
    def grouped(self) -> Fraction:
        """Largest sum of absolute values in one row over the columns of all groups."""
        return sum((group.total for group in self.groups), _ZERO)

    @property
    def box(self) -> Fraction:
        """Largest sum of absolute values of x when the bound on its norm is ignored."""
        return self.free + self.grouped

    @property
    def nonzero(self) -> int:
        """Largest number of nonzero regressors in one row."""
        return self.free + sum(group.active for group in self.groups)


def l1_sensitivity(design: Design, domain: RowDomain, weights: Mapping[str, float | Fraction]) -> float:
    """Return an upper bound on the weighted L1 sensitivity of the upper triangle of moments.

    Blocks missing from `weights` have weight 0.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1)})
    >>> l1_sensitivity(design, RowDomain.of(design), dict.fromkeys(BLOCKS, 1.0))
    10.0
    """
    geometry = L1Geometry.of(design, domain)
    w: dict[str, Fraction] = {block: Fraction(weights.get(block, 0.0)) for block in BLOCKS}
    if geometry.columns == 1:
        w["gram_off_diagonal"] = _ZERO
    one_row = add_remove(geometry, w)
    if design.unit.neighbours == "replace":
        exchanged = replaced(geometry, w)
        one_row = exchanged if design.count_public else max(exchanged, one_row)  # [P:absent-row]
    return _next_above(one_row * design.unit.max_rows)  # [P:l1-rows-of-a-unit]


def add_remove(geometry: L1Geometry, w: Mapping[str, Fraction]) -> Fraction:
    """Return the largest weighted change of the moments when one row is added or removed.

    Without splines and without a bound on the norm, a row in a corner of the box attains it.
    """
    off, skew = w["gram_off_diagonal"], w["gram_diagonal"] - w["gram_off_diagonal"] / 2
    constant = w["count"] + w["sum_y"] + w["target_square"]

    def value(s: Fraction, q: Fraction) -> Fraction:
        return constant + (w["sum_x"] + w["cross"]) * s + off / 2 * s * s + skew * q

    s = min(geometry.box, geometry.ball)
    if skew >= 0:
        return value(s, geometry.norm2)  # [P:heavy-diagonal]
    least = geometry.free + sum((group.total**2 / group.active for group in geometry.groups), _ZERO)
    return min(value(geometry.box, least), value(s, s * s / geometry.nonzero))  # [P:light-diagonal]


def replaced(geometry: L1Geometry, w: Mapping[str, Fraction]) -> Fraction:
    """Return the smallest of three upper bounds on the weighted change of the moments when one row is replaced."""
    twice = 2 * (add_remove(geometry, w) - w["count"])  # [P:two-rows]
    bounds = [twice, _replaced_in_box(geometry, w)]
    if geometry.ball < geometry.box:
        bounds.append(Fraction(_replaced_in_ball(geometry, {block: float(weight) for block, weight in w.items()})))
    return min(bounds)


def _replaced_in_box(geometry: L1Geometry, w: Mapping[str, Fraction]) -> Fraction:
    """Bound the weighted change when a row in the box is replaced.

    The bound is a maximum over P = sum |x_j - z_j| outside groups and T = |y - t|, with the groups at their maximum.
    """
    free, grouped = geometry.free, geometry.grouped
    off, skew = w["gram_off_diagonal"], w["gram_diagonal"] - w["gram_off_diagonal"] / 2
    squares = sum((1 if skew >= 0 else group.total**2 / group.active for group in geometry.groups), _ZERO)
    groups = 2 * grouped * (w["sum_x"] + off * free + w["cross"]) + off * grouped**2 + 2 * skew * squares
    # coefficient of P (2 free - P) that the diagonal contributes: all of `skew` if there is only one column
    uneven = skew if free == 1 else max(skew, _ZERO) / max(free, 1)
    bend = off / 2 + uneven
    return groups + _largest_on_rectangle(  # [P:group-entries]
        pp=-bend,
        tt=-w["target_square"],
        pt=-w["cross"],
        p=w["sum_x"] + 2 * free * bend + w["cross"],
        t=w["sum_y"] + free * w["cross"] + 2 * w["target_square"],
        high=(Fraction(2 * geometry.numeric + geometry.nonnegative), _widest_target(geometry)),
    )


def _widest_target(geometry: L1Geometry) -> Fraction:
    return Fraction(1 if geometry.target_nonnegative else 2)


def _largest_on_rectangle(
    *, pp: Fraction, tt: Fraction, pt: Fraction, p: Fraction, t: Fraction, high: tuple[Fraction, Fraction]
) -> Fraction:
    """Return the exact maximum of the quadratic pp P^2 + tt T^2 + pt P T + p P + t T over a rectangle.

    The rectangle is 0 <= P <= high[0], 0 <= T <= high[1], and pp, tt <= 0.
    """
    candidates = set(itertools.product((_ZERO, high[0]), (_ZERO, high[1])))
    if pp:
        candidates |= {(_within(-(p + pt * side) / (2 * pp), high[0]), side) for side in (_ZERO, high[1])}
    if tt:
        candidates |= {(side, _within(-(t + pt * side) / (2 * tt), high[1])) for side in (_ZERO, high[0])}
    determinant = 4 * pp * tt - pt * pt
    if determinant > 0:
        inner = (pt * t - 2 * tt * p) / determinant, (pt * p - 2 * pp * t) / determinant
        candidates.add((_within(inner[0], high[0]), _within(inner[1], high[1])))  # [P:rectangle-maximum]
    return max(pp * P * P + tt * T * T + pt * P * T + p * P + t * T for P, T in candidates)


def _within(value: Fraction, high: Fraction) -> Fraction:
    return min(max(value, _ZERO), high)


def _replaced_in_ball(geometry: L1Geometry, w: Mapping[str, float]) -> float:
    """Return an upper bound on the weighted L1 change when a row in a ball is replaced.

    The range of P = sum |x_j - z_j| is divided into intervals, and the result is the largest bound of any interval. In
    each of them, P^2 + Q^2 <= 4 m |x|^2 bounds Q = sum |x_j + z_j|.
    """
    wide = geometry.free + sum(group.wide for group in geometry.groups)
    sensitivity2 = 4 * wide * float(geometry.norm2) * MARGIN
    most = 2 * float(min(geometry.ball, geometry.box)) * MARGIN
    together = 2 * float(geometry.free + 2 * geometry.grouped) * MARGIN
    low, up = np.linspace(0, most, _CELLS + 1)[:-1], np.linspace(0, most, _CELLS + 1)[1:]
    # [P:ball-cells]
    plus = np.minimum(np.minimum(most, together - low), np.sqrt(np.maximum(sensitivity2 - low * low, 0)))
    skew = max(w["gram_diagonal"] - w["gram_off_diagonal"] / 2, 0.0)
    squares = min(2 * float(geometry.norm2), geometry.free + 2.0 * len(geometry.groups))
    slope = w["sum_y"] + 2 * w["target_square"] + w["cross"] / 2 * (plus - up)
    high = float(_widest_target(geometry))
    # maximum of a concave parabola on [0, high]: at an end, or at its vertex if that lies inside
    target = np.maximum(0, high * slope - high * high * w["target_square"])
    if w["target_square"] > 0:
        top = np.clip(slope / (2 * w["target_square"]), 0, high)
        target = np.maximum(target, slope * top - w["target_square"] * top * top)
    value = (w["sum_x"] + w["cross"]) * up + w["gram_off_diagonal"] / 2 * up * plus + skew * squares + target
    return float(value.max()) * MARGIN


def _several(column: Column) -> bool:
    return isinstance(column, Categorical | Interaction) and len(column.released("")) > 1


def _group(column: Column, domain: RowDomain) -> Group:
    if isinstance(column, SplineBasis) and isinstance(column.formula.tree, Spline):
        active = column.formula.tree.degree + 1
        total = 1 + Fraction(active // 2, domain.unit)  # [P:spline-sum]
        return Group(total, active, min(2 * active, column.formula.width))
    return Group(Fraction(1), 1, 2)


def _next_above(exact: Fraction) -> float:
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


# -- l2 sensitivity ----------------------------------------------------------------------------------------------------
# L2 sensitivity of the moments of (1, x, y), in scaled units. Proof: l2_sensitivity.proof.md.
#
# A *weighted loss* is the largest value, over neighbouring tables, of
#
#     sum over blocks k of  w_k * || change of block k ||^2,
#
# with the svec (Frobenius) norm for the Gram block. With w_k = 1 / sigma_k^2, it is mu^2 of the joint Gaussian release.

# relative accuracy of branch and bound under `replace`, for calibration and for the privacy loss
GAP: Final = 1e-4
CLOSE: Final = 1e-6
# weight of an off-diagonal Gram entry in an L1 norm: sqrt(2), rounded up
OFF_WEIGHT: Final = math.nextafter(math.sqrt(2), 2.0)
_MAX_CELLS = 400_000


@dataclass(frozen=True, slots=True)
class Blocks:
    """One number for each block of the moments of (1, x, y)."""

    count: float
    sum_x: float
    gram: float
    sum_y: float
    cross: float
    target_square: float


def block_maxima(domain: RowDomain, neighbours: Neighbours) -> Blocks:
    """Return an upper bound on the norm of the change of each block, considered separately.

    These bounds only determine how the noise is divided among blocks. The guarantee rests on `weighted_loss`.

    >>> block_maxima(RowDomain(1, 0, 0, None, False, 16), "add-remove").gram
    1.0
    """
    r2 = norm2(domain)
    r = r2**0.5
    if neighbours == "add-remove":
        return Blocks(1.0, r, r2, 1.0, r, 1.0)
    return Blocks(1.0, 2 * r, 2**0.5 * r2, 1.0 if domain.target_nonnegative else 2.0, 2 * r, 1.0)


def weighted_loss(
    domain: RowDomain,
    neighbours: Neighbours,
    weights: Blocks,
    *,
    count_public: bool,
    rows_per_unit: int = 1,
    close: float = GAP,
    copied: int = 0,
) -> float:
    """Return an upper bound on the weighted squared change of the moments between neighbouring tables.

    Parameters
    ----------
    count_public
        Whether the number of rows is public. If not, a replaced row may be missing from one table (dropped for a
        missing cell, or because a person has fewer rows), so that replacing can also mean adding or removing.
    rows_per_unit
        Maximum number of rows per person.
    close
        Relative accuracy of the maximum under `replace`.
    copied
        Number of indicator blocks whose squares equal their sums and are therefore not released. Under `replace` the
        bound still includes the squares.
    """
    if neighbours == "add-remove":
        loss = add_remove_loss(domain, weights, copied)
    elif count_public:
        loss = replace_loss(domain, weights, close)
    else:
        loss = max(replace_loss(domain, weights, close), add_remove_loss(domain, weights, copied))
    return loss * rows_per_unit**2 * MARGIN  # [P:rows-of-a-unit]


def add_remove_loss(domain: RowDomain, w: Blocks, copied: int = 0) -> float:
    """Return the largest weighted squared change of the moments when one row is added or removed.

    A corner row attains the maximum of every block at once.

    >>> ones = Blocks(1, 1, 1, 1, 1, 1)
    >>> round(add_remove_loss(RowDomain(2, 0, 0, None, False, 16), ones), 9)
    11.0
    >>> round(add_remove_loss(RowDomain(1, 1, 0, None, False, 16), ones, copied=1), 9)
    10.0
    """
    r2 = norm2(domain)
    gram = r2 * r2 - copied  # [P:copied-row]
    # [P:added-row]
    return (w.count + w.sum_x * r2 + w.gram * gram + w.sum_y + w.cross * r2 + w.target_square) * MARGIN


def replace_loss(domain: RowDomain, w: Blocks, close: float = GAP) -> float:
    """Return an upper bound on the weighted squared change when one row is replaced, found by branch and bound.

    No pair of rows attains the maxima of all blocks at once. The change depends on two rows (x, y) and (z, t) only
    through a = |x|^2, b = |z|^2, c = x.z and the targets. The proof reduces the search to a rectangle of values of c
    and one target. Its cells are split until the upper and lower bounds on the maximum are close.
    """
    r2 = norm2(domain)
    low_c = -min(float(domain.numeric + domain.signed_blocks), r2)
    low_y = 0.0 if domain.target_nonnegative else -1.0
    cells = _split(np.array([[low_c, r2, low_y, 1.0]]), times=4)
    attained = decided = 0.0
    while True:
        upper = _upper(domain, r2, w, cells)
        attained = max(attained, float(_lower(domain, r2, w, cells).max()))
        undecided = upper > attained * (1 + close)
        # cells that are not split again still contribute to the bound
        decided = max(decided, float(upper[~undecided].max(initial=0.0)))
        cells = cells[undecided]
        if cells.shape[0] == 0:
            return decided * MARGIN
        if cells.shape[0] * 4 > _MAX_CELLS:
            return max(decided, float(upper.max())) * MARGIN  # [P:replace-search]
        cells = _split(cells, times=1)


def _norm2_beside(domain: RowDomain, r2: float, c: FloatArray) -> FloatArray:
    """Return the largest possible b = |z|^2, given a = |x|^2 = r2 and x.z = c."""
    if domain.numeric + domain.boolean == 1 and domain.blocks + domain.signed_blocks == 0:
        return c * c / r2  # [P:single-column]
    sensitivity = 3.0 * (domain.numeric + domain.signed_blocks) + domain.boolean + 2.0 * domain.blocks
    return np.minimum(r2, sensitivity + c - r2)  # [P:largest-partner]


def _upper(domain: RowDomain, r2: float, w: Blocks, cells: FloatArray) -> FloatArray:
    c0, c1, t0, t1 = cells.T
    b = np.maximum(_norm2_beside(domain, r2, c0), _norm2_beside(domain, r2, c1))
    least_c2 = np.where(c0 * c1 <= 0, 0.0, np.minimum(c0 * c0, c1 * c1))
    least_t2 = np.where(t0 * t1 <= 0, 0.0, np.minimum(t0 * t0, t1 * t1))
    most_t2 = np.maximum(t0 * t0, t1 * t1)
    least_ct = np.minimum.reduce([c0 * t0, c0 * t1, c1 * t0, c1 * t1])
    cross = r2 + b * most_t2 - 2 * least_ct
    return _terms(w, r2 + b - 2 * c0, r2 * r2 + b * b - 2 * least_c2, (1 - t0) ** 2, cross, (1 - least_t2) ** 2)


def _lower(domain: RowDomain, r2: float, w: Blocks, cells: FloatArray) -> FloatArray:
    c = (cells[:, 0] + cells[:, 1]) / 2
    t = (cells[:, 2] + cells[:, 3]) / 2
    # maxima are often at corners of cells, so evaluate there too
    best = _value(domain, r2, w, c, t)
    for corner_c, corner_t in ((0, 2), (0, 3), (1, 2), (1, 3)):
        best = np.maximum(best, _value(domain, r2, w, cells[:, corner_c], cells[:, corner_t]))
    return best


def _value(domain: RowDomain, r2: float, w: Blocks, c: FloatArray, t: FloatArray) -> FloatArray:
    b = _norm2_beside(domain, r2, c)
    cross = r2 + b * t * t - 2 * c * t
    return _terms(w, r2 + b - 2 * c, r2 * r2 + b * b - 2 * c * c, (1 - t) ** 2, cross, (1 - t * t) ** 2)


def _terms(
    w: Blocks, sum_x: FloatArray, gram: FloatArray, sum_y: FloatArray, cross: FloatArray, target_square: FloatArray
) -> FloatArray:
    return w.sum_x * sum_x + w.gram * gram + w.sum_y * sum_y + w.cross * cross + w.target_square * target_square


def _split(cells: FloatArray, *, times: int) -> FloatArray:
    for _ in range(times):
        c0, c1, t0, t1 = cells.T
        c, t = (c0 + c1) / 2, (t0 + t1) / 2
        quarters = ((c0, c, t0, t), (c, c1, t0, t), (c0, c, t, t1), (c, c1, t, t1))
        cells = np.concatenate([np.stack(quarter, axis=1) for quarter in quarters])
    return cells


# -- residuals ---------------------------------------------------------------------------------------------------------
# Sensitivity of sums over residuals. Proof: residual_sums.proof.md.


def residual_sensitivity(domain: RowDomain, neighbours: Neighbours) -> float:
    """Return the Frobenius sensitivity of the sum of v v' over people, in scaled units and rounded up.

    Each person contributes a single vector v, regardless of the person's number of rows.
    """
    row_norm = 1.0 + norm2(domain)
    return row_norm * (1.0 if neighbours == "add-remove" else 2**0.5) * MARGIN  # [P:residual-sensitivity]


def ratio_sensitivity() -> float:
    """Return the sensitivity of the sum for robust R^2 intervals, in scaled units and rounded up.

    It is the same under both neighbouring relations.
    """
    return 1.0 * MARGIN  # [P:ratio-sensitivity]


# -- clips -------------------------------------------------------------------------------------------------------------
# Sensitivity of clip counts. Proof: clip_counts.proof.md.


def clips_l1_sensitivity(design: Design) -> int:
    """Return the joint L1 sensitivity of the numbers of clipped rows in all columns."""
    return len(design.clippable) * design.unit.max_rows  # [P:clip-l1-sensitivity]


def clips_l2_sensitivity(design: Design) -> float:
    """Return the joint L2 sensitivity of the numbers of clipped rows in all columns."""
    return math.sqrt(len(design.clippable)) * design.unit.max_rows  # [P:clip-sensitivity]


# -- eigenvalue --------------------------------------------------------------------------------------------------------
# Sensitivity of the smallest eigenvalue of X'X. Proof: adassp.proof.md.


def eigenvalue_sensitivity(design: Design, domain: RowDomain) -> float:
    """Return the sensitivity of the smallest eigenvalue of X'X, in scaled units."""
    row_norm = norm2(domain) + (1.0 if design.needs_sums else 0.0)
    return row_norm * design.unit.max_rows  # [P:eigenvalue-sensitivity]
