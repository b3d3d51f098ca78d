"""Ridge, lasso and elastic net from a release: against scikit-learn, at their limits, and what a fit says of them."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from discreet.analyst.model import fit
from discreet.analyst.path import path
from discreet.design.design import Design
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee
from support.made_releases import made

COLUMNS = {"y": (0, 10), "x": (2, 6), "z": (-3, 1), "g": ["p", "q", "r"], "flag": bool}
PROMISE = Guarantee(1.0, 1e-6, PrivacyUnit(), ("the bounds are public",))
SLOPES = ["x", "z", "g[q]", "g[r]", "flag"]
AGREEMENT = 1e-8  # in scaled coefficients; scikit-learn is asked for a duality gap of 1e-14 of the target
PENALTIES = [("ridge", None), ("lasso", None), ("elastic-net", 0.5), ("elastic-net", 0.0), ("elastic-net", 1.0)]


def table(count=120, seed=0):
    random = np.random.default_rng(seed)
    x, z = random.uniform(2, 6, count), random.uniform(-3, 1, count)
    flag = random.random(count) < 0.5
    return {
        "y": np.clip(1 + x - 0.5 * z + flag + random.normal(0, 0.3, count), 0, 10).tolist(),
        "x": x.tolist(),
        "z": z.tolist(),
        "g": random.choice(["p", "q", "r"], count).tolist(),
        "flag": flag.tolist(),
    }


TABLE = table()


@pytest.fixture(scope="module")
def source():
    return made(Design("y", COLUMNS), TABLE)


@pytest.fixture(scope="module")
def private():
    return made(Design("y", COLUMNS), TABLE, sigma=0.5, guarantee=PROMISE).release


def scaled_rows(source, target, intercept=True):
    """The columns that a strength acts on, as the released rows have them."""
    half, mid = {"x": 2, "y": 5, "z": 2}, {"x": 4, "y": 5, "z": -1}

    def scaled(name):
        values = source.matrix([name], intercept=False)[:, 0]
        return (values - (mid.get(name, 0) if intercept else 0)) / half.get(name, 1)

    names = [name for name in ["y", *SLOPES] if name != target]
    return names, np.column_stack([scaled(name) for name in names]), scaled(target)


def rival(penalty, strength, l1_ratio, intercept):
    options = {"fit_intercept": intercept, "tol": 1e-14, "max_iter": 10**6}
    if penalty == "ridge" or l1_ratio == 0.0:
        return lambda X, y: Ridge(strength * len(y), fit_intercept=intercept, solver="cholesky").fit(X, y)
    if penalty == "lasso":
        return Lasso(strength, **options).fit
    return ElasticNet(strength, l1_ratio=l1_ratio, **options).fit


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("target", ["y", "flag"])
@pytest.mark.parametrize(("penalty", "l1_ratio"), PENALTIES)
def test_exact_sums_give_what_scikit_learn_gives(source, penalty, l1_ratio, target, intercept):
    names, X, y = scaled_rows(source, target, intercept)
    features = ["y", "x", "z", "g"] if target == "flag" else None
    for strength in (1.0, 0.1, 0.02, 1e-3, 1e-5):
        result = fit(
            source.release, target=target, features=features, intercept=intercept,
            penalty=penalty, strength=strength, l1_ratio=l1_ratio,
        )  # fmt: skip
        model = rival(penalty, strength, l1_ratio, intercept)(X, y)
        wanted = [model.intercept_, *model.coef_] if intercept else model.coef_
        assert [name for name in result.names if name != "Intercept"] == names
        np.testing.assert_allclose(result.scaled_coefficients, wanted, rtol=0, atol=AGREEMENT)
        assert result.repair == 0.0


@pytest.mark.parametrize(("penalty", "l1_ratio"), PENALTIES)
def test_predictions_are_those_of_scikit_learn_in_the_units_of_the_target(source, penalty, l1_ratio):
    _, X, y = scaled_rows(source, "y")
    result = fit(source.release, penalty=penalty, strength=0.05, l1_ratio=l1_ratio)
    wanted = 5 + 5 * rival(penalty, 0.05, l1_ratio, True)(X, y).predict(X)
    np.testing.assert_allclose(result.predict(TABLE), wanted, atol=1e-3)  # the table is not rounded to the grid
    original = source.matrix(SLOPES) @ result.coefficients
    np.testing.assert_allclose(original, wanted, atol=1e-7)


def test_elastic_net_runs_from_ridge_to_lasso(private):
    by_name = {name: fit(private, penalty=name, strength=0.05).coefficients for name in ("ridge", "lasso")}
    for name, ratio in (("ridge", 0.0), ("lasso", 1.0)):
        result = fit(private, penalty="elastic-net", strength=0.05, l1_ratio=ratio)
        np.testing.assert_allclose(result.coefficients, by_name[name], rtol=1e-9)


def test_least_squares_is_the_limit_of_a_weak_penalty(private):
    plain = fit(private).coefficients
    for penalty, l1_ratio in PENALTIES:
        weak = fit(private, penalty=penalty, strength=1e-12, l1_ratio=l1_ratio)
        np.testing.assert_allclose(weak.coefficients, plain, rtol=1e-7)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.01])
def test_the_strength_where_the_last_slope_becomes_zero(private, l1_ratio):
    limit = path(private, penalty="elastic-net", l1_ratio=l1_ratio).strengths[0]
    for strength, count in ((limit * (1 + 1e-9), 0), (limit * (1 - 1e-6), 1)):
        result = fit(private, penalty="elastic-net", strength=strength, l1_ratio=l1_ratio)
        assert np.count_nonzero(result.scaled_coefficients[1:]) == count
    mean = fit(private, features=[]).coefficients[0]
    assert fit(private, penalty="lasso", strength=1e100).coefficients.tolist() == pytest.approx([mean, 0, 0, 0, 0, 0])


def test_the_intercept_of_a_lasso_is_exact(private):
    result = fit(private, penalty="lasso", strength=0.05)
    moments = private.moments
    slopes = [Fraction(value) for value in result.scaled_coefficients[1:].tolist()]
    left = Fraction(moments[0, -1]) - sum(
        Fraction(a) * b for a, b in zip(moments[0, 1:-1].tolist(), slopes, strict=True)
    )
    assert result.scaled_coefficients[0] == pytest.approx(float(left / Fraction(moments[0, 0])), rel=1e-15)


@pytest.mark.parametrize(("penalty", "l1_ratio"), PENALTIES)
def test_a_model_without_features_is_the_mean(private, penalty, l1_ratio):
    for strength in (0.3, "criterion"):
        result = fit(private, features=[], penalty=penalty, strength=strength, l1_ratio=l1_ratio)
        assert result.params["Intercept"] == pytest.approx(fit(private, features=[]).params["Intercept"], rel=1e-12)
        assert result.repair == 0.0


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spec", [{}, {"intercept": False}, {"target": "flag"}, {"features": ["g"]}], ids=str)
@pytest.mark.parametrize(("penalty", "l1_ratio"), PENALTIES[:3])
@pytest.mark.parametrize("strength", [1e-9, 0.1, "criterion"])
def test_a_hopeless_release_gives_bounded_coefficients(seed, spec, penalty, l1_ratio, strength):
    release = made(Design("y", COLUMNS), table(20), grid_bits=10, sigma=200.0, seed=seed).release
    result = fit(release, penalty=penalty, strength=strength, l1_ratio=l1_ratio, **spec)
    assert np.isfinite(result.coefficients).all()
    assert np.abs(result.scaled_coefficients).max() < 5
    assert np.isfinite(result.predict(TABLE)).all()
    assert result.repair > 0 or result.ridge > 0


def test_a_public_number_of_rows_is_what_a_strength_is_multiplied_by():
    release = made(Design("y", COLUMNS), TABLE, sigma=0.1, units_public=True).release
    assert fit(release, penalty="ridge", strength=0.5).ridge == 60.0
    assert fit(release, penalty="elastic-net", strength=0.5, l1_ratio=0.25).ridge == 45.0
    assert fit(release, penalty="lasso", strength=0.5).ridge == 0.0


# -- what is shown ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("penalty", "l1_ratio"), PENALTIES[:3])
@pytest.mark.parametrize("strength", [0.0123456789, "criterion"])
def test_a_penalised_fit_says_so(private, penalty, l1_ratio, strength):
    result = fit(private, penalty=penalty, strength=strength, l1_ratio=l1_ratio)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (plain["penalty"], plain["penalised"], plain["l1_ratio"]) == (penalty, True, l1_ratio)
    assert plain["strength"] == result.strength > 0
    assert plain["strength_selected"] is result.selected is (strength == "criterion")
    text = result.summary()
    assert all(len(line) <= 88 for line in text.splitlines())
    flat = " ".join(text.split())
    assert "The coefficients are shrunk towards 0 for better predictions" in flat
    chosen = " (by criterion)" if strength == "criterion" else ""
    ratio = "" if l1_ratio is None else f", l1_ratio {l1_ratio:g}"
    assert f"Penalty: {penalty}, strength {result.strength:g}{chosen}{ratio}" in flat
    assert f"penalty {penalty}" in repr(result)


def test_least_squares_is_not_called_penalised(private):
    result = fit(private)
    assert "Penalised" not in result.summary()
    shown = result.to_dict()
    assert (shown["penalised"], shown["strength"], shown["strength_selected"]) == (False, None, False)
    assert (shown["l1_ratio"], shown["repair"], shown["ridge"]) == (None, 0.0, 0.0)
    assert fit(private, penalty="adaptive").penalised
