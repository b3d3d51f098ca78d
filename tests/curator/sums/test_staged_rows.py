"""Weighted rows, scores and squares of `staged`: each row alone, in integers, within its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.curator.sums.scaled_rows import Scaling
from discreet.curator.sums.staged_rows import ScoredRows, ScoreNorms, StagedGram, StagedScores
from discreet.design.domain import RowDomain


def domain(columns, grid_bits):
    return RowDomain(columns, 0, 0, None, False, grid_bits)


def chunk(rng, columns, grid_bits, rows=500):
    """Rows of the whole box, many of them at its corners."""
    scaled = rng.uniform(-1, 1, (columns + 2, rows))
    corners = rng.random((columns + 2, rows)) < 0.5
    scaled = np.where(corners, np.sign(scaled), scaled)
    scaled[0] = 1.0
    return np.rint(scaled * 2.0**grid_bits)


def scored(rng, columns, grid_bits, radius=None):
    scaling = Scaling(
        tuple(rng.uniform(-1, 1, columns).tolist()),
        tuple(np.exp2(rng.uniform(-6, 1, columns)).tolist()),
        math.inf,
        1,
    )
    line = tuple((rng.normal(size=columns + 1) * 10 ** rng.uniform(-3, 6)).tolist())
    whitening = tuple(
        tuple((rng.normal(size=place + 1) * 10 ** rng.uniform(-3, 1)).tolist()) for place in range(columns + 1)
    )
    rows = domain(columns, grid_bits)
    return ScoredRows(rows, scaling, float(rng.uniform(-1, 1)), line, radius, () if radius else whitening)


@pytest.mark.parametrize("grid_bits", [8, 16, 26])
@pytest.mark.parametrize("columns", [1, 4, 40])
def test_no_score_is_longer_than_its_bound_and_no_square_above_1(columns, grid_bits):
    """Exact integer norms, over scales, lines and bounds from tiny to huge."""
    rng = np.random.default_rng([columns, grid_bits])
    longest = 0
    for trial in range(60):
        rows = scored(rng, columns, grid_bits, 1.5 if trial % 3 == 0 else None)
        bound, square = (float(10 ** rng.uniform(-6, 6)) for _ in range(2))
        sums = StagedScores(rows, bound, square)
        found = sums.rows(chunk(rng, columns, grid_bits)).astype(object)
        *scores, squares = [[int(value) for value in row] for row in found]
        norms = [sum(value * value for value in vector) for vector in zip(*scores, strict=True)]
        assert max(norms) <= sums.unit**2
        assert min(squares) >= 0
        assert max(squares) <= sums.unit
        longest = max(longest, max(norms))
    # some are as long as they may be, but for what rounding needs
    assert longest >= sums.unit**2 * (1 - 4 * math.sqrt(columns + 1) / sums.unit - 1e-9)


@pytest.mark.parametrize("grid_bits", [8, 16, 26])
@pytest.mark.parametrize("columns", [1, 4, 40])
def test_products_are_those_of_integer_vectors_of_at_most_one_bound(columns, grid_bits):
    """Each row alone: its products are those of one integer vector, whose norm is at most one bound, exactly."""
    rng = np.random.default_rng([columns, grid_bits, 1])
    longest, size = 0, columns + 1
    upper = [(i, j) for i in range(size) for j in range(i, size)]
    for trial in range(12):
        rows = scored(rng, columns, grid_bits, 1.5 if trial % 3 == 0 else None)
        sums = StagedScores(rows, float(10 ** rng.uniform(-6, 6)), 1.0, products=True)
        plain = StagedScores(rows, sums._bound, 1.0)
        for row in chunk(rng, columns, grid_bits, 12).T:
            alone, only = sums.empty(), plain.empty()
            alone.add(row[:, None])
            only.add(row[:, None])
            totals = alone.totals()
            assert [value * only.unit for value in totals[: size + 1]] == [
                value * alone.unit for value in only.totals()
            ]
            products = dict(zip(upper, totals[size + 1 :], strict=True))
            squared = sum(products[i, i] for i in range(size))
            assert squared <= alone.unit
            longest = max(longest, squared)
            # an integer vector, close to the score
            vector = [math.isqrt(products[i, i]) for i in range(size)]
            assert all(products[i, j] ** 2 == (vector[i] * vector[j]) ** 2 for i, j in upper)
            score = [abs(value) / alone.unit for value in totals[:size]]
            assert max(abs(a / 2**grid_bits - b) for a, b in zip(vector, score, strict=True)) <= 1.5 / 2**grid_bits
    assert longest >= sums.unit * (1 - 4 * math.sqrt(size) / 2**grid_bits)


@pytest.mark.parametrize("grid_bits", [8, 16, 26])
def test_weighted_rows_are_in_the_unit_ball(grid_bits):
    rng = np.random.default_rng(grid_bits)
    for _ in range(40):
        radius = float(rng.uniform(1, 8))
        rows = scored(rng, 3, grid_bits, radius)
        one = StagedGram(rows, radius, [0.5])
        for row in chunk(rng, 3, grid_bits, 20).T:
            alone = one.empty()
            alone.add(row[:, None])
            triangle = alone.totals()[:10]
            # the trace of a a' is its squared norm
            assert sum(triangle[place] for place in (0, 4, 7, 9)) <= alone.unit


@pytest.mark.parametrize("radius", [None, 2.0])
def test_a_row_adds_the_same_wherever_it_is(radius):
    rng = np.random.default_rng(3)
    rows = scored(rng, 4, 16, radius)
    many = chunk(rng, 4, 16, 300)
    sums = StagedScores(rows, 0.7, 0.3), StagedScores(rows, 0.7, 0.3, products=True)
    for empty in (*sums, ScoreNorms(rows, [0.1, 1.0, 10.0])):
        whole, turned = empty.empty(), empty.empty()
        whole.add(many)
        for start in range(0, 300, 7):
            turned.add(np.ascontiguousarray(many[:, start : start + 7][:, ::-1]))
        assert whole.totals() == turned.totals()


def test_what_is_not_clipped_is_the_score_itself():
    rng = np.random.default_rng(4)
    scaling = Scaling((0.1, -0.2), (0.5, 0.25), math.inf, 1)
    lower_rows = ((1.0,), (0.3, 2.0), (-0.2, 0.1, 0.7))
    rows = ScoredRows(domain(2, 16), scaling, 0.2, (0.1, -0.3, 0.2), None, lower_rows)
    many = chunk(rng, 2, 16, 100)
    z = np.stack([np.ones(100), (many[1] / 2**16 - 0.1) / 0.5, (many[2] / 2**16 + 0.2) / 0.25])
    residual = many[-1] / 2**16 - 0.2 - np.array([0.1, -0.3, 0.2]) @ z
    lower = np.array([[*row, *[0.0] * (3 - len(row))] for row in lower_rows])
    scores = lower @ z * residual
    sums = StagedScores(rows, 1e3, 1e3)
    sums.add(many)
    found = np.array([total / sums.unit for total in sums.totals()])
    np.testing.assert_allclose(found[:-1] * 1e3, scores.sum(axis=1), atol=1e-4)
    np.testing.assert_allclose(found[-1] * 1e6, (residual**2).sum(), atol=1e-1)
    norms = ScoreNorms(rows, [1.0, 5.0])
    norms.add(many)
    lengths = np.linalg.norm(scores, axis=0)
    assert norms.totals() == (int((lengths <= 1).sum()), int((lengths <= 5).sum()), 100)
