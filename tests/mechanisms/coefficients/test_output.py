"""Output perturbation: how far a unit moves the coefficients, the distribution of their noise, and where they lead."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

import discreet
from discreet.accounting.fitted_models import (
    RowSensitivity,
    coefficient_sensitivity,
    exchange_sensitivity,
    minimum_sensitivity,
)
from discreet.accounting.settings import checked_settings
from discreet.audit.pairs import worst_pairs
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.output import OutputPerturbation, normal_equations, ridge_in_ball
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.normal_scores import check_scores
from support.tables import random_design, random_table

RELATIONS = ("add-remove", "replace")
DEFAULT = checked_settings("output", OutputPerturbation.info.settings, None)


def lattice_of(table, design, settings, grid_bits=16):
    """What the mechanism adds its noise to."""
    domain = RowDomain.of(design, grid_bits)
    totals = accumulate(open_source(table), design, domain, ComputeOptions()).values
    equations = normal_equations(totals, len(design.released), intercept=design.intercept)
    return ridge_in_ball(*equations, grid_bits, settings)


def moved2(one, other) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def claimed2(design, settings, grid_bits=16) -> Fraction:
    sensitivity = coefficient_sensitivity(design, RowDomain.of(design, grid_bits), settings)
    return (Fraction(sensitivity) * 4**grid_bits) ** 2


def random_settings(rng):
    return {"strength": float(10 ** rng.uniform(-1.5, 2.5)), "bound": float(10 ** rng.uniform(-2, 1))}


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_moves_the_coefficients_by_more_than_claimed(neighbours):
    """Exact comparison of integers, no tolerance; corners, balls, derived columns, soft and hard penalties."""
    rng = np.random.default_rng(71 + len(neighbours))
    nearest = 0.0
    for trial in range(50):
        design = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.2))
        design = Design(
            "y", design.columns, radius=design.radius, unit=design.unit, intercept=bool(rng.random() < 0.5)
        )  # fmt: skip
        settings = random_settings(rng)
        grid_bits = int(rng.choice([8, 16, 16, 26]))
        bound = claimed2(design, settings, grid_bits)
        base = random_table(design, int(rng.choice([1, 3, 8])) + trial % 2, rng)
        before = lattice_of(base, design, settings, grid_bits)
        for _ in range(24):
            row = random_table(design, 1, rng)
            kept = slice(None) if neighbours == "add-remove" else slice(1, None)
            other = {name: [*row[name], *values[kept]] for name, values in base.items()}
            moved = moved2(before, lattice_of(other, design, settings, grid_bits))
            assert moved <= bound
            nearest = max(nearest, float(moved / bound))
    # teeth: random rows alone come this near
    assert nearest > 0.25**2


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_person_moves_the_coefficients_by_more_than_claimed(neighbours):
    """Up to three rows that count, added or exchanged, some of them dropped."""
    rng = np.random.default_rng(72)
    columns = {"x": {"bounds": [0, 1], "missing": "drop"}, "y": (0, 1)}
    by_row = Design("y", columns)
    by_person = Design("y", columns, unit={"id": "p", "max_rows": 3, "neighbours": neighbours})
    nearest = 0.0
    for _ in range(300):
        settings = random_settings(rng)
        rest = rng.random((2, int(rng.integers(1, 6))))
        people = [rng.choice([0.0, 1.0, 0.3], (2, int(rng.integers(0, 4)))) for _ in range(2)]
        if neighbours == "add-remove":
            people[1] = np.empty((2, 0))
        tables = [np.concatenate([rest, person], axis=1) for person in people]
        one, other = (lattice_of({"x": x, "y": y}, by_row, settings) for x, y in tables)
        moved = moved2(one, other) / claimed2(by_person, settings)
        assert moved <= 1
        nearest = max(nearest, float(moved))
    assert nearest > 0.25**2


def tightness(design, settings, table, neighbour) -> float:
    one, other = (lattice_of(rows, design, settings) for rows in (table, neighbour))
    return math.sqrt(float(moved2(one, other) / claimed2(design, settings)))


@pytest.mark.parametrize(("strength", "least"), [(10.0, 0.97), (1.5, 0.93)])
def test_a_row_against_a_steered_fit_reaches_the_claim(strength, least):
    """Many rows near the middle with large targets make the coefficients long without stiffening the objective."""
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "v": (-1, 1), "y": (-1, 1)}, intercept=False)
    rows = round(strength / 2**-7 / math.sqrt(3))
    table = {name: [2**-7] * rows for name in "xzv"} | {"y": [1.0] * rows}
    neighbour = {name: [*values, -1.0 if name == "y" else 1.0] for name, values in table.items()}
    assert least <= tightness(design, {"strength": strength, "bound": 1.0}, table, neighbour) <= 1


def test_a_row_exchanged_for_its_opposite_reaches_the_claim_under_replace():
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)}, unit={"neighbours": "replace"})
    settings = {"strength": 50.0, "bound": math.sqrt(2) / 52}
    reached = tightness(design, settings, {"x": [1.0], "y": [1.0]}, {"x": [1.0], "y": [-1.0]})
    assert 0.9999 <= reached <= 1


def test_the_claim_in_its_three_ranges():
    sensitivity = RowSensitivity(norm=2.0, residual=3.0, rows=2)
    assert minimum_sensitivity(sensitivity, 1.0, 9.0) == pytest.approx(3 * math.sqrt(2) / 2, rel=1e-9)
    assert minimum_sensitivity(sensitivity, 8.0, 9.0) == pytest.approx(3 / 4, rel=1e-9)
    assert minimum_sensitivity(sensitivity, 100.0, 9.0) == pytest.approx(3 * 4 / 108, rel=1e-9)
    assert minimum_sensitivity(sensitivity, 1e-3, 0.5) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("norm", "bound"), [(1.0, 0.01), (1.5, 0.3), (2.0, 1.0), (3.0, 5.0)])
def test_the_claim_for_an_exchange_is_the_maximum_over_pairs_of_rows(norm, bound):
    """A search over two rows, a direction and coefficients in space finds the closed form, and nothing above it."""
    rng = np.random.default_rng(75)
    claim = exchange_sensitivity(RowSensitivity(norm=norm, residual=1 + norm * bound, rows=2), 1.0, bound)

    def pulled(point):
        one, other, direction, theta = point.reshape(4, 3)
        one, other = (row * norm / max(norm, np.linalg.norm(row)) for row in (one, other))
        direction, theta = direction / np.linalg.norm(direction), theta * bound / max(bound, np.linalg.norm(theta))
        s = np.array([one @ direction, other @ direction])
        return abs(s).sum() + s[0] * (one @ theta) - s[1] * (other @ theta)

    starts = rng.normal(size=(6, 12)) * np.repeat([norm, norm, 1.0, bound], 3)
    best = max(-optimize.minimize(lambda point: -pulled(point), start, method="SLSQP").fun for start in starts)
    random = max(map(pulled, rng.normal(size=(1000, 12)) * 3))
    assert random <= claim
    assert claim * (1 - 1e-5) <= best <= claim
    # exchanged rows do less than twice what one row does
    assert claim < 2 * norm * (1 + norm * bound)


NUMBERS = dict.fromkeys("xzv", (-2, 2))
MIXED = {"x": (0, 1), "z": (-2, 2), "g": ["a", "b", "c"], "b": bool}
# columns, intercept, radius, and what part of the claim is reached under add-remove and under replace
REACHED = {
    "one number": ({"x": (0, 1)}, True, None, 0.93, 0.92),
    "two numbers": ({"x": (0, 1), "z": (-2, 2)}, True, None, 0.93, 0.96),
    "three numbers": (NUMBERS, True, None, 0.93, 0.94),
    "two numbers, no constant": ({"x": (-1, 1), "z": (-2, 2)}, False, None, 0.93, 0.95),
    "three numbers, no constant": (NUMBERS, False, None, 0.92, 0.99),
    "a ball": (NUMBERS, True, 1.2, 0.92, 0.95),
    "numbers, levels and a boolean": (MIXED, True, None, 0.93, 0.64),
    "levels in a ball": (MIXED, True, 1.1, 0.92, 0.94),
    # no row stands at right angles to a row with all of its columns on: what is reached by numbers alone
    "one number and levels": ({"x": (0, 1), "g": ["a", "b", "c"]}, True, None, 0.66, 0.67),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("name", REACHED)
def test_worst_pairs_spend_the_budget_at_most_and_come_near_it(name, neighbours):
    """At the default settings; teeth: noise that is smaller by what is reached breaks the promise on this very pair."""
    columns, intercept, radius, alone, exchanged = REACHED[name]
    unit = {"neighbours": neighbours}
    design = Design("y", {**columns, "y": (0, 1) if intercept else (-1, 1)}, intercept, radius=radius, unit=unit)
    epsilon, delta = 1.0, 1e-6
    distribution = OutputPerturbation().noise_model(
        design, RowDomain.of(design), PrivacyBudget(epsilon, delta), DEFAULT
    )
    pair = worst_pairs("output", design)[-1]
    assert "the fit" in pair.name
    # in the table as in its neighbour all rows but the last are the same
    assert all(values[:-1] == pair.neighbour[key][: len(values) - 1] for key, values in pair.table.items())
    before, after = (lattice_of(rows, design, DEFAULT) for rows in (pair.table, pair.neighbour))
    mu = math.sqrt(moved2(before, after)) / distribution.sigma["coefficients"]
    assert delta_from(epsilon, mu) <= delta
    least = alone if neighbours == "add-remove" else exchanged
    assert delta_from(epsilon, mu / least) > delta


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_corner_pairs_spend_the_budget_at_most(neighbours):
    design = Design("y", {**MIXED, "y": (0, 1)}, unit={"neighbours": neighbours})
    for pair in worst_pairs("output", design)[:-1]:
        assert tightness(design, DEFAULT, pair.table, pair.neighbour) <= 1


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-9), (8.0, 1e-6)])
def test_the_noise_spends_the_whole_budget_on_the_claim(epsilon, delta):
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "p", "max_rows": 2})
    distribution = OutputPerturbation().noise_model(
        design, RowDomain.of(design), PrivacyBudget(epsilon, delta), DEFAULT
    )
    mu = math.sqrt(claimed2(design, DEFAULT)) / distribution.sigma["coefficients"]
    assert delta_from(epsilon, mu) <= delta < delta_from(epsilon, mu * 1.001)


@pytest.mark.no_cover
def test_the_noise_has_the_stated_distribution_and_a_wrong_scale_is_rejected():
    """Sum of squares of 2 x 1600 standardised draws: chi-square, false alarm 1e-9, and 20 % off is seen."""
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.5, 1.0, 0.0], "y": [0.5, 1.0, 0.25]}
    domain, mechanism = RowDomain.of(design), OutputPerturbation()
    distribution = mechanism.noise_model(design, domain, PrivacyBudget(1.0, 1e-6), DEFAULT)
    moments = accumulate(open_source(table), design, domain, ComputeOptions())
    exact = np.array(lattice_of(table, design, DEFAULT), float) / 4**16
    scores = []
    for _ in range(1600):
        passes = mechanism.passes(RunContext(design, domain, distribution, DEFAULT, ExactSampler()))
        next(passes)
        with pytest.raises(StopIteration) as done:
            passes.send(moments)
        scores += list((np.array(done.value.value.values) - exact) / distribution.sd("coefficients"))
    check_scores(scores, wrong=1.2)


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("intercept", [True, False])
def test_as_epsilon_grows_it_meets_ridge_regression(intercept):
    """At epsilon = 1e6 within seven standard deviations of what noise is left (below 1e-10 a case), three digits."""
    rng = np.random.default_rng(8)
    x, v = rng.uniform(-1, 1, (2, 4000))
    y = np.clip(0.2 + 0.5 * x - 0.3 * v + rng.normal(0, 0.1, 4000), -1, 1)
    design = Design("y", {"x": (-1, 1), "v": (-1, 1), "y": (-1, 1)}, intercept=intercept)
    Z = np.column_stack([np.ones(4000), x, v])[:, 0 if intercept else 1 :]
    for strength, bound in ((100.0, 2.0), (1000.0, 0.25)):
        A = Z.T @ Z + strength * np.eye(Z.shape[1])
        expected = np.linalg.solve(A, Z.T @ y)
        if np.linalg.norm(expected) > bound:
            low, high = 0.0, 1e6
            for _ in range(200):
                nu = (low + high) / 2
                expected = np.linalg.solve(A + nu * np.eye(len(A)), Z.T @ y)
                low, high = (nu, high) if np.linalg.norm(expected) > bound else (low, nu)
        release = discreet.release(
            {"x": x, "v": v, "y": y}, design, epsilon=1e6, delta=1e-6, mechanism="output",
            settings={"strength": strength, "bound": bound}, allow_weak_privacy=True,
        )  # fmt: skip
        got = release.coefficients.values
        assert intercept or got[0] == 0.0
        noise = release.noise.sd("coefficients")
        assert noise < 1e-4
        # the rows were rounded to the grid
        np.testing.assert_allclose(got[0 if intercept else 1 :], expected, atol=7 * noise + 2e-5, rtol=0)


def test_an_empty_table_gives_noise_about_nothing():
    columns = {name: {"bounds": [0, 1], "missing": "drop"} for name in ("x", "y")}
    release = discreet.release(
        {"x": [None], "y": [0.5]}, Design("y", columns), epsilon=1.0, delta=1e-6, mechanism="output"
    )
    assert np.abs(release.coefficients.values).max() < 10 * release.noise.sd("coefficients")


def test_a_release_survives_its_file_and_says_what_it_stands_on(tmp_path):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    release = discreet.release({"x": [0.5], "y": [0.5]}, design, epsilon=1.0, delta=1e-6, mechanism="output")
    release.save(tmp_path / "r.json")
    assert discreet.Release.load(tmp_path / "r.json") == release
    assert (release.kind, release.numerics) == ("coefficients", "exact")
    assert any("settings" in condition for condition in release.guarantee.conditions)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strength": 0.0}, "strength"), ({"strength": math.inf}, "strength"), ({"bound": 0}, "bound"),
        ({"bound": 1e4}, "bound"), ({"bound": "wide"}, "bound"), ({"radius": 1}, "radius"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_before_data(given, message):
    with pytest.raises(SpecError, match=message):
        checked_settings("output", OutputPerturbation.info.settings, given)
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match=message):
        discreet.release("no-such-file", design, epsilon=1.0, delta=1e-6, mechanism="output", settings=given)


@pytest.mark.parametrize("budget", [PrivacyBudget.zcdp(0.1), PrivacyBudget.gdp(0.5), PrivacyBudget(1.0)])
def test_budgets_it_cannot_state_are_refused(budget):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match="delta"):
        OutputPerturbation().noise_model(design, RowDomain.of(design), budget, DEFAULT)
