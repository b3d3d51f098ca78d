"""From scaled units to original ones: one rounding, no cancellation, and a refusal beyond double precision."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from discreet.analyst.equations.normal import model_scales, normal_equations
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.errors import SpecError
from discreet.testing import exact_release
from support.made_releases import digits, exact_least_squares, made


def test_coefficients_beyond_double_precision_are_refused():
    design = Design("y", {"y": (0, 1e300), "x": (0, 1e-200)})
    release = made(design, {"y": [0, 5e299, 1e300], "x": [0, 5e-201, 1e-200]}).release
    with pytest.raises(SpecError, match="too large for double precision"):
        fit(release)


def test_the_intercept_survives_the_cancellation_of_large_middles():
    design = Design("y", {"y": (1e7, 1e7 + 1), "x": (-1e7 - 1, -1e7)})
    rows = {
        "y": [Fraction(10**7) + Fraction(k, 4) for k in (0, 1, 3)],
        "x": [-(10**7) - Fraction(k, 4) for k in (4, 2, 1)],
    }
    source = made(design, rows)
    exact = exact_least_squares(source.rows["y"], [source.rows["1"], source.rows["x"]])
    assert digits(fit(source.release).coefficients.tolist(), exact) > 15


def test_scaled_and_original_coefficients_say_the_same(source):
    result = fit(source.release)
    slopes = result.scaled_coefficients[1:] * 5 / [2, 1, 1, 1]
    np.testing.assert_allclose(result.coefficients[1:], slopes, rtol=1e-14)
    assert result.params["Intercept"] == pytest.approx(5 + 5 * result.scaled_coefficients[0] - 4 * slopes[0])


def test_a_prediction_is_the_same_in_scaled_and_in_original_units(source):
    """With and without an intercept, at one row of each column's scaled values."""
    for intercept in (True, False):
        model = model_of(source.release.design, intercept=intercept)
        units = normal_equations(source.release, model)
        half, mid, taken = model_scales(source.release.design, model)
        assert [*half, *mid] == [2, 1, 1, 1, 5, 4, 0, 0, 0, 5]
        assert taken == ()
        theta = [Fraction(k, 8) for k in range(1, 5 + intercept)]
        constant, gains = units.prediction_terms(np.array([float(value) for value in theta]))
        scaled = np.array([0.5, 1.0, 0.0, 1.0])
        original = units.original_units(theta)
        row = mid[:-1] + half[:-1] * scaled
        expected = original @ (np.array([1.0, *row]) if intercept else row)
        assert constant + gains @ scaled == pytest.approx(expected, rel=1e-12)
        assert constant + gains @ scaled != pytest.approx(expected + 0.01, rel=1e-12)


def people(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(16)
    age, region = rng.uniform(18, 90, rows), rng.choice(["north", "south", "east"], rows)
    sex, member = rng.choice(["male", "female"], rows), rng.random(rows) < 0.3
    south, east = region == "south", region == "east"
    y = 5 + 0.2 * age + 4 * south - 0.3 * age * south + 0.1 * age * east + 3 * (south & (sex == "female")) + member
    y = y + rng.normal(0, 3, rows)
    return pd.DataFrame({"age": age, "region": region, "sex": sex, "member": member, "y": y})


CROSSED = {
    "y": (-60, 60), "age": (18, 90), "region": ["north", "south", "east"], "sex": ["male", "female"], "member": bool,
    "ar": {"formula": "age:region"}, "rs": {"formula": "region:sex"}, "mr": {"formula": "member:region"},
}  # fmt: skip
R = "C(region, levels=['north', 'south', 'east'])"
SEX = "C(sex, levels=['male', 'female'])"
# models of a release, and the same in statsmodels' words
MODELS = {
    "y ~ age + region + ar": f"age + {R} + age:{R}",
    "y ~ ar + region + sex + age + rs": f"age + {R} + {SEX} + age:{R} + {R}:{SEX}",
    "y ~ region + member + mr": f"{R} + member + member:{R}",
}  # fmt: skip


def statsmodels_name(name: str) -> str:
    """`age:C(region, ...)[T.south]` as `ar[south]`."""
    parts = re.sub(r", levels=\[[^]]*\]|C\(|\)|T\.", "", name).split(":")
    short = "".join(part[0] for part in parts) if len(parts) > 1 else parts[0].partition("[")[0]
    levels = [re.search(r"\[(.*)\]", part)[1] for part in parts if "[" in part]
    return f"{short}[{','.join(levels)}]" if levels else short


@pytest.fixture(scope="module")
def crossed():
    table = people()
    return table, exact_release(table, Design("y", CROSSED), grid_bits=26)


@pytest.mark.parametrize("model", MODELS)
def test_interactions_have_the_coefficients_and_errors_of_statsmodels(crossed, model):
    table, release = crossed
    found = fit(release, model)
    wanted = smf.ols(f"y ~ {MODELS[model]}", table.assign(member=table.member * 1.0)).fit()
    names = [statsmodels_name(name) for name in wanted.params.index]
    assert sorted(names) == sorted(found.params)
    for name, value, error in zip(names, wanted.params, wanted.bse, strict=True):
        assert found.params[name] == pytest.approx(value, rel=1e-6, abs=1e-6)
        assert found.bse[name] == pytest.approx(error, rel=1e-6)
        assert found.params[name] != pytest.approx(value + 1e-4, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_slopes_of_all_levels_have_the_coefficients_of_least_squares(intercept):
    """The number itself is not released; without an intercept the middle goes to the indicators alone."""
    table = people()
    columns = {name: CROSSED[name] for name in ("y", "region", "ar")} | {"age": {"bounds": (18, 90), "release": False}}
    release = exact_release(table, Design("y", columns), grid_bits=26)
    found = fit(release, features=["ar", "region"], intercept=intercept)
    levels = [(table.region == level).to_numpy(float) for level in ("north", "south", "east")]
    x = np.column_stack([*([np.ones(len(table))] * intercept), *(table.age * one for one in levels), *levels[1:]])
    wanted = sm.OLS(table.y.to_numpy(), x).fit()
    np.testing.assert_allclose(list(found.params.values()), wanted.params, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(list(found.bse.values()), wanted.bse, rtol=1e-6)


def test_a_model_without_the_category_is_refused_and_one_of_zeros_and_ones_is_not(crossed):
    table, release = crossed
    message = r"a model with the interaction 'ar' \(age:region\) must include 'region'.*add 'region' to the model"
    with pytest.raises(SpecError, match=message):
        fit(release, "y ~ age + ar")
    found = fit(release, "y ~ member + mr")
    numbers = table.assign(
        member=table.member * 1.0, s=(table.region == "south") * 1.0, e=(table.region == "east") * 1.0
    )
    wanted = smf.ols("y ~ member + member:s + member:e", numbers).fit()
    np.testing.assert_allclose(list(found.params.values()), wanted.params, rtol=1e-6)


def test_predictions_of_new_rows_are_those_of_the_coefficients(crossed):
    _, release = crossed
    found = fit(release, "y ~ age + region + ar")
    new = {"age": [30, 70, 200], "region": ["south", "north", "east"]}
    p = found.params
    wanted = [
        p["Intercept"] + p["region[south]"] + 30 * (p["age"] + p["ar[south]"]),
        p["Intercept"] + 70 * p["age"],
        p["Intercept"] + p["region[east]"] + 90 * (p["age"] + p["ar[east]"]),
    ]
    np.testing.assert_allclose(found.predict(new), wanted, rtol=1e-9)


def test_a_description_has_the_means_and_covariances_of_the_products(crossed):
    table, release = crossed
    found = release.describe()
    product = table.age * (table.region == "south")
    assert found.mean["ar[south]"] == pytest.approx(product.mean(), rel=1e-6)
    assert found.sd["ar[south]"] == pytest.approx(product.std(), rel=1e-6)
    east = table.age * (table.region == "east")
    assert found.covariance["ar[south]"]["ar[east]"] == pytest.approx(np.cov(product, east)[0, 1], rel=1e-6)
    assert found.correlation["age"]["ar[south]"] == pytest.approx(np.corrcoef(table.age, product)[0, 1], rel=1e-6)
