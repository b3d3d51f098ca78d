"""Planning: the noise of the release to come, searches for a width, and what a second release would add."""

from __future__ import annotations

import json

import numpy as np
import pytest

import discreet
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanisms
from discreet.options import RobustErrors
from discreet.planning import (
    _width_at,
    compare_mechanisms,
    noise_distribution_for,
    plan,
    second_release,
    smallest_epsilon,
    smallest_rows,
)
from discreet.testing.not_private import exact_release

COLUMNS = {
    "x": (-1, 1), "b": bool, "g": ["u", "v", "w"], "hidden": {"bounds": [-1, 1], "release": False},
    "s": {"formula": "spline(hidden, 0, degree=2)"}, "y": (-2, 2),
}  # fmt: skip
DESIGN = Design("y", COLUMNS)


def budget_of(name: str) -> dict[str, float]:
    """A budget that the mechanism takes, with a delta only where it needs one."""
    return {"epsilon": 2.0, "delta": 1e-6 if mechanisms()[name].info.notion == "approximate" else 0.0}


@pytest.mark.parametrize("name", mechanisms())
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_planned_noise_is_the_noise_of_the_release(name, neighbours):
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": neighbours})
    budget = budget_of(name)
    distribution = noise_distribution_for(design, *budget.values(), mechanism=name)
    made = discreet.release({"x": [0.5] * 50, "y": [0.5, 0.7] * 25}, design, **budget, mechanism=name)
    assert distribution == made.noise
    planning = plan(design, rows=100, **budget, mechanism=name)
    assert planning.mechanism == name
    assert {one.statistic: one.sd for one in planning.noise} == {
        key: distribution.sd(key) for key in distribution.sigma
    }
    json.dumps(planning.to_dict(), allow_nan=False)
    if made.kind == "moments":
        planned_sds = np.array(planning.noise_sd, dtype=float)
        assert np.array_equal(planned_sds, made.noise_sd, equal_nan=True)
    else:
        assert planning.noise_sd == ()
        assert not planning.estimable
        assert all("publishes coefficients" in one.reason for one in planning.coefficients)
        assert [one.name for one in planning.coefficients] == ["Intercept", "x"]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_planned_noise_of_a_robust_release_is_its_noise(neighbours):
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": neighbours})
    for mechanism, statistic in (("gaussian", "residual_diagonal"), ("staged", "score_diagonal")):
        asked = {"mechanism": mechanism, "robust": True}
        distribution = noise_distribution_for(design, 1.0, 1e-6, **asked)
        made = discreet.release({"x": [0.5], "y": [0.5]}, design, epsilon=1.0, delta=1e-6, **asked)
        assert distribution == made.noise
        planning = plan(design, rows=100, epsilon=1.0, delta=1e-6, **asked)
        assert np.array_equal(np.array(planning.noise_sd), made.noise_sd)
        assert statistic in {one.statistic for one in planning.noise}


def test_a_plan_without_widths_says_why_and_no_budget_mends_it():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    for name, reason in (("ssp", "no sum of squares of the target"), ("frank-wolfe", "publishes coefficients")):
        options = {"delta": 1e-6, "mechanism": name}
        made = plan(design, rows=1000, epsilon=1.0, **options)
        assert not made.estimable
        assert all(reason in one.reason for one in made.coefficients)
        for search in (
            lambda options=options: smallest_epsilon(design, "x", 0.1, rows=1000, **options),
            lambda options=options: smallest_rows(design, "x", 0.1, epsilon=1.0, **options),
        ):
            with pytest.raises(SpecError, match=rf"this plan has no interval widths, whatever the budget: .*{reason}"):
                search()
    settled = plan(design, rows=10_000, epsilon=1.0, delta=1e-6, mechanism="ssp", settings={"target_square": True})
    assert settled.estimable


@pytest.mark.no_cover
def test_less_noise_needs_more_budget_or_more_rows():
    wide = plan(DESIGN, rows=20_000, epsilon=1.0, delta=1e-6)
    wanted = wide.coefficients[1].width / 1.1
    epsilon = smallest_epsilon(DESIGN, "x", wanted, delta=1e-6, rows=20_000)
    rows = smallest_rows(DESIGN, "x", wanted, epsilon=1.0, delta=1e-6)
    assert 1 < epsilon <= 20
    assert rows > 20_000
    assert plan(DESIGN, rows=rows, epsilon=1.0, delta=1e-6).coefficients[1].width <= wanted
    assert smallest_epsilon(DESIGN, "x", 1e-9, delta=1e-6, rows=100) is None


BAD_GUESSES = [
    {"rows": 0}, {"rows": float("nan")}, {"rows": "many"}, {"rsquared": 1.0}, {"rsquared": -0.1}, {"spread": 0.0},
    {"target_spread": 2.0}, {"epsilon": -1.0}, {"delta": 0.0, "mechanism": "gaussian"}, {"robust": "odd"},
    {"mechanism": "odd"}, {"level": 2.0},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD_GUESSES, ids=str)
def test_bad_guesses_are_refused(bad):
    with pytest.raises(SpecError):
        plan(DESIGN, **{"rows": 1000, "epsilon": 1.0, "delta": 1e-6, **bad})
    with pytest.raises(SpecError):
        plan({}, rows=10, epsilon=1.0, delta=1e-6)
    with pytest.raises(SpecError, match="width: expected a positive number"):
        smallest_rows(DESIGN, "x", -1.0, epsilon=1.0, delta=1e-6)
    with pytest.raises(SpecError, match="unknown coefficient"):
        smallest_rows(DESIGN, "nobody", 1.0, epsilon=1.0, delta=1e-6)


def test_what_a_second_release_would_buy():
    rng = np.random.default_rng(5)
    design = Design("y", {"x": (-1, 1), "y": (-2, 2)})
    x = rng.uniform(-1, 1, 5_000)
    table = {"x": x, "y": x + rng.normal(0, 0.2, 5_000)}
    release = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    now, then, both = second_release(release, epsilon=5.0, delta=1e-6)
    assert then.coefficients[1].width < now.coefficients[1].width
    assert now.coefficients[1].std_error == pytest.approx(discreet.fit(release).bse["x"], rel=1e-9)
    low, high = discreet.fit(release).conf_int()["x"]
    assert now.coefficients[1].width == pytest.approx(high - low, rel=1e-9)
    assert now.coefficients[1].interval_share is None
    assert then.coefficients[1].interval_share == 1
    assert now.assumptions is then.assumptions is None
    assert (both.epsilon, both.delta) == (6.0, 2e-6)
    assert both.coefficients[1].std_error < then.coefficients[1].std_error
    # inverse variances add up, entry by entry
    entries = [np.array(one.noise_sd) for one in (now, then, both)]
    np.testing.assert_allclose(entries[0] ** -2 + entries[1] ** -2, entries[2] ** -2, rtol=1e-8)
    with pytest.raises(SpecError, match="NOT PRIVATE"):
        second_release(exact_release(table, design), epsilon=5.0, delta=1e-6)
    with pytest.raises(SpecError, match="cannot be combined with the sums"):
        second_release(release, epsilon=5.0, delta=1e-6, mechanism="frank-wolfe")
    inside = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="frank-wolfe")
    with pytest.raises(SpecError, match="a plan for a second release needs sums of products"):
        second_release(inside, epsilon=5.0, delta=1e-6)


def test_a_second_release_of_another_kind_is_put_together_with_the_first():
    rng = np.random.default_rng(6)
    design = Design("y", {"x": (-1, 1), "y": (-2, 2)}, unit={"neighbours": "replace"})
    x = rng.uniform(-1, 1, 5_000)
    table = {"x": x, "y": x + rng.normal(0, 0.2, 5_000)}
    release = discreet.release(table, design, epsilon=1.0, delta=1e-6, grid_bits=20, mechanism="gaussian")
    now, then, both = second_release(release, epsilon=5.0, delta=0.0, mechanism="laplace")
    assert (now.mechanism, then.mechanism, both.mechanism) == ("gaussian", "laplace", "gaussian, laplace")
    # on the finer grid of the first release the noise of the second is the same
    assert then.noise_sd[1][1] == pytest.approx(
        noise_distribution_for(design, 5.0, 0.0, mechanism="laplace").sd("gram_diagonal")
    )
    assert both.noise_sd[0][0] == 0.0, "the number of rows is public"
    # a release without y'y gains it from a second one, and then its value is not known beforehand
    part = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="ssp")
    assert not any(one.estimable for one in second_release(part, epsilon=5.0, delta=1e-6))


def test_planned_noise_of_a_release_with_further_models_is_its_noise():
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    options = {"robust": RobustErrors(models=["y ~ x", "y ~ 1"])}
    made = discreet.release({"x": [0.5], "z": [0.5], "y": [0.5]}, design, epsilon=1.0, delta=1e-6, **options)
    assert noise_distribution_for(design, 1.0, 1e-6, **options) == made.noise
    planning = plan(design, rows=1e4, epsilon=1.0, delta=1e-6, **options)
    assert {"residual_diagonal_1", "residual_diagonal_2"} <= {one.statistic for one in planning.noise}
    robust = plan(design, rows=1e4, epsilon=1.0, delta=1e-6, robust=True)
    assert planning.coefficients[1].std_error > robust.coefficients[1].std_error
    with pytest.raises(SpecError, match=r"expected True, False or RobustErrors\(\.\.\.\) for robust, got"):
        plan(design, rows=1e4, epsilon=1.0, delta=1e-6, robust=["y ~ x"])


def test_mechanisms_side_by_side_are_their_own_plans():
    design = Design("y", {"y": (0, 10), "x": (0, 5)})
    given = {"rows": 10_000, "epsilon": 1.0, "delta": 1e-6}
    found = discreet.planning.compare_mechanisms(design, **given)
    assert found["gaussian"] == discreet.plan(design, mechanism="gaussian", **given)
    pure = discreet.planning.compare_mechanisms(design, rows=10_000, epsilon=1.0)
    assert isinstance(pure["gaussian"], str)
    assert "delta" in pure["gaussian"]
    with pytest.raises(SpecError, match="rows"):
        discreet.planning.compare_mechanisms(design, rows=-1, epsilon=1.0)
    with pytest.raises(SpecError, match="got the option mechanism"):
        discreet.planning.compare_mechanisms(design, mechanism="gaussian", **given)


def test_the_widest_bounds_save_most():
    design = Design("y", {"y": (0, 10), "x": (0, 5), "wide": (0, 500)})
    assume = {"x": {"mean": 2.5, "sd": 1.4}, "wide": {"mean": 250, "sd": 5}}
    found = discreet.planning.bound_savings(
        design, rows=10_000, epsilon=1.0, delta=1e-6, mechanism="gaussian", assume=assume
    )
    assert next(iter(found)) == "wide"
    assert found["wide"] > 0.2 > found["x"]
    kwargs = {"rows": 10_000, "epsilon": 1.0, "delta": 1e-6}
    assert discreet.planning.bound_savings(design, **kwargs) == {}, "the noise of staged hardly depends on the bounds"
    assert discreet.planning.bound_savings(design, mechanism="gradient", **kwargs) == {}


def test_a_search_asks_for_one_coefficient_what_the_plan_says_of_it():
    design = Design("y", COLUMNS)
    asked = {"rows": 60_000, "epsilon": 0.5, "delta": 1e-6}
    for one in plan(design, **asked).coefficients[:3]:
        assert _width_at(design, one.name, **asked) == pytest.approx(one.width, rel=1e-12)
    assert _width_at(design, "x", **asked | {"rows": 20}) is None
    with pytest.raises(SpecError, match="unknown coefficient 'nothing'"):
        smallest_epsilon(design, "nothing", 0.1, delta=1e-6, rows=1e4)


def test_a_plan_stops_when_it_is_asked_to():
    design = Design("y", {"x": (-1, 1), "y": (-2, 2)})
    asked = {"rows": 3_000, "epsilon": 0.5, "delta": 1e-6}
    token = discreet.CancelToken()
    assert plan(design, **asked, cancel=token).to_dict() == plan(design, **asked).to_dict()
    assert not token.closed
    token.cancel()
    for work in (
        lambda: plan(design, **asked, cancel=token),
        lambda: compare_mechanisms(design, **asked, cancel=token),
        lambda: smallest_rows(design, "x", 0.1, epsilon=0.5, delta=1e-6, cancel=token),
        lambda: smallest_epsilon(design, "x", 0.1, delta=1e-6, rows=1e4, cancel=token),
    ):
        with pytest.raises(discreet.Cancelled):
            work()
    with pytest.raises(SpecError, match="cancel: expected a CancelToken, got bool"):
        plan(design, **asked, cancel=True)
