"""The value of a confidence set: what it holds, how it is written, and that it solves its quadratic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.analyst.confidence_sets import ConfidenceSet, NotEstimableError, SetArray, any_value, quadratic_sets
from discreet.errors import SpecError


def test_an_interval_unpacks_and_no_other_kind_does():
    low, high = interval = ConfidenceSet("interval", 1.0, 2.0)
    assert (low, high) == (interval[0], interval[1]) == tuple(interval) == (1.0, 2.0)
    others = {
        "not between 1 and 2": ConfidenceSet("outside", 1.0, 2.0),
        "any value": ConfidenceSet("everything"),
        "at least 1": ConfidenceSet("above", lower=1.0),
        "at most 2": ConfidenceSet("below", upper=2.0),
    }
    for words, one in others.items():
        assert str(one) == repr(one) == words
        assert not one.bounded
        for use in (tuple, list, lambda s: s[0]):
            with pytest.raises(NotEstimableError, match=rf"unbounded \({words}\).*contains"):
                use(one)
    assert str(interval) == "1 to 2"


@pytest.mark.parametrize(
    ("given", "inside", "outside"),
    [
        (ConfidenceSet("interval", 1.0, 2.0), (1, 1.5, 2), (0.999, 2.001, math.nan)),
        (ConfidenceSet("outside", 1.0, 2.0), (1, 2, -9, 9), (1.001, 1.5, 1.999, math.nan)),
        (ConfidenceSet("above", lower=1.0), (1, 9), (0.999, math.nan)),
        (ConfidenceSet("below", upper=1.0), (1, -9), (1.001, math.nan)),
        (any_value("why"), (0, -1e300, 1e300), (math.nan,)),
    ],
)
def test_what_a_set_contains(given, inside, outside):
    assert all(given.contains(value) for value in inside)
    assert not any(given.contains(value) for value in outside)


def test_json_has_null_for_an_infinite_end():
    assert ConfidenceSet("outside", -2.1, -0.3).to_dict() == {"kind": "outside", "lower": -2.1, "upper": -0.3}
    assert ConfidenceSet("above", lower=1.0).to_dict() == {"kind": "above", "lower": 1.0, "upper": None}
    assert any_value("why").to_dict() == {"kind": "everything", "lower": None, "upper": None}
    assert any_value("why") == any_value("another reason")
    assert ConfidenceSet("interval", 0.0, 1.0) != ConfidenceSet("outside", 0.0, 1.0)


# -- the quadratic ---------------------------------------------------------------------------------------------------


def test_the_solution_of_the_quadratic_is_the_set_point_by_point():
    """lead u^2 - 2 middle u - rest <= 0 for 4,000 random quadratics, exact half lines among them."""
    random = np.random.default_rng(1)
    lead = random.choice([-2.0, -0.5, -1e-9, 0.0, 1e-9, 0.5, 2.0], 4000)
    middle = random.choice([-1.0, -1e-3, 0.0, 1e-3, 1.0], 4000) * random.uniform(0.5, 2, 4000)
    rest = random.choice([0.0, 1e-6, 1.0], 4000) * random.uniform(0.5, 2, 4000)
    sets = quadratic_sets(lead, middle, rest)
    seen = set()
    for index in range(4000):
        one = sets.at(index, "why")
        seen.add(one.kind)
        points = [0.0, *random.normal(0, 3, 20), *random.normal(0, 1e6, 5)]
        for end in (one.lower, one.upper):
            if math.isfinite(end):
                points += [end + step * max(abs(end), 1e-9) for step in (-1e-3, 1e-3)]
        for u in points:
            value = lead[index] * u**2 - 2 * middle[index] * u - rest[index]
            size = abs(lead[index]) * u**2 + 2 * abs(middle[index] * u) + rest[index]
            if abs(value) > 1e-9 * size:
                assert one.contains(u) == (value <= 0), (lead[index], middle[index], rest[index], one, u)
    assert seen == {"interval", "outside", "everything", "above", "below"}


def test_a_lead_of_exactly_0_is_a_half_line():
    sets = quadratic_sets(np.zeros(3), np.array([0.5, -0.5, 0.0]), np.ones(3))
    assert sets.kind.tolist() == ["above", "below", "everything"]
    assert (sets.lower[0], sets.upper[1]) == (-1.0, 1.0)


def test_an_end_that_leaves_double_precision_excludes_nothing():
    kinds = np.array(["interval", "outside", "above", "below", "everything"])
    moved = SetArray(kinds, np.full(5, -1e10), np.full(5, 1e10)).moved(np.zeros(5), 1e300)
    assert set(moved.kind) == {"everything"}
    assert not np.isfinite(moved.lower).any()
    assert not np.isfinite(moved.upper).any()
    kept = SetArray(kinds, np.full(5, -1.0), np.full(5, 1.0)).moved(np.full(5, 3.0), 2.0)
    assert kept.kind.tolist() == kinds.tolist()
    assert kept.lower.tolist() == [1.0, 1.0, 1.0, -math.inf, -math.inf]
    assert kept.upper.tolist() == [5.0, 5.0, math.inf, 5.0, math.inf]


@pytest.mark.parametrize("value", ["x", None, True, 1j, [1.0]])
def test_what_is_no_number_is_in_no_question(value):
    with pytest.raises(SpecError, match="expected a number for value"):
        ConfidenceSet("interval", -1.0, 1.0).contains(value)


def test_numbers_beyond_every_double_are_outside_and_those_of_numpy_are_numbers():
    one = ConfidenceSet("interval", -1.0, 1.0)
    assert (one.contains(10**400), one.contains(-(10**400))) == (False, False)
    assert ConfidenceSet("outside", -1.0, 1.0).contains(-(10**400))
    assert one.contains(np.float64(0.5))
    assert one.contains(np.int64(1))
