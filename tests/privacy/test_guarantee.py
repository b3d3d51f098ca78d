"""A guarantee keeps its unit, budget and conditions and refuses contradictions."""

from __future__ import annotations

import json
import math

import pytest

from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee

PROMISE = Guarantee(
    1.0,
    1e-6,
    PrivacyUnit(neighbours="replace"),
    ("the bounds were declared without looking", "the noise was drawn as stated"),
    mu=0.2367,
    rho=0.028,
)


@pytest.mark.parametrize(
    "promise", [PROMISE, Guarantee(0, 0, PrivacyUnit(), ()), Guarantee(1, 1e-6, PrivacyUnit(), (), 0.2, mu_gap=1e-9)]
)
def test_a_guarantee_survives_json(promise):
    assert Guarantee.from_dict(json.loads(json.dumps(promise.to_dict()))) == promise


def test_the_sentence_names_unit_numbers_and_conditions():
    sentence = PROMISE.sentence()
    for part in (
        PROMISE.unit.sentence,
        "at most exp(1) times the probability that it has for a neighbouring table, plus 1e-06",
        "epsilon = 1, delta = 1e-06, replace neighbours",
        "This holds if the bounds were declared without looking; and if the noise was drawn as stated.",
    ):
        assert part in sentence


def test_a_pure_guarantee_without_conditions_says_neither():
    sentence = Guarantee(1.0, 0.0, PrivacyUnit(), ()).sentence()
    assert "plus" not in sentence
    assert "This holds if" not in sentence


WRONG_FIELDS = [
    ("epsilon", math.nan),
    ("epsilon", math.inf),
    ("epsilon", -1.0),
    ("epsilon", "1"),
    ("epsilon", True),
    ("epsilon", None),
    ("delta", 1.0),
    ("delta", math.nan),
    ("delta", None),
    ("unit", None),
    ("unit", {"neighbours": "nobody"}),
    ("unit", {"who": "me"}),
    ("conditions", None),
    ("conditions", "a sentence"),
    ("conditions", [1]),
    ("mu", 0.0),
    ("mu", math.nan),
    ("mu", "1"),
    ("mu_gap", 1.0),
    ("mu_gap", -1e-9),
    ("mu_gap", "0"),
    ("rho", -1.0),
    ("rho", math.inf),
]


@pytest.mark.parametrize(("field", "value"), WRONG_FIELDS)
def test_a_guarantee_with_a_wrong_value_is_refused(field, value):
    with pytest.raises(SpecError):
        Guarantee.from_dict(PROMISE.to_dict() | {field: value})


@pytest.mark.parametrize("field", ["epsilon", "delta", "unit", "conditions", "mu", "rho"])
def test_a_guarantee_with_a_field_missing_is_refused(field):
    fields = PROMISE.to_dict()
    del fields[field]
    with pytest.raises(SpecError, match=f"guarantee lacks {field}"):
        Guarantee.from_dict(fields)


def test_a_guarantee_with_an_unknown_field_is_refused():
    with pytest.raises(SpecError, match="unknown guarantee field 'seed'"):
        Guarantee.from_dict(PROMISE.to_dict() | {"seed": 1})


def test_a_gap_belongs_to_a_mu():
    with pytest.raises(SpecError, match="mu_gap needs mu, but mu is missing"):
        Guarantee(1.0, 1e-6, PrivacyUnit(), (), mu_gap=1e-9)


def test_a_guarantee_needs_a_unit_and_a_tuple():
    with pytest.raises(SpecError, match="PrivacyUnit"):
        Guarantee(1.0, 0.0, "row", ())
    with pytest.raises(SpecError, match="tuple of sentences"):
        Guarantee(1.0, 0.0, PrivacyUnit(), ["a"])
