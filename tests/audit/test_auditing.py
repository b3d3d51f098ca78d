"""Users' own methods: sound ones pass, broken ones are refuted, and wrong arguments are refused. Draws are seeded."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

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
        (3, [PAIR], {}, "expected a function from a table to numbers for method"),
        (len, [PAIR], {"draws": 19}, "expected an integer of at least 20 for draws"),
        (len, [PAIR], {"draws": 1e4}, "expected an integer of at least 20 for draws"),
        (len, [PAIR], {"confidence": 1.0}, "expected a number of at least 0.5 and below 1 for confidence"),
        (len, [PAIR], {"confidence": "high"}, "expected a number of at least 0.5 and below 1 for confidence"),
        (len, [], {}, "at least one pair"),
        (len, 5, {}, "expected a list of .table, neighbour. pairs for pairs"),
        (len, None, {}, "expected a list of .table, neighbour. pairs for pairs"),
        (len, "ab", {}, "expected a list of .table, neighbour. pairs for pairs"),
        (len, [3], {}, "expected .table, neighbour."),
        (len, [(1, 2, 3)], {}, "expected .table, neighbour."),
        (lambda table: "many", [PAIR], {}, "expected numbers from the method"),
        (lambda table: [], [PAIR], {}, "at least one"),
        (lambda table: table, [PAIR], {"draws": 20}, "3 numbers for the table of 'pair 1' and 2 for its neighbour"),
    ],
)
def test_wrong_arguments_are_refused(method, pairs, more, said):
    with pytest.raises(SpecError, match=said):
        audit(method, pairs, 1.0, **more)


def test_outputs_of_changing_length_are_refused():
    lengths = iter(range(1, 100))
    with pytest.raises(SpecError, match="equally many numbers from every call"):
        audit(lambda table: [0.0] * next(lengths), [PAIR], 1.0, draws=20)


@pytest.mark.parametrize(
    "published",
    [None, [None], [1.0, None], "12", ["1", "2"], b"12", [b"1"], np.array(["1.5"]), np.array(["2020-01-01"], "M8[D]"),
     1j, [1.0, 2j], [np.zeros((2, 2)), np.zeros((2, 3))], {1.0}, {"a": 1.0}, [[1.0], [2.0, 3.0]],
     iter([1.0]), Decimal("0.1")],
    # an address is another one in every process
    ids=lambda one: repr(one).partition(" at 0x")[0],
)  # fmt: skip
def test_what_is_no_number_is_refused(published):
    with pytest.raises(SpecError, match="expected numbers from the method, got"):
        audit(lambda table: published, [PAIR], 1.0, draws=20)


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, 2**60 + 1, 10**400, -(10**400), np.int64(2**60 + 1), np.uint64(2**64 - 1), Fraction(1, 3)],
)
def test_a_number_that_a_double_does_not_hold_is_refused(value):
    for published in (value, [value], [value, 0.5], np.array([value])):
        with pytest.raises(SpecError, match="more digits than a double holds"):
            audit(lambda table, given=published: given, [PAIR], 1.0, draws=20)


@pytest.mark.parametrize(
    "published",
    [3, 2**53, 2**60, True, 1.5, math.nan, -math.inf, Fraction(3, 4), np.float32(0.1), np.int64(-3), np.array(2.0),
     [1, 0.5, np.float64(2.0)], [[1.0, 2.0], [3.0, 4.0]], np.arange(4), np.arange(3, dtype=np.float32),
     [np.array([1.0]), np.array([2])]],
    ids=repr,
)  # fmt: skip
def test_numbers_of_every_kind_are_taken(published):
    assert audit(lambda table: published, [PAIR], 1.0, draws=20).passed


def test_the_sign_of_zero_is_published_too():
    rng = np.random.default_rng(0)
    told = audit(lambda table: [-0.0 if len(table) == 3 else 0.0, rng.normal()], [PAIR], 1.0, draws=200)
    assert not told.passed
    assert "low-order bits" in told.cases[0].violations[0]
    assert not audit(lambda table: -0.0 if len(table) == 3 else 0.0, [PAIR], 1.0, draws=200).passed


def test_a_method_that_empties_its_table_gets_a_new_one_each_time():
    def consuming(table):
        total = sum(table)
        table.clear()
        return [total]

    table, neighbour = [1.0, 2.0, 3.0], [1.0, 2.0]
    assert not audit(consuming, [(table, neighbour)], 1.0, draws=200).passed
    assert (table, neighbour) == ([1.0, 2.0, 3.0], [1.0, 2.0])
    assert not audit(sum, [(iter(table), iter(neighbour))], 1.0, draws=200).passed


def test_a_table_that_cannot_be_copied_is_refused():
    with pytest.raises(SpecError, match="the table of 'pair 1' cannot be copied"):
        audit(sum, [((value for value in range(3)), [1.0])], 1.0, draws=20)
    with pytest.raises(SpecError, match="the neighbour of 'pair 1' cannot be copied"):
        audit(sum, [([1.0], (value for value in range(3)))], 1.0, draws=20)


def test_an_array_that_the_method_uses_again_is_kept_as_it_was():
    kept, rng = np.empty(1), np.random.default_rng(0)

    def reusing(table):
        kept[0] = len(table) if rng.random() < 0.9 else 7.0
        return kept

    assert not audit(reusing, [PAIR], 1.0, draws=200).passed


@pytest.mark.filterwarnings("error")
def test_the_largest_doubles_raise_no_warning():
    rng = np.random.default_rng(0)
    far = audit(lambda table: 1.7e308 * rng.choice([-1, 1]), [PAIR], 1.0, draws=200)
    assert far.passed
    assert not audit(lambda table: 1.7e308 if len(table) == 3 else -1.7e308, [PAIR], 1.0, draws=200).passed
