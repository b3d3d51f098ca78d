"""Arrays and tables of every library are the same rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError

from discreet.errors import DataError
from discreet.estimator import PrivateLinearRegression
from discreet.testing.not_private import exact_release

ROWS = 40
RANDOM = np.random.default_rng(3)
X = RANDOM.uniform(0, 1, (ROWS, 2))
Y = X @ [1.0, 0.5]
NAMED = {"x0": X[:, 0], "x1": X[:, 1]}
TABLES = {
    "array": X,
    "floats of another order": np.asfortranarray(X),
    "objects": X.astype(object),
    "lists": X.tolist(),
    "pandas": pd.DataFrame(NAMED),
    "pandas nullable": pd.DataFrame(NAMED).convert_dtypes(),
    "pandas with numbers for names": pd.DataFrame(X),
    "polars": pl.DataFrame(NAMED),
    "arrow": pa.table(NAMED),
}
TARGETS = {
    "array": Y,
    "list": Y.tolist(),
    "pandas": pd.Series(Y, name="y"),
    "pandas nullable": pd.Series(Y).astype("Float64"),
    "polars": pl.Series("y", Y),
    "arrow": pa.chunked_array([Y]),
}


def estimator(**changes):
    good = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 1), "target_bounds": (0, 2)}
    return PrivateLinearRegression(**{**good, **changes})


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(
        "discreet.estimator.regression.release", lambda table, design, **_: exact_release(table, design)
    )


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_the_same_design_moments_and_predictions(kind):
    plain = estimator().fit(X, Y)
    model = estimator().fit(TABLES[kind], Y)
    assert model.release_.design == plain.release_.design
    assert model.release_.totals == plain.release_.totals
    assert model.n_features_in_ == 2
    assert hasattr(model, "feature_names_in_") == (kind in {"pandas", "pandas nullable", "polars", "arrow"})
    np.testing.assert_array_equal(model.predict(TABLES[kind]), plain.predict(X))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", TARGETS)
def test_every_kind_of_target_gives_the_same_moments(kind):
    model = estimator().fit(X, TARGETS[kind])
    assert model.release_.totals == estimator().fit(X, Y).release_.totals
    assert model.release_.design.target == "y"


@pytest.mark.usefixtures("exact")
def test_a_column_vector_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = estimator().fit(X, Y[:, np.newaxis])
    assert model.release_.totals == estimator().fit(X, Y).release_.totals


def test_names_are_kept_and_compared():
    table = pd.DataFrame(X, columns=["age", "height"])
    model = estimator(bounds={"height": (0, 1), "age": (0, 1)}).fit(table, pd.Series(Y, name="income"))
    assert list(model.feature_names_in_) == ["age", "height"]
    assert model.release_.columns == ("1", "age", "height", "income")
    with pytest.raises(ValueError, match="same order"):
        model.predict(table[["height", "age"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        by_position = model.predict(X)
    np.testing.assert_array_equal(by_position, model.predict(table))


def test_features_are_clipped_to_their_bounds_when_predicting():
    model = estimator().fit(X, Y)
    np.testing.assert_array_equal(model.predict([[5.0, -7.0]]), model.predict([[1.0, 0.0]]))


def test_nothing_is_predicted_before_a_fit():
    with pytest.raises(NotFittedError):
        estimator().predict(X)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", ["array", "masked", "pandas", "polars"])
@pytest.mark.parametrize("missing", ["drop", {"fill": 0.5}])
def test_missing_cells_follow_the_declared_rule(kind, missing):
    holes = X.copy()
    holes[:5, 1] = np.nan
    table = {
        "array": holes,
        "masked": np.ma.masked_array(X, np.isnan(holes)),
        "pandas": pd.DataFrame(holes, columns=["x0", "x1"]),
        "polars": pl.DataFrame({"x0": X[:, 0], "x1": pl.Series(holes[:, 1], nan_to_null=True)}),
    }[kind]
    filled = np.where(np.isnan(holes), 0.5, holes)
    rows, y = (X[5:], Y[5:]) if missing == "drop" else (filled, Y)
    model = estimator(missing=missing).fit(table, Y)
    assert model.release_.totals == estimator().fit(rows, y).release_.totals
    predicted = model.predict(table)
    assert np.isnan(predicted[:5]).all() == (missing == "drop")
    np.testing.assert_array_equal(predicted[5:], model.predict(table[5:]))


@pytest.mark.usefixtures("exact")
def test_masked_targets_are_missing():
    masked = np.ma.masked_array(Y, np.arange(ROWS) < 5)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        estimator().fit(X, masked)
    model = estimator(missing="drop").fit(X, masked)
    assert model.release_.totals == estimator().fit(X[5:], Y[5:]).release_.totals


def test_missing_cells_of_a_table_are_refused_by_column():
    table = pd.DataFrame({"x0": X[:, 0], "x1": np.where(X[:, 1] > 0.5, np.nan, X[:, 1])})
    with pytest.raises(DataError, match="column 'x1' has a cell that is missing"):
        estimator().fit(table, Y)


def test_an_empty_table_is_released_where_every_cell_has_a_rule():
    model = estimator(missing="drop").fit(X[:0], Y[:0])
    assert model.predict(X).shape == (ROWS,)
    assert model.predict(X[:0]).shape == (0,)


def test_only_a_rule_for_missing_cells_lets_nan_in():
    assert not estimator().__sklearn_tags__().input_tags.allow_nan
    assert estimator(missing="drop").__sklearn_tags__().input_tags.allow_nan
