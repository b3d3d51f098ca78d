"""Laplace and discrete Laplace: exact losses on neighbours, scales and promises that are each other's inverse."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DataError, SpecError
from discreet.primitives import laplace_noise as module
from discreet.primitives.arguments import data_fractions
from discreet.primitives.laplace_noise import discrete_laplace, laplace, laplace_epsilon


@pytest.fixture
def seen(monkeypatch):
    """The scales that are drawn from, with the noise itself off."""
    scales: list[float] = []

    def without_noise(wanted):
        scales[:] = wanted
        return [0] * len(wanted)

    monkeypatch.setattr(module, "laplace_noises", without_noise)
    return scales


def exact_loss(one, other, drawn) -> Fraction:
    """Largest log ratio of two product Laplace distributions: the sum of distances in steps over scales in steps."""
    return sum(
        (abs(round(Fraction(a) / Fraction(step)) - round(Fraction(b) / Fraction(step))) / Fraction(scale)
         for a, b, step, scale in zip(one.values, other.values, one.steps, drawn, strict=True)),
        Fraction(0),
    )  # fmt: skip


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("by_epsilon", [True, False])
def test_no_pair_of_neighbours_loses_more_than_the_promise_and_some_reach_it(seen, by_epsilon):
    draws = random.Random(11)
    reached = Fraction(0)
    for _ in range(1000):
        width = draws.randint(1, 4)
        halves = draws.random() < 0.2
        vectors = [
            [draws.choice([0.0, draws.uniform(0.01, 5)]) for _ in range(width)] for _ in range(draws.randint(1, 3))
        ]
        vectors[0] = [draws.uniform(0.01, 5) for _ in range(width)]
        settings = (
            {"epsilon": draws.choice([0.1, 1.0, 3.0])}
            if by_epsilon
            else {"scales": [draws.uniform(0.5, 20) for _ in range(width)]}
        )
        if draws.random() < 0.3:
            settings["step"] = draws.choice([1e-3, 0.25])
        settings["allow_weak_privacy"] = True
        values = [draws.uniform(-100, 100) for _ in range(width)]
        if halves:
            # values and changes that fall on ties of the grid
            settings["step"] = 0.25
            vectors = [[draws.randint(1, 9) / 8 for _ in range(width)] for _ in vectors]
            values = [draws.randint(-99, 99) / 8 for _ in range(width)]
        # the change is exact: floats that differ by no more than the vector says
        signs = [draws.choice([-1, 1]) for _ in range(width)]
        moved = [Fraction(v) + s * Fraction(c) for v, s, c in zip(values, signs, draws.choice(vectors), strict=True)]
        one = laplace(values, vectors, **settings)
        drawn = list(seen)
        other = laplace(moved, vectors, **settings)
        loss = exact_loss(one, other, drawn)
        assert loss <= Fraction(one.guarantee.epsilon)
        reached = max(reached, loss / Fraction(one.guarantee.epsilon))
    assert reached > Fraction(99, 100)


def test_values_halfway_between_two_steps_move_no_further_than_others(seen):
    """Ties to even would carry 1/2 and 3/2 to 0 and 2, two steps apart for a change of one."""
    for start in range(-3, 4):
        one, other = (laplace([start + shift], changes=1, scales=1.0, step=1) for shift in (0.5, 1.5))
        assert exact_loss(one, other, seen) == 1 == one.guarantee.epsilon
    assert abs(round(0.5) - round(1.5)) == 2


def test_rounding_of_values_to_a_coarse_grid_is_paid_for(seen):
    """Half a step of change can move a rounded value by a whole one: the promise counts the whole one."""
    settings = {"changes": 0.5, "scales": 1.0, "step": 1.0}
    one, other = laplace([0.4], **settings), laplace([0.9], **settings)
    assert exact_loss(one, other, seen) == 1
    assert one.guarantee.epsilon == 1.0
    assert laplace_epsilon(0.5, 1.0) == 0.5


def test_the_loss_of_noise_is_what_enumeration_says():
    """Log ratios of the discrete distribution are whole distances over the scale: the maximum is at the far side of
    both."""
    scale, shift = Fraction(7, 3), 4
    ratios = [(abs(z - shift) - abs(z)) / scale for z in range(-50, 51)]
    assert max(ratios) == shift / scale


def test_joint_release_is_charged_once_not_by_coordinate(seen):
    both = laplace([4213.0, 977.0], changes=[10, 1], epsilon=1.0)
    assert both.scales == (20.0, 2.0)
    assert laplace_epsilon([10, 1], [20, 2]) == 1.0
    assert laplace_epsilon([[10, 0], [0, 1]], [20, 2]) == 0.5
    assert laplace([1.0, 2.0], changes=[10, 1], epsilon=1.0, weights=[10, 3]).scales == pytest.approx((40 / 3, 4))
    assert laplace([1.0, 2.0], changes=[10, 1], epsilon=1.0, weights=1).scales == (11.0, 11.0)


def test_noise_is_really_added_and_half_widths_hold_it():
    # |noise| exceeds the 1 - 1e-9 bound in one of 50 draws with probability below 1e-7
    for _ in range(50):
        noisy = laplace([1000.0], changes=1, epsilon=0.5)
        assert noisy.values[0] != 1000.0
        assert abs(noisy.values[0] - 1000) <= noisy.half_widths(1 - 1e-9)[0]
    assert laplace([0.0], changes=1, epsilon=0.5).half_widths(0.95)[0] == pytest.approx(2 * np.log(20), rel=1e-6)


def test_whole_numbers_stay_whole_and_have_the_stated_scale():
    noisy = discrete_laplace(np.arange(20_000), sensitivity=2, epsilon=0.7, neighbours="replace")
    assert Fraction(2) / Fraction(noisy.scale) <= Fraction(0.7)
    assert noisy.scale == pytest.approx(2 / 0.7, rel=1e-15)
    assert noisy.guarantee.neighbours == "replace"
    errors = np.array(noisy.values) - np.arange(20_000)
    r = np.exp(-1 / noisy.scale)
    zero, sd = (1 - r) / (1 + r), np.sqrt(2 * r) / (1 - r)
    # seven standard errors: false alarm below 1e-11 each; a scale a tenth off is rejected
    assert abs((errors == 0).mean() - zero) < 7 * np.sqrt(zero / 20_000)
    assert abs(errors.std() / sd - 1) < 7 * np.sqrt(5 / 4 / 20_000)
    assert abs(errors.std() / (1.1 * sd) - 1) > 7 * np.sqrt(5 / 4 / 20_000)
    assert discrete_laplace([2**70], 1, 1.0).values[0] > 2**69
    assert noisy.half_width(0.95) == pytest.approx(np.log(20) * noisy.scale, abs=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"changes": 1}, "exactly one"),
        ({"changes": 1, "scales": 1, "epsilon": 1}, "exactly one"),
        ({"changes": 1, "scales": 1, "weights": 1}, "weights need epsilon"),
        ({"changes": -1, "epsilon": 1}, "from 0 to"),
        ({"changes": float("nan"), "epsilon": 1}, "change"),
        ({"changes": 10**400, "epsilon": 1}, "change"),
        ({"changes": {1.0}, "epsilon": 1}, "change: expected a number, got"),
        ({"changes": np.array(1.0), "epsilon": 1}, "change: expected a number, got"),
        ({"changes": 1, "epsilon": 1, "step": -1}, "step"),
        ({"changes": 1e-320, "epsilon": 1}, "step must be at least .*, the smallest normal double"),
        ({"changes": 1, "epsilon": 1, "neighbours": np.array([1, 2])}, "neighbours"),
        ({"changes": [1, 2], "epsilon": 1}, "one change for each"),
        ({"changes": [[1], [1, 2]], "epsilon": 1}, "of equal length"),
        ({"changes": [1, [2]], "epsilon": 1}, "a mixture of numbers and vectors"),
        ({"changes": [], "epsilon": 1}, "of equal length"),
        ({"changes": 0, "epsilon": 1}, "changes must be above 0 for every coordinate"),
        ({"changes": [[0.0], [0]], "epsilon": 1}, "changes must be above 0 for every coordinate"),
        ({"changes": "1", "epsilon": 1}, "change: expected a number, got"),
        ({"changes": 1, "scales": [1, 2]}, "or 1 numbers for 1 coordinates, got 2"),
        ({"changes": 1, "scales": 1e-9}, "epsilon"),
        ({"changes": 1, "epsilon": 0}, "epsilon"),
        ({"changes": 1, "epsilon": 1, "step": 1e-30}, "too fine"),
        ({"changes": 1, "epsilon": 1, "neighbours": "both"}, "neighbours"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(SpecError, match=message):
        laplace([1.0], **settings)


def test_bad_data_are_refused_without_their_values():
    for values in (["7777"], [float("nan")], [float("inf")], [True], [None], np.array([[7777.0]])):
        with pytest.raises(DataError) as refused:
            laplace(values, changes=1, epsilon=1)
        assert "7777" not in str(refused.value)
    for counts in ([7777.5], ["7777"], [True], np.array([[7777]])):
        with pytest.raises(DataError) as refused:
            discrete_laplace(counts, 1, 1.0)
        assert "7777" not in str(refused.value)
    for nothing in ([], "ab", {1: 1}, {1}, np.array(7777)):
        with pytest.raises((SpecError, DataError), match="counts must"):
            discrete_laplace(nothing, 1, 1.0)
    with pytest.raises(SpecError, match="raise epsilon"):
        discrete_laplace([1], 2**60, 1.0)
    for sensitivity in (0, 1.5, True):
        with pytest.raises(SpecError, match="sensitivity"):
            discrete_laplace([1], sensitivity, 1.0)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long doubles are doubles on this machine")
def test_extended_precision_is_taken_bit_for_bit():
    """Rounded to doubles these two, which are 2 apart, would be 256 apart."""
    one, other = (data_fractions("values", [np.longdouble(2) ** 60 + more]) for more in (127, 129))
    assert other[0] - one[0] == 2
    with pytest.raises(DataError):
        data_fractions("values", [Decimal("0.1")])


def test_a_noisy_value_beyond_the_doubles_is_the_largest_of_them():
    released = laplace([1.797e308] * 40, changes=[1e305] * 40, epsilon=1.0)
    assert np.isfinite(released.values).all()
    # forty chances of nearly one half: none with probability below 1e-11
    assert max(released.values) == np.finfo(float).max
    with pytest.raises(SpecError, match="exceed the range of doubles"):
        laplace([1.7e308], changes=1e308, epsilon=0.1)


def test_one_sensitivity_bounds_all_changes_together(seen):
    noisy = laplace([0.0, 0.0, 0.0], sensitivity=2, epsilon=0.5, step=1)
    # rounding three values may add two steps to the change of two
    assert noisy.scales == (8.0,) * 3
    assert laplace(0.0, sensitivity=2, epsilon=0.5).scales == (4.0,)
    assert laplace(0.0, sensitivity=2, scales=8).guarantee.epsilon == 0.25
    assert "sensitivity holds" in noisy.guarantee.conditions[0]
    assert laplace([0.0] * 1000, sensitivity=2, epsilon=0.5).scales[0] == pytest.approx(4.0, rel=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_no_neighbour_loses_more_and_one_loses_as_much(seen, width):
    total, tiny, epsilon = Fraction(3, 2), Fraction(1, 2**40), Fraction(1)
    steps = Fraction(1, 2)
    tie = steps / 2 - tiny
    rng = random.Random(width)
    # a tiny change takes a value over a tie, and the last one takes what is left of the sensitivity
    worst = ([tie] * width, [tie + tiny] * (width - 1) + [tie + total - (width - 1) * tiny])
    pairs = [worst]
    for _ in range(300):
        parts = [Fraction(rng.randrange(100)) for _ in range(width)]
        whole = sum(parts) or Fraction(1)
        one = [Fraction(rng.randrange(-64, 64), 64) for _ in range(width)]
        pairs.append(
            (one, [x + rng.choice((-1, 1)) * total * part / whole for x, part in zip(one, parts, strict=True)])
        )
    losses = []
    for one, other in pairs:
        results = [laplace(values, sensitivity=total, epsilon=1.0, step=steps) for values in (one, other)]
        losses.append(exact_loss(*results, seen))
    assert max(losses) <= epsilon
    assert losses[0] == epsilon
    # without the steps for rounding the promise would break
    assert width == 1 or losses[0] * (width + 2) / 3 > epsilon


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "exactly one of changes and sensitivity"),
        ({"changes": 1, "sensitivity": 1}, "exactly one of changes and sensitivity"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": [1, 2]}, "sensitivity"),
        ({"sensitivity": 1, "weights": 2}, "use changes instead of sensitivity"),
        ({"sensitivity": 1, "step": [1, 2]}, "step"),
    ],
)
def test_a_sensitivity_is_one_number(settings, message):
    with pytest.raises(SpecError, match=message):
        laplace([1.0, 2.0], epsilon=1.0, **settings)
