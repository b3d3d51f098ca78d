"""Designs, tables and privacy losses of the mechanisms that promise epsilon alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.releases import NoiseDistribution
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions


def numbers(d: int, bounds: tuple[float, float] = (0, 1), **options: object) -> Design:
    """A design of d numbers and a target, all with the same bounds."""
    return Design("y", {**{f"x{j}": bounds for j in range(d)}, "y": bounds}, **options)


def two_slopes(rows: int = 5000) -> dict[str, np.ndarray]:
    """A table of `numbers(2)` on a plane, with a little noise."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 1, (rows, 2))
    return {"x0": x[:, 0], "x1": x[:, 1], "y": np.clip(0.2 + x @ [0.4, 0.2] + rng.normal(size=rows) * 0.05, 0, 1)}


def exact_epsilon(design: Design, distribution: NoiseDistribution, table: object, neighbour: object) -> Fraction:
    """Largest privacy loss between two tables under the noise that is really drawn: sum of |change| / scale."""
    one, other = (
        accumulate(open_source(rows), design, RowDomain.of(design), ComputeOptions()).values
        for rows in (table, neighbour)
    )
    scales = distribution.steps(len(design.released))
    return sum((Fraction(abs(a - b), s) for a, b, s in zip(one, other, scales, strict=True) if s), Fraction(0))
