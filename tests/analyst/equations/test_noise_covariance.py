"""Covariances of products of noisy sums."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.equations.noise_covariance import form_covariance, product_covariance, square_covariance
from support.brute_force import brute_covariance


def test_covariances_of_the_noise_are_those_of_its_single_entries(variance):
    random = np.random.default_rng(6)
    W, S, T = random.normal(size=(3, 4, 5))
    got = form_covariance(variance, W, S, T)
    np.testing.assert_allclose(
        got, [brute_covariance(variance, w, s, w, t) for w, s, t in zip(W, S, T, strict=True)], rtol=1e-12
    )
    one = form_covariance(variance, W, S[:1], T)
    np.testing.assert_allclose(one[2], brute_covariance(variance, W[2], S[0], W[2], T[2]), rtol=1e-12)
    eye = np.eye(5)
    brute = [[brute_covariance(variance, a, S[0], b, S[0]) for a in eye] for b in eye]
    np.testing.assert_allclose(product_covariance(variance, S[0]), brute, rtol=1e-12)
    brute_square = brute_covariance(variance, S[0], S[0], T[0], T[0])
    assert square_covariance(variance, S[0], T[0]) == pytest.approx(brute_square, rel=1e-12)
