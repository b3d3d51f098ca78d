"""Every fit spends, says so, and changes nothing that the user gave."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from discreet import fit
from discreet.errors import DiscreetError, PrivacyNotice
from discreet.estimator import PrivateLinearRegression
from discreet.testing.not_private import exact_release

RANDOM = np.random.default_rng(4)
X = RANDOM.uniform(0, 1, (60, 2))
Y = X @ [1.0, 0.5]


def estimator(**changes):
    good = {"epsilon": 1.5, "delta": 1e-6, "bounds": {"x0": (0, 1), "x1": (0, 1)}, "target_bounds": (0, 2)}
    return PrivateLinearRegression(**{**good, **changes})


def notices(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    assert all(warning.category is PrivacyNotice for warning in caught)
    return [str(warning.message) for warning in caught]


def test_the_first_fit_of_an_estimator_is_silent_and_the_second_is_not():
    model = estimator()
    assert notices(lambda: model.fit(X, Y)) == []
    first = model.release_
    (notice,) = notices(lambda: model.fit(X, Y))
    assert notice == (
        "the estimator was fitted before: this fit spends epsilon=1.5, delta=1e-06 on top of all other fits "
        "to the same rows"
    )
    # equal by chance with a probability far below 1e-9: six sums, each with noise of thousands of grid steps
    assert model.release_.totals != first.totals


def test_a_clone_says_that_its_fit_spends():
    (notice,) = notices(lambda: clone(estimator()).fit(X, Y))
    assert notice.startswith("the estimator is a clone, as model selection makes them: this fit spends epsilon=1.5")
    assert len(notices(lambda: clone(clone(estimator().fit(X, Y))).fit(X, Y))) == 1


def test_cross_validation_says_it_once_for_each_refit():
    assert len(notices(lambda: cross_val_score(estimator(), X, Y, cv=4))) == 4


def test_a_grid_search_says_it_once_for_each_refit_with_the_budget_of_each():
    search = GridSearchCV(make_pipeline(estimator()), {"privatelinearregression__epsilon": [1, 2, 4]}, cv=2)
    told = notices(lambda: search.fit(X, Y))
    assert len(told) == 3 * 2 + 1
    assert [sum(f"epsilon={epsilon}," in notice for notice in told[:6]) for epsilon in (1, 2, 4)] == [2, 2, 2]


def test_bagging_does_not_pass_weights():
    bag = BaggingRegressor(estimator(), n_estimators=3)
    assert len(notices(lambda: bag.fit(X, Y))) == 3


def test_a_pipeline_fits_the_estimator_itself():
    model = make_pipeline(FunctionTransformer(np.sqrt), estimator())
    assert notices(lambda: model.fit(X, Y)) == []
    assert model.predict(X).shape == (60,)


def test_whoever_turns_notices_into_errors_spends_nothing():
    model = estimator().fit(X, Y)
    first = model.release_
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyNotice)
        with pytest.raises(PrivacyNotice):
            model.fit(X, Y)
    assert model.release_ is first


def test_a_model_that_cannot_be_solved_leaves_its_release_behind(monkeypatch):
    model = estimator().fit(X, Y).set_params(penalty="none")
    monkeypatch.setattr("discreet.estimator.release", lambda table, design, **_: exact_release(table, design))
    same = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.warns(PrivacyNotice, match="fitted before"):
        model.fit(same, Y)
    assert not model.release_.private
    assert fit(model.release_, features=["x0"]).params["x0"] != 0
    check_is_fitted(model)
    assert not model.fit_.estimable
    for name in ("coef_", "intercept_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"{name} is not estimable: the released sums"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'coeff_'"):
        _ = model.coeff_
    with pytest.raises(DiscreetError, match="--penalty adaptive"):
        model.predict(same)
    again = pickle.loads(pickle.dumps(model))
    assert not again.fit_.estimable


def test_an_error_after_the_spend_says_where_the_release_is():
    model = estimator(mechanism="ssp", penalty="ridge", strength="criterion")
    with pytest.raises(DiscreetError, match="sum of squares of the target") as caught:
        model.fit(X, Y)
    assert caught.value.__notes__ == [
        "the budget is spent; the release is kept in release_, where other models cost nothing"
    ]
    assert model.release_.private


def test_fit_changes_no_parameter():
    model = estimator(missing={"fill": 0.5})
    before = model.get_params()
    values = copy.deepcopy(before)
    model.fit(X, Y).predict(X)
    after = model.get_params()
    assert after == values
    assert all(after[name] is before[name] for name in before)


def test_a_clone_has_the_parameters_and_nothing_learned():
    model = estimator(penalty="ridge", strength=0.1, radius=1.0).fit(X, Y)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied.bounds is not model.bounds
    assert not [name for name in vars(copied) if name.endswith("_")]


def test_models_of_one_release_cost_nothing_more():
    model = estimator().fit(X, Y)
    again = fit(model.release_, penalty="adaptive")
    np.testing.assert_array_equal(again.coefficients, [model.intercept_, *model.coef_])
