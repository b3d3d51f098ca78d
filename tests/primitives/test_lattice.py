"""Grids of primitives and the noise on them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import SpecError
from discreet.primitives import grid_noise as lattice

# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9


def discrete_laplace(scale: float, sensitivity: int) -> tuple[np.ndarray, np.ndarray]:
    z = np.arange(-sensitivity, sensitivity + 1)
    r = math.exp(-1 / scale)
    return z, r ** np.abs(z) * (1 - r) / (1 + r)


def chi_square(draws: np.ndarray, scale: float, sensitivity: int = 9) -> float:
    z, p = discrete_laplace(scale, sensitivity)
    observed = np.array([(draws == value).sum() for value in z] + [(np.abs(draws) > sensitivity).sum()])
    return float(stats.chisquare(observed, np.append(p, 1 - p.sum()) * len(draws)).pvalue)


def test_laplace_noise_of_a_scale_that_is_no_whole_number_has_the_stated_distribution():
    scale = 1.442695
    draws = np.array(lattice.laplace_noise(scale, 30_000))
    assert chi_square(draws, scale) > FALSE_ALARM
    assert chi_square(draws, scale * 1.07) < FALSE_ALARM
    assert chi_square(draws, scale * 0.93) < FALSE_ALARM


def test_large_scales_keep_their_mean_size():
    scale = 2.5e12
    draws = np.abs(np.array(lattice.laplace_noise(scale, 20_000), dtype=float))
    # sizes are exponential up to 1 in 1e12: their sum is a gamma variate
    low, high = stats.gamma.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 20_000) * scale
    assert low < draws.sum() < high
    assert not low < draws.sum() * 1.1 < high


def test_noise_comes_in_chunks_and_each_scale_gets_its_own(monkeypatch):
    calls = []
    monkeypatch.setattr(lattice, "CHUNK", 4)
    monkeypatch.setattr(
        lattice, "laplace_variates", lambda scale, how_many: calls.append((scale, how_many)) or [int(scale)] * how_many
    )
    assert lattice.laplace_noise(3.0, 10) == [3] * 10
    assert calls == [(3.0, 4), (3.0, 4), (3.0, 2)]
    assert lattice.laplace_noises([7.0, 2.0, 7.0]) == [7, 2, 7]
    assert len(lattice.gaussian_noise(5, 10)) == 10


def test_grids_are_powers_of_two_below_the_size_they_serve():
    for size in (Fraction(1), Fraction(3), Fraction(7, 10), Fraction(1, 3), Fraction(10**30), Fraction(0.1)):
        step = lattice.default_step(size)
        assert 2**30 <= size / step < 2**31
        assert 1 in (step.numerator, step.denominator)
        assert step.numerator & (step.numerator - 1) == 0
    assert lattice.scale_in_steps(Fraction(1, 3), Fraction(1)) >= Fraction(1, 3)
    with pytest.raises(SpecError, match="raise epsilon"):
        lattice.scale_in_steps(Fraction(2**58))
    with pytest.raises(SpecError, match="choose a step of at least"):
        lattice.scale_in_steps(Fraction(2**58), Fraction(1))
