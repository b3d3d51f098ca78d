"""Conditions of a promise: one code for each sentence, and back."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.privacy.conditions import LEDGER, ORIGINS, checked_sentences, codes_of, needed_codes, sentence_of
from discreet.privacy.unit import PrivacyUnit

UNITS = [
    PrivacyUnit(neighbours=neighbours, id=name, max_rows=1 if name is None else 2)
    for neighbours in ("add-remove", "replace")
    for name in (None, "patient")
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("origin", [(), *((origin,) for origin in ORIGINS)])
@pytest.mark.parametrize("tracked", [False, True])
def test_codes_and_sentences_go_both_ways(unit, origin, tracked):
    codes = [*needed_codes(unit, tracked=tracked), *origin]
    sentences = checked_sentences(codes, unit)
    assert len(set(sentences)) == len(codes) == 3 + (unit.neighbours == "replace") + len(origin)
    assert codes_of(sentences, unit) == codes


def test_a_sentence_without_a_code_stays():
    assert codes_of(["the moon is full"], PrivacyUnit()) == ["the moon is full"]


@pytest.mark.parametrize(
    "codes",
    [
        [],
        ["one-row", "blind-choices"],
        ["one-id", "blind-choices", "only-release"],
        ["one-row", "blind-choices", "only-release", "public-rows"],
        ["one-row", "blind-choices", "only-release", "only-release"],
        ["one-row", "blind-choices", "only-release", "query-rows", "stream-rows"],
        ["one-row", "blind-choices", "only-release", "none"],
        ["one-row", "blind-choices", "only-release", "ledger-budget"],
        ["one-row", "ledger-budget", "only-release"],
        [1, 2, 3],
    ],
)
def test_missing_unknown_and_foreign_conditions_are_refused(codes):
    last = LEDGER if LEDGER in codes else "only-release"
    with pytest.raises(SpecError, match=f"a release with this unit has one-row, blind-choices, {last}"):
        checked_sentences(codes, PrivacyUnit())


def test_an_unknown_code_has_no_sentence():
    with pytest.raises(SpecError, match=r"unknown condition 'one-rows'.*Did you mean 'one-row'"):
        sentence_of("one-rows", PrivacyUnit())
