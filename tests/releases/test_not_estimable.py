"""What a release cannot give, as a value: false, with a reason, and never shown as a number."""

from __future__ import annotations

from discreet.releases.reference_distribution import NotEstimable, known, reason_of, shown_number

MISSING = NotEstimable("the noise is too large")


def test_a_missing_value_is_false_and_says_why():
    assert not MISSING
    assert repr(MISSING) == "not estimable: the noise is too large"
    assert NotEstimable("the noise is too large") == MISSING != NotEstimable("too few rows")


def test_a_missing_number_is_never_shown_as_one():
    assert shown_number(0.0, ".3f") == "0.000"
    assert shown_number(MISSING, ".3f") == "not estimable"


def test_there_is_a_value_or_a_reason():
    assert (known(0.0), reason_of(0.0)) == (0.0, None)
    assert (known(MISSING), reason_of(MISSING)) == (None, "the noise is too large")
