"""How far one row can move the moments of (1, x, y): named functions, proved in l2_sensitivity.proof.md.

Everything is in scaled units. A *weighted loss* is the largest value, over neighbouring tables, of

    sum over blocks k of  w_k * || change of block k ||^2,

with svec (Frobenius) norm inside the Gram block. With w_k = 1 / sigma_k^2 it is mu^2 of the joint Gaussian release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.design.domain import RowDomain, norm2
from discreet.exact.arrays import FloatArray
from discreet.privacy.unit import Neighbours

# covers the rounding of some tens of double operations, each relative 2**-53
_ROUNDING: Final = 1 + 2**-44
# how closely branch and bound encloses the joint maximum under `replace`
GAP: Final = 1e-4
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
    """Upper bounds on the change of each block by itself, as norms: n, sum x, X'X (Frobenius), sum y, X'y, y'y.

    They set how the noise is shared; the guarantee rests on the weighted loss below, never on these by themselves.

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
    """Largest weighted squared change between neighbouring tables, from above.

    Parameters
    ----------
    count_public
        Under `replace`, whether every row counts in both tables. If not, a row may be absent from one of them (a
        `missing = "drop"` rule, or a person with fewer rows), so that replacing can also mean adding or removing.
    rows_per_unit
        How many rows of one person count.
    close
        How closely the joint maximum under `replace` is enclosed.
    copied
        Of how many declared columns of indicators the squares are not released beside the sums. An exchanged row is
        charged as if they were.
    """
    if neighbours == "add-remove":
        loss = add_remove_loss(domain, weights, copied)
    elif count_public:
        loss = replace_loss(domain, weights, close)
    else:
        loss = max(replace_loss(domain, weights, close), add_remove_loss(domain, weights, copied))
    return loss * rows_per_unit**2 * _ROUNDING  # [P:rows-of-a-unit]


def add_remove_loss(domain: RowDomain, w: Blocks, copied: int = 0) -> float:
    """Largest weighted squared change when one row is added or removed; one corner row attains every block at once.

    >>> one = Blocks(1, 1, 1, 1, 1, 1)
    >>> round(add_remove_loss(RowDomain(2, 0, 0, None, False, 16), one), 9)
    11.0
    >>> round(add_remove_loss(RowDomain(1, 1, 0, None, False, 16), one, copied=1), 9)
    10.0
    """
    r2 = norm2(domain)
    gram = r2 * r2 - copied  # [P:copied-row]
    # [P:added-row]
    return (w.count + w.sum_x * r2 + w.gram * gram + w.sum_y + w.cross * r2 + w.target_square) * _ROUNDING


def replace_loss(domain: RowDomain, w: Blocks, close: float = GAP) -> float:
    """Joint maximum of the weighted squared change when one row is replaced, from above, by branch and bound.

    The block maxima are not attained together. Two rows enter only through a = |x|^2, b = |z|^2, c = x.z and their
    targets; a proof reduces the search to c and one target, and cells of that rectangle are split until the enclosure
    is tight.
    """
    r2 = norm2(domain)
    low_c = -min(float(domain.numeric + domain.signed_blocks), r2)
    low_y = 0.0 if domain.target_nonnegative else -1.0
    cells = _split(np.array([[low_c, r2, low_y, 1.0]]), times=4)
    attained = settled = 0.0
    while True:
        upper = _upper(domain, r2, w, cells)
        attained = max(attained, float(_lower(domain, r2, w, cells).max()))
        undecided = upper > attained * (1 + close)
        # cells put aside keep their say in the bound
        settled = max(settled, float(upper[~undecided].max(initial=0.0)))
        cells = cells[undecided]
        if cells.shape[0] == 0:
            return settled * _ROUNDING
        if cells.shape[0] * 4 > _MAX_CELLS:
            return max(settled, float(upper.max())) * _ROUNDING  # [P:replace-search]
        cells = _split(cells, times=1)


def _norm2_beside(domain: RowDomain, r2: float, c: FloatArray) -> FloatArray:
    """Largest b = |z|^2 that goes with a = |x|^2 = r2 and x.z = c."""
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
    # the extremes of the search are corners of cells, so evaluate there too
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
