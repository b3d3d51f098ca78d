"""What a release cannot give: false, with a reason that is handed on unchanged."""

from __future__ import annotations

import pytest

from discreet.analyst.confidence_sets import NotEstimableError, known_values, mapped, missing_values
from discreet.releases.reference_distribution import NotEstimable, known, reason_of

MISSING = NotEstimable("the noise is too large")


@pytest.mark.parametrize("value", [0.0, False, "", ()])
def test_a_value_that_is_false_is_still_a_value(value):
    assert known(value) == value
    assert reason_of(value) is None
    assert mapped(value, lambda one: [one]) == [value]
    assert known_values({"a": value, "b": MISSING}) == {"a": value}
    assert missing_values({"a": value, "b": MISSING}) == {"b": MISSING}


def test_what_follows_from_a_missing_value_is_missing_for_the_same_reason():
    def never(_):
        raise AssertionError("nothing may be computed from a missing value")

    assert mapped(MISSING, never) is MISSING
    assert mapped(2.0, lambda _: MISSING) is MISSING
    assert known(MISSING) is None
    assert reason_of(MISSING) == "the noise is too large"


@pytest.mark.parametrize(
    ("ridge", "cause", "remedy"),
    [
        (None, "so least squares has no minimum", "pass penalty='bayes'"),
        (0.5, "with the ridge 0.5 ", "pass penalty='ridge' with a larger strength"),
        (0.0, "with the ridge 0 ", "a larger strength"),
    ],
)
def test_the_error_says_what_to_ask_for_instead(ridge, cause, remedy):
    text = str(NotEstimableError.at_strength(ridge))
    assert cause in text
    assert remedy in text
    assert text.endswith("use fewer features, more rows or a larger epsilon")
