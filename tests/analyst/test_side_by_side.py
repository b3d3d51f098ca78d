"""What `discreet.table` takes and refuses."""

from __future__ import annotations

import pytest

import discreet
from discreet.errors import SpecError


@pytest.fixture(scope="module")
def fit():
    design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    return discreet.fit(discreet.testing.exact_release({"x": [0, 1, 2, 1.5], "y": [2, 5, 6, 4]}, design))


def test_names_labels_and_chosen_coefficients_are_used(fit):
    made = discreet.table(
        iter([fit, fit]), names=["a", "b"], labels={"x": "Years"}, coefficients=["x"], title="T", alpha=0.1
    )
    assert made.grid.heads[0] == ("", "a", "b")
    assert [row[0] for row in made.grid.body] == ["Years", ""]
    assert made.grid.title == "NOT PRIVATE: T"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fits": 3}, "expected a list of fits.* for fits"),
        ({"fits": ["a"]}, "expected a list of fits.* for fits"),
        ({"fits": []}, "expected at least one fit"),
        ({"names": ["a"]}, "expected 2 different names"),
        ({"names": ["a", "a"]}, "expected 2 different names"),
        ({"names": [1, 2]}, "expected a list of strings for names"),
        ({"below": "sd"}, "unknown below 'sd'"),
        ({"stars": "yes"}, "expected True, False or numbers .* for stars"),
        ({"stars": []}, "expected True, False or numbers .* for stars"),
        ({"stars": [0.05, 2]}, "expected True, False or numbers .* for stars"),
        ({"coefficients": ["z"]}, "unknown coefficient 'z'"),
        ({"coefficients": []}, "expected at least one name for coefficients"),
        ({"labels": {"z": "Z"}}, "unknown coefficient 'z'"),
        ({"labels": {"x": 1}}, "expected a mapping of coefficients to text.* for labels"),
        ({"labels": "x"}, "expected a mapping of coefficients to text.* for labels"),
        ({"title": None}, "expected text for title"),
        ({"digits": 0}, "expected an integer from 1 to 15 for digits"),
        ({"level": 2}, "expected a number from 0.5 to below 1 for level, got 2"),
    ],
)
def test_what_is_not_allowed_is_refused_in_words(fit, change, words):
    given = {"fits": [fit, fit]} | change
    fits = given.pop("fits")
    with pytest.raises(SpecError, match=words):
        discreet.table(fits, **given)
