"""Private means: exact losses, intervals, the squared-error distribution on its lattice, and what the notes got
wrong."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DataError, SpecError
from discreet.primitives import mean as module
from discreet.primitives.mean import grid_size, private_mean
from support.discrete_distributions import squared_error_distribution

FALSE_ALARM = 1e-9


@pytest.fixture
def exact(monkeypatch):
    """The exact statistic and the scales drawn from, for a table: noise off, numbers caught on the way."""
    caught: list[tuple[int, float]] = []

    def statistic(values, **settings) -> tuple[list[int], list[float]]:
        caught.clear()
        totals: list[int] = []
        real = module._Range.total

        def total(self, numbers):
            totals.append(real(self, numbers))
            return totals[-1]

        with monkeypatch.context() as patch:
            patch.setattr(module._Range, "total", total)
            patch.setattr(module, "laplace_noise", lambda scale, _: caught.append(scale) or [0])
            result = private_mean(values, (-2.0, 5.0), **settings)
        if result.guarantee.neighbours == "add-remove":
            totals.append(result.size)
        return totals, list(caught)

    return statistic


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.1, 1.7])
def test_no_pair_of_tables_loses_more_than_epsilon_and_some_reach_it(exact, neighbours, epsilon):
    draws = random.Random(31)
    reached = Fraction(0)
    for _ in range(1000):
        table = [draws.choice([-2.0, 5.0, draws.uniform(-9, 9)]) for _ in range(draws.randint(0, 6))]
        if neighbours == "replace":
            table.append(draws.uniform(-9, 9))
            other = [draws.choice([-7.0, 7.0, draws.uniform(-9, 9)]), *table[1:]]
        else:
            other = [*table, draws.choice([-7.0, 7.0, draws.uniform(-9, 9)])]
        draws.shuffle(other)
        settings = {"epsilon": epsilon, "neighbours": neighbours}
        if neighbours == "add-remove":
            settings["count_share"] = draws.choice([0.1, 0.25, 0.9])
        one, scales = exact(table, **settings)
        two, _ = exact(other, **settings)
        loss = sum(Fraction(abs(a - b)) / Fraction(scale) for a, b, scale in zip(one, two, scales, strict=True))
        assert loss <= Fraction(epsilon)
        reached = max(reached, loss / Fraction(epsilon))
    assert reached > 1 - Fraction(1, 10**9)


def test_the_scale_under_replace_is_the_range_over_n_epsilon(exact):
    _, (scale,) = exact([1.0] * 10, epsilon=0.5, neighbours="replace")
    # steps of half the range over 2^30, of a sum over 10
    assert scale * 3.5 / 2**30 / 10 == pytest.approx(7 / (10 * 0.5), rel=1e-12)


def test_noise_on_a_mean_with_a_private_number_of_entries_has_no_finite_loss():
    """Erratum: Lap(1/(n epsilon)) under add-remove has another scale in the neighbouring table."""
    epsilon, n = 1.0, 100

    def log_density(z: float, rows: int) -> float:
        return math.log(rows * epsilon / 2) - rows * epsilon * abs(z)

    losses = [abs(log_density(z, n) - log_density(z, n + 1)) for z in (1, 5, 50)]
    assert losses == pytest.approx([0.99, 4.99, 49.99], abs=0.001)


def test_the_sensitivity_of_squared_error_is_nearly_two_over_n():
    """Erratum: not 1/n. For a mean that moves from 1 - 1/n to 1 and a candidate 0, in fractions."""
    n = 100
    moved = Fraction(1) ** 2 - Fraction(n - 1, n) ** 2
    assert moved == (2 - Fraction(1, n)) / n
    assert moved > Fraction(1, n)


def test_untruncated_squared_error_loses_without_bound():
    """Erratum: on the whole line the normaliser is constant, and the loss grows with the distance."""
    n, epsilon = 100, 1
    a, b = Fraction(1), Fraction(n - 1, n)
    losses = [Fraction(n * epsilon, 2) * ((b - t) ** 2 - (a - t) ** 2) for t in (1, -2, -9, 10)]
    assert float(abs(losses[3])) == pytest.approx(9.005, abs=0.001)
    assert abs(losses[2]) > 9 * epsilon


@pytest.mark.parametrize(("n", "epsilon", "cells"), [(2, 1.0, 16), (10, 0.5, 3), (100, 1.0, 64), (1000, 1.0, 4096)])
def test_the_truncated_distribution_on_the_lattice_keeps_epsilon(n, epsilon, cells):
    worst = 0.0
    for k in range(n):
        one, other = (squared_error_distribution(Fraction(index, n), n, epsilon, cells) for index in (k, k + 1))
        worst = max(worst, float(np.abs(one - other).max()))
    assert worst <= epsilon
    assert worst >= 0.5 * epsilon
    # teeth: with many rows the distribution is narrow and nearly all of epsilon is spent
    assert n < 1000 or worst >= 0.95 * epsilon


def test_twice_the_rate_would_break_the_promise():
    one, other = (squared_error_distribution(Fraction(index, 1000), 1000, 2.0, 4096) for index in (0, 1))
    assert np.abs(one - other).max() > 1.9


@pytest.mark.no_cover
def test_squared_error_is_dominated_by_laplace():
    """n = 1000, epsilon = 1, numbers in [0, 1]: standard deviations 0.032 against 0.0014."""
    table = [0.5] * 1000
    settings = {"bounds": (0, 1), "epsilon": 1.0, "neighbours": "replace"}
    drawn = [private_mean(table, method="squared-error", **settings).value for _ in range(600)]
    shifted = [private_mean(table, **settings).value for _ in range(600)]
    # six standard errors of a standard deviation of 600: false alarm below 1e-8
    assert np.std(drawn) == pytest.approx(1000**-0.5, rel=6 / math.sqrt(2 * 600))
    assert np.std(shifted) == pytest.approx(math.sqrt(2) / 1000, rel=6 * math.sqrt(5 / 4 / 600))
    assert np.std(drawn) > 15 * np.std(shifted)
    assert grid_size(10**12, 1.0) > 2**20


def test_absolute_error_is_drawn_around_the_sum_inside_the_bounds(monkeypatch):
    caught = []
    monkeypatch.setattr(module, "absolute_error_draw", lambda *given: caught.append(given) or 0)
    result = private_mean([0.25] * 10, (0, 1), 1.0, neighbours="replace", method="absolute-error")
    assert result.value == 0.5
    (total, furthest, scale), unit = caught[0], module.UNIT
    assert (total, furthest) == (-5 * unit, 10 * unit)
    # one exchanged number moves the sum by 2 units, and 2 e^s - 1 = e^epsilon at s = 2 units / scale
    assert 2 * math.exp(2 * unit / scale) - 1 == pytest.approx(math.e, rel=1e-12)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(
    "settings",
    [
        {"neighbours": "replace"},
        {"neighbours": "replace", "method": "absolute-error"},
        {"neighbours": "replace", "method": "squared-error"},
        {"neighbours": "add-remove"},
    ],
)
def test_intervals_hold_the_mean_of_the_clipped_numbers(settings):
    table = list(np.linspace(-3, 8, 40))
    truth = float(np.clip(table, -2, 5).mean())
    held = half_held = 0
    for _ in range(800):
        result = private_mean(table, (-2, 5), 0.5, level=0.8, **settings)
        low, high = result.interval
        assert -2 <= low <= high <= 5
        held += low <= truth <= high
        if result.value is not None:
            assert -2 <= result.value <= 5
            half_held += (low + result.value) / 2 <= truth <= (high + result.value) / 2
    # false alarm at most 1e-9 if the level holds
    assert stats.binomtest(held, 800, 0.8, alternative="less").pvalue > FALSE_ALARM
    # teeth: half the width does not hold it
    assert stats.binomtest(half_held, 800, 0.8, alternative="less").pvalue < FALSE_ALARM


def test_nothing_to_divide_by_gives_no_mean_and_the_whole_range(monkeypatch):
    monkeypatch.setattr(module, "laplace_noise", lambda scale, how_many: [-1])
    result = private_mean([3.0], (0, 10), 1.0)
    assert (result.value, result.interval, result.size) == (None, (0.0, 10.0), 0)
    monkeypatch.setattr(module, "laplace_noise", lambda scale, how_many: [1])
    assert private_mean([], (0, 10), 1.0).size == 1


def test_clipping_centring_and_rounding_stay_inside_the_unit():
    span = module._checked_bounds((0.1, 0.3))
    for number in (-1e308, 0.1, 0.2, 0.3, 1e308):
        assert abs(span.total(np.array([number]))) <= module.UNIT
    assert span.total(np.array([0.3])) == module.UNIT


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": (1, 0)}, "the lower bound first"),
        ({"bounds": (1, 1)}, "the lower bound first"),
        ({"bounds": (0, math.inf)}, "bound"),
        ({"bounds": 3}, "two numbers"),
        ({"epsilon": 0}, "epsilon"),
        ({"count_share": 1}, "count_share"),
        ({"level": 1}, "a number from 0.5 to 1 - 1e-9"),
        ({"level": np.float32(1)}, "a number from 0.5 to 1 - 1e-9"),
        ({"level": 10**400}, "level"),
        ({"count_share": 0.25, "neighbours": "replace"}, "because the count is public"),
        ({"epsilon": 1e-9}, "raise epsilon"),
        ({"method": ["laplace"]}, "method"),
        ({"method": "median"}, "method"),
        ({"method": "squared-error"}, "neighbours='replace'"),
        ({"method": "absolute-error"}, "neighbours='replace'"),
        ({"neighbours": "none"}, "neighbours"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(SpecError, match=message):
        private_mean(**({"values": [1.0], "bounds": (0, 1), "epsilon": 1.0} | settings))


def test_bad_data_are_refused_without_values_or_counts():
    for values in ([math.nan], ["7777"], [10**400], np.array([np.inf]), np.array([["7777"]]), "7777", None):
        with pytest.raises(DataError) as refused:
            private_mean(values, (0, 1), 1.0)
        assert "7777" not in str(refused.value)
    with pytest.raises(SpecError, match="values must have at least one entry"):
        private_mean([], (0, 1), 1.0, neighbours="replace")
    assert private_mean(np.ones(400), (0, 1), 1.0).size > 200
