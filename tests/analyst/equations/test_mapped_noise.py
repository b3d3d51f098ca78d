"""Noise of a model of a release by `staged`: its covariances are those of its draws, whatever the columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.analyst.equations.noise import (
    EntryNoise,
    MappedNoise,
    form_covariance,
    noise_norm_quantile,
    product_covariance,
    square_covariance,
)
from discreet.analyst.inference.nuisance import growth_bound, largest_growth

GAUSSIAN = NoiseDistribution(8, {}, "none")
DRAWS = 40_000


def mapped(seed=1):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    products = np.abs(rng.normal(size=(3, 3))) + 0.2
    mapping = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0], [0.4, -0.3, 0.2, 1.0]])
    return MappedNoise(mapping, (products + products.T) / 2, root @ root.T, 0.7, np.zeros((3, 3)))


@pytest.fixture(scope="module")
def draws():
    return mapped().draws(GAUSSIAN, np.random.PCG64(3), DRAWS)


def test_covariances_are_those_of_the_draws(draws):
    """Standard errors of 40,000 draws are 0.7% of a variance; 6% is eight of them."""
    noise = mapped()
    w, s, t = np.random.default_rng(4).normal(size=(3, 3))
    found, stated = np.cov((draws @ t).T), product_covariance(noise, t)
    assert np.abs(found - stated).max() < 0.06 * stated.diagonal().max()
    forms = np.cov([np.einsum("i,nij,j->n", w, draws, one) for one in (s, t)])
    stated = form_covariance(noise, w[None], s[None], t[None])[0]
    assert abs(forms[0, 1] - stated) < 0.06 * np.sqrt(forms[0, 0] * forms[1, 1])
    squares = np.cov([np.einsum("i,nij,j->n", one, draws, one) for one in (s, t)])
    assert abs(squares[0, 1] - square_covariance(noise, s, t)) < 0.06 * np.sqrt(squares[0, 0] * squares[1, 1])
    np.testing.assert_allclose(noise.sd, draws.std(axis=0), rtol=0.06)
    # a score noise that ignores its correlations would be seen
    wrong = replace(noise, scores=np.diag(np.diag(noise.scores)))
    assert np.abs(np.cov((draws @ t).T) - product_covariance(wrong, t)).max() > 0.06 * found.diagonal().max()


def test_the_three_forms_agree_with_each_other():
    noise = replace(mapped(), weights=np.diag([0.3, 0.1, 0.2]))
    w, s = np.random.default_rng(5).normal(size=(2, 3))
    np.testing.assert_allclose(w @ product_covariance(noise, s) @ w, form_covariance(noise, w[None], s[None], s[None]))
    np.testing.assert_allclose(square_covariance(noise, w, w), form_covariance(noise, w[None], w[None], w[None])[0])
    np.testing.assert_allclose(noise.averaged(np.outer(s, s)), product_covariance(noise, s))
    assert noise.without_last().sd.shape == (2, 2)
    assert bool(noise)
    assert noise.copies == ()
    assert not MappedNoise(np.eye(4), *np.zeros((2, 3, 3)), 0.0, np.zeros((3, 3)))
    assert noise.draws(GAUSSIAN, np.random.PCG64(1), 5).shape == (5, 3, 3)


def test_without_scores_and_mapping_it_is_noise_of_independent_entries():
    sd = np.array([[1.0, 0.5], [0.5, 2.0]])
    plain = EntryNoise(np.block([[sd, np.zeros((2, 1))], [np.zeros((1, 2)), np.full((1, 1), 0.3)]]))
    noise = MappedNoise(np.eye(3), sd, np.zeros((2, 2)), 0.3, np.zeros((2, 2)))
    t = np.array([0.2, -1.0, 0.5])
    np.testing.assert_allclose(product_covariance(noise, t), product_covariance(plain, t))
    steps, weights = np.eye(3), t[None]
    args = (steps, weights, np.ones(1))
    np.testing.assert_allclose(largest_growth(noise, *args), largest_growth(plain, *args))
    assert growth_bound(noise, weights, np.ones(1)) <= growth_bound(plain, weights, np.ones(1)) * (1 + 1e-12)
    assert noise_norm_quantile(noise, np.eye(3), "sha256:00") == pytest.approx(
        noise_norm_quantile(plain, np.eye(3), "sha256:00"), rel=0.15
    )


def test_only_noise_of_single_columns_is_shrunk():
    noise = mapped()
    kept = np.array([[0.25]])
    shrunk = noise.shrunk(kept, 1)
    assert shrunk.products[2, 2] == pytest.approx(noise.products[2, 2] / 2)
    assert shrunk.products[0, 0] == noise.products[0, 0]
    turned = replace(noise, mapping=noise.mapping[[0, 2, 1]])
    assert turned.shrunk(kept, 1) is turned


@pytest.mark.parametrize("weighted", [False, True])
def test_variances_of_all_pairs_are_those_of_single_forms(weighted):
    """Rows of one column are computed in another way than rows that mix columns."""
    rng = np.random.default_rng(7)
    root = rng.normal(size=(3, 3))
    noise = replace(mapped(), weights=root @ root.T) if weighted else mapped()
    rows = np.vstack([np.eye(3), rng.normal(size=(3, 3)), [[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]])
    left, right = np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1))
    expected = form_covariance(noise, left, right, right).reshape(len(rows), len(rows))
    np.testing.assert_allclose(noise.entry_variance(rows), expected, rtol=1e-12)
    np.testing.assert_allclose(noise.sd, np.sqrt(expected[:3, :3]), rtol=1e-12)
