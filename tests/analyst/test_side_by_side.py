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
        ({"fits": 3}, "fits: expected a list of fits"),
        ({"fits": ["a"]}, "fits: expected a list of fits"),
        ({"fits": []}, "got no fits"),
        ({"names": ["a"]}, "expected 2 different ones"),
        ({"names": ["a", "a"]}, "expected 2 different ones"),
        ({"names": [1, 2]}, "names: expected a list of texts"),
        ({"below": "sd"}, "unknown below 'sd'"),
        ({"stars": "yes"}, "stars: expected"),
        ({"stars": []}, "stars: expected"),
        ({"stars": [0.05, 2]}, "stars: expected"),
        ({"coefficients": ["z"]}, "unknown coefficient 'z'"),
        ({"coefficients": []}, "coefficients is empty"),
        ({"labels": {"z": "Z"}}, "unknown coefficient 'z'"),
        ({"labels": {"x": 1}}, "labels: expected texts"),
        ({"labels": "x"}, "labels: expected texts"),
        ({"title": None}, "title: expected text"),
        ({"digits": 0}, "digits: expected"),
        ({"level": 2}, "level is 2"),
    ],
)
def test_what_is_not_allowed_is_refused_in_words(fit, change, words):
    given = {"fits": [fit, fit]} | change
    fits = given.pop("fits")
    with pytest.raises(SpecError, match=words):
        discreet.table(fits, **given)
