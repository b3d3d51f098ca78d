"""Bounds that a release found: the noisy counts by dyadic cell, and the rule from them to bounds.

The rule reads noisy counts and public numbers alone, so anybody can repeat it. Proof: mechanisms/discovery.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
        kept = [place for place, count in enumerate(counts) if count * _PARTS > part.sigma * parts]
        run = slice(kept[0], kept[-1] + 1) if kept else slice(0)
        edges = cell_edges(*design.ranges[name])
        enough = sum(counts[run]) >= LEAST_INSIDE * part.rows
        found[name] = (edges[run.start], edges[run.stop]) if kept and enough else None
    return found


def threshold_parts(cells: int, family: NoiseFamily) -> int:
    """The threshold of a count, in thousandths of the scale of its noise, for so many cells of all columns.

    >>> threshold_parts(492, "discrete-gaussian"), threshold_parts(492, "discrete-laplace")
    (4104, 10111)
    """
    tail = float(FALSE_CELL / cells)
    factor = -NormalDist().inv_cdf(tail) if family == "discrete-gaussian" else -math.log(2 * tail)
    return math.ceil(factor * _PARTS)
