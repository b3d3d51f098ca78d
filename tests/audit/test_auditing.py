"""Users' own methods: sound ones pass, broken ones are refuted, and wrong arguments are refused. Draws are seeded."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet
from discreet.audit import Claim, NeighbourPair, audit
from discreet.errors import SpecError

PAIR = ([1.0, 2.0, 3.0], [1.0, 2.0])


def counter(scale, seed=0):
    rng = np.random.default_rng(seed)

    def noisy_count(table):
        """A count with noise on the integers, geometric in both directions."""
        p = 1 - math.exp(-1 / scale)
        return len(table) + int(rng.geometric(p)) - int(rng.geometric(p))

    return noisy_count


def test_a_sound_method_passes_and_a_broken_one_does_not():
    sound = audit(counter(1.0), [PAIR], 1.0)
    broken = audit(counter(0.5), [PAIR], discreet.PrivacyBudget(1.0))
    assert sound.passed
    assert 0.8 < sound.cases[0].judgement.epsilon < 1
    assert not broken.passed
    assert broken.cases[0].judgement.epsilon > 1.5
    (said,) = broken.cases[0].violations
    assert said.startswith("epsilon is at least 1.")
    assert (sound.cases[0].name, sound.cases[0].pair, sound.cases[0].draws) == ("noisy_count", "pair 1", 10_000)


def test_the_chance_of_a_false_alarm_is_divided_over_pairs():
    one, many = (audit(counter(1.0), [PAIR] * times, 1.0, draws=1000) for times in (1, 3))
    assert many.cases[0].judgement.epsilon < one.cases[0].judgement.epsilon
    assert [case.pair for case in many.cases] == ["pair 1", "pair 2", "pair 3"]


def test_a_claimed_curve_is_tried():
    rng = np.random.default_rng(1)

    class Halved:
        def __call__(self, table):
            return np.rint(2**20 * (len(table) + rng.normal(0, 0.5)))

    found = audit(Halved(), [NeighbourPair("one more", *PAIR)], Claim(5.0, 1e-6, 1.0))
    assert found.cases[0].judgement.mu > 1
    assert "mu is at least" in found.cases[0].violations[0]
    assert (found.cases[0].name, found.cases[0].pair) == ("Halved", "one more")


def test_nested_outputs_are_flattened_and_missing_ones_are_values():
    found = audit(lambda table: [[len(table)], [math.nan]], [PAIR], 1.0, draws=100)
    assert not found.passed
    assert audit(lambda table: [math.nan], [PAIR], 1.0, draws=100).passed


@pytest.mark.parametrize(
    ("method", "pairs", "more", "said"),
    [
        (3, [PAIR], {}, "method: expected a function"),
        (len, [PAIR], {"draws": 19}, "draws: expected an integer of at least 20"),
        (len, [PAIR], {"draws": 1e4}, "draws: expected an integer"),
        (len, [PAIR], {"confidence": 1.0}, "confidence: expected a number from 0.5 to below 1"),
        (len, [PAIR], {"confidence": "high"}, "confidence: expected a number"),
        (len, [], {}, "at least one pair"),
        (len, [3], {}, "expected .table, neighbour."),
        (len, [(1, 2, 3)], {}, "expected .table, neighbour."),
        (lambda table: "many", [PAIR], {}, "expected numbers from the method"),
        (lambda table: [], [PAIR], {}, "at least one"),
        (lambda table: table, [PAIR], {"draws": 20}, "3 numbers for one table of 'pair 1' and 2"),
    ],
)
def test_wrong_arguments_are_refused(method, pairs, more, said):
    with pytest.raises(SpecError, match=said):
        audit(method, pairs, 1.0, **more)


def test_outputs_of_changing_length_are_refused():
    lengths = iter(range(1, 100))
    with pytest.raises(SpecError, match="equally many numbers from every call"):
        audit(lambda table: [0.0] * next(lengths), [PAIR], 1.0, draws=20)
