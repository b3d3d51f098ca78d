"""Conditions of a promise: one code for each sentence, and back."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import (
    LEDGER,
    ORIGINS,
    CuratorTerms,
    checked_sentences,
    codes_of,
    needed_codes,
    sentence_of,
)

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
    with pytest.raises(SpecError, match=f"conditions: expected one-row, blind-choices, {last}"):
        checked_sentences(codes, PrivacyUnit())


def test_an_unknown_code_has_no_sentence():
    with pytest.raises(SpecError, match=r"unknown condition 'one-rows'.*Did you mean 'one-row'"):
        sentence_of("one-rows", PrivacyUnit())


TERMS = [
    CuratorTerms(3, honest, most, noise, "0" * 64)
    for noise, honest in (("shares", 2), ("shares", 1), ("merger", 0))
    for most in (1, 2)
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("tracked", [False, True])
def test_conditions_of_several_curators_go_both_ways(unit, terms, tracked):
    codes = [*needed_codes(unit, tracked=tracked, curators=terms), *ORIGINS]
    sentences = checked_sentences(codes, unit, terms)
    assert len(set(sentences)) == len(codes) == 4 + (unit.neighbours == "replace") + len(ORIGINS)
    assert codes_of(sentences, unit, terms) == codes
    with pytest.raises(SpecError, match="conditions: expected"):
        checked_sentences(codes, unit)


def test_a_condition_states_honest_curators_and_parts_of_a_person():
    said = checked_sentences(needed_codes(PrivacyUnit(), curators=TERMS[3]), PrivacyUnit(), TERMS[3])
    assert said[0] == "each person is in at most 2 of the 3 parts and appears in at most one row of each"
    assert said[-1].startswith("at least 1 of the 3 curators drew")
    assert "the other 2 and the merger" in said[-1]
    assert "exact pooled sums" in sentence_of("trusted-merger", PrivacyUnit(), TERMS[4])


@pytest.mark.parametrize("origins", [["query-rows", "query-rows"], ["stream-rows", "query-rows"], ["none"]])
def test_origins_of_parts_are_listed_once_and_in_order(origins):
    with pytest.raises(SpecError, match="at most one each of"):
        checked_sentences([*needed_codes(PrivacyUnit(), curators=TERMS[0]), *origins], PrivacyUnit(), TERMS[0])
