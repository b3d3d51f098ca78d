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

from discreet import Ledger, fit
from discreet.errors import BudgetError, DiscreetError, PrivacyNotice, SpecError
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
    model = estimator(dataset="first and second")
    assert notices(lambda: model.fit(X, Y)) == []
    first = model.release_
    (notice,) = notices(lambda: model.fit(X, Y))
    assert notice == (
        "the estimator was fitted before: this fit spends epsilon=1.5, delta=1e-06. 2 fits in this process: together "
        "epsilon 2.2 at delta 1e-06, assuming they all used the same rows"
    )
    # equal by chance with a probability far below 1e-9: three coefficients after twenty noisy steps
    assert model.release_.coefficients != first.coefficients


def test_a_clone_says_that_its_fit_spends():
    (notice,) = notices(lambda: clone(estimator()).fit(X, Y))
    assert notice.startswith("the estimator is a clone, as in model selection: this fit spends epsilon=1.5")
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
    monkeypatch.setattr(
        "discreet.estimator.regression.release", lambda table, design, **_: exact_release(table, design)
    )
    same = np.column_stack([X[:, 0], X[:, 0]])
    model.fit(same, Y)
    assert not model.release_.private
    assert model.guarantee_ is None
    assert fit(model.release_, features=["x0"]).params["x0"] != 0
    check_is_fitted(model)
    assert not model.fit_.estimable
    for name in ("coef_", "intercept_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"{name} is not estimable: the released sums"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'coeff_'"):
        _ = model.coeff_
    with pytest.raises(DiscreetError, match="pass penalty='bayes'"):
        model.predict(same)
    again = pickle.loads(pickle.dumps(model))
    assert not again.fit_.estimable


def test_an_error_after_the_spend_says_where_the_release_is():
    model = estimator(mechanism="ssp", penalty="ridge", strength="criterion")
    with pytest.raises(DiscreetError, match="sum of squares of the target") as caught:
        model.fit(X, Y)
    assert caught.value.__notes__ == [
        "the budget is spent; the release is kept in release_, and fitting other models costs nothing"
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
    np.testing.assert_array_equal(fit(model.release_).coefficients, [model.intercept_, *model.coef_])
    model = estimator(mechanism="gaussian").fit(X, Y)
    again = fit(model.release_, penalty="bayes")
    np.testing.assert_array_equal(again.coefficients, [model.intercept_, *model.coef_])


def test_the_eleventh_fit_of_a_grid_search_says_what_all_of_them_cost():
    grid = {"penalty": ["ridge", "lasso"], "strength": [0.1]}
    search = GridSearchCV(estimator(epsilon=1.0, dataset="eleven"), grid, cv=5)
    found = notices(lambda: search.fit(X, Y))
    assert len(found) == 11
    assert "11 fits in this process: together epsilon 3.7 at delta 1e-06" in found[-1]
    best = search.best_estimator_.guarantee_
    assert (best.epsilon, best.delta, best.together.fits) == (1.0, 1e-6, 11)
    assert best.together.epsilon == pytest.approx(3.72, abs=0.02)
    assert best == search.best_estimator_.release_.guarantee


def test_another_name_is_another_account_and_another_relation_too():
    first = estimator(dataset="one").fit(X, Y).guarantee_
    again = estimator(dataset="one").fit(X, Y).guarantee_
    other = estimator(dataset="two").fit(X, Y).guarantee_
    replaced = estimator(dataset="one", neighbours="replace").fit(X, Y).guarantee_
    assert [one.together.fits for one in (first, again, other, replaced)] == [1, 2, 1, 1]


def test_what_fits_cost_together_is_in_no_file():
    model = estimator(dataset="files").fit(X, Y)
    assert "together" not in model.release_.to_json()
    assert model.release_.guarantee.together is None


def test_a_worker_says_that_other_workers_are_not_counted(monkeypatch):
    monkeypatch.setattr("discreet.estimator.regression.is_worker", lambda: True)
    (notice,) = notices(lambda: clone(estimator()).fit(X, Y))
    assert "fits of other workers are not included here: a ledger includes them all" in notice


def test_workers_of_joblib_know_that_they_are_workers():
    from joblib import Parallel, delayed

    from discreet.ledger.account import is_worker

    assert not is_worker()
    assert Parallel(n_jobs=2)(delayed(is_worker)() for _ in range(2)) == [True, True]


def test_another_penalty_for_the_same_release_costs_nothing():
    model = estimator(dataset="refit", mechanism="gaussian").fit(X, Y)
    made, before = model.release_, model.coef_.copy()
    assert notices(lambda: model.refit("ridge", strength=50.0)) == []
    assert model.release_ is made
    assert (model.penalty, model.strength, model.fit_.penalty) == ("ridge", 50.0, "ridge")
    assert (model.coef_ != before).all()
    assert model.guarantee_.together.fits == 1
    with pytest.raises(SpecError, match="penalty"):
        model.refit("rigde")
    assert model.penalty == "ridge"
    assert model.refit().penalty is None
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
def test_a_ledger_counts_fits_and_stops_them(tmp_path):
    ledger = Ledger.create(tmp_path / "books.db")
    ledger.declare("counted fits", epsilon=2.0, delta=1e-6)
    model = estimator(epsilon=1.0, dataset="counted fits", ledger=tmp_path / "books.db")
    assert model.fit(X, Y).release_.anchor.startswith("discreet-ledger:")
    made = model.release_
    # the same rows and the same question: the same release, at no cost
    with pytest.warns(PrivacyNotice, match="a fit that the ledger already recorded costs nothing"):
        assert clone(model).fit(X, Y).release_ == made
    assert model.guarantee_.together.fits == 1
    model.set_params(ledger=ledger)
    for fold in range(2):
        clone(model).fit(X[fold + 1 :], Y[fold + 1 :])
    with pytest.raises(BudgetError, match="Nothing was spent"):
        clone(model).fit(X[9:], Y[9:])
    assert ledger.status("counted fits").requests == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dataset": 7}, "dataset: expected"),
        ({"ledger": "x.db"}, "a ledger needs the name of a data set, got dataset=None"),
        ({"dataset": "survey", "ledger": 3}, "ledger: expected a Ledger or its path, got int"),
    ],
)
def test_a_ledger_needs_a_name_and_a_name_is_text(changes, said):
    with pytest.raises(SpecError, match=said):
        estimator(**changes).fit(X, Y)
