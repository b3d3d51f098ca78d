"""Covariances of products of noisy sums."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.equations.noise import (
    EntryNoise,
    averaged_covariance,
    form_covariance,
    product_covariance,
    square_covariance,
)
from support.brute_force import brute_covariance


@pytest.fixture(params=[(), (2,), (1, 4)], ids=["independent", "an indicator", "two, one of them the target"])
def noise(request, variance):
    """Squares of indicators have the deviation of their sums."""
    for j in request.param:
        variance[j, j] = variance[0, j]
    return EntryNoise(np.sqrt(variance), request.param)


def test_covariances_of_the_noise_are_those_of_its_single_entries(noise):
    random = np.random.default_rng(6)
    W, S, T = random.normal(size=(3, 4, 5))

    def brute(left, s, right, t):
        return brute_covariance(noise.variance, left, s, right, t, noise.copies)

    got = form_covariance(noise, W, S, T)
    np.testing.assert_allclose(got, [brute(w, s, w, t) for w, s, t in zip(W, S, T, strict=True)], rtol=1e-12)
    one = form_covariance(noise, W, S[:1], T)
    np.testing.assert_allclose(one[2], brute(W[2], S[0], W[2], T[2]), rtol=1e-12)
    eye = np.eye(5)
    wanted = [[brute(a, S[0], b, S[0]) for a in eye] for b in eye]
    np.testing.assert_allclose(product_covariance(noise, S[0]), wanted, rtol=1e-12)
    np.testing.assert_allclose(product_covariance(noise, S)[0], wanted, rtol=1e-12)
    assert square_covariance(noise, S[0], T[0]) == pytest.approx(brute(S[0], S[0], T[0], T[0]), rel=1e-12)
    # without what entries share every number is another
    alone = EntryNoise(noise.sd)
    same = [
        np.allclose(form_covariance(alone, W, S, T), got),
        np.allclose(product_covariance(alone, S[0]), wanted),
        np.isclose(square_covariance(alone, S[0], T[0]), brute(S[0], S[0], T[0], T[0])),
    ]
    assert same == [not noise.copies] * 3


def test_a_covariance_averaged_over_coefficients_is_the_mean_of_the_covariances(noise):
    rows = np.random.default_rng(7).normal(size=(6, 5))
    mean = np.mean([product_covariance(noise, row) for row in rows], axis=0)
    np.testing.assert_allclose(averaged_covariance(noise.variance, noise.shared, rows.T @ rows / 6), mean, rtol=1e-12)


def test_noise_without_the_target_keeps_what_other_columns_share(noise):
    less = noise.without_last()
    np.testing.assert_array_equal(less.sd, noise.sd[:4, :4])
    np.testing.assert_array_equal(less.shared, noise.shared[:4])
    assert noise
    assert not EntryNoise(np.zeros((2, 2)))
