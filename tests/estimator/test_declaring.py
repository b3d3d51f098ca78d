"""A whole design, and formulas, as parameters of the estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import discreet
from discreet.errors import DesignError, DiscreetError, SpecError
from discreet.estimator import PrivateLinearRegression
from discreet.estimator.inputs import IN_DESIGN, checked_design, declared_design, features_of, named_columns
from discreet.testing.not_private import exact_release

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")

COLUMNS = {
    "age": (20, 80),
    "income": (0, 100),
    "ward": ["a", "b"],
    "hidden": {"bounds": (1, 9), "release": False},
    "log_hidden": {"formula": "log(hidden)"},
}
DESIGN = discreet.Design("income", COLUMNS)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture
def exact(monkeypatch):
    """Releases without noise, so that numbers can be compared."""
    monkeypatch.setattr(
        "discreet.estimator.regression.release", lambda table, design, **_: exact_release(table, design, grid_bits=20)
    )


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    hidden, age = rng.uniform(1, 9, 200), rng.uniform(20, 80, 200)
    ward = rng.choice(["a", "b"], 200)
    X = pd.DataFrame({"ward": ward, "hidden": hidden, "age": age})
    return X, 20 + 0.5 * age + 3 * np.log(hidden) + 5 * (ward == "b")


def test_a_whole_design_declares_everything(exact, rows):
    X, y = rows
    model = PrivateLinearRegression(**BUDGET, design=DESIGN, mechanism="gaussian", penalty="none").fit(X, y)
    assert model.columns_ == ("ward", "hidden", "age")
    assert model.fit_.names == ("Intercept", "age", "ward[b]", "log_hidden")
    assert model.coef_ == pytest.approx([0.5, 5, 3], abs=1e-2)
    assert model.predict(X) == pytest.approx(y, abs=0.1)
    assert model.release_.design == DESIGN
    # a copy of an estimator has a copy of its design
    assert clone(model).design == DESIGN


def test_columns_without_names_are_those_of_the_design_in_order(exact, rows):
    X, y = rows
    assert features_of(DESIGN) == ("age", "ward", "hidden")
    model = PrivateLinearRegression(**BUDGET, design=DESIGN, mechanism="gaussian", penalty="none")
    model.fit([list(row) for row in X[list(features_of(DESIGN))].itertuples(index=False)], list(y))
    assert model.columns_ == features_of(DESIGN)
    assert model.coef_ == pytest.approx([0.5, 5, 3], abs=1e-2)


def test_formulas_in_bounds_make_columns(exact, rows):
    X, y = rows
    bounds = {"ward": ["a", "b"], "hidden": (1, 9), "age": (20, 80), "log_hidden": {"formula": "log(hidden)"}}
    model = PrivateLinearRegression(
        **BUDGET, bounds=bounds, target_bounds=(0, 100), formula="y ~ age + ward + log_hidden", penalty="none"
    ).fit(X, y)
    assert model.release_.columns == ("1", "ward[b]", "hidden", "age", "log_hidden", "y")
    assert model.fit_.names == ("Intercept", "age", "ward[b]", "log_hidden")
    assert model.coef_ == pytest.approx([0.5, 5, 3], abs=1e-2)
    assert model.predict(X) == pytest.approx(y, abs=0.1)


def test_a_formula_chooses_a_release_of_moments(rows):
    X, y = rows
    model = PrivateLinearRegression(
        **BUDGET, bounds=(0, 80), target_bounds=(0, 100), formula="y ~ age"
    ).fit(X[["hidden", "age"]], y)  # fmt: skip
    assert model.release_.mechanism == "staged"
    assert model.fit_.features == ("age",)
    assert model.refit("ridge", strength=1.0).fit_.features == ("age",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formula": "y ~ nothing"}, "nothing"),
        ({"formula": "age ~ hidden"}, "expected a formula with the target 'y', got the target 'age'"),
        ({"formula": 5}, "expected a formula"),
        ({"formula": "y ~ age", "mechanism": "refined"}, "one model with all columns"),
        ({"bounds": {"hidden": (0, 80), "age": (0, 80), "other": (0, 1)}}, "bounds must name exactly the columns of X"),
        ({"bounds": {"hidden": (0, 80), "age": (0, 80), "odd": {"formula": "log(nobody)"}}}, "nobody"),
        ({"design": DESIGN}, "a design and bounds"),
        ({"design": DESIGN, "bounds": None}, "a design and target_bounds"),
        ({"design": {"target": "y"}, "bounds": None, "target_bounds": None}, "expected a discreet.Design"),
    ],
)
def test_what_contradicts_itself_is_refused_before_the_spend(rows, options, message):
    X, y = rows
    given = {"bounds": (0, 80), "target_bounds": (0, 100), **options}
    model = PrivateLinearRegression(**BUDGET, **given)
    with pytest.raises((SpecError, DesignError), match=message):
        model.fit(X[["hidden", "age"]], y)
    assert not hasattr(model, "release_")


def test_a_design_with_other_columns_persons_or_weights_is_refused(rows):
    X, y = rows
    fit = PrivateLinearRegression(**BUDGET, design=DESIGN).fit
    with pytest.raises(SpecError, match=r"in the design but not in X: \['age'\]"):
        fit(X[["ward", "hidden"]], y)
    with pytest.raises(SpecError, match=r"in X but not in the design: \['more'\]"):
        fit(X.assign(more=1), y)
    with pytest.raises(SpecError, match=r"as the design declares \(age, ward, hidden\), got 2 columns without names"):
        fit(X[["age", "hidden"]].to_numpy(), y)
    with pytest.raises(SpecError, match="expected y to be named 'income', the target of the design, got 'wage'"):
        fit(X, pd.Series(y, name="wage"))
    persons = discreet.Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"id": "who", "max_rows": 2})
    with pytest.raises(SpecError, match="treats every row as a separate individual"):
        PrivateLinearRegression(**BUDGET, design=persons).fit([[0.5]], [0.5])
    weighted = discreet.Design("y", {"y": (0, 1), "x": (0, 1), "w": (0, 5)}, weights="w")
    with pytest.raises(SpecError, match=r"declares the weights 'w'.*use discreet\.release"):
        PrivateLinearRegression(**BUDGET, design=weighted).fit([[0.5, 1.0]], [0.5])


def test_whatever_is_given_beside_a_design_is_refused_in_words():
    odd = {"bounds": np.zeros((2, 2)), "radius": np.array([1.0]), "missing": {"fill": 0}, "neighbours": np.array("a")}
    for name, value in {**odd, "fit_intercept": False, "target_bounds": bool}.items():
        with pytest.raises(SpecError, match=f"a design and {name}"):
            checked_design(DESIGN, {**IN_DESIGN, name: value})
    assert checked_design(DESIGN, IN_DESIGN) is DESIGN


def test_a_rule_for_missing_cells_reaches_the_columns_of_the_table_alone():
    bounds = {"x": (1, 9), "log_x": {"formula": "log(x)"}}
    design = declared_design(["x"], "y", {**IN_DESIGN, "bounds": bounds, "target_bounds": (0, 1), "missing": "drop"})
    assert [design.columns[name].missing for name in ("x", "y")] == ["drop", "drop"]
    assert named_columns(design, {"x": [1]}, named=True) == {"x": [1]}
    with pytest.raises(DiscreetError):
        declared_design(["x"], "y", {**IN_DESIGN, "bounds": bounds})
