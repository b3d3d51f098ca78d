"""Residuals at released coefficients: each a function of its own row, to the last bit, never larger than claimed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.sums.residuals import RatioSquares, ResidualGram, scaled_residuals, usable
from discreet.design.domain import RowDomain
from support.unit_changes import UNITS, bounds, contributions, corner_rows, frobenius, largest, most

UNIT = 2.0**16


def rows(rng: np.random.Generator, columns: int, how_many: int) -> np.ndarray:
    chunk = rng.integers(-(2**16), 2**16 + 1, (columns, how_many)).astype(float)
    chunk[0] = UNIT
    return chunk


@pytest.mark.parametrize("columns", [3, 9, 40])
def test_the_bits_of_a_residual_do_not_depend_on_the_rows_beside_it(columns):
    rng = np.random.default_rng(columns)
    chunk = rows(rng, columns, 257)
    theta = (rng.normal(size=columns - 1) * 10.0 ** rng.integers(-4, 4, columns - 1)).tolist()
    together = scaled_residuals(chunk, theta, UNIT)
    alone = np.concatenate([scaled_residuals(chunk[:, k : k + 1], theta, UNIT) for k in range(257)])
    order = rng.permutation(257)
    assert (together == alone).all()
    assert (together[order] == scaled_residuals(np.ascontiguousarray(chunk[:, order]), theta, UNIT)).all()


def test_residuals_are_target_less_prediction():
    rng = np.random.default_rng(1)
    chunk, theta = rows(rng, 4, 50), [0.25, -1.5, 3.0]
    exact = [
        Fraction(y) / 2**16 - sum(Fraction(a) * Fraction(v) / 2**16 for a, v in zip(theta, x, strict=True))
        for *x, y in chunk.T.tolist()
    ]
    # quarters and halves of grid steps: nothing is rounded
    assert scaled_residuals(chunk, theta, UNIT).tolist() == [float(value) for value in exact]


def test_coefficients_are_finite_and_not_so_large_that_a_residual_could_overflow():
    assert usable([float("nan"), float("inf"), -float("inf"), 2e6, -0.5]) == [0.0, 1e6, -1e6, 1e6, -0.5]


@pytest.mark.parametrize("bound", [1e-9, 0.3, 5.0])
def test_no_row_is_longer_than_its_domain_allows(bound):
    rng = np.random.default_rng(2)
    domain = RowDomain(3, 0, 0, 1.2, False, 16)
    chunk = rows(rng, 5, 400)
    # corners of the ball
    chunk[1:-1] *= np.sqrt(float(domain.norm2_bound)) / np.linalg.norm(chunk[1:-1], axis=0)
    chunk[1:-1] = np.trunc(chunk[1:-1])
    theta = [0.5, 900.0, -0.1, float("nan")]
    v = ResidualGram(domain, 4, theta, bound).rows(chunk)
    assert (v == np.rint(v)).all()
    assert max(sum(int(value) ** 2 for value in row) for row in v.T) <= domain.norm2_bound + domain.unit**2
    q = RatioSquares(domain, theta, 0.5, 0.1, bound).rows(chunk)
    assert (q == np.rint(q)).all()
    assert np.abs(q).max() <= domain.unit


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_residual_rows_move_their_gram_by_at_most_the_stated_sensitivity_and_by_more_than_half_of_it(unit):
    domain = RowDomain(1, 1, 0, None, False, 16)

    def fresh():
        return ResidualGram(domain, 3, [0.1, 0.2, -0.1], 0.5, unit.max_rows)

    added = contributions(fresh, corner_rows(domain, booleans=1), unit)
    stated = ResidualGram.sensitivity(domain, unit.neighbours)
    assert bounds(largest(frobenius(3), added, unit), stated, fresh().unit, power=2) == (True, False)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_sum_of_squares_moves_by_at_most_the_stated_sensitivity_and_by_more_than_half_of_it(unit):
    domain = RowDomain(1, 1, 0, None, False, 16)

    def fresh():
        return RatioSquares(domain, [0.1, 0.2, -0.1], 0.5, 0.1, 0.25, unit.max_rows)

    added = contributions(fresh, corner_rows(domain, booleans=1), unit)
    assert bounds(largest(most, added, unit), RatioSquares.sensitivity(), fresh().unit) == (True, False)
