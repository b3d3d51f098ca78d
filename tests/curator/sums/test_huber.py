"""Sums at given coefficients: exact for every coefficient, threshold, grid and order of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.curator.sums.huber import HuberSums, digit_bits
from discreet.design.domain import RowDomain


def domain_of(columns, grid_bits):
    return RowDomain(columns, 0, 0, None, False, grid_bits)


def by_hand(rows, point, fraction, threshold, first):
    """Scores and products in integers without limit, row by row."""
    size = len(point)
    scores, products = [0] * size, [[0] * size for _ in range(size)]
    limit = threshold << fraction
    for row in rows.T.astype(int).tolist():
        z, y = row[first:-1], row[-1]
        residual = (y << fraction) - sum(value * x for value, x in zip(point, z, strict=True))
        clipped = max(-limit, min(limit, residual))
        scores = [score + clipped * x for score, x in zip(scores, z, strict=True)]
        if -limit <= residual < limit:
            for i, j in itertools.product(range(size), repeat=2):
                products[i][j] += z[i] * z[j]
    return (*scores, *(products[i][j] << fraction for i in range(size) for j in range(i, size)))


def random_rows(rng, columns, rows, grid_bits):
    unit = 2**grid_bits
    table = rng.integers(-unit, unit + 1, (columns + 2, rows)).astype(np.float64)
    table[1:][rng.random((columns + 1, rows)) < 0.1] = unit
    table[0] = unit
    return table


@pytest.mark.parametrize("grid_bits", [8, 16, 20, 26])
@pytest.mark.parametrize("intercept", [True, False])
def test_sums_are_exact_for_any_coefficients(grid_bits, intercept):
    """Coefficients from far below a step to far beyond any that a table can give, one to five digits."""
    rng = np.random.default_rng(grid_bits)
    inside = 0
    for trial in range(60):
        columns, digits = int(rng.integers(1, 5)), int(rng.integers(1, 6))
        size = columns + intercept
        fraction = digits * digit_bits(size, grid_bits)
        largest = fraction + int(rng.choice([-20, -2, 0, 3, 40, 90]))
        point = [int(rng.integers(-(2**30), 2**30)) << max(largest - 30, 0) for _ in range(size)]
        point = [value + int(rng.integers(0, 2**20)) for value in point]
        threshold = int(rng.integers(1, 2 * 2**grid_bits + 1))
        rows = random_rows(rng, columns, int(rng.integers(0, 30)), grid_bits)
        sums = HuberSums(domain_of(columns, grid_bits), point, digits, threshold, intercept=intercept)
        for part in np.array_split(rows, 3, axis=1) if trial % 2 else [rows]:
            sums.add(part)
        expected = by_hand(rows, point, fraction, threshold, 0 if intercept else 1)
        assert sums.totals() == expected
        alone = HuberSums(domain_of(columns, grid_bits), point, digits, threshold, intercept=intercept, products=False)
        alone.add(rows)
        assert alone.totals() == expected[:size]
        inside += any(expected[size:])
    assert inside > 10


@pytest.mark.parametrize("blocks", [1, 2**9])
def test_a_chunk_of_many_rows_is_as_exact_as_single_rows(blocks, monkeypatch):
    """Corner rows, 10,000 of them: the sums of doubles are at their largest, and more than one block is needed.

    So many blocks add in 64-bit integers.
    """
    monkeypatch.setattr("discreet.curator.sums.huber._BLOCKS_UNTIL_FLUSH", blocks)
    for grid_bits in (16, 26):
        unit = 2**grid_bits
        rows = np.full((4, 10_000), float(unit))
        rows[3, ::3] = -unit
        point = [-(1 << 2 * digit_bits(3, grid_bits)) + 1, 12_345, -1]
        sums = HuberSums(domain_of(2, grid_bits), point, 2, 2 * unit)
        sums.add(rows)
        assert sums.totals() == by_hand(rows, point, 2 * digit_bits(3, grid_bits), 2 * unit, 0)


def test_residuals_at_the_threshold_count_once_whatever_the_side():
    """Residuals just at, above and below the threshold on either side, to the last unit of the last digit."""
    unit = 256
    fraction = digit_bits(1, 8)
    rows = np.array([[256.0] * 4, [256.0] * 4, [64.0, 64.0, -64.0, -64.0]])
    for shift in (-1, 0, 1):
        sums = HuberSums(domain_of(1, 8), [shift], 1, 64, intercept=False)
        sums.add(rows)
        limit = 64 << fraction
        above, below = min(limit, limit - shift * unit), max(-limit, -limit - shift * unit)
        # the products are those of two rows each time; which side counts as clipped at the threshold changes no score
        assert sums.totals() == (2 * (above + below) * unit, 2 * unit**2 << fraction)
