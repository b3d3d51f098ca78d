"""The estimator keeps its release and nothing of the rows; what it keeps survives a pickle."""

from __future__ import annotations

import copy
import importlib
import pickle
import struct
import sys

import numpy as np
import pytest

from discreet.errors import DataError, MissingDependencyError
from discreet.estimator import PrivateLinearRegression

X_MARK, Y_MARK = 12.345678901234567, 98.76543210987654
RANDOM = np.random.default_rng(5)
X = RANDOM.uniform(0, 20, (50, 3))
Y = RANDOM.uniform(0, 100, 50)
X[7, 1], Y[9] = X_MARK, Y_MARK


def fitted(**changes):
    good = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 20), "target_bounds": (0, 100)}
    return PrivateLinearRegression(**{**good, **changes}).fit(X, Y)


def marks(model):
    """Marks found in what the estimator shows.

    By chance 8 bytes stand somewhere in a pickle of 10 kB with a probability below 1e-14, and 12 given digits among
    fewer than a hundred noisy decimal numbers with one below 1e-9.
    """
    shown = [repr(model), repr(vars(model)), str(model.release_.to_json()), model._repr_html_()]
    pickled = pickle.dumps(model)
    found = []
    for mark in (X_MARK, Y_MARK):
        digits = repr(mark)[:13]
        traces = [digits.encode(), struct.pack("<d", mark), struct.pack(">d", mark)]
        if any(digits in text for text in shown) or any(trace in pickled for trace in traces):
            found.append(mark)
    return found


def test_no_row_is_in_the_estimator_its_text_or_its_pickle():
    assert marks(fitted()) == []


def test_the_search_for_rows_finds_a_row():
    model = fitted()
    model.rows = X.copy()
    assert X_MARK in marks(model)
    model.rows = Y.tolist()
    assert Y_MARK in marks(model)


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        (X[:, 1], Y),
        (np.where(X == X_MARK, f"cell {X_MARK}", X.astype(object)), Y),
        (np.full((50, 3), f"cell {X_MARK}"), Y),
        (X, [f"cell {value}" for value in Y]),
        (X, np.column_stack([Y, Y])),
        (X, Y[:-1]),
        (np.where(X < 1, np.nan, X), Y),
    ],
)
def test_an_error_about_rows_quotes_no_cell_and_no_count(rows, y):
    with pytest.raises((ValueError, DataError)) as caught:
        PrivateLinearRegression(epsilon=1, delta=1e-6, bounds=(0, 20), target_bounds=(0, 100)).fit(rows, y)
    error = caught.value
    while error is not None:
        assert not [text for text in (str(X_MARK), str(Y_MARK), "12.345", "50", "49") if text in str(error)]
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, copy.copy])
def test_a_copy_predicts_the_same(copied):
    model = fitted()
    other = copied(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    np.testing.assert_array_equal(other.coef_, model.coef_)
    assert other.intercept_ == model.intercept_
    assert other.release_ == model.release_
    assert other.release_.digest == model.release_.digest
    assert other.guarantee_ == model.guarantee_
    assert other.fit_.summary() == model.fit_.summary()
    assert other.fit_.release is other.release_
    assert other.get_params() == model.get_params()


def test_an_estimator_without_a_fit_survives_a_pickle():
    model = PrivateLinearRegression(epsilon=1)
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


def test_a_release_without_a_model_survives_a_pickle():
    model = fitted()
    for name in ("fit_", "coef_", "intercept_"):
        delattr(model, name)
    assert pickle.loads(pickle.dumps(model)).release_ == model.release_


def test_a_pickle_whose_release_was_changed_is_refused():
    model = fitted()
    state = model.__getstate__()
    assert isinstance(state["release_"], str)
    state["release_"] = state["release_"].replace('"epsilon": 1', '"epsilon": 2')
    with pytest.raises(Exception, match="digest"):
        PrivateLinearRegression(epsilon=1).__setstate__(state)


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    for name in [name for name in sys.modules if name.startswith("discreet.estimator")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingDependencyError, match=r"'scikit-learn', which is not installed.*discreet\[sklearn\]"):
        importlib.import_module("discreet.estimator")
