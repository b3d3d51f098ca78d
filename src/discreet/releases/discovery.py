"""Bounds that a release found: the noisy counts by dyadic cell, and the rule from them to bounds.

The rule reads noisy counts and public numbers alone, so anybody can repeat it. Proof: mechanisms/discovery.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from types import MappingProxyType
from typing import Final, TypeAlias

from discreet.design.dyadic import cell_edges
from discreet.design.model import Design
from discreet.losses.law import NoiseFamily

Bounds: TypeAlias = tuple[float, float]

# with what probability noise alone lifts any empty cell of any column above the threshold, at most
FALSE_CELL: Final = Fraction(1, 100)
# the part of all rows that must lie between bounds, as far as noisy counts say, for them to count as found
LEAST_INSIDE: Final = Fraction(3, 4)
# probability with which another release finds another end, from which that is reported
_TIE: Final = 0.1
# part of the width of the bounds that an end must move by to matter
_MATTERS: Final = 0.05
# probability with which noise alone makes any empty cell beyond an end look as if it had rows, at most
_FALSE_ROWS: Final = Fraction(1, 100)
# thresholds are rounded up to a thousandth of the noise scale, so that last bits of a logarithm do not matter
_PARTS: Final = 1000


@dataclass(frozen=True)
class DiscoveryPart:
    """What was released to find bounds.

    Attributes
    ----------
    sigma
        Scale of the noise of every count, in steps of the product grid.
    rows
        Noisy number of rows that count, on the product grid.
    cells
        By column, in declared order: noisy numbers of rows in its dyadic cells, on the product grid.
    """

    sigma: int
    rows: int
    cells: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", MappingProxyType(dict(self.cells)))

    def __reduce__(self) -> tuple[object, ...]:
        # a read-only mapping does not travel by itself
        return DiscoveryPart, (self.sigma, self.rows, dict(self.cells))


def found_bounds(part: DiscoveryPart, design: Design, family: NoiseFamily) -> dict[str, Bounds | None]:
    """By column the ends of the run of cells from the lowest to the highest one that is kept; none where not found.

    A cell is kept if its count exceeds the threshold. Bounds are not found where no cell is kept, or where less than
    three quarters of the rows seem to lie between them.

    Parameters
    ----------
    part
        Noisy counts.
    design
        Gives the range of every column.
    family
        Of the noise of the mechanism: the counts have Gaussian noise where it has, and Laplace noise elsewhere.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (0, 2)}})
    >>> cells = (0,) * 38 + (900, 40, 60)
    >>> found_bounds(DiscoveryPart(10, 1000, {"x": cells}), design, "discrete-gaussian")
    {'x': (0.25, 2.0)}
    >>> found_bounds(DiscoveryPart(10, 1300, {"x": cells}), design, "discrete-gaussian")
    {'x': (0.25, 2.0)}
    >>> found_bounds(DiscoveryPart(10, 1400, {"x": cells}), design, "discrete-gaussian")
    {'x': None}
    """
    parts = threshold_parts(sum(map(len, part.cells.values())), family)
    found: dict[str, Bounds | None] = {}
    for name, counts in part.cells.items():
        kept = _kept(counts, part.sigma, parts)
        run = slice(kept[0], kept[-1] + 1) if kept else slice(0)
        edges = cell_edges(*design.ranges[name])
        enough = sum(counts[run]) >= LEAST_INSIDE * part.rows
        found[name] = (edges[run.start], edges[run.stop]) if kept and enough else None
    return found


@dataclass(frozen=True, slots=True)
class UnsettledEnd:
    """An end of bounds that another release of the same table may well not find, with the cell that decides.

    Attributes
    ----------
    name, bounds
        The column and the bounds that the other release would find.
    probability
        Approximate probability of that, given the count of this release.
    cell, kept
        Ends of the cell that decides, and whether this release kept it, so that it lies inside the bounds.
    count, threshold, sd
        Noisy number of rows in the cell, number above which it is kept, standard deviation of the noise, all in steps
        of the product grid.
    """

    name: str
    bounds: Bounds
    probability: float
    cell: Bounds
    kept: bool
    count: int
    threshold: float
    sd: float


def unsettled_ends(part: DiscoveryPart, design: Design, family: NoiseFamily) -> tuple[UnsettledEnd, ...]:
    """List the ends of found bounds that were nearly not found, or beyond which there surely are rows.

    The outermost kept cell is compared with the threshold: it is listed where another release would drop it with a
    probability of 10% or more. The cell beyond it is listed where its count is too large for an empty cell; over all
    ends together noise alone does that with a probability of at most 1%. Ends that would move by less than 5% of the
    width of the bounds are left out.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (0, 2)}})
    >>> cells = (0,) * 38 + (900, 40, 30)
    >>> for end in unsettled_ends(DiscoveryPart(10, 1000, {"x": cells}), design, "discrete-gaussian"):
    ...     print(end.bounds, round(end.probability, 2), end.cell, end.kept)
    (0.25, 0.5) 0.36 (0.5, 1.0) True
    (0.25, 2.0) 0.37 (1.0, 2.0) False
    """
    parts = threshold_parts(sum(map(len, part.cells.values())), family)
    threshold = part.sigma * parts / _PARTS
    surely = part.sigma * _factor(float(_FALSE_ROWS / (2 * len(part.cells))), family)
    sd = part.sigma * (1.0 if family == "discrete-gaussian" else math.sqrt(2))
    listed = []
    for name, counts in part.cells.items():
        edges = cell_edges(*design.ranges[name])
        kept = _kept(counts, part.sigma, parts)
        run = (kept[0], kept[-1])
        for side, step in ((0, -1), (1, 1)):
            end, beyond = run[side], run[side] + step
            moves = [(end, kept[1 if side == 0 else -2])] if len(kept) > 1 else []
            moves += [(beyond, beyond)] if 0 <= beyond < len(counts) else []
            for cell, outermost in moves:
                first, last = (outermost, run[1]) if side == 0 else (run[0], outermost)
                other, inside = (edges[first], edges[last + 1]), cell == end
                # two independent counts of one cell differ by noise of twice the variance
                above = NormalDist().cdf((counts[cell] - threshold) / (math.sqrt(2) * sd))
                probability = 1 - above if inside else above
                moved = abs(other[side] - edges[end + side])
                matters = moved >= _MATTERS * (edges[run[1] + 1] - edges[run[0]])
                if matters and (probability >= _TIE if inside else counts[cell] > surely):
                    ends = (edges[cell], edges[cell + 1])
                    listed.append(UnsettledEnd(name, other, probability, ends, inside, counts[cell], threshold, sd))
    return tuple(listed)


def _kept(counts: Sequence[int], sigma: int, parts: int) -> list[int]:
    """Indices of the cells whose noisy counts exceed the threshold."""
    return [index for index, count in enumerate(counts) if count * _PARTS > sigma * parts]


def threshold_parts(cells: int, family: NoiseFamily) -> int:
    """The threshold of a count, in thousandths of the scale of its noise, for so many cells of all columns.

    >>> threshold_parts(492, "discrete-gaussian"), threshold_parts(492, "discrete-laplace")
    (4104, 10111)
    """
    return math.ceil(_factor(float(FALSE_CELL / cells), family) * _PARTS)


def _factor(tail: float, family: NoiseFamily) -> float:
    """Scales of its noise that a count exceeds with the probability `tail`."""
    return -NormalDist().inv_cdf(tail) if family == "discrete-gaussian" else -math.log(2 * tail)
