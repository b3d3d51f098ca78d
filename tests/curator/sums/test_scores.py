"""Sums of clipped scores and of down-weighted rows: exact, bounded row by row, the same in any order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.accounting.iterations import coordinate_sensitivity, score_sensitivity, weighted_gram_sensitivity
from discreet.curator.sums.residuals import ScoreSum, WeightedGram
from discreet.curator.table import Table, accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.tables import random_design, random_table, reordered
from support.unit_changes import UNITS, bounds, contributions, corner_rows, frobenius, largest, most, squares

RELATIONS = ("add-remove", "replace")


def clipped(bound):
    return lambda residual: np.clip(residual / bound, -1.0, 1.0)


def down_weighted(bound):
    return lambda residual: np.sqrt(1.0 / np.maximum(np.abs(residual) / bound, 1.0))


def totals(sums, table, design, **options):
    return accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions(**options), sums).values


def score(table, design, theta, weight, *, intercept=True, **options):
    sums = ScoreSum(RowDomain.of(design), len(design.released) - 1, theta, weight, intercept=intercept)
    return totals(sums, table, design, **options)


def squared_change(one, other) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_neighbour_moves_a_sum_of_scores_by_more_than_claimed(neighbours, intercept):
    """Integers against integers; wild and tame coefficients, corners, balls, derived columns."""
    rng = np.random.default_rng(41 + len(neighbours) + intercept)
    for _ in range(40):
        design = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        domain = RowDomain.of(design)
        theta = (rng.normal(size=len(design.released) - 1) * 10.0 ** rng.integers(-2, 9)).tolist()
        weight = clipped(float(rng.uniform(0.01, 2)))
        longest2 = domain.norm2_bound + domain.unit**2 * intercept
        claim = longest2 if neighbours == "add-remove" else 4 * longest2
        base = random_table(design, 6, rng)
        before = score(base, design, theta, weight, intercept=intercept)
        for _ in range(25):
            row = random_table(design, 1, rng)
            kept = slice(None) if neighbours == "add-remove" else slice(1, None)
            other = {name: [*row[name], *values[kept]] for name, values in base.items()}
            assert squared_change(before, score(other, design, theta, weight, intercept=intercept)) <= claim


def test_a_corner_row_and_its_mirror_image_reach_the_claims():
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    domain = RowDomain.of(design)
    up, down = ({"x": [1.0], "z": [1.0], "y": [y]} for y in (1.0, 0.0))
    one, other = (score(table, design, [0.0] * 3, clipped(0.5)) for table in (up, down))
    assert squared_change(one, (0, 0, 0)) == domain.norm2_bound + domain.unit**2
    assert squared_change(one, other) == 4 * (domain.norm2_bound + domain.unit**2)


@pytest.mark.parametrize("rows_of", ["score", "gram"])
def test_no_coordinate_is_lengthened_whatever_the_weight(rows_of):
    rng = np.random.default_rng(3)
    for bits in (8, 16, 26):
        domain = RowDomain(3, 0, 0, None, False, bits)
        chunk = np.rint(rng.uniform(-1, 1, (5, 400)) * domain.unit)
        chunk[0] = domain.unit
        wild = rng.normal(size=400) * 10.0 ** rng.integers(-8, 8, 400)
        wild[:3] = np.nan, np.inf, -np.inf
        kind = ScoreSum if rows_of == "score" else WeightedGram
        sums = kind(domain, 4, [0.1, 0.2, np.nan, np.inf], lambda residual, wild=wild: wild)
        v = sums.rows(chunk)
        assert (np.abs(v) <= np.abs(chunk[: len(v)])).all()
        assert (v == np.rint(v)).all()
        assert (v[:, 0] == 0).all()
        # the root of a weight has no sign
        assert rows_of == "score" or (v * chunk >= 0).all()


def test_sums_of_scores_are_what_they_say():
    rng = np.random.default_rng(6)
    design = Design("y", {"x": (-1, 1), "y": (-2, 2)})
    x, y = rng.uniform(-1, 1, 500), rng.normal(0, 0.5, 500)
    theta, bound = [0.1, -0.2], 0.4
    got = np.array(score({"x": x, "y": y}, design, theta, clipped(bound))) / 2**16
    r = np.clip((y / 2 - theta[0] - theta[1] * x) / bound, -1, 1)
    np.testing.assert_allclose(got, [r.sum(), (r * x).sum()], rtol=1e-4)
    without = np.array(score({"x": x, "y": y}, design, [0.0, -0.2], clipped(bound), intercept=False)) / 2**16
    r = np.clip((y / 2 - theta[1] * x) / bound, -1, 1)
    np.testing.assert_allclose(without, [0.0, (r * x).sum()], rtol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
def test_weighted_products_are_what_they_say(intercept):
    rng = np.random.default_rng(7)
    design = Design("y", {"x": (-1, 1), "y": (-2, 2)})
    x, y = rng.uniform(-1, 1, 500), rng.normal(0, 0.5, 500)
    theta = [0.1 * intercept, -0.2]
    sums = WeightedGram(RowDomain.of(design), 2, theta, down_weighted(0.1), intercept=intercept)
    got = np.array(totals(sums, {"x": x, "y": y}, design)) / 2**32
    weight = 0.1 / np.maximum(0.1, np.abs(y / 2 - theta[0] - theta[1] * x))
    u = np.stack([np.full(500, float(intercept)), x, y / 2])
    expected = ((u * weight) @ u.T)[np.triu_indices(3)]
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", [ScoreSum, WeightedGram])
@pytest.mark.parametrize("unit", [{}, {"id": "person", "max_rows": 2}])
def test_order_and_chunks_do_not_change_a_bit(kind, unit):
    rng = np.random.default_rng(5)
    design = Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)}, radius=1.1, unit=unit)
    table = {**random_table(design, 200, rng), "person": [f"p{k}" for k in rng.integers(0, 60, 200)]}
    theta = rng.normal(size=len(design.released) - 1).tolist()
    results = set()
    for _ in range(12):
        other, options = reordered(table, rng)
        sums = kind(RowDomain.of(design), len(theta), theta, down_weighted(0.1))
        results.add(totals(sums, other, design, **options))
    assert len(results) == 1


@pytest.mark.parametrize("in_memory", [0, 10_000, 2**26])
@pytest.mark.parametrize("grid_bits", [8, 16, 26])
def test_later_passes_are_those_of_integers_row_by_row_wherever_rows_wait(in_memory, grid_bits, monkeypatch):
    """Python's own numbers: a double for each residual, an integer for each coordinate, whatever the chunks."""
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", in_memory)
    rng = np.random.default_rng(grid_bits)
    plan = Design("y", {"x": (-1, 1), "z": (0, 4), "y": (-1, 1)})
    domain = RowDomain.of(plan, grid_bits)
    table = {name: rng.uniform(*column.bounds, 700) for name, column in plan.columns.items()}
    theta = (rng.normal(size=3) * 10.0 ** rng.integers(-3, 4, 3)).tolist()
    kept, unit = Grid(), domain.unit
    accumulate(open_source(table), plan, domain, ComputeOptions(), kept)
    scores, products = [0] * 3, [0] * 10
    for row in kept.rows:
        residual = float(row[-1])
        for coefficient, value in zip(theta, row, strict=False):
            residual -= coefficient * value
        residual /= unit
        weight = min(max(residual / 0.3, -1.0), 1.0)
        scores = [total + round(weight * value) for total, value in zip(scores, row, strict=False)]
        root = math.sqrt(1.0 / max(abs(residual) / 0.3, 1.0))
        v = [round(root * value) for value in row]
        pairs = [v[i] * v[j] for i in range(4) for j in range(i, 4)]
        products = [total + pair for total, pair in zip(products, pairs, strict=True)]
    for chunk_rows in (1, 37, 256, 700):
        options = ComputeOptions(batch_rows=101, chunk_rows=chunk_rows)
        with Table(open_source(table), plan, domain, options, again=True) as rows:
            rows.sums()
            for _ in range(2):
                assert rows.sums(ScoreSum(domain, 3, theta, clipped(0.3))).values == tuple(scores)
                assert rows.sums(WeightedGram(domain, 3, theta, down_weighted(0.3))).values == tuple(products)


class Grid:
    """Keeps rows as integers."""

    unit = 1

    def __init__(self):
        self.rows = []

    def add(self, chunk):
        self.rows += chunk.T.astype(int).tolist()

    def totals(self):
        return ()


def test_a_sum_of_more_rows_than_doubles_hold_exactly_is_taken_in_parts(monkeypatch):
    """Parts of two rows; the last part has one."""
    domain = RowDomain(1, 0, 0, None, False, 26)
    chunk = np.full((3, 9), 2.0**26)
    chunk[1] = 2.0**26 - 1
    monkeypatch.setattr("discreet.curator.sums.residuals._EXACT_ROWS", 2)
    sums = ScoreSum(domain, 2, [0.0, 0.0], np.ones_like)
    sums.add(chunk)
    assert sums.totals() == (9 * 2**26, 9 * (2**26 - 1))


def test_many_chunks_add_up_exactly_on_the_finest_grid():
    domain = RowDomain(1, 0, 0, None, False, 26)
    sums = ScoreSum(domain, 2, [0.0, 0.0], np.ones_like)
    chunk = np.full((3, 2**12), float(domain.unit))
    chunk[1, 0] = 1.0
    for _ in range(2**8):
        sums.add(chunk)
    assert sums.totals() == (2**8 * 2**12 * 2**26, 2**8 * ((2**12 - 1) * 2**26 + 1))


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_scores_move_by_at_most_the_stated_sensitivity_and_by_more_than_half_of_it(unit, intercept):
    domain = RowDomain(1, 1, 0, None, False, 16)

    def fresh():
        return ScoreSum(domain, 3, [0.1, 0.2, -0.1], lambda r: np.clip(r / 0.1, -1.0, 1.0), intercept=intercept)

    added = contributions(fresh, corner_rows(domain, booleans=1), unit)
    stated = score_sensitivity(domain, unit, intercept=intercept)
    assert bounds(largest(squares, added, unit), stated, fresh().unit, power=2) == (True, False)
    assert bounds(largest(most, added, unit), coordinate_sensitivity(unit), fresh().unit) == (True, False)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_weighted_products_move_by_at_most_the_stated_sensitivities_and_by_more_than_half_of_them(unit, intercept):
    domain = RowDomain(1, 1, 0, None, False, 16)

    def fresh():
        return WeightedGram(domain, 3, [0.1, 0.2, -0.1], lambda r: 1.0 / (1.0 + 0.01 * r * r), intercept=intercept)

    added = contributions(fresh, corner_rows(domain, booleans=1), unit)
    gram, cross = weighted_gram_sensitivity(domain, unit, intercept=intercept)
    # of the upper triangle of (1, x, y), row by row, these are the products with y; the last is y with itself
    with_y = (3, 6, 8)
    products = [tuple(value for index, value in enumerate(totals) if index not in (*with_y, 9)) for totals in added]
    targets = [tuple(totals[index] for index in with_y) for totals in added]
    assert bounds(largest(frobenius(3), products, unit), gram, fresh().unit, power=2) == (True, False)
    assert bounds(largest(squares, targets, unit), cross, fresh().unit, power=2) == (True, False)
