"""Bounds are declared, in any of three forms, and never read from the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from discreet.design.columns import Boolean, Categorical, Fill, Numeric
from discreet.design.design import Design
from discreet.errors import CellError, DataError, SpecError
from discreet.estimator import PrivateLinearRegression

ROWS = 30
X = np.random.default_rng(2).uniform(0, 1, (ROWS, 2))
Y = X.sum(axis=1)
GOOD = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 1), "target_bounds": (0, 2)}


def fitted(rows=X, y=Y, **changes):
    return PrivateLinearRegression(**{**GOOD, **changes}).fit(rows, y)


@pytest.fixture
def nothing_is_spent(monkeypatch):
    def refuse(*_arguments, **_options):
        pytest.fail("a release was made")

    monkeypatch.setattr("discreet.estimator.regression.release", refuse)


@pytest.mark.parametrize(
    "bounds",
    [
        {"x0": (0, 1), "x1": (-2, 3)},
        {"x1": [-2, 3], "x0": {"bounds": [0, 1]}},
        {"x0": Numeric((0, 1)), "x1": (-2.0, 3.0)},
        [np.array([0, -2]), np.array([1, 3])],
        (np.array([0, -2]), np.array([1, 3])),
        np.array([[0.0, -2.0], [1.0, 3.0]]),
    ],
)
def test_every_form_of_bounds_gives_the_same_design(bounds):
    assert fitted(bounds=bounds).release_.design == Design("y", {"x0": (0, 1), "x1": (-2, 3), "y": (0, 2)})


def test_one_pair_is_for_all_columns_and_a_number_for_one_side():
    both = Design("y", {"x0": (0, 4), "x1": (0, 4), "y": (0, 2)})
    assert fitted(bounds=(0, 4)).release_.design == fitted(bounds=(0, [4, 4])).release_.design == both


def test_the_other_declarations_reach_the_design():
    model = fitted(fit_intercept=False, radius=1, neighbours="replace", grid_bits=12)
    design = model.release_.design
    assert (design.intercept, design.radius, design.unit.neighbours) == (False, 1.0, "replace")
    assert model.release_.noise.grid_bits == 12
    assert model.intercept_ == 0.0
    assert model.guarantee_ == model.release_.guarantee
    assert model.guarantee_.neighbours == "replace"


@pytest.mark.parametrize(
    ("missing", "rule"), [("error", "error"), ("drop", "drop"), ({"fill": 1}, Fill(1)), (Fill(1), Fill(1))]
)
def test_the_rule_for_missing_cells_holds_where_a_declaration_has_none(missing, rule):
    bounds = {"x0": (0, 1), "x1": {"bounds": (0, 1), "missing": {"fill": 0.5}}}
    columns = fitted(bounds=bounds, missing=missing).release_.design.columns
    assert (columns["x0"].missing, columns["x1"].missing, columns["y"].missing) == (rule, Fill(0.5), rule)


def test_levels_and_booleans_are_declared_by_name():
    table = pd.DataFrame({"g": ["p", "q"] * 15, "flag": [True, False, False] * 10, "z": X[:, 0]})
    bounds = {"z": (0, 1), "g": ["p", "q", "r"], "flag": bool}
    model = fitted(table, pd.Series(Y > 1, name="hit"), bounds=bounds, target_bounds=bool)
    assert model.release_.design.columns == {
        "g": Categorical(("p", "q", "r")), "flag": Boolean(), "z": Numeric((0, 1)), "hit": Boolean(),
    }  # fmt: skip
    assert model.fit_.names == ("Intercept", "g[q]", "g[r]", "flag", "z")
    np.testing.assert_array_equal([model.intercept_, *model.coef_], model.fit_.coefficients)
    assert model.n_features_in_ == 3
    assert model.predict(table.assign(g=table["g"].astype("category"))).shape == (ROWS,)


REFUSED = {
    "no bounds": ({"bounds": None}, "bounds are missing; bounds are never read from the data"),
    "no target bounds": ({"target_bounds": None}, "expected target_bounds, got None"),
    "unknown name": ({"bounds": {"x0": (0, 1), "x1": (0, 1), "age": (0, 1)}}, r"in bounds but not in X: \['age'\]"),
    "missing name": ({"bounds": {"x0": (0, 1)}}, r"in X but not in bounds: \['x1'\]"),
    "how each kind is declared": ({"bounds": {"x0": (0, 1)}}, r"'ward': \['icu', 'surgery'\], 'urgent': bool\}"),
    "three pairs": (
        {"bounds": ((0, 1), (0, 1), (0, 1))},
        "bounds: expected a mapping .*; the given tuple has none of these forms",
    ),
    "too many": ({"bounds": ([0, 0, 0], [1, 1, 1])}, "two arrays .* of 2 numbers"),
    "two pairs": ({"bounds": [(0, 1), (2, 3)]}, r"may mean \(lows, highs\) or one pair for each of the two columns"),
    "two sides": (
        {"bounds": ([0, 2], [1, 3])},
        r"bounds=\{'x0': \(low, high\), 'x1': \(low, high\)\}.*two NumPy arrays",
    ),
    "a number": ({"bounds": 5}, "bounds: expected a mapping .*; the given int has none of these forms"),
    "text": ({"bounds": ("low", "high")}, "the given tuple has none of these forms"),
    "reversed": ({"bounds": (np.array([0, 1]), np.array([1, 0]))}, "column 'x1': bounds .* are reversed"),
    "reversed target": ({"target_bounds": (2, 0)}, "column 'y': bounds .* are reversed"),
    "levels for the target": ({"target_bounds": ["a", "b"]}, "categorical"),
    "penalty": ({"penalty": "rigde"}, "Did you mean 'ridge'"),
    "strength": ({"penalty": "ridge"}, "needs a strength: a positive number"),
    "l1_ratio": ({"l1_ratio": 0.5}, "l1_ratio"),
    "rule": ({"missing": "ignore"}, "expected 'error', 'drop' or .* for missing, got 'ignore'"),
    "intercept": ({"fit_intercept": "yes"}, "intercept: expected true or false"),
    "radius": ({"radius": -1}, "radius"),
    "neighbours": ({"neighbours": "swap"}, "unknown neighbours 'swap'"),
    "epsilon": ({"epsilon": "1"}, "epsilon"),
    "delta": ({"delta": 2}, "delta"),
}


@pytest.mark.usefixtures("nothing_is_spent")
@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_declaration_is_refused_before_anything_is_spent(case):
    changes, message = REFUSED[case]
    with pytest.raises(SpecError, match=message):
        fitted(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0.0, "mechanism": "gaussian"}, "needs delta above 0"),
        ({"epsilon": 21}, "allow_weak_privacy=True"),
        ({"mechanism": "magic"}, "unknown mechanism"),
        ({"grid_bits": 99}, "grid"),
    ],
)
def test_what_the_release_refuses_is_refused(changes, message):
    with pytest.raises(SpecError, match=message):
        fitted(**changes)


@pytest.mark.usefixtures("nothing_is_spent")
@pytest.mark.parametrize(
    ("rows", "y", "error", "message"),
    [
        (csr_array(X), Y, SpecError, "expected a dense X, got a sparse matrix"),
        (X[:, 0], Y, SpecError, "Expected 2D array, got 1D array instead, a ndarray"),
        ({"x0": [1.0]}, Y, SpecError, "got 0D array instead, a dict"),
        (X, np.column_stack([Y, Y]), SpecError, "pass a single target, with one number for each row"),
        (X, None, SpecError, "requires y to be passed, but the target y is None"),
        (X, Y[1:], SpecError, "must have the same number of rows"),
        (X[:0], Y[:0], SpecError, "expected at least one row in X, got none"),
        (pd.DataFrame(X, columns=["a", "y"]), Y, SpecError, "names for y and the columns of X, got 'y' for both"),
        (
            pd.DataFrame(X, columns=["a", "b"]),
            pd.Series(Y, name="b"),
            SpecError,
            "names for y and the columns of X, got 'b'",
        ),
        (pd.DataFrame(X, columns=["a", "a"]), Y, DataError, "the table has more than one column 'a'"),
        (pd.DataFrame(X, columns=["a", 1]), Y, TypeError, "string names"),
    ],
)
def test_rows_of_the_wrong_form_are_refused_before_anything_is_spent(rows, y, error, message):
    with pytest.raises(error, match=message):
        fitted(rows, y)


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X, np.where(Y > 1, np.nan, Y), "Input y contains NaN.*column 'y' has a cell that is missing"),
        (np.where(X > 0.9, np.inf, X), Y, "Input X contains .*infinity.*column 'x[01]' has a cell that is missing"),
        (X, [*Y[1:], "0.5"], "Input y contains .*argument must be no string but a number"),
        (
            [*X[1:].tolist(), [{}, 0.5]],
            Y,
            "Input X contains .*argument must be no string but a number, .*column 'x0'",
        ),
    ],
)
def test_a_bad_cell_is_refused_before_anything_is_spent_in_words_that_scikit_learn_knows(rows, y, message, monkeypatch):
    monkeypatch.setattr("discreet.workflow.checked_receipt", lambda _receipt: pytest.fail("the budget was spent"))
    with pytest.raises(CellError, match=message) as caught:
        fitted(rows, y)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError)
    assert caught.value.__context__ is None


@pytest.mark.usefixtures("nothing_is_spent")
def test_weights_are_refused():
    with pytest.raises(SpecError, match=r"fit accepts only X and y, got sample_weight: weights need a public bound"):
        PrivateLinearRegression(**GOOD).fit(X, Y, sample_weight=np.ones(ROWS))


@pytest.mark.usefixtures("nothing_is_spent")
def test_groups_are_refused_with_the_way_to_protect_persons():
    with pytest.raises(
        SpecError, match=r'only X and y, got groups:.*discreet\.release.*unit=\{"id": "patient"'
    ) as caught:
        PrivateLinearRegression(**GOOD).fit(X, Y, groups=np.arange(ROWS))
    assert "weights" not in str(caught.value)


def test_epsilon_has_no_default():
    with pytest.raises(TypeError, match="epsilon"):
        PrivateLinearRegression()


def test_two_lists_are_clear_where_there_are_not_two_columns():
    rows = np.column_stack([X, X[:, 0]])
    design = fitted(rows, bounds=([0, -2, 0], [1, 3, 1])).release_.design
    assert design.columns["x1"] == Numeric((-2, 3))
