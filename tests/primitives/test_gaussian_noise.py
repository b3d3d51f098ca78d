"""The Gaussian mechanism on a grid: its calibration and its loss on neighbours."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DataError, SpecError
from discreet.primitives import gaussian_noise as module
from discreet.primitives.gaussian_noise import gaussian
from discreet.privacy.gaussian_dp import delta_from, delta_from_rho
from discreet.privacy.textbook import classical_gaussian_sigma

FALSE_ALARM = 1e-9


@pytest.fixture
def without_noise(monkeypatch):
    """The noise is off, and one calibration is worked out once."""
    monkeypatch.setattr(module, "lattice_sigma", functools.cache(module.lattice_sigma))
    monkeypatch.setattr(module, "gaussian_noise", lambda sigma, how_many: [0] * how_many)


@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.usefixtures("without_noise")
@pytest.mark.parametrize("step", [None, 1 / 32])
@pytest.mark.parametrize("width", [1, 5])
def test_no_pair_of_neighbours_moves_further_than_the_noise_is_made_for(step, width):
    epsilon, delta, draws = 1.0, 0.01, np.random.default_rng(3)
    furthest = 0.0
    for _ in range(500):
        x = draws.normal(size=width) * 100
        change = draws.normal(size=width) * draws.choice([1.0, 1e-3], size=width)
        change /= np.linalg.norm(change) * (1 + 1e-12)
        moved = [Fraction(a) + 5 * Fraction(c) for a, c in zip(x, change, strict=True)]
        one, other = (
            gaussian(values, 5.0, epsilon, delta, step=step, allow_weak_privacy=True) for values in (x, moved)
        )
        mu2 = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(one.values, other.values, strict=True))
        mu = math.sqrt(mu2 / Fraction(one.sigma) ** 2)
        assert one.calibration == "analytic"
        assert delta_from(epsilon, mu) <= delta
        furthest = max(furthest, mu)
    # teeth: the noise is not far too large, and a tenth less would break the promise
    assert delta_from(epsilon, furthest * 1.1) > delta


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_exact_loss_of_the_lattice_distribution_is_below_delta_and_near_it(epsilon):
    delta = 0.01
    noisy = gaussian([0.0], 1.0, epsilon, delta, step=1 / 200, allow_weak_privacy=True)
    assert noisy.calibration == "analytic"
    sigma = noisy.sigma * 200
    z = np.arange(-int(30 * sigma), int(30 * sigma))

    def privacy(scale: float, shift: int) -> float:
        p = np.exp(-(z**2) / (2 * scale**2))
        q = np.exp(-((z - shift) ** 2) / (2 * scale**2))
        return float(np.maximum(0, p - np.exp(epsilon) * q).sum() / p.sum())

    # a change of 1 is 200 steps, and at most 201 after rounding
    assert privacy(sigma, 201) <= delta
    assert privacy(sigma * 0.98, 201) > delta


def test_calibrations_are_the_textbook_ones():
    assert gaussian([0.0], 1.0, 1.0, 1e-6).sigma == pytest.approx(4.2247, rel=1e-4)
    classical = gaussian([0.0], 2.0, 0.5, 1e-6, calibration="classical")
    assert classical.sigma == pytest.approx(2 * math.sqrt(2 * math.log(1.25e6)) / 0.5, rel=1e-8)
    assert classical.calibration == "classical"
    with pytest.raises(SpecError, match=r"needs epsilon below 1, got .*; pass calibration='analytic'"):
        gaussian([0.0], 1.0, 1.0, 1e-6, calibration="classical")
    with pytest.raises(SpecError, match="finer step"):
        gaussian([0.0], 1.0, 0.5, 1e-6, calibration="classical", step=1.0)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2, 0.4])
def test_the_classical_formula_is_larger_than_needed_wherever_it_is_allowed(delta):
    for epsilon in (1e-3, 0.1, 0.5, 0.9, 0.999):
        assert delta_from(epsilon, 1 / classical_gaussian_sigma(1.0, epsilon, delta)) <= delta
    # and too small at an epsilon where it is refused
    assert delta > 1e-5 or delta_from(30.0, 30 / math.sqrt(2 * math.log(1.25 / delta))) > delta


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize(("epsilon", "step"), [(1.0, 1.0), (800.0, None)])
def test_a_coarse_grid_or_a_huge_epsilon_uses_the_discrete_distribution_itself(epsilon, step):
    noisy = gaussian([3.0], 4.0, epsilon, 1e-6, step=step, allow_weak_privacy=epsilon > 20)
    assert noisy.calibration == "discrete-zcdp"
    moved = 4.0 + noisy.step
    assert delta_from_rho(epsilon, (moved / noisy.sigma) ** 2 / 2) <= 1e-6
    assert delta_from_rho(epsilon, (moved / noisy.sigma * 1.3) ** 2 / 2) > 1e-6


def test_noise_has_the_stated_standard_deviation_and_another_is_rejected():
    noisy = gaussian(np.zeros(20_000), 1.0, 2.0, 1e-5)
    statistic = float((np.array(noisy.values) ** 2).sum()) / noisy.sigma**2
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 20_000)
    assert low < statistic < high
    assert not low < statistic * 0.93**2 < high
    assert not low < statistic * 1.07**2 < high
    assert noisy.half_width(0.95) == pytest.approx(1.96 * noisy.sigma, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((), 1.0, 1.0, 1e-6), "must have at least one entry, got none"),
        (([1.0], 0, 1.0, 1e-6), "sensitivity"),
        (([1.0], 1.0, -1, 1e-6), "epsilon"),
        (([1.0], 1.0, 1.0, 0.0), "delta"),
        (([1.0], 1.0, 1.0, True), "delta"),
        (([1.0], 1.0, 1.0, math.nan), "delta"),
        (([1.0], 1.0, 1.0, 0.01), "allow_weak_privacy=True"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        gaussian(*arguments)


def test_other_bad_arguments_are_refused():
    with pytest.raises(SpecError, match="calibration"):
        gaussian([1.0], 1.0, 1.0, 1e-6, calibration="analytical")
    with pytest.raises(SpecError, match="exceed the range of doubles"):
        gaussian([1.0], 1e308, 1.0, 1e-6)
    with pytest.raises(SpecError, match=r"step must be at least .*, the smallest normal double"):
        gaussian([1.0], 1e-320, 1.0, 1e-6)
    with pytest.raises(SpecError, match="coarser step"):
        gaussian([1.0], 1.0, 1.0, 1e-6, step=1e-20)
    with pytest.raises(DataError, match="must contain only finite numbers"):
        gaussian([float("nan")], 1.0, 1.0, 1e-6)
