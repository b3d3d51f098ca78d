"""Sums over residuals: exact, bounded by their claims, which corners attain, paid for by their shares."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.moment_queries import gaussian_queries
from discreet.accounting.moments import ratio_sensitivity, residual_sensitivity
from discreet.accounting.queries import variates
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.calibration import RATIO_SHARE, ROBUST_SHARE
from discreet.mechanisms.gaussian import GaussianMoments
from discreet.options import RobustErrors
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import compose_mu, delta_from
from discreet.privacy.lattice import lattice_gap
from discreet.releases import RatioPart
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.residual_sums import ratio_total, residual_totals
from support.tables import random_design, random_table

RELATIONS = ("add-remove", "replace")
# neighbours of each of 120 tables, and persons beside one
ROWS = (8, pytest.param(25, marks=pytest.mark.slow))
PERSONS = (12, pytest.param(40, marks=pytest.mark.slow))


def squared_change(one, other, size) -> Fraction:
    indices = [(i, j) for i in range(size) for j in range(i, size)]
    return (
        sum(
            (Fraction((a - b) ** 2) * (1 if i == j else 2) for (i, j), a, b in zip(indices, one, other, strict=True)),
            start=Fraction(0),
        )
        / 2**64
    )


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_moves_the_residual_gram_by_more_than_claimed(neighbours, rows):
    """Exact rational comparison, no tolerance; wild and tame coefficients, corners, balls, derived columns."""
    rng = np.random.default_rng(31 + len(neighbours))
    for _ in range(120):
        design = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        size = len(design.released) - 1
        theta = (rng.normal(size=size) * 10.0 ** rng.integers(-2, 9)).tolist()
        bound = float(rng.uniform(0.01, 2))
        claim = Fraction(residual_sensitivity(RowDomain.of(design), neighbours)) ** 2
        base = random_table(design, 6, rng)
        before = residual_totals(base, design, theta, bound)
        for _ in range(rows):
            row = random_table(design, 1, rng)
            kept = slice(None) if neighbours == "add-remove" else slice(1, None)
            other = {name: [*row[name], *values[kept]] for name, values in base.items()}
            after = residual_totals(other, design, theta, bound)
            assert squared_change(before, after, size) <= claim


def test_a_corner_row_with_a_large_residual_reaches_the_claim():
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    base = {"x": [0.5], "z": [0.5], "y": [0.5]}
    corner = {"x": [0.5, 1.0], "z": [0.5, 1.0], "y": [0.5, 1.0]}
    theta, bound = [0.0, 0.0, 0.0], 0.5
    moved = squared_change(
        residual_totals(base, design, theta, bound), residual_totals(corner, design, theta, bound), 3
    )
    claim = residual_sensitivity(RowDomain.of(design), "add-remove")
    assert float(moved) ** 0.5 >= 0.999 * claim


def test_a_row_exchanged_for_an_orthogonal_one_reaches_the_claim_under_replace():
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": "replace"})
    one, other = ({"x": [x], "y": [1.0]} for x in (0.0, 1.0))
    moved = squared_change(
        residual_totals(one, design, [0.0, 0.0], 0.5), residual_totals(other, design, [0.0, 0.0], 0.5), 2
    )
    assert float(moved) ** 0.5 >= 0.999 * residual_sensitivity(RowDomain.of(design), "replace")


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "person", "max_rows": 3}])
def test_both_parts_together_spend_the_budget_and_no_more(unit):
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)}, unit=unit)
    domain = RowDomain.of(design)
    epsilon, delta = 1.0, 1e-6
    distribution = GaussianMoments(robust=True).noise_model(design, domain, PrivacyBudget(epsilon, delta), {})
    plain = GaussianMoments().noise_model(design, domain, PrivacyBudget(epsilon, delta), {})
    second = residual_sensitivity(domain, design.unit.neighbours) * 4**16 / distribution.sigma["residual_diagonal"]
    third = ratio_sensitivity() * 4**16 / distribution.sigma["residual_ratio"]
    # the first part is the plain release with less of the budget
    ratio = plain.sigma["cross"] / distribution.sigma["cross"]
    assert ratio == pytest.approx(math.sqrt(1 - ROBUST_SHARE), rel=1e-6)
    assert third / second == pytest.approx(math.sqrt(RATIO_SHARE / (ROBUST_SHARE - RATIO_SHARE)), rel=1e-6)
    whole = compose_mu(second, third) / math.sqrt(ROBUST_SHARE)
    together = compose_mu(second, third, whole * math.sqrt(1 - ROBUST_SHARE))
    drawn = variates(gaussian_queries(design, domain, robust=True), distribution.sigma)
    assert delta_from(epsilon, together * (1 - 1e-9)) + lattice_gap(epsilon, drawn) <= delta
    assert delta_from(epsilon, together * 1.001) > delta


@pytest.mark.full
@pytest.mark.no_cover
def test_residual_noise_has_the_stated_distribution_and_wrong_parameters_are_rejected():
    """Sums of squares of 400 standardised draws of each entry: chi-square, false alarm 1e-9, and 20% off is seen."""
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    table = {"x": [0.5, 1.0], "z": [0.25, 0.0], "y": [0.5, 1.0]}
    scores, ratio_scores = [], []
    for _ in range(400):
        release = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="gaussian", robust=True)
        part = release.residuals
        exact = residual_totals(table, design, part.coefficients, part.bound)
        sigma = release.noise.sigma
        sds = [
            sigma["residual_diagonal"] if i == j else sigma["residual_off_diagonal"]
            for i in range(3)
            for j in range(i, 3)
        ]
        scores += [(a - b) / sd for a, b, sd in zip(part.totals, exact, sds, strict=True)]
        square = ratio_total(table, design, part.coefficients, part.ratio)
        ratio_scores.append((part.ratio.total - square) / sigma["residual_ratio"])
    for drawn, wrong in ((scores, 1.2), (ratio_scores, 1.6)):
        statistic = float(np.sum(np.square(drawn)))
        low, high = stats.chi2.ppf([5e-10, 1 - 5e-10], len(drawn))
        assert low < statistic < high
        assert not low < statistic * wrong**2 < high
        assert not low < statistic / wrong**2 < high


def test_a_robust_release_survives_its_file(tmp_path):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": np.linspace(0, 1, 50), "y": np.linspace(0, 1, 50)}
    release = discreet.release(table, design, epsilon=1.0, delta=1e-6, robust=RobustErrors(residual_bound=0.3))
    release.save(tmp_path / "r.json")
    assert discreet.Release.load(tmp_path / "r.json") == release
    assert release.residuals.bound == pytest.approx(0.6)
    assert release.residual_moments.shape == (2, 2)
    plain = discreet.release(table, design, epsilon=1.0, delta=1e-6)
    assert plain.residual_moments is None
    assert plain.ratio_square is None


BAD = [
    ("1", "expected a number above 0 for residual_bound, got '1'"),
    (True, "expected a number above 0 for residual_bound, got True"),
    (0.0, "expected a number above 0"),
    (float("nan"), "expected a number above 0"),
    (99.0, "expected a number above 0 and at most 2"),
]


@pytest.mark.parametrize(("bound", "message"), BAD)
def test_bad_robust_requests_are_refused(bound, message):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    budget = {"epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(SpecError, match=message):
        discreet.release({"x": [0.5], "y": [0.5]}, design, **budget, robust=RobustErrors(residual_bound=bound))


@pytest.mark.parametrize("robust", ["robsut", 1, None, ["y ~ x"]])
def test_robust_is_a_flag_or_robust_errors(robust):
    with pytest.raises(SpecError, match=r"expected True, False or RobustErrors\(\.\.\.\) for robust, got"):
        discreet.release({}, Design("y", {"x": (0, 1), "y": (0, 1)}), epsilon=1.0, delta=1e-6, robust=robust)


def test_robust_needs_an_intercept():
    columns = {"x": (0, 1), "y": bool}
    with pytest.raises(SpecError, match="intercept"):
        discreet.release({}, Design("y", columns, intercept=False), epsilon=1.0, delta=1e-6, robust=True)
    table = {"x": [0.5] * 9, "y": [True] * 9}
    release = discreet.release(
        table, Design("y", columns), epsilon=1.0, delta=1e-6, robust=RobustErrors(residual_bound=0.5)
    )
    assert release.residuals.bound == 0.5


@pytest.mark.parametrize("persons", PERSONS)
def test_no_person_moves_the_residual_gram_by_more_than_claimed(persons):
    """All rows of one person added, or exchanged for another's: exact, and a corner person reaches the claim."""
    rng = np.random.default_rng(9)
    for neighbours in RELATIONS:
        unit = {"id": "person", "max_rows": 3, "neighbours": neighbours}
        design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit=unit)
        domain = RowDomain.of(design)
        claim = Fraction(residual_sensitivity(domain, neighbours)) ** 2

        def totals(rows, design=design, domain=domain):
            table = {name: [row[k] for row in rows] for k, name in enumerate(("person", "x", "y"))}
            gram = ResidualGram(domain, 2, [0.2, -0.3], 0.4, 3)
            return accumulate(open_source(table), design, domain, ComputeOptions(chunk_rows=5), gram).values

        base = [(f"p{k}", *rng.random(2)) for k in (0, 0, 1, 2, 2, 2, 2)]
        before = totals(base + ([] if neighbours == "add-remove" else [("old", 0.0, 1.0)] * 3))
        moved = []
        for trial in range(persons):
            rows = (
                [("new", 1.0, 0.0)] * 3 if trial == 0 else [("new", *rng.random(2)) for _ in range(rng.integers(1, 6))]
            )
            moved.append(squared_change(before, totals(base + rows), 2))
        assert max(moved) <= claim
        if neighbours == "add-remove":
            assert float(moved[0]) >= 0.999 * float(claim)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_moves_the_sum_for_r_squared_by_more_than_claimed(neighbours, rows):
    """Exact comparison, no tolerance."""
    rng = np.random.default_rng(41 + len(neighbours))
    moved = []
    for _ in range(120):
        design = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        theta = (rng.normal(size=len(design.released) - 1) * 10.0 ** rng.integers(-2, 9)).tolist()
        at = RatioPart(float(rng.random()), float(rng.uniform(-1, 1)), float(rng.choice([1e-3, 0.1, 2.0])), 0)
        base = random_table(design, 6, rng)
        before = ratio_total(base, design, theta, at)
        for _ in range(rows):
            row = random_table(design, 1, rng)
            kept = slice(None) if neighbours == "add-remove" else slice(1, None)
            other = {name: [*row[name], *values[kept]] for name, values in base.items()}
            moved.append(abs(ratio_total(other, design, theta, at) - before))
    assert max(moved) <= ratio_sensitivity() * 4**16


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_clipped_row_moves_the_sum_for_r_squared_by_one_scaled_unit_so_a_smaller_claim_would_be_wrong(neighbours):
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": neighbours})
    at = RatioPart(0.0, 0.0, 0.5, 0)
    without = [0.5] if neighbours == "add-remove" else [0.5, 0.5]
    before, after = (ratio_total({"x": [0.5] * len(y), "y": y}, design, [0.0, 0.0], at) for y in (without, [0.5, 1.0]))
    assert after - before == 4**16
    assert ratio_sensitivity() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.no_cover
@pytest.mark.parametrize("persons", PERSONS)
def test_no_person_moves_the_sum_for_r_squared_by_more_than_claimed(persons):
    rng = np.random.default_rng(43)
    at = RatioPart(0.5, 0.1, 0.05, 0)
    for neighbours in RELATIONS:
        unit = {"id": "person", "max_rows": 3, "neighbours": neighbours}
        design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit=unit)

        def total(rows, design=design):
            table = {name: [row[k] for row in rows] for k, name in enumerate(("person", "x", "y"))}
            return ratio_total(table, design, [0.2, -0.3], at, 3, chunk_rows=5)

        base = [(f"p{k}", *rng.random(2)) for k in (0, 0, 1, 2, 2, 2, 2)]
        calm = ("old", 0.5, 0.6)
        before = total(base + ([] if neighbours == "add-remove" else [calm] * 3))
        moved = [
            abs(total(base + rows) - before)
            for rows in (
                [("new", 1.0, 0.0)] * 3,
                *([("new", *rng.random(2)) for _ in range(rng.integers(1, 6))] for _ in range(persons)),
            )
        ]
        assert max(moved) <= ratio_sensitivity() * 4**16
        assert moved[0] >= 0.9 * 4**16


def test_one_pass_gives_both_sums():
    rng = np.random.default_rng(45)
    at = RatioPart(0.5, 0.0, 0.1, 0)
    for unit, table in (({}, {}), ({"id": "person", "max_rows": 2}, {"person": rng.integers(0, 40, 90)})):
        design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit=unit)
        table |= {"x": rng.random(90), "y": rng.random(90)}
        domain, k = RowDomain.of(design), design.unit.max_rows
        gram = ResidualGram(domain, 2, [0.1, 0.2], 0.5, k)
        squares = RatioSquares(domain, [0.1, 0.2], at.ratio, at.mean, at.bound, k)
        both = accumulate(open_source(table), design, domain, ComputeOptions(), ResidualPass([gram], squares)).values
        alone = accumulate(
            open_source(table), design, domain, ComputeOptions(), ResidualGram(domain, 2, [0.1, 0.2], 0.5, k)
        ).values
        assert both == (*alone, ratio_total(table, design, [0.1, 0.2], at, k))
