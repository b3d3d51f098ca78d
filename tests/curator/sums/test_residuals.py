"""Residuals at released coefficients: each a function of its own row, to the last bit, never larger than claimed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.moments import ratio_sensitivity, residual_sensitivity
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, scaled_residuals, usable
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.releases import RatioPart
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.residual_sums import ratio_total, residual_totals
from support.tables import random_design, random_table
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


def test_order_and_chunks_do_not_change_a_bit():
    rng = np.random.default_rng(5)
    design = random_design(rng, ball=True)
    table = random_table(design, 200, rng)
    theta = rng.normal(size=len(design.released) - 1).tolist()
    results = set()
    for _ in range(20):
        order = rng.permutation(200)
        shuffled = {name: [values[i] for i in order] for name, values in table.items()}
        options = {"batch_rows": int(rng.integers(1, 300)), "chunk_rows": int(rng.integers(1, 300))}
        results.add(residual_totals(shuffled, design, theta, 0.3, **options))
    assert len(results) == 1


def test_the_residual_gram_is_what_it_says():
    rng = np.random.default_rng(6)
    design = Design("y", {"x": (-1, 1), "y": (-2, 2)})
    x, y = rng.uniform(-1, 1, 500), rng.normal(0, 0.5, 500)
    theta, bound = [0.1, -0.2], 0.4
    totals = residual_totals({"x": x, "y": y}, design, theta, bound)
    r = np.clip(y / 2 - theta[0] - theta[1] * x, -bound, bound)
    Z = np.column_stack([np.ones(500), x])
    expected = (Z * (r**2)[:, None]).T @ Z
    got = np.array([[totals[0], totals[1]], [totals[1], totals[2]]]) / 2**32 * bound**2
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def test_row_orders_of_persons_give_one_residual_gram():
    rng = np.random.default_rng(10)
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 2})
    rows = [(f"p{rng.integers(0, 30)}", *rng.random(2)) for _ in range(120)]
    results = set()
    for _ in range(8):
        shuffled = [rows[k] for k in rng.permutation(len(rows))]
        table = {name: [row[k] for row in shuffled] for k, name in enumerate(("person", "x", "y"))}
        gram = ResidualGram(RowDomain.of(design), 2, [0.1, 0.4], 0.5, 2)
        options = ComputeOptions(chunk_rows=int(rng.integers(1, 50)), batch_rows=int(rng.integers(1, 50)))
        results.add(accumulate(open_source(table), design, RowDomain.of(design), options, gram).values)
    assert len(results) == 1


def test_a_coefficient_that_is_no_number_counts_as_nothing():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.5, 1.0], "y": [0.5, 1.0]}
    assert residual_totals(table, design, [float("nan"), 0.5], 0.5) == residual_totals(table, design, [0.0, 0.5], 0.5)


def test_the_sum_for_r_squared_is_what_it_says():
    """Against the same sum in plain arithmetic, for rows and for persons, in every order and with all chunks."""
    rng = np.random.default_rng(44)
    x, y = rng.uniform(-1, 1, 300), rng.normal(0, 0.5, 300)
    theta, at = [0.1, -0.2], RatioPart(0.7, 0.05, 0.02, 0)
    q = np.clip(((y / 2 - 0.1 + 0.2 * x) ** 2 - 0.7 * (y / 2 - 0.05) ** 2) / 0.02, -1, 1)
    rows = Design("y", {"x": (-1, 1), "y": (-2, 2)})
    assert ratio_total({"x": x, "y": y}, rows, theta, at) / 4**16 == pytest.approx(np.sum(q**2), rel=1e-3)
    persons = Design("y", {"x": (-1, 1), "y": (-2, 2)}, unit={"id": "person", "max_rows": 3})
    table = {"person": np.repeat(np.arange(100), 3), "x": x, "y": y}
    expected = np.sum((q.reshape(100, 3).sum(axis=1) / 3) ** 2)
    totals = set()
    for chunk in (1, 7, 500):
        order = rng.permutation(300)
        shuffled = {name: values[order] for name, values in table.items()}
        totals.add(ratio_total(shuffled, persons, theta, at, 3, chunk_rows=chunk, batch_rows=chunk))
    assert len(totals) == 1
    assert totals.pop() / 4**16 == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_residual_rows_move_their_gram_by_at_most_the_stated_sensitivity_and_by_more_than_half_of_it(unit):
    domain = RowDomain(1, 1, 0, None, False, 16)

    def fresh():
        return ResidualGram(domain, 3, [0.1, 0.2, -0.1], 0.5, unit.max_rows)

    added = contributions(fresh, corner_rows(domain, booleans=1), unit)
    stated = residual_sensitivity(domain, unit.neighbours)
    assert bounds(largest(frobenius(3), added, unit), stated, fresh().unit, power=2) == (True, False)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_sum_of_squares_moves_by_at_most_the_stated_sensitivity_and_by_more_than_half_of_it(unit):
    domain = RowDomain(1, 1, 0, None, False, 16)

    def fresh():
        return RatioSquares(domain, [0.1, 0.2, -0.1], 0.5, 0.1, 0.25, unit.max_rows)

    added = contributions(fresh, corner_rows(domain, booleans=1), unit)
    assert bounds(largest(most, added, unit), ratio_sensitivity(), fresh().unit) == (True, False)
