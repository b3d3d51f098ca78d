"""The coins, the lattice noise and the error figures that every primitive stands on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import SpecError
from discreet.mechanisms.sampling import coins as chance
from discreet.primitives import error_law, lattice

# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9


class _UndecidedError(Exception):
    def __init__(self, odds: Fraction) -> None:
        self.odds = odds


def chance_of_true(run, depth: int) -> tuple[Fraction, Fraction]:
    """Exact probability that `run(coin)` is true, by all outcomes of up to `depth` coins; and what is left open."""
    true, left = Fraction(0), Fraction(0)
    open_paths = [((), Fraction(1))]
    while open_paths:
        path, weight = open_paths.pop()
        tosses = iter(path)

        def coin(odds: Fraction, tosses=tosses) -> bool:
            for toss in tosses:
                return toss
            raise _UndecidedError(odds)

        try:
            true += weight * run(coin)
        except _UndecidedError as undecided:
            if len(path) == depth:
                left += weight
                continue
            for toss, odds in ((True, undecided.odds), (False, 1 - undecided.odds)):
                if odds:
                    open_paths.append(((*path, toss), weight * odds))
    return true, left


def test_a_coin_is_true_for_exactly_its_share_of_the_uniform_numbers(monkeypatch):
    for odds in (Fraction(0), Fraction(1), Fraction(3, 7), Fraction(0.1)):
        if odds.denominator > 1000:
            # the two numbers on either side of the border
            outcomes = {odds.numerator - 1: True, odds.numerator: False}
        else:
            outcomes = {number: number < odds.numerator for number in range(odds.denominator)}
        for number, expected in outcomes.items():
            asked = []
            monkeypatch.setattr(
                chance, "below", lambda limit, number=number, asked=asked: asked.append(limit) or number
            )
            assert chance.bernoulli(odds) == expected
            assert asked == [odds.denominator]


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(5)])
def test_the_exponential_coin_has_exactly_its_probability(exponent):
    true, left = chance_of_true(lambda coin: chance.bernoulli_exp(exponent, coin=coin), depth=26)
    assert left < Fraction(1, 10**7)
    # the exact probability lies between what is decided and what could still be
    assert float(true) - 1e-15 <= math.exp(-exponent) <= float(true + left) + 1e-15
    if exponent:
        assert not float(true) <= math.exp(-exponent * 1.001) <= float(true + left)


def discrete_laplace(scale: float, sensitivity: int) -> tuple[np.ndarray, np.ndarray]:
    z = np.arange(-sensitivity, sensitivity + 1)
    r = math.exp(-1 / scale)
    return z, r ** np.abs(z) * (1 - r) / (1 + r)


def chi_square(draws: np.ndarray, scale: float, sensitivity: int = 9) -> float:
    z, p = discrete_laplace(scale, sensitivity)
    observed = np.array([(draws == value).sum() for value in z] + [(np.abs(draws) > sensitivity).sum()])
    return float(stats.chisquare(observed, np.append(p, 1 - p.sum()) * len(draws)).pvalue)


def test_laplace_noise_of_a_scale_that_is_no_whole_number_has_the_stated_law():
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


@pytest.mark.parametrize("scale", [0.2, 1.0, 7.3])
@pytest.mark.parametrize("how_many", [1, 40])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_simultaneous_bound_is_the_smallest_that_holds(scale, how_many, level):
    bound = error_law.laplace_bound(scale, how_many, level)
    z, p = discrete_laplace(scale, 600)

    def all_within(t: int) -> float:
        return float(p[np.abs(z) <= t].sum()) ** how_many

    assert all_within(bound) >= level
    assert bound == 0 or all_within(bound - 1) < level


@pytest.mark.parametrize("scale", [0.1, 1.0, 12.0])
@pytest.mark.parametrize("how_many", [1, 30])
def test_expected_errors_agree_with_enumeration(scale, how_many):
    z, p = discrete_laplace(scale, 2000)
    assert error_law.laplace_mean_size(scale) == pytest.approx(float((np.abs(z) * p).sum()), rel=1e-9)
    below = np.array([p[np.abs(z) <= t].sum() for t in range(1000)])
    largest = float((1 - np.minimum(1, below) ** how_many).sum())
    assert error_law.laplace_expected_largest(scale, how_many) == pytest.approx(largest, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("how_many", [1, 1000])
def test_the_two_ways_to_the_expected_largest_error_meet(monkeypatch, how_many):
    term_by_term = error_law.laplace_expected_largest(300.0, how_many)
    monkeypatch.setattr(error_law, "_TERMS", 0)
    assert error_law.laplace_expected_largest(300.0, how_many) == pytest.approx(term_by_term, rel=1e-5)


def test_gaussian_errors_agree_with_known_values():
    assert error_law.gaussian_bound(2.0, 1, 0.95) == pytest.approx(2 * 1.959963985, rel=1e-9)
    # all of 20: the level of each is 0.95^(1/20)
    assert error_law.gaussian_bound(1.0, 20, 0.95) == pytest.approx(
        stats.norm.ppf((1 + 0.95 ** (1 / 20)) / 2), rel=1e-9
    )
    # the larger of two sizes of independent normals is 2/sqrt(pi) on average
    assert error_law.gaussian_expected_largest(1.0, 2) == pytest.approx(2 / math.sqrt(math.pi), rel=1e-6)
