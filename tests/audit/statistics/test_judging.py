"""Verdicts: right mechanisms pass, wrong ones are refuted, and false alarms are as rare as stated.

Draws are seeded, so that nothing here fails by chance.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.judging import Claim, Judgement, judged
from discreet.errors import SpecError
from discreet.privacy.gaussian_dp import mu_from

ALPHA = 0.01
GRID = 2**20


def laplace(epsilon, seed, draws=10_000):
    noise = np.rint(np.random.default_rng(seed).laplace(0, GRID / epsilon, (2, draws, 1)))
    return noise[0] + GRID, noise[1]


def gaussian(mu, seed, draws=10_000, numbers=6):
    noise = np.rint(np.random.default_rng(seed).normal(0, GRID / mu, (2, draws, numbers)))
    return noise[0] + round(GRID / numbers**0.5), noise[1]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_laplace_noise_passes_and_half_of_it_is_refuted(epsilon):
    right, halved = (judged(*laplace(factor * epsilon, 1), Claim(epsilon), ALPHA) for factor in (1, 2))
    assert not right.refuted
    assert 0.7 * epsilon < right.certified < epsilon
    assert halved.refuted
    assert halved.epsilon > epsilon
    assert right.mu is right.mu_witness is None


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_gaussian_noise_passes_and_half_of_it_is_refuted_by_mu(epsilon):
    mu = mu_from(epsilon, 1e-6)
    claim = Claim(epsilon, 1e-6, mu)
    right, halved = (judged(*gaussian(factor * mu, 2), claim, ALPHA) for factor in (1, 2))
    assert not right.refuted
    assert 0 < right.mu < mu
    assert right.epsilon < right.certified < epsilon
    assert halved.refuted
    assert halved.mu > mu


def alarms(runs):
    mu = mu_from(1.0, 1e-6)
    pure = sum(judged(*laplace(1.0, seed, 2000), Claim(1.0), ALPHA).refuted for seed in range(runs))
    return pure + sum(judged(*gaussian(mu, seed, 2000), Claim(1.0, 1e-6, mu), ALPHA).refuted for seed in range(runs))


@pytest.mark.no_cover
def test_false_alarms_are_rare():
    assert alarms(20) == 0


@pytest.mark.slow
def test_false_alarms_are_rare_in_many_runs():
    """600 runs at 1%: if the rate were 1%, at most one alarm would have a chance of 2%; it is far below 1%."""
    assert alarms(300) <= 1


def test_an_exact_number_beside_noise_is_refuted():
    one, other = laplace(1.0, 3)
    beside = judged(
        *(np.column_stack([side, np.full(len(side), k)]) for k, side in enumerate((one, other))), Claim(1.0), ALPHA
    )
    assert beside.refuted
    assert (beside.witness.hits, beside.witness.other_hits) == (5000, 0)
    assert "5,000 of 5,000 draws against 0 of 5,000" in beside.witness.sentence()


def test_floating_point_noise_is_refuted_and_the_same_noise_on_a_grid_is_not():
    rng = np.random.default_rng(4)
    floats = rng.laplace(1.0, 1.0, (10_000, 1)), rng.laplace(0.0, 1.0, (10_000, 1))
    found = judged(*floats, Claim(1.0), ALPHA)
    assert found.refuted
    assert found.witness.kind == "low-order bits"
    assert not judged(*(np.rint(side * GRID) for side in floats), Claim(1.0), ALPHA).refuted


def test_tables_that_are_not_told_apart_certify_nothing():
    same = np.full((100, 1), 3.0)
    found = judged(same, same, Claim(1.0, 1e-6, 0.2), ALPHA)
    assert (found.epsilon, found.mu, found.certified, found.witness, found.refuted) == (0.0, 0.0, 0.0, None, False)


def test_a_bound_is_compared_with_both_claims():
    claim = Claim(1.0, 1e-6, 0.2)
    assert Judgement(claim, 1.1, 0.1, None, None).refuted
    assert Judgement(claim, 0.9, 0.3, None, None).refuted
    assert not Judgement(claim, 0.9, 0.1, None, None).refuted
    assert not Judgement(Claim(1.0), 0.9, None, None, None).refuted


def test_too_few_draws_or_unlike_ones_are_refused():
    with pytest.raises(SpecError, match="at least 20 draws"):
        judged(np.zeros((19, 1)), np.zeros((100, 1)), Claim(1.0), ALPHA)
    with pytest.raises(SpecError, match="equally many numbers"):
        judged(np.zeros((100, 2)), np.zeros((100, 1)), Claim(1.0), ALPHA)
