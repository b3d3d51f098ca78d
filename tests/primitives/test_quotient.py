"""The interval of a private mean whose number of entries is hidden: the distribution behind it, its coverage and its
width."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.primitives import mean as module
from discreet.primitives import mean as quotient
from discreet.primitives.grid_noise import laplace_noise
from discreet.primitives.mean import difference_bound, difference_tail, private_mean, quotient_interval

FALSE_ALARM = 1e-9
SCALES = [(3.3, 1.7), (1.2, 5.0), (0.7, 0.4), (2.0, 4.0)]


def enumerated(t: float, weight: float, sum_scale: float, count_scale: float) -> float:
    """P(|S - weight C| >= t) by summing over the integers."""
    s, c = np.arange(-300, 301), np.arange(-300, 301)
    p, q = np.exp(-np.abs(s) / sum_scale), np.exp(-np.abs(c) / count_scale)
    joint = np.outer(p / p.sum(), q / q.sum())
    return float(joint[np.abs(s[:, None] - weight * c[None, :]) >= t].sum())


@pytest.mark.parametrize("scales", SCALES)
def test_the_tail_is_exact_on_whole_numbers_and_never_below_the_truth(scales):
    for weight in (1, 2, 7):
        for t in (1, 2, 5, 13, 30):
            assert difference_tail(t, weight, *scales) == pytest.approx(enumerated(t, weight, *scales), rel=1e-9)
    for weight in (0.0, 0.31, 2.5, 3.7):
        for t in (0.5, 1.0, 2.2, 7.9, 20.4):
            assert difference_tail(t, weight, *scales) >= enumerated(t, weight, *scales)


def test_the_tail_of_fine_grids_is_that_of_two_laplace_variates():
    """For a != b: P(|aX + bY| > t) = (a^2 e^(-t/a) - b^2 e^(-t/b)) / (a^2 - b^2)."""
    a, b = 3e8, 7e8
    for t in (1e6, 1e9, 5e9, 2e10):
        exact = (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (a * a - b * b)
        assert difference_tail(t, 1.0, a, b) == pytest.approx(exact, rel=1e-7)
        # equal scales, where the closed form has a limit of its own
        assert difference_tail(t, 1.0, a, a) == pytest.approx((1 + t / (2 * a)) * math.exp(-t / a), rel=1e-7)


@pytest.mark.parametrize("scales", SCALES)
def test_the_tail_falls_with_t_and_rises_with_the_weight_from_half_a_step_on(scales):
    weights = np.concatenate([[0], np.geomspace(1e-3, 50, 60)])
    points = np.linspace(0.5, 60, 120)
    table = np.array([[difference_tail(t, weight, *scales) for t in points] for weight in weights])
    assert (np.diff(table, axis=1) <= 1e-12 * table[:, :-1]).all()
    assert (np.diff(table, axis=0) >= -1e-12 * table[:-1]).all()


@pytest.mark.parametrize("level", [0.5, 0.95, 1 - 1e-9])
def test_the_bound_is_the_least_one(level):
    for weight in (0.0, 1e6, 2.0**30):
        bound = difference_bound(weight, 2.0**31, 4.0, level)
        assert difference_tail(bound, weight, 2.0**31, 4.0) <= 1 - level
        assert difference_tail(bound * (1 - 1e-5), weight, 2.0**31, 4.0) > 1 - level


UNIT, NOISE = 2**30, (2**30 / 0.75, 4.0)


def agreeing(centre: float, size: int) -> list[float]:
    """The means of a fine net that the test behind the interval does not reject."""
    return [
        m
        for m in np.linspace(-1, 1, 401)
        if difference_tail(max(0.5, abs(centre - m) * size * UNIT), abs(m) * UNIT, *NOISE) > 0.05
    ]


@pytest.mark.parametrize("size", [1, 12, 40, 3000])
@pytest.mark.parametrize("centre", [-1.0, -0.4, 0.0, 0.02, 0.9])
def test_every_mean_that_agrees_with_what_was_released_is_in_the_interval(centre, size):
    low, high = quotient_interval(centre, size, UNIT, NOISE, 0.95)
    agree = agreeing(centre, size)
    assert low <= centre <= high
    assert low <= min(agree)
    assert max(agree) <= high
    # and no other: the net has steps of 0.005
    assert low >= min(agree) - 0.0051
    assert high <= max(agree) + 0.0051


def test_an_interval_whose_ends_come_closer_slowly_is_valid_wherever_it_stops(monkeypatch):
    agree = agreeing(0.02, 13)
    before = (-1.0, 1.0)
    for rounds in (2, 5, 10, 50):
        monkeypatch.setattr(quotient, "_ROUNDS", rounds)
        low, high = quotient_interval(0.02, 13, UNIT, NOISE, 0.95)
        assert before[0] <= low <= min(agree)
        assert max(agree) <= high < before[1]
        before = low, high


@pytest.mark.no_cover
@pytest.mark.parametrize("n", [50, 500, 5000])
@pytest.mark.parametrize("index", [(0, 10), (8, 10), (10, 10)])
def test_intervals_cover_as_stated_and_are_about_as_wide_as_the_error_is_large(n, index, monkeypatch):
    """Numbers in [0, 10], epsilon = 1, nominal 95 %: the noise comes from the exact sampler, in bulk."""
    runs = 300
    stock: dict[float, list[int]] = {}

    def in_bulk(scale: float, how_many: int) -> list[int]:
        drawn = stock.setdefault(scale, [])
        if not drawn:
            drawn += laplace_noise(scale, runs)
        return [drawn.pop() for _ in range(how_many)]

    monkeypatch.setattr(module, "laplace_noise", in_bulk)
    draws = np.random.default_rng(61)
    table = draws.uniform(*index, size=n)
    truth = table.mean()
    results = [private_mean(table, (0, 10), 1.0) for _ in range(runs)]
    covered = sum(result.interval[0] <= truth <= result.interval[1] for result in results)
    # false alarm at most 1e-9 if the level holds
    assert stats.binomtest(covered, runs, 0.95, alternative="less").pvalue > FALSE_ALARM
    # teeth: half the width on either side of the value does not cover
    halves = [[(end + result.value) / 2 for end in result.interval] for result in results]
    half_covered = sum(a <= truth <= b for a, b in halves)
    assert stats.binomtest(half_covered, runs, 0.95, alternative="less").pvalue < FALSE_ALARM
    # not far too wide either, more than ten standard errors of a mean width away from a false alarm: twice the error's
    # 95 % quantile, by a simulation of its own, from continuous noise
    scaled = (truth - 5) / 5
    count = np.maximum(1, n + draws.laplace(scale=4, size=200_000))
    error = 5 * np.abs(draws.laplace(scale=4 / 3, size=200_000) - scaled * draws.laplace(scale=4, size=200_000)) / count
    width = np.mean([result.interval[1] - result.interval[0] for result in results])
    assert width <= 1.15 * 2 * np.quantile(error, 0.95)


def test_an_interval_around_a_mean_beyond_the_bounds_is_no_single_point(monkeypatch):
    # 30 scales on the sum, none on the count
    monkeypatch.setattr(module, "laplace_noise", lambda scale, _: [int(30 * scale) if scale > 100 else 0])
    for neighbours in ("add-remove", "replace"):
        result = private_mean(np.full(1000, 10.0), (0, 10), 1.0, neighbours=neighbours)
        assert result.value == result.interval[1] == 10
        assert 0.02 < 10 - result.interval[0] < 0.1


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("epsilon", [1e5, 1e6])
def test_an_interval_finer_than_doubles_ends_and_holds_the_mean(epsilon):
    """Two neighbouring doubles are then farther apart than the digits that are asked for."""
    for values in (np.full(10**5, 0.25), np.full(10**5, 1 / 3)):
        low, high = private_mean(values, (0, 1), epsilon, level=0.999999, allow_weak_privacy=True).interval
        assert low - 1e-9 <= values[0] <= high + 1e-9
        assert high - low < 1e-6
