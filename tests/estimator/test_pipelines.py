"""A pipeline that learns from rows in front of a private regressor is named, without a row."""

from __future__ import annotations

import warnings

import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, PolynomialFeatures, StandardScaler

import discreet
from discreet.errors import PrivacyNotice, SpecError
from discreet.estimator import inputs as pipelines

MODEL = discreet.PrivateLinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1))


def test_a_scaler_in_front_is_named_and_warned_of_once():
    with pytest.warns(PrivacyNotice, match="standardscaler: learns from the rows") as caught:
        assert discreet.check_pipeline(make_pipeline(StandardScaler(), MODEL)) == ("standardscaler",)
    assert len(caught) == 1
    # the line that asked
    assert caught[0].filename == __file__


def test_several_steps_are_one_notice():
    pipe = make_pipeline(SimpleImputer(), Normalizer(), StandardScaler(), MODEL)
    with pytest.warns(PrivacyNotice) as caught:
        assert discreet.check_pipeline(pipe) == ("simpleimputer", "standardscaler")
    assert len(caught) == 1


def test_steps_that_learn_nothing_are_fine():
    pipe = Pipeline([("log", FunctionTransformer()), ("unit", Normalizer()), ("off", "passthrough"), ("none", None)])
    pipe.steps.append(("model", MODEL))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert discreet.check_pipeline(pipe) == ()


def test_parts_inside_steps_are_looked_at():
    inside = ColumnTransformer([("scaled", StandardScaler(), [0]), ("kept", "passthrough", [1]), ("gone", "drop", [2])])
    union = FeatureUnion([("plain", FunctionTransformer()), ("filled", make_pipeline(SimpleImputer()))])
    with pytest.warns(PrivacyNotice):
        found = discreet.check_pipeline(Pipeline([("columns", inside), ("union", union), ("model", MODEL)]))
    assert found == ("columns__scaled", "union__filled__simpleimputer")


def test_whoever_turns_warnings_into_errors_stops_there():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyNotice):
            discreet.check_pipeline(make_pipeline(PolynomialFeatures(), StandardScaler(), MODEL))


@pytest.mark.parametrize("given", [None, MODEL, "pipe", [MODEL]])
def test_what_is_no_pipeline_is_refused(given):
    with pytest.raises(SpecError, match="expected a scikit-learn Pipeline, got"):
        discreet.check_pipeline(given)


ROWS = ([[0.1], [0.5], [0.9]] * 50, [0.1, 0.5, 0.9] * 50)


@pytest.fixture
def unsaid(monkeypatch):
    monkeypatch.setattr(pipelines, "_SAID", set())


def notices(pipe):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipe.fit(*ROWS)
    return [str(one.message).split(":")[0] for one in caught if "learns from the rows" in str(one.message)]


@pytest.mark.usefixtures("unsaid")
def test_fitting_a_pipeline_with_a_scaler_in_front_warns_once():
    assert notices(make_pipeline(StandardScaler(), clone(MODEL))) == ["standardscaler"]
    assert notices(make_pipeline(StandardScaler(), clone(MODEL))) == []
    assert notices(make_pipeline(FunctionTransformer(), clone(MODEL))) == []
    assert notices(clone(MODEL)) == []
    nested = make_pipeline(SimpleImputer(), make_pipeline(StandardScaler(), clone(MODEL)))
    assert notices(nested) == ["simpleimputer, standardscaler"]


@pytest.mark.usefixtures("unsaid")
def test_model_selection_over_a_pipeline_warns_once():
    pipe = make_pipeline(StandardScaler(), clone(MODEL))
    assert notices(GridSearchCV(pipe, {"standardscaler__with_mean": [True, False]}, cv=2)) == ["standardscaler"]


@pytest.mark.usefixtures("unsaid")
def test_a_notice_that_is_made_an_error_comes_again():
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(PrivacyNotice):
                make_pipeline(StandardScaler(), clone(MODEL)).fit(*ROWS)
