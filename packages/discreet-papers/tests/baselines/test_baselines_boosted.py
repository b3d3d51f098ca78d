"""Boosted AdaSSP: its noise spends mu and no more, on pairs that attain it, and the method learns."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.privacy import epsilon_from, mu_from
from discreet_papers.baselines.boosted_adassp import BoostedAdaSSP

GIVEN = {"epsilon": 1.0, "delta": 1e-6, "bounds": [(-1.0, 1.0)] * 3, "target_bounds": (-1.0, 1.0)}


def spent(gram_sd: float, sum_sd: float, rounds: int, row: np.ndarray) -> float:
    """Squared Gaussian parameter of all pieces for one row: svec norm of its Gram, eigenvalue and sums at most."""
    square = np.outer(row, row)
    diagonal, above = np.diag(square), square[np.triu_indices(len(row), 1)]
    gram = (diagonal**2).sum() / gram_sd**2 + (above**2).sum() / (gram_sd**2 / 2)
    return gram + 1 / gram_sd**2 + rounds * (row @ row) / sum_sd**2


@pytest.mark.parametrize("rounds", [1, 10, 100])
def test_all_pieces_together_spend_mu_and_no_more(rounds):
    method = BoostedAdaSSP(**GIVEN, rounds=rounds)
    mu = mu_from(1.0, 1e-6)
    rng = np.random.default_rng(rounds)
    rows = rng.standard_normal((200, 4))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    costs = [spent(*method.noise(), rounds, row) for row in rows]
    assert max(costs) == pytest.approx(mu**2, rel=1e-9)
    # the noise of the public script does not come near
    assert spent(mu, mu, rounds, rows[0]) > 100 * mu**2


def test_the_claim_of_the_script_is_off_by_three_orders():
    assert epsilon_from(math.sqrt(102) / mu_from(1.0, 1e-6), 1e-6) > 1000


def test_the_noise_has_the_stated_distribution(monkeypatch):
    """Sums of squares of 600 draws in the central 1 - 1e-9 of their chi-square distribution; noise 20% off is
    outside."""
    method = BoostedAdaSSP(**GIVEN, rounds=1)
    gram_sd, sum_sd = method.noise()
    seen = []
    monkeypatch.setattr(np.linalg, "solve", lambda gram, sums: seen.append((gram, sums)) or sums)
    for seed in range(600):
        method.coefficients(np.zeros((1, 4)), np.zeros(1), np.random.default_rng(seed))
    beside = np.array([gram[0, 1:] for gram, _ in seen]).ravel() / (gram_sd / math.sqrt(2))
    sums = np.array([one for _, one in seen]).ravel() / sum_sd
    for drawn in (beside, sums):
        low, high = chi2.interval(1 - 1e-9, len(drawn))
        assert low < (drawn**2).sum() < high
        assert not low < (1.2**2 * drawn**2).sum() < high


def test_boosting_passes_a_clip_that_one_round_cannot():
    rng = np.random.default_rng(4)
    a = rng.standard_normal((20_000, 3)) / 3
    a /= np.maximum(np.linalg.norm(a, axis=1), 1)[:, None]
    v = 5 * a[:, 0]
    errors = {}
    for rounds in (1, 20):
        method = BoostedAdaSSP(**(GIVEN | {"epsilon": 5.0}), rounds=rounds)
        theta = method.coefficients(a, v, np.random.default_rng(1))
        errors[rounds] = float(np.mean((v - a @ theta) ** 2))
    assert errors[20] < 0.1 * errors[1]
