"""How far one unit can move the moments of (1, x, y) in a weighted L1 norm: proved in l1_sensitivity.proof.md.

Everything is in scaled units. The *weighted L1 sensitivity* is the largest value, over neighbouring tables, of

    sum over entries i <= j of  w_block(i, j) * | change of entry (i, j) |.

With w = 1 / scale it is epsilon of a release with independent Laplace noise. It is computed in exact fractions and
given as the next double above; only a bound for a ball under `replace` is in doubles, with a margin for rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.design.columns import Categorical, Column, SplineBasis
from discreet.design.domain import RowDomain
from discreet.design.formulas.tree import Spline
from discreet.design.interactions import Interaction
from discreet.design.model import Design
from discreet.losses.law import BLOCKS

# covers the rounding of some tens of double operations, each relative 2**-53
_ROUNDING: Final = 1 + 2**-44
# cells into which the search for a ball is split
_CELLS: Final = 4096
_ZERO: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Group:
    """A block of several columns: one-hot, of a spline, or of an interaction; their sizes sum to about 1.

    Attributes
    ----------
    total
        Largest sum of the absolute values of the columns of one row, after rounding to the grid.
    active
        How many of them are nonzero in one row.
    wide
        How many of them are nonzero in one of two rows.
    """

    total: Fraction
    active: int
    wide: int


@dataclass(frozen=True, slots=True)
class L1Geometry:
    """What the L1 sensitivity depends on: the public set of encoded rows, with so many released columns of regressors.

    Groups are one-hot blocks, splines and interactions.

    Attributes
    ----------
    numeric, nonnegative
        How many regressors lie in [-1, 1], and how many in [0, 1] without being part of a group.
    norm2
        Largest squared norm of x, after rounding to the grid.
    ball
        Largest sum of absolute values that the norm allows, after rounding to the grid.
    target_nonnegative
        Whether y lies in [0, 1] rather than [-1, 1].

    Examples
    --------
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
        """The geometry that a design declares."""
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
        """How many regressors are not part of a group."""
        return self.numeric + self.nonnegative

    @property
    def grouped(self) -> Fraction:
        """Largest sum of the columns of all groups."""
        return sum((group.total for group in self.groups), _ZERO)

    @property
    def box(self) -> Fraction:
        """Largest sum of absolute values of x, the ball left aside."""
        return self.free + self.grouped

    @property
    def nonzero(self) -> int:
        """How many regressors of a row can be nonzero together."""
        return self.free + sum(group.active for group in self.groups)


def l1_sensitivity(design: Design, domain: RowDomain, weights: Mapping[str, float | Fraction]) -> float:
    """Largest weighted L1 change of the upper triangle between neighbouring tables, from above.

    Parameters
    ----------
    design
        Gives the columns, the neighbouring relation, and how many rows of one person count.
    domain
        Public geometry of a row of this design.
    weights
        For each block its weight; a block that is not named has weight 0.

    Examples
    --------
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
    """Largest weighted change when one row is added or removed; attained by a corner row of a box without splines."""
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
    """Largest weighted change when one row is replaced by another: the least of three upper bounds."""
    twice = 2 * (add_remove(geometry, w) - w["count"])  # [P:two-rows]
    bounds = [twice, _replaced_in_box(geometry, w)]
    if geometry.ball < geometry.box:
        bounds.append(Fraction(_replaced_in_ball(geometry, {block: float(weight) for block, weight in w.items()})))
    return min(bounds)


def _replaced_in_box(geometry: L1Geometry, w: Mapping[str, Fraction]) -> Fraction:
    """The maximum over P = sum |x_j - z_j| outside groups and T = |y - t|, with the groups at their most."""
    free, grouped = geometry.free, geometry.grouped
    off, skew = w["gram_off_diagonal"], w["gram_diagonal"] - w["gram_off_diagonal"] / 2
    squares = sum((1 if skew >= 0 else group.total**2 / group.active for group in geometry.groups), _ZERO)
    groups = 2 * grouped * (w["sum_x"] + off * free + w["cross"]) + off * grouped**2 + 2 * skew * squares
    # how much of P (2 free - P) the diagonal takes: all of it for a single column
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
    """Exact maximum of pp P^2 + tt T^2 + pt P T + p P + t T over 0 <= P <= high[0], 0 <= T <= high[1]; pp, tt <= 0."""
    indices = set(itertools.product((_ZERO, high[0]), (_ZERO, high[1])))
    if pp:
        indices |= {(_within(-(p + pt * side) / (2 * pp), high[0]), side) for side in (_ZERO, high[1])}
    if tt:
        indices |= {(side, _within(-(t + pt * side) / (2 * tt), high[1])) for side in (_ZERO, high[0])}
    determinant = 4 * pp * tt - pt * pt
    if determinant > 0:
        inner = (pt * t - 2 * tt * p) / determinant, (pt * p - 2 * pp * t) / determinant
        indices.add((_within(inner[0], high[0]), _within(inner[1], high[1])))  # [P:rectangle-maximum]
    return max(pp * P * P + tt * T * T + pt * P * T + p * P + t * T for P, T in indices)


def _within(value: Fraction, high: Fraction) -> Fraction:
    return min(max(value, _ZERO), high)


def _replaced_in_ball(geometry: L1Geometry, w: Mapping[str, float]) -> float:
    """An upper bound from P^2 + Q^2 <= 4 m |x|^2, P = sum |x_j - z_j|, Q = sum |x_j + z_j|, by cells of P."""
    wide = geometry.free + sum(group.wide for group in geometry.groups)
    sensitivity2 = 4 * wide * float(geometry.norm2) * _ROUNDING
    most = 2 * float(min(geometry.ball, geometry.box)) * _ROUNDING
    together = 2 * float(geometry.free + 2 * geometry.grouped) * _ROUNDING
    low, up = np.linspace(0, most, _CELLS + 1)[:-1], np.linspace(0, most, _CELLS + 1)[1:]
    # [P:ball-cells]
    plus = np.minimum(np.minimum(most, together - low), np.sqrt(np.maximum(sensitivity2 - low * low, 0)))
    skew = max(w["gram_diagonal"] - w["gram_off_diagonal"] / 2, 0.0)
    squares = min(2 * float(geometry.norm2), geometry.free + 2.0 * len(geometry.groups))
    slope = w["sum_y"] + 2 * w["target_square"] + w["cross"] / 2 * (plus - up)
    high = float(_widest_target(geometry))
    # a parabola that opens downwards, at 0, at the far end, or at its top where that lies between
    target = np.maximum(0, high * slope - high * high * w["target_square"])
    if w["target_square"] > 0:
        top = np.clip(slope / (2 * w["target_square"]), 0, high)
        target = np.maximum(target, slope * top - w["target_square"] * top * top)
    value = (w["sum_x"] + w["cross"]) * up + w["gram_off_diagonal"] / 2 * up * plus + skew * squares + target
    return float(value.max()) * _ROUNDING


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
