"""Several fits side by side."""

from __future__ import annotations

import pytest

import discreet


def test_a_column_for_each_fit_and_a_blank_where_a_coefficient_is_not_in_the_model(fits):
    grid = discreet.table([fits["private"], fits["sub"]]).grid
    assert grid.heads == (("", "(1)", "(2)"), ("Target", "income_$", "income_$"))
    rows = {row[0]: row[1:] for row in grid.body if row[0]}
    assert rows["=cmd_%"][1] == ""
    assert all(rows["age|years"])
    assert len(grid.body) == 2 * len(fits["private"].names)
    promises = [note for note in grid.notes if note.startswith("Differentially private")]
    assert len(promises) == 1
    assert not any("add up" in note for note in grid.notes)


@pytest.mark.parametrize(
    ("below", "shape"), [("errors", r"(###)"), ("intervals", "### to ###"), ("pvalues", "(<0.001)"), ("none", None)]
)
def test_what_stands_below_an_estimate_is_what_was_asked_for(fits, below, shape):
    grid = discreet.table([fits["private"]], below=below, digits=3).grid
    if shape is None:
        assert all(row[0] for row in grid.body)
        return
    under = grid.body[grid.body.index(next(row for row in grid.body if row[0] == "age|years")) + 1]
    fit = fits["private"]
    expected = {
        "errors": f"({fit.bse['age|years']:.2f})",
        "intervals": " to ".join(f"{end:.0f}" for end in fit.conf_int()["age|years"]),
        "pvalues": "(<0.001)",
    }[below]
    assert under == ("", expected)


def test_stars_follow_the_thresholds(fits):
    one = discreet.table([fits["private"]], stars=True).grid
    assert next(row for row in one.body if row[0] == "age|years")[1].endswith("***")
    assert "* p < 0.05, ** p < 0.01, *** p < 0.001." in one.notes
    other = discreet.table([fits["private"]], stars=[0.1]).grid
    assert next(row for row in other.body if row[0] == "age|years")[1].count("*") == 1


def test_kinds_without_errors_say_what_is_missing_and_whose_it_is(fits):
    made = discreet.table([fits[kind] for kind in ("exact", "lasso", "output", "gradient", "lost", "weak", "ridge")])
    text = made.to_text()
    assert "nan" not in text.lower()
    assert "{" in text
    assert "privacy noise in braces" in text
    for number in (2, 3, 4, 5):
        assert any(note.startswith(f"({number}): No interval") for note in made.grid.notes)
    assert any(note.startswith("(7): The intervals are for the penalised") for note in made.grid.notes)
    assert any("add up" in note for note in made.grid.notes)
    assert made.grid.title.startswith("NOT PRIVATE")
    assert "In braces" not in discreet.table([fits["output"]], below="none").to_text()
