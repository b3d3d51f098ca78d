"""Objective perturbation: the map between linear terms, its volume, the bound on delta, and where it leads."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

import discreet
from discreet.accounting.fitted_models import RowSensitivity, rounding_sensitivity, shifts, solution_gap, volume_loss
from discreet.audit.pairs import worst_pairs
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.output import normal_equations, ridge_in_ball
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from, delta_from_rho, mu_from
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.normal_scores import check_scores
from support.tables import random_model, random_table

RELATIONS = ("add-remove", "replace")
DEFAULT = {"loss": "squared", "strength": 100.0, "bound": 1.0, "threshold": 0.1}
HUBER = {**DEFAULT, "loss": "huber"}
ONE_COLUMN = {"x": (-1, 1), "y": (-1, 1)}
STEP = Fraction(1, 4**16)


def distribution_of(design, epsilon=1.0, delta=1e-6, settings=DEFAULT, grid_bits=16):
    domain = RowDomain.of(design, grid_bits)
    return ObjectivePerturbation().noise_model(design, domain, PrivacyBudget(epsilon, delta), settings)


def equations_of(table, design):
    totals = accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions()).values
    return normal_equations(totals, len(design.released), intercept=design.intercept)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_each_linear_term_has_a_partner_with_the_same_minimum_within_the_claimed_shift(neighbours):
    """b for one table and b + gradient(old rows) - gradient(new rows) for its neighbour: one minimum, border included.

    Exact arithmetic. The shift is compared with the claim without tolerance; the two minima with the proved sum of
    what the solver and the lattice leave open.
    """
    rng = np.random.default_rng(81 + len(neighbours))
    on_border = pairs = 0
    row_norm = 0.0
    while pairs < 1000:
        design = random_model(rng, neighbours)
        settings = {**DEFAULT, "strength": float(10 ** rng.uniform(-1, 2)), "bound": float(10 ** rng.uniform(-1, 0.5))}
        strength = Fraction(settings["strength"])
        sensitivity = RowSensitivity.of(design, RowDomain.of(design), settings["bound"])
        base = random_table(design, 4, rng)
        gram, cross = equations_of(base, design)
        size = len(cross)
        bound2 = Fraction(settings["bound"]) ** 2 * 4**32
        claim2 = (Fraction(min(shift.length for shift in shifts(design, sensitivity, settings["bound"]))) * 4**32) ** 2
        # distance of theta from the true minimum, passed through the gradient and the inverse curvature
        solver = Fraction(rounding_sensitivity(size))
        through = sensitivity.rows * Fraction(sensitivity.norm) ** 2 * solver + Fraction(
            math.sqrt(size) / 2 * (1 + 2**-40)
        )
        for _ in range(20):
            row = random_table(design, 1, rng)
            kept = slice(None) if neighbours == "add-remove" else slice(1, None)
            other = {name: [*row[name], *values[kept]] for name, values in base.items()}
            new_gram, new_cross = equations_of(other, design)
            b = np.array([int(v) for v in rng.normal(size=size) * 4**16 * 10 ** rng.uniform(-1, 1)], dtype=object)
            found = np.array(ridge_in_ball(gram, cross - b, 16, settings), dtype=object)
            outside = int(found @ found) > bound2
            on_border += int(found @ found) * 1000 > bound2 * 999
            theta = found * 4095 // 4096 if outside else found
            # gradient of new rows less that of old rows, at one point of the ball, in steps of steps
            shift = (new_gram - gram) @ theta - (new_cross - cross) * 4**16
            assert int(shift @ shift) <= claim2
            row_norm = max(row_norm, math.sqrt(int(shift @ shift) / claim2))
            if not outside:
                partner = b - np.array([round(Fraction(int(value), 4**16)) for value in shift], dtype=object)
                again = ridge_in_ball(new_gram, new_cross - partner, 16, settings)
                assert int((found - again) @ (found - again)) <= (2 * solver + through / strength) ** 2
            pairs += 1
    assert on_border > 100, "the border of the ball is hardly covered"
    assert row_norm > 0.4


def test_a_corner_row_against_long_coefficients_reaches_the_claimed_shift():
    design = Design("y", ONE_COLUMN, intercept=False)
    sensitivity = RowSensitivity.of(design, RowDomain.of(design), 3.0)
    # gradient z (z theta - y) at theta = 3 of the row (1, -1)
    (shift,) = shifts(design, sensitivity, 3.0)
    assert shift.length == pytest.approx(1 * (1 * 3 - -1), rel=1e-9)


def test_rows_exchanged_across_the_coefficients_come_close_to_the_claimed_shift():
    """Coefficients along one axis, rows turned by 30 degrees to either side of it: B (2 + B D) to within a sixth."""
    theta, y = np.array([1.0, 0.0]), -1.0
    best = 0.0
    for angle in np.linspace(0, math.pi / 2, 91):
        z, w = (2 * np.array([math.cos(angle), sign * math.sin(angle)]) for sign in (1, -1))
        best = max(best, float(np.linalg.norm(z * (z @ theta - y) - w * (w @ theta - y))))
    design = Design("y", ONE_COLUMN, unit={"neighbours": "replace"})
    plain, paired = shifts(design, RowSensitivity(norm=2.0, residual=3.0, rows=2), 1.0)
    assert 0.85 * paired.length <= best <= paired.length < plain.length
    assert (plain.halvings, paired.halvings) == (2, 6)


def jacobian(A, linear, bound):
    """Derivative of the minimum over the ball with respect to the linear term, by its formula, and the minimum."""
    theta = np.linalg.solve(A, linear)
    if np.linalg.norm(theta) <= bound:
        return -np.linalg.inv(A), theta
    low, high = 0.0, np.linalg.norm(linear) / bound
    for _ in range(60):
        nu = (low + high) / 2
        theta = np.linalg.solve(A + nu * np.eye(len(A)), linear)
        low, high = (nu, high) if np.linalg.norm(theta) > bound else (low, nu)
    inverse = np.linalg.inv(A + nu * np.eye(len(A)))
    along = inverse @ theta
    return -(inverse - np.outer(along, along) / (theta @ along)), theta


def test_the_volume_changes_by_no_more_than_claimed_and_a_single_row_reaches_it():
    rng = np.random.default_rng(83)
    on_border = 0
    nearest = 0.0
    for _ in range(700):
        size, k = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        strength = float(10 ** rng.uniform(-1, 2))
        Z = rng.uniform(-1, 1, (int(rng.integers(0, 4)), size))
        A = Z.T @ Z + strength * np.eye(size)
        derivative, theta = jacobian(A, rng.normal(size=size) * 10, 1.0)
        on_border += np.linalg.norm(theta) > 0.999
        rows = rng.normal(size=(k, size))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        change = np.log(np.linalg.det(np.eye(size) - rows.T @ rows @ derivative))
        claim = volume_loss(k, 1.0, size, strength)
        assert -1e-9 <= change <= claim + 1e-9
        nearest = max(nearest, change / claim)
    assert on_border > 70
    assert nearest > 0.999


def distribution_in_one_dimension(sums, strength, bound, sigma, grid):
    """Density inside the ball and the two masses on its border, for one coefficient and (sum z^2, sum z y)."""
    slope = sums[0] + strength
    inside = np.exp(-(((sums[1] - slope * grid) / sigma) ** 2) / 2) * slope / (sigma * math.sqrt(2 * math.pi))
    below, above = ndtr(-(sums[1] + slope * bound) / sigma), ndtr((sums[1] - slope * bound) / sigma)
    return inside, np.array([below, above])


def true_delta(one, other, epsilon, strength, bound, sigma):
    """Hockey-stick divergence between the exact output distributions of two tables, the larger of both directions."""
    grid, width = np.linspace(-bound, bound, 2001, retstep=True)
    distributions = [distribution_in_one_dimension(sums, strength, bound, sigma, grid) for sums in (one, other)]
    factor = math.exp(epsilon)
    return max(
        np.maximum(f - factor * g, 0).sum() * width + np.maximum(border_f - factor * border_g, 0).sum()
        for (f, border_f), (g, border_g) in (distributions, distributions[::-1])
    )


@pytest.mark.parametrize(
    ("neighbours", "epsilon", "delta", "strength", "bound", "less"),
    [
        ("add-remove", 1.0, 1e-6, 100.0, 1.0, 0.85),
        ("add-remove", 0.5, 1e-3, 5.0, 0.25, 0.55),
        ("add-remove", 4.0, 1e-4, 20.0, 4.0, 0.85),
        ("two rows", 1.0, 1e-6, 100.0, 1.0, 0.8),
        ("replace", 1.0, 1e-6, 100.0, 1.0, 0.58),
        ("replace", 4.0, 1e-4, 5.0, 0.25, 0.65),
    ],
)
def test_exact_distributions_in_one_dimension_keep_the_promise(neighbours, epsilon, delta, strength, bound, less):
    """Every table enters through two sums; those of many tables are tried, in both directions.

    Teeth: with the noise multiplied by `less`, some of these tables break the promise.
    """
    unit = {"id": "p", "max_rows": 2} if neighbours == "two rows" else {"neighbours": neighbours}
    design = Design("y", ONE_COLUMN, unit=unit, intercept=False)
    distribution = distribution_of(design, epsilon, delta, {**DEFAULT, "strength": strength, "bound": bound})
    rows = [(1.0, 1.0), (1.0, -1.0), (1.0, 0.0), (0.5, 1.0), (0.0, 0.0)]
    pairs = list(itertools.combinations_with_replacement(rows, 2))
    changes = {
        "add-remove": [((0.0, 0.0), (z * z, z * y)) for z, y in rows],
        "two rows": [((0.0, 0.0), (z * z + w * w, z * y + w * t)) for (z, y), (w, t) in pairs],
        "replace": [((z * z, z * y), (w * w, w * t)) for (z, y), (w, t) in pairs],
    }[neighbours]

    def worst(sigma):
        # rows near the middle with large targets give any sum of z y beside next to no sum of z^2
        rests = [(q, c) for q in (0.0, 3.0) for c in np.linspace(-1, 1, 25) * (strength * bound + 6 * sigma)]
        return max(
            true_delta((q + old[0], c + old[1]), (q + new[0], c + new[1]), epsilon, strength, bound, sigma)
            for q, c in rests
            for old, new in changes
        )

    assert worst(distribution.sd("linear")) <= delta
    assert worst(distribution.sd("linear") * less) > delta


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "p", "max_rows": 2}])
def test_the_linear_term_is_calibrated_on_the_bound(unit):
    design = Design("y", ONE_COLUMN, unit=unit)
    distribution = distribution_of(design)
    sensitivity = RowSensitivity.of(design, RowDomain.of(design), 1.0)
    left = 0.98 - volume_loss(design.unit.max_rows, sensitivity.norm, 2, 100.0)
    spent = min(
        2**shift.halvings * delta_from(left, shift.length / distribution.sd("linear"))
        for shift in shifts(design, sensitivity, 1.0)
    )
    assert 0.939e-6 <= spent <= 0.94e-6
    assert distribution.calibration == "bound"


@pytest.mark.parametrize(("bound", "best"), [(0.1, 0), (4.0, 1)])
def test_the_better_of_two_bounds_sets_the_noise_under_replace(bound, best):
    design = Design("y", ONE_COLUMN, unit={"neighbours": "replace"}, intercept=False)
    distribution = distribution_of(design, 0.5, 1e-3, {**DEFAULT, "bound": bound})
    bounds = shifts(design, RowSensitivity.of(design, RowDomain.of(design), bound), bound)
    left = 0.49 - volume_loss(1, 1.0, 1, 100.0)
    sds = [shift.length / mu_from(left, 0.94e-3 / 2**shift.halvings) for shift in bounds]
    assert distribution.sd("linear") == pytest.approx(min(sds), rel=1e-6)
    assert sds.index(min(sds)) == best


def test_the_gap_between_lattice_and_line_is_what_is_claimed():
    """One dimension, exact: the lattice point for a rounded linear term against the minimum for the term itself."""
    rng = np.random.default_rng(84)
    for _ in range(300):
        settings = {"strength": float(10 ** rng.uniform(-2, 1)), "bound": 1.0}
        gram, cross = (np.array([int(v * 4**16)], dtype=object) for v in rng.uniform(0, 2, 2))
        b = Fraction(float(rng.normal() * 4**16 * 0.3)) + Fraction(1, 3)
        slope = gram[0] * STEP + Fraction(settings["strength"])
        exact = max(-1, min(1, (cross[0] - b) * STEP / slope))
        (found,) = ridge_in_ball(gram.reshape(1, 1), cross - round(b), 16, settings)
        assert abs(found * STEP - exact) <= Fraction(solution_gap(1, settings["strength"])) * STEP


def test_the_noise_on_the_solution_is_small_and_hides_the_gap():
    """Against the concentrated privacy of the discrete distribution at its share of the budget."""
    design = Design("y", ONE_COLUMN)
    distribution = distribution_of(design)
    rho = (2 * solution_gap(2, 100.0) / distribution.sigma["coefficients"]) ** 2 / 2
    assert delta_from_rho(0.02, rho) <= 1e-6 / 20 < delta_from_rho(0.02, rho * 1.01)
    assert distribution.sd("coefficients") < 1e-6
    assert distribution_of(design, grid_bits=26).sd("coefficients") < 1e-12


def published(design, distribution, moments, settings=DEFAULT, sampler=None):
    context = RunContext(design, RowDomain.of(design), distribution, settings, sampler or ExactSampler())
    passes = ObjectivePerturbation().passes(context)
    next(passes)
    with pytest.raises(StopIteration) as done:
        passes.send(moments)
    return done.value.value.values


@pytest.mark.no_cover
def test_the_published_coefficient_has_the_stated_distribution_and_a_wrong_scale_is_rejected():
    """One coefficient inside the ball is linear in the linear term: 1000 draws, false alarm 1e-9, 30 % off is seen."""
    design = Design("y", ONE_COLUMN, intercept=False)
    settings = {**DEFAULT, "bound": 4.0}
    distribution = distribution_of(design, settings=settings)
    table = {"x": [0.5, 1.0], "y": [0.5, -1.0]}
    moments = accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions())
    slope, mean = 101.25, -0.75 / 101.25
    scores = [
        (published(design, distribution, moments, settings)[1] - mean) * slope / distribution.sd("linear")
        for _ in range(1000)
    ]  # fmt: skip
    check_scores(scores, wrong=1.3)


class _Recording:
    private = False

    def __init__(self):
        self.asked = []

    def draw(self, sigmas):
        self.asked.append(list(sigmas))
        return [0] * len(sigmas)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_linear_term_and_an_output_noise_are_drawn_for_every_coefficient(intercept):
    design = Design("y", {**ONE_COLUMN, "b": bool}, intercept=intercept)
    distribution = distribution_of(design)
    table = {"x": [0.5, 1.0], "y": [0.5, -1.0], "b": [True, False]}
    sampler = _Recording()
    moments = accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions())
    values = published(design, distribution, moments, sampler=sampler)
    size = 3 if intercept else 2
    assert sampler.asked == [[distribution.sigma["linear"]] * size, [distribution.sigma["coefficients"]] * size]
    exact = [value / 4**16 for value in ridge_in_ball(*equations_of(table, design), 16, DEFAULT)]
    assert list(values) == (exact if intercept else [0.0, *exact])


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("intercept", [True, False])
def test_as_epsilon_and_the_table_grow_it_meets_ridge_regression(intercept):
    """Within 7 standard deviations of its linear term, which 50,000 rows make 3e-4 at most: false alarm below 1e-10."""
    rng = np.random.default_rng(8)
    rows = 50_000
    x, v = rng.uniform(-1, 1, (2, rows))
    y = np.clip(0.2 + 0.5 * x - 0.3 * v + rng.normal(0, 0.1, rows), -1, 1)
    design = Design("y", {"x": (-1, 1), "v": (-1, 1), "y": (-1, 1)}, intercept=intercept)
    Z = np.column_stack([np.ones(rows), x, v])[:, 0 if intercept else 1 :]
    expected = np.linalg.solve(Z.T @ Z + 100 * np.eye(Z.shape[1]), Z.T @ y)
    release = discreet.release(
        {"x": x, "v": v, "y": y}, design, epsilon=1e6, delta=1e-6, mechanism="objective", settings=DEFAULT,
        allow_weak_privacy=True,
    )  # fmt: skip
    sd = release.noise.sd("linear") / np.linalg.eigvalsh(Z.T @ Z).min()
    assert sd < 3e-4
    assert intercept or release.coefficients.values[0] == 0.0
    np.testing.assert_allclose(release.coefficients.values[0 if intercept else 1 :], expected, atol=7 * sd + 1e-5)


def test_noise_falls_with_epsilon_until_the_lattice_stops_it():
    design = Design("y", ONE_COLUMN)
    sigmas = [distribution_of(design, epsilon).sigma["linear"] for epsilon in (0.1, 0.5, 1.0, 4.0, 16.0)]
    assert sigmas == sorted(sigmas, reverse=True)
    assert distribution_of(design, 1e6) == distribution_of(design, 16.0)


def test_the_limit_of_half_a_square_holds_where_delta_is_large():
    """The bound is proved for mu^2 / 2 up to the epsilon that is left; a large delta would ask for more."""
    design = Design("y", ONE_COLUMN, intercept=False)
    distribution = distribution_of(design, 0.02, 0.4, {**DEFAULT, "strength": 1e6})
    sensitivity = RowSensitivity.of(design, RowDomain.of(design), 1.0)
    mu = sensitivity.norm * sensitivity.residual / distribution.sd("linear")
    left = 0.02 * 0.98 - volume_loss(1, sensitivity.norm, 1, 1e6)
    assert mu**2 / 2 <= left
    assert mu**2 / 2 == pytest.approx(left, rel=1e-6)


@pytest.mark.parametrize(
    ("unit", "budget", "settings", "grid_bits", "message"),
    [
        ({}, PrivacyBudget.zcdp(0.1), DEFAULT, 16, "epsilon and delta"),
        ({}, PrivacyBudget(1.0), DEFAULT, 16, "delta above 0"),
        ({}, PrivacyBudget(0.1, 1e-6), {**DEFAULT, "strength": 1.0}, 16, "raise strength to 39.8 or more"),
        ({}, PrivacyBudget(16.0, 1e-9), DEFAULT, 8, "too coarse"),
        ({}, PrivacyBudget(1.0, 1e-6), {**HUBER, "threshold": 0.003}, 8, "one grid step at grid_bits = 8; got 0.003"),
        ({}, PrivacyBudget(1.0, 1e-6), {**HUBER, "strength": 5e-4}, 16, "expected 0.001 or more, or 0"),
        ({"id": "p", "max_rows": 501}, PrivacyBudget(1.0, 1e-6), DEFAULT, 16, "max_rows = 501 is too large"),
        ({"id": "p", "max_rows": 251, "neighbours": "replace"}, PrivacyBudget(1.0, 1e-6), DEFAULT, 16, "251 is too"),
    ],
)  # fmt: skip
def test_what_it_cannot_keep_is_refused_before_data(unit, budget, settings, grid_bits, message):
    design = Design("y", ONE_COLUMN, unit=unit)
    with pytest.raises(SpecError, match=message):
        ObjectivePerturbation().noise_model(design, RowDomain.of(design, grid_bits), budget, settings)


def test_the_strength_that_a_refusal_names_is_accepted():
    design = Design("y", ONE_COLUMN)
    assert distribution_of(design, 0.1, 1e-6, {**DEFAULT, "strength": 39.8}).sd("linear") > 0


def test_a_release_survives_its_file_and_says_what_it_stands_on(tmp_path):
    design = Design("y", ONE_COLUMN)
    release = discreet.release({"x": [0.5], "y": [0.5]}, design, epsilon=1.0, delta=1e-6, mechanism="objective")
    release.save(tmp_path / "r.json")
    assert discreet.Release.load(tmp_path / "r.json") == release
    assert (release.kind, release.numerics, release.noise.calibration) == ("coefficients", "exact", "bound")
    assert any("settings" in condition for condition in release.guarantee.conditions)
    assert worst_pairs("objective", design)[-1].name == "corner row against the fit"
