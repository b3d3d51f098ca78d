"""Targets and single columns as callers of scikit-learn give them; see test_cells and test_tables for whole tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.errors import CellError, SpecError
from discreet.estimator.inputs import check_rows, in_familiar_words, read_column, read_target

DESIGN = Design("y", {"y": (0, 1), "x": (0, 1)})


def test_a_target_is_called_as_declared_as_given_or_y():
    assert read_target([1.0], {}, None)[0] == "y"
    assert read_target(pd.Series([1.0], name="wage"), {}, None)[0] == "wage"
    assert read_target([1.0], {}, "income")[0] == "income"
    with pytest.raises(SpecError, match="expected different names for y and the columns of X"):
        read_target([1.0], {"y": [1.0]}, None)
    with pytest.raises(SpecError, match="expected y to be named 'income', the target of the design, got 'wage'"):
        read_target(pd.Series([1.0], name="wage"), {}, "income")
    with pytest.raises(SpecError, match="the target y is None"):
        read_target(None, {}, None)


def test_columns_of_different_lengths_and_no_rows_are_refused():
    check_rows(DESIGN, {"x": [1], "y": [1]})
    with pytest.raises(SpecError, match="must have the same number of rows"):
        check_rows(DESIGN, {"x": [1], "y": [1, 2]})
    with pytest.raises(SpecError, match="expected at least one row in X, got none"):
        check_rows(DESIGN, {"x": [], "y": []})


def test_a_column_is_read_as_a_release_reads_it():
    assert read_column("y", Numeric((0, 1)), [0.25, 5]).tolist() == [0.25, 5.0]
    assert np.isnan(read_column("y", Numeric((0, 1), missing="drop"), [None, 1.0])[0])


def test_a_refused_cell_is_an_error_of_value_and_of_type_that_names_no_cell():
    def refuse():
        raise CellError("a cell", column="y")

    with pytest.raises(CellError, match="Input y contains NaN") as raised:
        in_familiar_words("y", refuse)
    assert isinstance(raised.value, TypeError)
    assert in_familiar_words("y", lambda: 3) == 3
