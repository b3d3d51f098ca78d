"""SSP and AdaSSP as written: what they do without noise, their noise, and what they truly spend."""

import math

import numpy as np
import pytest

from discreet.privacy import delta_from
from discreet_papers.kalaja import kalaja_methods
from discreet_papers.kalaja.kalaja_methods import Sums, averaged, mirrored, true_epsilon

NO_NOISE = np.array([1e12])


@pytest.fixture
def sums():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    return Sums.of(x, np.clip(x @ [0.4, -0.2, 0.1] + 0.1 * rng.standard_normal(200), -1, 1))


@pytest.mark.parametrize("name", ["ssp_paper", "ssp_symmetric", "adassp_printed", "adassp_fixed"])
def test_without_noise_they_are_least_squares(sums, name):
    theta = getattr(kalaja_methods, name)(sums, NO_NOISE, 1e-6, np.random.default_rng(1))
    assert np.allclose(theta[0], np.linalg.solve(sums.gram, sums.cross), atol=1e-8)


@pytest.mark.parametrize("name", ["ssp_coded", "adassp_coded", "ridge"])
def test_the_code_adds_the_identity(sums, name):
    theta = getattr(kalaja_methods, name)(sums, NO_NOISE, 1e-6, np.random.default_rng(1))
    assert np.allclose(theta[0], np.linalg.solve(sums.gram + np.eye(3), sums.cross), atol=1e-8)


def test_trivial_is_zero(sums):
    assert not kalaja_methods.trivial(sums, NO_NOISE, 1e-6, np.random.default_rng(1)).any()


def test_the_ridge_of_adassp_on_an_empty_table():
    """Noise alone: lambda is sigma sqrt(d log(2 d^2 / rho)), so the coefficients do not depend on epsilon."""
    empty = Sums(np.zeros((3, 3)), np.zeros(3), 0)
    one, two = (
        kalaja_methods.adassp_printed(empty, np.array([epsilon]), 1e-6, np.random.default_rng(5))[0]
        for epsilon in (0.1, 2.0)
    )
    rng = np.random.default_rng(5)
    rng.standard_normal(1)  # of lambda_min
    noise = mirrored(rng, 1, 3)[0] + math.sqrt(3 * math.log(2 * 9 / 0.05)) * np.eye(3)
    assert np.allclose(one, two)
    assert np.allclose(one, np.linalg.solve(noise, rng.standard_normal(3)))


def test_noise_is_symmetric_and_averaging_lowers_it_beside_the_diagonal():
    """40,000 variates each: a standard deviation is off by 2.5% with probability below 1e-11 (7 standard errors)."""
    rng = np.random.default_rng(2)
    for make, sd in ((mirrored, 1.0), (averaged, math.sqrt(0.5))):
        noise = make(rng, 40_000, 2)
        assert np.array_equal(noise, noise.transpose(0, 2, 1))
        assert abs(noise[:, 0, 1].std() / sd - 1) < 0.025
        assert abs(noise[:, 0, 0].std() - 1) < 0.025


def test_the_code_of_ssp_has_noise_that_is_not_symmetric():
    empty = Sums(np.zeros((2, 2)), np.ones(2), 0)
    rng = np.random.default_rng(3)
    theta = kalaja_methods.ssp_coded(empty, np.array([1.0]), 1e-6, rng)[0]
    again = np.random.default_rng(3)
    sigma = kalaja_methods.coded_sigma(1.0, 1e-6)
    cross = 1 + sigma * again.standard_normal(2)
    gram = np.eye(2) + sigma * again.standard_normal((2, 2))
    assert np.allclose(gram @ theta, cross)
    assert gram[0, 1] != gram[1, 0]


@pytest.mark.parametrize(
    ("claimed", "true"), [(0.1, 0.134), (0.5, 0.751), (1.0, 1.587), (2.0, 3.403), (5.0, 9.777), (10.0, 23.183)]
)
def test_ssp_as_coded_spends_more_than_it_claims(claimed, true):
    assert round(true_epsilon("ssp_coded", claimed), 3) == true > claimed


@pytest.mark.parametrize("name", ["ssp_paper", "ssp_symmetric", "adassp_printed", "adassp_fixed", "adassp_coded"])
def test_the_others_spend_less(name):
    true = true_epsilon(name, 1.0)
    assert true < 1
    assert delta_from(true, kalaja_methods.true_mu(name, 1.0)) == pytest.approx(1e-6, rel=1e-6)


def test_ratios_of_variances():
    assert kalaja_methods.paper_sigma(1, 1e-6) == 2 * kalaja_methods.coded_sigma(1, 1e-6)
    assert kalaja_methods.symmetric_sigma(1.0, 1e-6) == pytest.approx(10.856, abs=1e-3)
    assert kalaja_methods.printed_sigma(1.0, 1e-6) == pytest.approx(11.85, abs=5e-3)
    assert kalaja_methods.fixed_sigma(1.0, 1e-6) == pytest.approx(16.51, abs=5e-3)
