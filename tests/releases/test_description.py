"""Means, spread and correlation from a release: those of the table without noise, and reasons where noise is all."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.errors import SpecError
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing import exact_release, seeded_release

COLUMNS = {"age": (18, 90), "member": bool, "region": ["n", "s", "w"], "income": (0, 200_000)}
DESIGN = discreet.Design("income", COLUMNS)


def table(rows=500, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, rows)
    member = rng.random(rows) < 0.4
    region = rng.choice(["n", "s", "w"], rows)
    return {
        "age": age,
        "member": member,
        "region": region,
        "income": 12_000 + 900 * age + 9_000 * rng.normal(size=rows),
    }


def as_numbers(data):
    """The released columns in original units, shape (columns, rows)."""
    indicators = [np.array(data["region"]) == level for level in ("s", "w")]
    return np.array([data["age"], data["member"], *indicators, data["income"]], dtype=float)


def numbers_in(description):
    yield description.rows
    yield from description.mean.values()
    yield from description.sd.values()
    for square in (description.covariance, description.correlation):
        for row in square.values():
            yield from row.values()


def test_without_noise_it_is_what_numpy_says_of_the_table():
    data = table()
    found = exact_release(data, DESIGN).describe()
    expected = as_numbers(data)
    assert found.columns == ("age", "member", "region[s]", "region[w]", "income")
    assert found.rows == 500
    # values are rounded to the grid: 2^-17 of half a width each
    assert list(found.mean.values()) == pytest.approx(expected.mean(axis=1), rel=1e-5)
    assert list(found.sd.values()) == pytest.approx(expected.std(axis=1, ddof=1), rel=1e-5)
    covariance = np.array([list(row.values()) for row in found.covariance.values()])
    correlation = np.array([list(row.values()) for row in found.correlation.values()])
    assert covariance == pytest.approx(np.cov(expected), rel=1e-4, abs=0.1)
    assert correlation == pytest.approx(np.corrcoef(expected), abs=1e-5)
    assert np.diag(correlation) == pytest.approx(1.0)


def test_values_beyond_their_bounds_count_as_the_bounds():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    found = exact_release({"x": [0.0, 5.0], "y": [0.0, 1.0]}, design).describe()
    assert found.mean["x"] == 0.5


def test_with_noise_it_is_close_where_rows_are_many():
    """Over 200,000 rows at epsilon 1 the noise is far below the tolerance."""
    data = table(200_000)
    found = seeded_release(data, DESIGN, seed=3, epsilon=1.0, delta=1e-6, mechanism="gaussian").describe()
    expected = as_numbers(data)
    assert list(found.mean.values()) == pytest.approx(expected.mean(axis=1), rel=0.01)
    assert found.correlation["age"]["income"] == pytest.approx(np.corrcoef(expected)[0, 4], abs=0.02)
    assert found.sd["income"] == pytest.approx(expected[4].std(), rel=0.02)


def test_a_number_is_a_number_or_has_a_reason_and_is_never_nan():
    reasons = set()
    for seed in range(20):
        for rows in (2, 40):
            found = seeded_release(
                table(rows), DESIGN, seed=seed, epsilon=0.2, delta=1e-6, mechanism="gaussian"
            ).describe()
            for number in numbers_in(found):
                if isinstance(number, NotEstimable):
                    reasons.add(number.reason)
                else:
                    assert np.isfinite(number)
            for name, other in (("age", "income"), ("member", "age")):
                correlation = found.correlation[name][other]
                assert isinstance(correlation, NotEstimable) or -1 <= correlation <= 1
                if isinstance(found.sd[name], NotEstimable):
                    assert isinstance(correlation, NotEstimable)
                    assert isinstance(found.covariance[name][name], NotEstimable)
            json.dumps(found.to_dict(), allow_nan=False)
    assert any("variance is not positive" in reason for reason in reasons)
    assert any("number of rows" in reason for reason in reasons)
    assert any("outside -1 to 1" in reason for reason in reasons)


def test_sums_that_are_not_released_have_a_reason():
    release = exact_release(table(), DESIGN)
    last = len(release.totals) - 1
    totals = tuple(None if index == last else total for index, total in enumerate(release.totals))
    found = replace(release, totals=totals).describe()
    assert "does not include the sums" in found.sd["income"].reason
    assert "does not include the sums" in found.correlation["age"]["income"].reason
    assert found.sd["age"] > 0
    assert found.mean["income"] > 0


def test_the_mean_of_wishart_noise_is_taken_away():
    data = {"x": np.linspace(0, 1, 50_000), "y": np.linspace(0, 1, 50_000)}
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    budget = {"epsilon": 2.0, "delta": 1e-6, "mechanism": "wishart"}
    made = [
        seeded_release(data, design, seed=5, **budget, settings={"debiased": debiased, "degrees": 60}).describe()
        for debiased in (False, True)
    ]
    for found in made:
        assert found.rows == pytest.approx(50_000, rel=0.02)
        assert found.sd["x"] == pytest.approx(12**-0.5, rel=0.05)


def test_as_plain_values_it_has_nulls_and_their_reasons():
    found = seeded_release(table(2), DESIGN, seed=1, epsilon=0.2, delta=1e-6, mechanism="gaussian").describe()
    plain = found.to_dict()
    missing = [name for name, value in plain["sd"].items() if value is None]
    assert missing
    assert all(plain["not_estimable"][f"sd of {name}"] for name in missing)
    whole = exact_release(table(), DESIGN).describe().to_dict()
    assert whole["not_estimable"] == {}
    assert whole["mean"]["age"] == exact_release(table(), DESIGN).describe().mean["age"]


def test_it_prints_as_a_table():
    design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    found = exact_release({"x": [0, 1, 2, 1], "y": [2, 5, 6, 7]}, design).describe()
    assert repr(found) == (
        "Rows: 4\n\n"
        "column  mean  95% interval      sd\n"
        "x          1        0 to 2  0.8165\n"
        "y          5    1.563 to 8    2.16\n\n"
        "correlation       x  y\n"
        "x                 1\n"
        "y            0.7559  1\n\n"
        "Statistics of values clipped to their declared bounds, in original units, with the noise of the release.\n"
        "Intervals for means hold for any distribution. For sd, covariance and correlation, use gaussian_conf_int,\n"
        "which assumes Gaussian rows, or table_conf_int, which describes this table only. All of this costs no budget."
    )
    noisy = seeded_release(table(2), DESIGN, seed=1, epsilon=0.2, delta=1e-6, mechanism="gaussian").describe()
    assert "not estimable" in repr(noisy)


def test_a_release_of_coefficients_is_refused_in_words():
    made = discreet.release(table(), DESIGN, epsilon=1.0, delta=1e-6, mechanism="irls", settings={"iterations": 2})
    with pytest.raises(SpecError, match="has the coefficients of one model and no moments"):
        made.describe()


def test_a_noisy_number_of_rows_is_marked_as_noisy():
    noisy = seeded_release(table(), DESIGN, seed=2, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    found, sd = noisy.describe(), float(noisy.noise_sd[0, 0])
    words = f"about {found.rows:,.0f} (noisy count, standard deviation {sd:.3g})"
    assert found.rows_sd == sd > 0
    assert repr(found).startswith(f"Rows: {words}\n")
    assert f"rows: {words}<" in found._repr_html_()
    assert found.to_dict()["rows_sd"] == sd
    lost = replace(noisy, totals=(None, *noisy.totals[1:])).describe()
    assert repr(lost).startswith("Rows: not estimable\n")


LARGE = (1e150, 1e155, 1e200, 1e300, 8.5e307)


@pytest.mark.parametrize("bound", LARGE)
@pytest.mark.parametrize("epsilon", [None, 20.0, 0.5])
def test_bounds_near_the_end_of_double_precision_leave_numbers_or_reasons(bound, epsilon):
    """The same rows in other units: means, sds, correlations and their intervals move with the unit."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 400)
    y = 0.5 * x + rng.uniform(-0.4, 0.4, 400)

    def description(unit):
        design = discreet.Design("y", {"x": (-unit, unit), "y": (-1, 1)})
        rows = {"x": (x * unit).tolist(), "y": y.tolist()}
        if epsilon is None:
            return exact_release(rows, design).describe()
        return seeded_release(rows, design, seed=3, epsilon=epsilon, delta=1e-6, mechanism="gaussian").describe()

    large, small = description(bound), description(1.0)
    plain = json.loads(json.dumps(large.to_dict(), allow_nan=False))
    assert "\nx" in repr(large)
    for one, unit in (("x", bound), ("y", 1.0)):
        for of in ("mean", "sd"):
            assert getattr(large, of)[one] == pytest.approx(getattr(small, of)[one] * unit, rel=1e-9)
            ends = np.array(large.table_conf_int(of)[one]) / unit
            np.testing.assert_allclose(ends, small.table_conf_int(of)[one], rtol=1e-9)
    assert large.correlation["x"]["y"] == pytest.approx(small.correlation["x"]["y"], rel=1e-9)
    assert large.covariance["x"]["y"] == pytest.approx(small.covariance["x"]["y"] * bound, rel=1e-9)
    if bound > 1e154:
        assert "too large for double precision" in large.covariance["x"]["x"].reason
        assert "too large" in plain["not_estimable"]["covariance of x and x"]
        assert plain["table_conf_int"]["covariance"]["x"]["x"] is None
    else:
        assert large.covariance["x"]["x"] == pytest.approx(small.covariance["x"]["x"] * bound**2, rel=1e-9)
