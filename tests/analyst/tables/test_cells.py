"""Numbers as cells."""

from __future__ import annotations

import pytest

import discreet
from discreet.analyst.confidence_sets import ConfidenceSet, any_value
from discreet.analyst.tables.formats import (
    errors_cell,
    estimate_cell,
    model_cell,
    number_cell,
    promise_note,
    ratio_cell,
    rows_cell,
    rows_note,
    set_cell,
    stars_of,
)
from discreet.number_text import DASH, p_value, significant
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing import exact_release

WHY = NotEstimable("too much noise")
INSIDE = ConfidenceSet("interval", 1.0, 2.0)


@pytest.mark.parametrize("value", [1.0, -123.456, 1e-4, 999.96, 123456789.0, 0.1 + 0.2, 5e-324, 1.7e308])
def test_a_figure_has_the_digits_that_were_asked_for(value):
    assert float(significant(value, 4)) == pytest.approx(value, rel=1e-3)


def test_what_is_not_there_is_a_word_or_a_dash():
    assert estimate_cell(WHY, INSIDE, 4) == set_cell(WHY, 4) == "not estimable"
    assert number_cell(WHY, 4) == p_value(None) == ratio_cell(WHY, INSIDE) == DASH
    assert stars_of(WHY, (0.05,)) == ""


def test_what_is_not_bounded_is_in_brackets():
    assert estimate_cell(1234.5, any_value("noise"), 4) == "[1200]"
    assert ratio_cell(0.5, ConfidenceSet("interval", 0.0, 1.0, "noise")) == "[0.5]"
    assert set_cell(ConfidenceSet("outside", 1.0, 2.0), 3) == "not between 1.00 and 2.00"
    assert set_cell(ConfidenceSet("above", 1.0), 3) == "at least 1.00"


def test_a_model_is_named_by_what_it_minimised(fits):
    words = {name: (model_cell(fit), errors_cell(fit), rows_cell(fit)) for name, fit in fits.items()}
    assert words["exact"] == ("least squares", "plain", "600")
    assert words["ridge"][0] == "ridge 0.1"
    assert words["bayes"][:2] == ("bayes", DASH)
    assert words["output"] == ("by output-seeded", DASH, "not released")
    assert words["private"][2].startswith("about ")
    assert "standard deviation" in rows_note(fits["private"])
    assert rows_note(fits["exact"]) is None


def test_robust_errors_are_named():
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"id": "who", "max_rows": 2})
    table = {"y": [0.1, 0.5, 0.9] * 800, "x": [0.2, 0.4, 0.9] * 800, "who": list(range(2400))}
    persons = discreet.release(table, design, epsilon=5.0, delta=1e-6, robust=True)
    assert errors_cell(discreet.fit(persons)) == "by person"
    assert "one person (who, at most 2 rows; add-remove)" in promise_note(persons)
    rows = discreet.release(
        {name: table[name] for name in "xy"},
        discreet.Design("y", {"y": (0, 1), "x": (0, 1)}),
        epsilon=5.0,
        delta=1e-6,
        robust=True,
    )
    fit = discreet.fit(rows)
    assert errors_cell(fit) == "plain"
    assert errors_cell(fit.robust()) == "HC1"


def test_a_fit_without_errors_names_none():
    table = {"y": [0.5] * 20, "x": [0.5] * 20}
    constant = exact_release(table, discreet.Design("y", {"y": (0, 1), "x": (0, 1)}))
    assert errors_cell(discreet.fit(constant)) == DASH


def test_a_release_without_a_promise_says_so(fits):
    assert promise_note(fits["exact"].release).startswith("NOT PRIVATE")
    assert "epsilon = 1, delta = 1e-06" in promise_note(fits["private"].release)
