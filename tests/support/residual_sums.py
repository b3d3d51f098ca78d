"""Sums of residual rows of a table."""

from __future__ import annotations

from discreet.curator.sums.residuals import RatioSquares, ResidualGram
from discreet.curator.table import accumulate
from discreet.design.domain import RowDomain
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions


def residual_totals(table, design, theta, bound, **options) -> tuple[int, ...]:
    domain = RowDomain.of(design)
    gram = ResidualGram(domain, len(design.released) - 1, theta, bound)
    return accumulate(open_source(table), design, domain, ComputeOptions(**options), gram).values


def ratio_total(table, design, theta, at, rows_per_person=1, **options) -> int:
    domain = RowDomain.of(design)
    sums = RatioSquares(domain, theta, at.ratio, at.mean, at.bound, rows_per_person)
    (total,) = accumulate(open_source(table), design, domain, ComputeOptions(**options), sums).values
    return total
