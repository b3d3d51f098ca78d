"""`fit` and what a `Fit` shows."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

import discreet.analyst
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import SpecError
from support.fitted_tables import COLUMNS, table
from support.made_releases import digits, exact_least_squares, made


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [1e-9, 0.1, 3, 1e6, np.float32(0.5)])
def test_ridge_is_the_penalised_least_squares_of_the_scaled_columns(source, strength, intercept):
    result = fit(source.release, penalty="ridge", strength=strength, intercept=intercept)
    ridge = float(strength) * 60
    assert result.ridge == ridge
    assert result.strength == float(strength)
    half, mid = {"x": 2, "y": 5}, {"x": 4, "y": 5}
    scaled = {
        name: [(value - (mid.get(name, 0) if intercept else 0)) / half.get(name, 1) for value in values]
        for name, values in source.rows.items()
    }
    names = ["1", *result.names[1:]] if intercept else list(result.names)
    penalty_diagonal = [Fraction(ridge) if name != "1" else Fraction(0) for name in names]
    exact = exact_least_squares(scaled["y"], [scaled[name] for name in names], penalty_diagonal)
    assert digits(result.scaled_coefficients.tolist(), exact) > 14


def test_ridge_agrees_with_its_objective_in_the_words_of_scikit_learn(source):
    result = fit(source.release, penalty="ridge", strength=0.2)
    Z = source.matrix(["x", "g[q]", "g[r]", "flag"], intercept=False)
    Z[:, 0] = (Z[:, 0] - 4) / 2
    y = (source.matrix(["y"], intercept=False)[:, 0] - 5) / 5

    def objective(theta):
        return ((y - theta[0] - Z @ theta[1:]) ** 2).sum() / 120 + 0.1 * (theta[1:] ** 2).sum()

    best = objective(result.scaled_coefficients)
    for direction in np.vstack([np.eye(5), -np.eye(5)]):
        assert objective(result.scaled_coefficients + 1e-3 * direction) > best


def test_a_ridge_stays_a_ridge_where_the_noisy_count_is_below_one():
    release = made(Design("y", COLUMNS), table(2)).release
    below = dataclasses.replace(release, totals=(-release.totals[0], *release.totals[1:]))
    result = fit(below, features=["flag"], intercept=False, penalty="ridge", strength=1e3)
    assert (result.nobs, result.ridge) == (-2.0, 1e3)
    assert "Rows:     -2" in result.summary()


def test_a_ridge_of_a_mean_is_the_mean(source):
    assert fit(source.release, features=[], penalty="ridge", strength=5.0).params["Intercept"] == pytest.approx(
        float(sum(source.rows["y"]) / 60)
    )


def test_only_a_release_is_fitted():
    with pytest.raises(SpecError, match=r"fit: expected a Release, got dict; load a release with Release.load"):
        fit({"totals": []})


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_the_room_never_reaches_behind_the_wall():
    from pathlib import Path

    folder = Path(discreet.analyst.__file__).parent
    for path in folder.rglob("*.py"):
        source_text = path.read_text(encoding="utf-8")
        assert "import discreet.curator" not in source_text
        assert "from discreet.curator" not in source_text
        assert "from discreet.mechanisms" not in source_text


def test_several_targets_give_a_fit_of_each_with_the_same_features(source):
    both = fit(source.release, target=["y", "x"])
    assert list(both) == ["y", "x"]
    for name, one in both.items():
        assert one.features == ("g", "flag")
        assert dict(one.params) == dict(fit(source.release, target=name, features=["g", "flag"]).params)
    named = fit(source.release, target=("y",), features=["x"], penalty="ridge", strength=0.1, intercept=False)
    assert named["y"].features == ("x",)
    assert named["y"].penalty == "ridge"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": []}, "expected at least one declared column for target"),
        ({"target": ["y", "y"]}, "expected each target once, got 'y' twice"),
        ({"target": [None, np.array([0.0, 1.0])]}, "unknown target array"),
        ({"target": ["y", "z"]}, "unknown target 'z'"),
        ({"target": ["y", "g"]}, "is categorical"),
        ({"target": ["y", "x"], "features": ["x"]}, "both the target and a feature"),
        ({"target": ["y"], "features": 3}, "a list of declared names"),
        ({"target": ["y"], "formula": "y ~ x"}, "a formula cannot be combined with several targets"),
    ],
)
def test_targets_that_cannot_be_fitted_are_refused(source, arguments, message):
    with pytest.raises(SpecError, match=message):
        fit(source.release, **arguments)
