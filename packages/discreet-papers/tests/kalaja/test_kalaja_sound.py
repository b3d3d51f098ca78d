"""Our lines: the library's releases on the unit ball, and a pipeline that is private from end to end."""

import math

import numpy as np
import pytest

from discreet import fit
from discreet.privacy import compose_mu, mu_from
from discreet.testing import seeded_release
from discreet_papers.kalaja.kalaja_experiment import (
    Ranges,
    declared_ranges,
    on_unit_ball,
    private_scale,
    split_budget,
    unit_ball_design,
    with_private_statistics,
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.5, 0.5, (400, 2))
    return x, x @ [0.5, -0.3] + 0.1 * rng.uniform(-1, 1, 400)


def test_coefficients_are_those_of_a_seeded_release(rows):
    x, y = rows
    found = on_unit_ball(x, y, ("ssp", "adassp"), np.array([0.5, 2.0]), 1e-6, 7)
    design = unit_ball_design(2)
    data = {"x0": x[:, 0], "x1": x[:, 1], "y": y}
    for offset, mechanism in enumerate(("ssp", "adassp")):
        for place, epsilon in enumerate((0.5, 2.0)):
            seed = 7 + 1_000 * offset + place
            release = seeded_release(data, design, seed=seed, epsilon=epsilon, delta=1e-6, mechanism=mechanism)
            assert np.array_equal(found[mechanism][place], fit(release, penalty="adaptive").coefficients)


def test_the_budget_is_split_exactly():
    mu, rest = split_budget(2.0, 1e-6)
    assert compose_mu(mu, mu_from(rest, 1e-6)) == pytest.approx(mu_from(2.0, 1e-6))
    assert mu**2 == pytest.approx(0.1 * mu_from(2.0, 1e-6) ** 2)


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, 0.0, 0.0), (37.0, 30.0, 40.0), (-0.012, -0.02, -0.01)])
def test_declared_ranges_are_rounded_outwards(value, low, high):
    both = declared_ranges(np.array([[value - 0.0], [value]]) if value else np.zeros((2, 1)), np.array([value, 50.0]))
    middle, half = both.target
    assert middle - half == pytest.approx(min(low, 50))
    assert middle + half == pytest.approx(50)
    assert high >= value >= low


def test_private_statistics_without_noise_are_the_exact_ones(rows):
    x, y = rows
    ranges = declared_ranges(x, y)
    made = private_scale(x, y, ranges, 1e12, np.random.default_rng(0))
    u = ranges.scaled(x)
    assert np.allclose(made.mean, u.mean(axis=0))
    assert np.allclose(made.sd, u.std(axis=0))
    assert made.centre == pytest.approx(ranges.scaled_target(y).mean())


def test_one_row_moves_the_statistics_by_their_sensitivity():
    """With the largest row at a corner of the declared ranges: sums of u, u^2, v and n move by sqrt(2d + 2)."""
    ranges = Ranges(np.zeros(3), np.ones(3), (0.0, 1.0))
    u, v = ranges.scaled(np.full((1, 3), 9.0)), ranges.scaled_target(np.array([9.0]))
    moved = np.concatenate([u[0], u[0] ** 2, v, [1]])
    assert np.linalg.norm(moved) == pytest.approx(math.sqrt(2 * 3 + 2))


def test_statistics_that_noise_hides_leave_the_declared_range(rows):
    x, y = rows
    made = private_scale(x, y, declared_ranges(x, y), 1e-3, np.random.default_rng(1))
    assert np.all(made.sd > 0.1)
    assert np.all(made.sd <= 1)
    assert np.all(np.abs(made.mean) <= 1)


def test_rows_and_targets_are_in_the_unit_ball_whatever_comes(rows):
    x, y = rows
    made = private_scale(x, y, declared_ranges(x, y), 0.05, np.random.default_rng(2))
    assert np.linalg.norm(made.rows(1e6 * x), axis=1).max() <= 1 + 1e-12
    assert np.abs(made.target(1e6 * y)).max() <= 1 + 1e-12


def test_predictions_are_in_the_units_of_y(rows):
    x, y = rows
    found = with_private_statistics(
        x, 100 + 7 * y, x, declared_ranges(x, 100 + 7 * y), np.array([500.0]), 1e-6, np.random.default_rng(3)
    )
    assert found.shape == (1, 400)
    assert np.mean((found[0] - 100 - 7 * y) ** 2) < 0.5 * np.var(7 * y)
