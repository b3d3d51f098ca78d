"""The table of one fit, of every kind."""

from __future__ import annotations

import pytest

from discreet.analyst.tables.regression_table import one_model

KINDS = ("exact", "private", "sub", "constant", "ridge", "lasso", "bayes", "lost", "weak", "output", "gradient")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fit_has_a_table_without_a_number_that_is_not_there(fits, kind):
    fit = fits[kind]
    grid = one_model(fit, 0.95, 4)
    assert [row[0] for row in grid.body] == list(fit.names)
    assert {len(row) for row in grid.rows} == {grid.width}
    cells = [cell for row in grid.rows for cell in row]
    assert not any("nan" in cell or "inf" in cell for cell in cells)
    assert ("NOT PRIVATE" in grid.title) is not fit.release.private
    # a reason stands wherever a cell says that a number is not there
    if any(cell in ("–", "not estimable") for cell in cells):
        assert any(note.startswith("No ") for note in grid.notes)


def test_the_columns_are_those_that_are_known(fits):
    heads = {kind: one_model(fits[kind], 0.9, 4).heads[0] for kind in ("exact", "bayes", "output")}
    assert heads["exact"] == ("", "coef", "std err", "t", "p", "90% interval", "privacy")
    assert heads["bayes"] == ("", "coef")
    assert heads["output"] == ("", "coef", "privacy sd", "90% interval, this table")


def test_sets_without_an_end_are_said_in_words(fits):
    lost = one_model(fits["lost"], 0.95, 4)
    assert {row[1] for row in lost.body} == {"not estimable"}
    assert {row[5] for row in lost.body} == {"any value"}
    weak = one_model(fits["weak"], 0.999, 4)
    assert any(row[1].startswith("[") for row in weak.body)
    assert any("Estimates in brackets" in note for note in weak.notes)


def test_whose_intervals_a_ridge_has_is_said(fits):
    assert any("penalised coefficients" in note for note in one_model(fits["ridge"], 0.95, 4).notes)
