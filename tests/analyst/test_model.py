"""`fit` and what a `Fit` shows."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet.analyst
from discreet.analyst.model import Fit, fit
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.unit import PrivacyUnit
from support.made_releases import digits, exact_least_squares, made

COLUMNS = {"y": (0, 10), "x": (2, 6), "g": ["p", "q", "r"], "flag": bool}
PROMISE = Guarantee(1.0, 1e-6, PrivacyUnit(), ("the bounds are public",))


def table(count=60, seed=0):
    random = np.random.default_rng(seed)
    x, flag = random.uniform(2, 6, count), random.random(count) < 0.5
    return {
        "y": np.clip(1 + x + flag + random.normal(0, 0.3, count), 0, 10).tolist(),
        "x": x.tolist(),
        "g": random.choice(["p", "q", "r"], count).tolist(),
        "flag": flag.tolist(),
    }


@pytest.fixture
def source():
    return made(Design("y", COLUMNS), table())


@pytest.fixture
def private():
    return made(Design("y", COLUMNS), table(), sigma=0.5, guarantee=PROMISE).release


def test_coefficients_come_by_name_and_in_order(source):
    result = fit(source.release)
    assert isinstance(result, Fit)
    assert result.names == ("Intercept", "x", "g[q]", "g[r]", "flag")
    assert tuple(result.params) == result.names
    assert list(result.params.values()) == result.coefficients.tolist()
    assert (result.target, result.features, result.penalty) == ("y", ("x", "g", "flag"), "none")
    assert (result.ridge, result.strength, result.nobs) == (0.0, None, 60.0)
    assert result.release is source.release


def test_scaled_and_original_coefficients_say_the_same(source):
    result = fit(source.release)
    slopes = result.scaled_coefficients[1:] * 5 / [2, 1, 1, 1]
    np.testing.assert_allclose(result.coefficients[1:], slopes, rtol=1e-14)
    assert result.params["Intercept"] == pytest.approx(5 + 5 * result.scaled_coefficients[0] - 4 * slopes[0])


def test_a_fit_cannot_be_changed(source):
    result = fit(source.release)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.ridge = 1.0
    for array in (result.coefficients, result.scaled_coefficients):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "laso"}, r"unknown penalty 'laso'; allowed: none, ridge, .* Did you mean 'lasso'"),
        ({"penalty": None}, "unknown penalty 'None'"),
        ({"penalty": ["ridge"]}, "unknown penalty"),
        ({"l1_ratio": 0.5}, "got l1_ratio 0.5 with penalty 'none'; only 'elastic-net' has one"),
        ({"penalty": "lasso", "strength": 0.1, "l1_ratio": 1.0}, "got l1_ratio 1.0 with penalty 'lasso'"),
        ({"penalty": "elastic-net", "strength": 0.1}, "l1_ratio is None; penalty 'elastic-net' needs a number from 0"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": -0.1}, "l1_ratio is -0.1; .* from 0 .* to 1"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": 1.1}, "l1_ratio is 1.1"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": math.nan}, "l1_ratio is nan"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": True}, "l1_ratio is True"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": "half"}, "l1_ratio is 'half'"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": 10**400}, "from 0"),
        ({"penalty": "elastic-net", "l1_ratio": 0.5}, "strength is None; penalty 'elastic-net' needs a positive"),
        ({"penalty": "lasso"}, "strength is None; penalty 'lasso' needs a positive number .*--strength criterion"),
        ({"penalty": "lasso", "strength": 0.0}, "must be positive and at most 1e"),
        ({"penalty": "lasso", "strength": "critical"}, "strength is 'critical'"),
        ({"strength": 0.5}, "with penalty 'none'; only ridge, lasso, elastic-net have one; leave it out"),
        ({"strength": "criterion"}, "with penalty 'none'; only ridge"),
        ({"penalty": "adaptive", "strength": 0.5}, "with penalty 'adaptive'; only ridge"),
        ({"penalty": "ridge"}, "strength is None; penalty 'ridge' needs a positive number"),
        ({"penalty": "ridge", "strength": "1"}, "strength is '1'"),
        ({"penalty": "ridge", "strength": True}, "strength is True"),
        ({"penalty": "ridge", "strength": 0}, "must be positive and at most 1e"),
        ({"penalty": "ridge", "strength": -1.0}, "must be positive and at most 1e"),
        ({"penalty": "ridge", "strength": math.nan}, "must be positive and at most 1e"),
        ({"penalty": "ridge", "strength": math.inf}, "must be positive and at most 1e"),
        ({"penalty": "ridge", "strength": 10**400}, "must be positive and at most 1e"),
        ({"penalty": "ridge", "strength": 1e308}, "must be positive and at most 1e"),
        ({"target": "nobody"}, "unknown target"),
    ],
)
def test_options_that_mean_nothing_are_refused(source, options, message):
    with pytest.raises(SpecError, match=message) as caught:
        fit(source.release, **options)
    assert caught.value.exit_code == 2


def test_only_a_release_is_fitted():
    with pytest.raises(SpecError, match=r"fit: expected a Release, got dict; load one with Release.load"):
        fit({"totals": []})


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_the_summary_of_a_private_fit_gives_the_promise_and_the_errors(private):
    text = fit(private).summary()
    flat = " ".join(text.split())
    assert PROMISE.sentence() in flat
    assert "NOT PRIVATE" not in text
    assert "(noisy count, standard deviation " in text
    assert "none (ordinary least squares)" in text
    assert "P>|t|" in text
    assert "share of the variance due to privacy noise" in flat
    assert "clipped" in text
    assert "radius" not in text
    assert "nan" not in text.lower()
    assert all(len(line) <= 88 for line in text.splitlines())
    for name, value in fit(private).params.items():
        assert any(line.split()[:2] == [name, f"{value:.6g}"] for line in text.splitlines() if line)


def test_the_summary_of_an_exact_fit_says_not_private(source):
    result = fit(source.release)
    assert result.summary().count("NOT PRIVATE") == 2
    assert "Rows:     60\n" in result.summary()
    assert "NOT PRIVATE" in repr(result)


def test_the_summary_names_the_penalty(private):
    assert "ridge, strength 0.1, ridge " in fit(private, penalty="ridge", strength=0.1).summary()
    assert "adaptive, ridge " in fit(private, penalty="adaptive").summary()


def test_the_summary_tells_of_shrunk_rows_and_public_counts():
    release = made(Design("y", COLUMNS, radius=2.0), table(), sigma=0.1, units_public=True).release
    text = " ".join(fit(release).summary().split())
    assert "60 (public)" in text
    assert "coefficients describe the shrunk rows" in text


def test_plain_values_go_through_json(private, source):
    result = fit(private, features=["flag", "x"], penalty="ridge", strength=0.1)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["params"] == dict(result.params)
    assert plain["features"] == ["flag", "x"]
    assert (plain["target"], plain["penalty"], plain["strength"], plain["intercept"]) == ("y", "ridge", 0.1, True)
    assert (plain["private"], plain["epsilon"], plain["delta"], plain["neighbours"]) == (True, 1.0, 1e-6, "add-remove")
    assert plain["nobs_public"] is False
    assert "clipped" in plain["notes"][0]
    open_values = fit(source.release).to_dict()
    assert (open_values["private"], open_values["epsilon"], open_values["neighbours"]) == (False, None, None)


def test_the_room_never_reaches_behind_the_wall():
    from pathlib import Path

    folder = Path(discreet.analyst.__file__).parent
    for path in folder.rglob("*.py"):
        source_text = path.read_text(encoding="utf-8")
        assert "import discreet.curator" not in source_text
        assert "from discreet.curator" not in source_text
        assert "from discreet.mechanisms" not in source_text


def test_a_count_of_kept_rows_stays_noisy_even_where_the_rows_read_are_public():
    design = Design("y", {"x": {"bounds": [0, 1], "missing": "drop"}, "y": (0, 1)}, unit={"neighbours": "replace"})
    rows = [0.5, None, 0.25, 0.75] * 500
    release = discreet.release({"x": rows, "y": [0.5] * 2000}, design, epsilon=1.0, delta=1e-6)
    result = fit(release, penalty="adaptive")
    assert release.units_public == 2000
    assert "noisy count" in result.summary()
    assert result.to_dict()["nobs_public"] is False
    # 1500 of 2000 rows are kept, and ten standard deviations of the noise are fewer than the 500 between them
    assert abs(result.nobs - 1500) < 10 * result.nobs_sd < 500
