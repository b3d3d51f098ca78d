"""Everything that can be read from a release of weighted rows, or is refused in words."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.design.design import Design
from discreet.options import RobustErrors

WIDE = Design("y", {"x": (-50, 50), "z": (-50, 50), "b": bool, "y": (-100, 100)})


def table(rows=20_000, seed=1):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, rows))
    b = rng.random(rows) < 0.3
    return {"x": x, "z": z, "b": b, "y": 2 + x - 0.5 * z + b + rng.normal(size=rows)}


def made(robust=False, design=WIDE, epsilon=2.0, data=None):
    return discreet.testing.seeded_release(
        table() if data is None else data, design, seed=1, epsilon=epsilon, delta=1e-6, scaling="private", robust=robust
    )


@pytest.fixture(scope="module")
def plain():
    return made()


@pytest.fixture(scope="module")
def robust():
    return made(True)


def test_a_summary_says_that_the_line_is_that_of_weighted_rows(plain):
    text = " ".join(discreet.fit(plain).summary().split())
    assert "none (weighted least squares)" in text
    assert "linear in the features and hardly any targets were clipped, weighted and ordinary least squares" in text
    assert "y was clipped at released bounds: values in rows of full weight were limited to " in text
    assert "another target or fewer features" in text
    assert "clip_counts" not in text
    reason = "private scaling weighted the rows, so R^2 would differ from R^2 of the original rows"
    assert f"Adjusted R^2: not estimable: {reason}" in text


def test_tests_penalties_paths_comparisons_and_predictions_are_served(plain):
    fit = discreet.fit(plain)
    assert fit.t_test("x = 1").pvalue["x = 1"] > 1e-6
    assert fit.wald_test("x = 0, z = 0").pvalue < 1e-6
    new = {"x": [0.0, 1.0], "z": [0.0, 1.0], "b": [False, True]}
    np.testing.assert_allclose(fit.predict(new), [2.0, 3.5], atol=0.3)
    sets = fit.get_prediction(new).conf_int(obs=True)
    assert (sets.upper - sets.lower > 3).all()
    for penalty in ("bayes", "adaptive"):
        np.testing.assert_allclose(discreet.fit(plain, penalty=penalty).predict(new), [2.0, 3.5], atol=0.4)
    ridge = discreet.fit(plain, penalty="ridge", strength=0.1)
    assert 0 < ridge.params["x"] < fit.params["x"]
    assert ridge.interval_target == "penalised"
    assert ridge.bse["x"] > 0
    assert 0 <= discreet.path(plain).best < 120
    compared = discreet.compare_models(plain, [["x"], ["x", "z", "b"]])
    assert compared.best == 1
    assert "weighted" in str(compared.models[0].rsquared_adj)


def test_fewer_features_and_another_target_have_errors_but_not_with_the_target_among_the_features(plain):
    assert discreet.fit(plain, features=["x"]).bse["x"] > 0
    other = discreet.fit(plain, target="x", features=["z", "b"])
    assert abs(other.params["z"]) < 8 * other.bse["z"]
    assert "lacks the sums" in str(discreet.fit(plain, target="x", features=["y"]).bse["y"])
    assert discreet.fit(plain, intercept=False).bse["x"] > 0


def test_a_release_with_residuals_has_robust_errors_from_the_start(robust):
    fit = discreet.fit(robust)
    assert fit.is_robust
    assert "robust (HC1)" in fit.summary()
    assert fit.robust().bse["x"] == fit.bse["x"]
    assert "lacks the sums" in str(discreet.fit(robust, features=["x"]).bse["x"])
    assert "lacks the sums" in str(discreet.fit(robust, penalty="ridge", strength=0.1).bse["x"])


def test_a_declared_residual_bound_is_in_units_of_the_target():
    release = discreet.testing.seeded_release(
        table(), WIDE, seed=1, epsilon=2.0, delta=1e-6, scaling="private", robust=RobustErrors(residual_bound=5.0)
    )
    assert "clipped at 5;" in " ".join(discreet.fit(release).summary().split())


def test_rows_of_persons_are_clustered():
    data = table(3000)
    repeated = {name: np.repeat(values, 3) for name, values in data.items()} | {"who": np.repeat(np.arange(3000), 3)}
    design = Design("y", WIDE.columns, unit={"id": "who", "max_rows": 3})
    clustered = discreet.fit(made(True, design, 1e4, repeated))
    rows = discreet.fit(made(True, WIDE, 1e4, {name: np.repeat(values, 3) for name, values in data.items()}))
    # three equal rows say no more than one
    assert clustered.bse["x"] == pytest.approx(np.sqrt(3) * rows.bse["x"], rel=0.1)
    assert "clustered by 'who'" in clustered.summary()


@pytest.mark.parametrize("robust", [False, True])
def test_findings_do_not_speak_of_bounds_and_count_rows(robust):
    few = made(robust, epsilon=0.1, data=table(20))
    numbers = [one.number for one in discreet.diagnose(few)]
    assert "D002" in numbers
    assert discreet.diagnose(made(robust)) is not None
    fit = discreet.fit(few, penalty="bayes")
    assert np.isfinite(fit.predict({"x": [1.0], "z": [1.0], "b": [True]})).all()


def test_a_page_says_so_too(plain):
    assert "the coefficients are weighted least-squares estimates" in " ".join(discreet.report(plain).html.split())


def test_a_wide_box_costs_little():
    data = table()
    errors = []
    for factor in (1, 10):
        bounds = {"x": (-5 * factor, 5 * factor), "z": (-5 * factor, 5 * factor), "b": bool}
        design = Design("y", {**bounds, "y": (-12 * factor, 12 * factor)})
        errors.append([discreet.fit(made(design=design, data=data)).bse["x"]])
        declared = discreet.testing.seeded_release(data, design, seed=1, epsilon=2.0, delta=1e-6, mechanism="gaussian")
        errors[-1].append(discreet.fit(declared).bse["x"])
    (near, near_declared), (far, far_declared) = errors
    assert far < 4 * near
    assert far_declared > 20 * near_declared
