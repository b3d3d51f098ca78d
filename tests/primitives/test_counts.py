"""Many counts at once: how many of them a person moves, the noise, and the stated errors."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.errors import DataError, SpecError
from discreet.primitives import counts as module
from discreet.primitives.counts import counting_queries
from discreet.privacy.gaussian_dp import delta_from

FALSE_ALARM = 1e-9


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("memberships", [1, 3, 6, 8])
def test_no_person_moves_more_counts_than_is_charged_and_some_move_as_many(neighbours, memberships):
    draws, k = np.random.default_rng(41), 8
    scale = counting_queries([0] * k, 1.0, max_memberships=memberships, neighbours=neighbours).scale
    noise_sd = counting_queries([0] * k, 1.0, delta=1e-6, max_memberships=memberships, neighbours=neighbours).scale
    most = 0
    for _ in range(1000):
        persons = [np.zeros(k, dtype=int) for _ in range(2)]
        for person in persons:
            person[draws.permutation(k)[: draws.choice([memberships, draws.integers(0, memberships + 1)])]] = 1
        rest = draws.integers(0, 50, size=k)
        one = rest + persons[0]
        other = rest + persons[1] if neighbours == "replace" else rest
        moved = int(np.abs(one - other).sum())
        assert moved / Fraction(scale) <= 1
        assert delta_from(1.0, math.sqrt(moved) / noise_sd) <= 1e-6 if moved else True
        most = max(most, moved)
    # the charge is met exactly: a smaller one would be false
    assert most / Fraction(scale) == 1
    assert delta_from(1.0, math.sqrt(most) / noise_sd * 1.001) > 1e-6


def test_every_count_of_everybody_is_the_default_and_cases_and_controls_are_half():
    everything = counting_queries([0] * 20, math.log(2))
    assert everything.scale == pytest.approx(20 / math.log(2), rel=1e-15)
    halves = counting_queries([0] * 20, math.log(2), max_memberships=10)
    assert halves.scale == pytest.approx(everything.scale / 2, rel=1e-15)
    swapped = counting_queries([0] * 20, math.log(2), max_memberships=10, neighbours="replace")
    assert swapped.moved_counts == 20


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_stated_errors_are_the_errors_that_happen(delta, monkeypatch):
    # one calibration and one figure, worked out once
    for slow in ("lattice_sigma", "gaussian_expected_largest"):
        monkeypatch.setattr(module, slow, functools.cache(getattr(module, slow)))
    k, repeats = 50, 300
    results = [counting_queries([100] * k, 1.0, delta=delta, max_memberships=5, level=0.9) for _ in range(repeats)]
    sizes = np.abs(np.array([result.values for result in results]) - 100)
    first = results[0]
    assert first.noise == ("gaussian" if delta else "laplace")
    # seven standard errors of each average: false alarm below 1e-11
    assert sizes.mean() == pytest.approx(first.mean_error, abs=7 * sizes.std() / math.sqrt(sizes.size))
    largest = sizes.max(axis=1)
    assert largest.mean() == pytest.approx(first.largest_error, abs=7 * largest.std() / math.sqrt(repeats))
    assert largest.mean() != pytest.approx(1.3 * first.largest_error, abs=7 * largest.std() / math.sqrt(repeats))
    within = int((largest <= first.simultaneous_bound).sum())
    assert stats.binomtest(within, repeats, 0.9, alternative="less").pvalue > FALSE_ALARM
    assert stats.binomtest(int((largest <= first.simultaneous_bound / 2).sum()), repeats, 0.9).pvalue < FALSE_ALARM


def test_gaussian_counts_are_whole_and_pay_for_their_lattice(monkeypatch):
    monkeypatch.setattr(module, "gaussian_noise", lambda sigma, how_many: [2**19 + 1] * how_many)
    noisy = counting_queries([5, 2**70], 1.0, delta=1e-6)
    assert noisy.values == (6, 2**70 + 1)
    assert noisy.scale == pytest.approx(math.sqrt(2) * 4.2247, rel=1e-4)


def test_the_print_is_short_and_the_room_opens_by_its_name():
    assert len(repr(counting_queries([1] * 1000, 1.0))) < 150
    code = "import discreet; assert discreet.primitives.laplace; assert 'primitives' not in discreet.__all__"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(discreet.primitives.__all__) <= set(dir(discreet.primitives))


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"counts": []}, "must have at least one entry, got none"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 0.9, "allow_weak_privacy": True}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"max_memberships": 0}, "max_memberships"),
        ({"max_memberships": 4}, "at most 3"),
        ({"level": 0}, "level"),
        ({"neighbours": "none"}, "neighbours"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(SpecError, match=message):
        counting_queries(**({"counts": [1, 2, 3], "epsilon": 1.0} | settings))


def test_bad_counts_are_refused_without_their_values():
    for delta in (0.0, 1e-6):
        for counts in ([5, -7777], np.array([5, -7777])):
            with pytest.raises(DataError, match="must not contain negative numbers") as refused:
                counting_queries(counts, 1.0, delta=delta)
            assert "7777" not in str(refused.value)
        with pytest.raises(DataError) as refused:
            counting_queries([7777.5], 1.0, delta=delta)
        assert "7777" not in str(refused.value)


def test_a_stated_sensitivity_is_the_number_of_counts_that_move():
    by_persons = counting_queries([812, 77, 430], 1.0, max_memberships=1, neighbours="replace")
    stated = counting_queries([812, 77, 430], 1.0, sensitivity=2, neighbours="replace")
    assert (stated.scale, stated.moved_counts) == (by_persons.scale, by_persons.moved_counts) == (2.0, 2)
    assert "differ in at most 2 of the 3 counts" in stated.guarantee.conditions[0]
    for wrong in (0, 4, 1.5, True):
        with pytest.raises(SpecError, match="sensitivity"):
            counting_queries([812, 77, 430], 1.0, sensitivity=wrong)
    with pytest.raises(SpecError, match="expected max_memberships or sensitivity, got both"):
        counting_queries([812, 77, 430], 1.0, sensitivity=1, max_memberships=1)
