"""The noisy loss of the report: its sensitivity, the distribution of its noise, and its repairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discreet_papers.dandekar.dandekar_methods import (
    NOISES,
    Noise,
    Quadratic,
    claimed_sensitivity,
    exact_sensitivity,
    noise_norm,
    noisy,
    projected_minimum,
    shifted,
    true_epsilon,
    unit_noise,
)

DRAWS = 40_000
# a standard deviation from so many Laplace draws lies further off with a probability below 1e-6; seeds are fixed
RELATIVE = 5 * np.sqrt(5 / (4 * DRAWS))


def released(row: np.ndarray, noise: Noise) -> np.ndarray:
    """The coefficients that a scheme releases, from one row (x, y)."""
    x, y = row[:-1], row[-1]
    first, second = np.triu_indices(len(x), 1)
    outer = np.outer(x, x)
    ends = [-2 * x * y, [y * y]]
    if noise in ("non-symmetric", "symmetrised"):
        return np.concatenate([outer.ravel(), *ends])
    factor = 1 if noise == "mirrored" else 2
    return np.concatenate([np.diag(outer), factor * outer[first, second], *ends])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_true_epsilon_is_the_largest_change_over_the_scale(noise: Noise, d: int) -> None:
    largest = max(np.abs(released(np.array(row), noise)).sum() for row in product((-1.0, 0.0, 1.0), repeat=d + 1))
    assert true_epsilon(2.0, d, noise) == pytest.approx(2.0 * largest / claimed_sensitivity(d))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_exchanged_row_changes_no_more_than_an_added_one(d: int) -> None:
    rows = [released(np.array(row), "non-symmetric") for row in product((-1.0, 0.0, 1.0), repeat=d + 1)]
    assert max(np.abs(one - two).sum() for one in rows for two in rows) == exact_sensitivity(d)


@pytest.mark.parametrize(
    ("noise", "off_diagonal"),
    [("non-symmetric", np.sqrt(2)), ("symmetrised", 1.0), ("mirrored", np.sqrt(2)), ("monomial", np.sqrt(0.5))],
)
def test_the_noise_of_the_matrix_has_the_stated_standard_deviations(noise: Noise, off_diagonal: float) -> None:
    drawn = unit_noise((DRAWS,), 3, np.random.default_rng(5), noise)
    assert drawn[:, 1, 1].std() == pytest.approx(np.sqrt(2), rel=RELATIVE)
    assert drawn[:, 0, 2].std() == pytest.approx(off_diagonal, rel=RELATIVE)
    if noise != "non-symmetric":
        assert np.array_equal(drawn, drawn.swapaxes(-1, -2))


def test_the_linear_part_has_half_the_noise_because_its_coefficient_is_doubled() -> None:
    exact = Quadratic(np.zeros((DRAWS, 2, 2)), np.zeros((DRAWS, 2)))
    found = noisy(exact, 3.0, np.random.default_rng(6), "monomial")
    assert found.q.std() == pytest.approx(1.5 * np.sqrt(2), rel=RELATIVE)
    assert found.Q[:, 0, 0].std() == pytest.approx(3 * np.sqrt(2), rel=RELATIVE)


def test_budgets_and_runs_are_batch_axes() -> None:
    exact = Quadratic(np.zeros((4, 2, 2)), np.zeros((4, 2)))
    found = noisy(exact, np.array([[1e-9], [1e9]]), np.random.default_rng(7), "mirrored")
    assert found.Q.shape == (2, 4, 2, 2)
    assert np.abs(found.Q[0]).max() < 1e-6 < np.abs(found.q[1]).min()


def test_the_loss_of_rows_is_their_squared_error() -> None:
    rng = np.random.default_rng(8)
    X, y, theta = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=3)
    loss = Quadratic.of(X, y)
    assert theta @ loss.Q @ theta - 2 * loss.q @ theta + y @ y == pytest.approx(np.sum((X @ theta - y) ** 2))


def test_a_shift_lifts_the_smallest_eigenvalue_to_the_size_of_the_noise_and_no_further() -> None:
    floor = noise_norm(2, "monomial")
    low, high = shifted(
        Quadratic(np.array([np.diag([-5.0, 1.0]), np.diag([50.0, 60.0])]), np.ones((2, 2))), 1.0, "monomial"
    ).Q
    assert np.linalg.eigvalsh(low)[0] == pytest.approx(floor)
    assert np.array_equal(high, np.diag([50.0, 60.0]))


def test_the_quantile_of_the_norm_is_met_by_fresh_noise() -> None:
    drawn = unit_noise((4_000,), 4, np.random.default_rng(9), "symmetrised")
    below = np.mean(np.abs(np.linalg.eigvalsh(drawn)).max(axis=1) <= noise_norm(4, "symmetrised"))
    # five standard deviations of the quantile and of the share together
    assert below == pytest.approx(0.95, abs=5 * np.sqrt(0.05 * 0.95 * (1 / 2_000 + 1 / 4_000)))


def test_a_projection_is_the_minimum_of_a_positive_definite_loss() -> None:
    loss = Quadratic(np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]))
    assert projected_minimum(loss) == pytest.approx(np.linalg.solve(loss.Q, loss.q))
