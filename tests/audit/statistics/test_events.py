"""Events of every kind are found, and those that tell nothing apart are not chosen."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.judging import Claim, chosen_events

CLAIM = Claim(1.0)
ALPHA = 1e-4


def kinds(one, other, claim=CLAIM):
    return {event.kind for event in chosen_events(one, other, claim, ALPHA)}


def shares(kind, one, other):
    (event, *_) = [found for found in chosen_events(one, other, CLAIM, ALPHA) if found.kind == kind]
    first, second = (other, one) if event.swapped else (one, other)
    return event.happens(first).mean(), event.happens(second).mean()


def integers(shift, scale=2**20, draws=2000, seed=0):
    return np.rint(np.random.default_rng(seed).laplace(shift, scale, (draws, 1)))


def test_nothing_is_chosen_where_tables_are_the_same():
    assert kinds(np.full((100, 2), 3.0), np.full((100, 2), 3.0)) == set()


def test_a_shift_is_found_by_scores():
    assert {"linear", "laplace"} <= kinds(integers(2**20), integers(0, seed=1))


def test_an_exact_number_beside_noise_is_found_as_value_and_as_support():
    one = np.column_stack([integers(0), np.full(2000, 7.0)])
    other = np.column_stack([integers(0, seed=1), np.full(2000, 8.0)])
    assert {"support", "exact value"} <= kinds(one, other)
    assert shares("support", one, other) == shares("exact value", one, other) == (1.0, 0.0)


def test_a_support_that_ends_is_found():
    rng = np.random.default_rng(0)
    one, other = rng.uniform(0, 1, (2000, 1)), rng.uniform(0, 1.5, (2000, 1))
    mine, theirs = shares("support", one, other)
    # beyond the end of the first, or its opposite: within it
    assert (mine, theirs) == pytest.approx((1 / 3, 0), abs=0.05) or (mine, theirs) == pytest.approx(
        (1, 2 / 3), abs=0.05
    )


def test_floating_point_noise_is_found_by_its_lowest_bits():
    rng = np.random.default_rng(0)
    one, other = rng.laplace(1.0, 1.0, (2000, 1)), rng.laplace(0.0, 1.0, (2000, 1))
    mine, theirs = shares("low-order bits", one, other)
    assert mine > 0.15
    assert theirs == 0


def test_outputs_that_repeat_as_a_whole_are_found_though_each_number_has_the_same_distribution():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (2, 2000))
    one, other = np.column_stack([signs[0], signs[0]]), np.column_stack([signs[1], -signs[1]])
    assert shares("exact value", one, other) == (1.0, 0.0)


def test_not_a_number_and_infinity_are_values_like_others():
    one, other = integers(0), integers(0, seed=1)
    one[:1000], other[:500] = np.nan, -np.inf
    assert "exact value" in kinds(one, other)
    (event, *_) = [found for found in chosen_events(one, other, CLAIM, ALPHA) if found.kind == "exact value"]
    assert event.happens(np.array([[np.nan], [-np.inf], [3.0]])).sum() == 1


def test_a_claimed_curve_gets_events_of_its_own():
    one, other = integers(2**19), integers(0, seed=1)
    plain = chosen_events(one, other, CLAIM, ALPHA)
    curved = chosen_events(one, other, Claim(1.0, 1e-6, 0.5), ALPHA)
    assert len(curved) > len(plain)
