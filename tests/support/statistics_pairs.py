"""Neighbouring tables for the tests of `ssp` and `adassp`, and their exact joint loss under the noise that is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet.accounting.noise_distribution import entry_blocks
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.releases import NoiseDistribution
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.tables import random_design, random_table


def totals_of(table, design: Design, chunk_rows: int = 16_384) -> tuple[int, ...]:
    domain = RowDomain.of(design)
    return accumulate(open_source(table), design, domain, ComputeOptions(chunk_rows=chunk_rows)).values


def exact_mu2(design: Design, distribution: NoiseDistribution, one, other) -> Fraction:
    """Sum of squared changes over variances of every released entry; a public count must not change."""
    loss, size = Fraction(0), len(design.released)
    copies = distribution.copies(size)
    for place, (block, a, b) in enumerate(zip(entry_blocks(size), one, other, strict=True)):
        sigma = distribution.sigma.get(block)
        if place in copies:
            assert a - b == one[copies[place]] - other[copies[place]], "an indicator's square is not its sum"
        elif sigma == 0:
            assert a == b, "a public count changed"
        elif sigma is not None:
            loss += Fraction((a - b) ** 2, sigma**2)
    return loss


def some_design(rng: np.random.Generator, neighbours: str) -> Design:
    """With and without intercept, a ball, derived columns, and rows that may be dropped."""
    missing = str(rng.choice(["error", "drop"]))
    drawn = random_design(rng, neighbours=neighbours, missing=missing, derived=bool(rng.random() < 0.3))
    return Design(
        drawn.target, dict(drawn.columns), intercept=bool(rng.random() < 0.5), radius=drawn.radius, unit=drawn.unit
    )


def some_pairs(rng: np.random.Generator, design: Design, how_many: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Exact totals of a table and of neighbours of it, in chunks that part anywhere."""
    base = random_table(design, 9, rng)
    index, chunk = int(rng.integers(0, 9)), int(rng.choice([3, 4, 16]))
    drops = any(column.missing == "drop" for column in design.table_columns.values())
    before = totals_of(base, design, chunk)
    after = index if design.unit.neighbours == "add-remove" else index + 1
    for _ in range(how_many):
        row = random_table(design, 1, rng)
        if drops and rng.random() < 0.3:
            row[str(rng.choice(list(row)))] = [None]
        other = {name: [*values[:index], *row[name], *values[after:]] for name, values in base.items()}
        yield before, totals_of(other, design, chunk)
