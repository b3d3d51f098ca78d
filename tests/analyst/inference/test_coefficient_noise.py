"""Noise that was added to the coefficients themselves: known before and after, and nothing said beyond it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.analyst.diagnostics import findings
from discreet.analyst.equations.normal import Units
from discreet.analyst.inference.contrasts import table_intervals
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.planning import plan
from discreet.releases import Coefficients, NoiseDistribution
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing.not_private import exact_release
from support.other_releases import CENTRED, DESIGN, fitted_inside

FALSE_ALARM = 1e-9
SD = 2**-6
LAW = NoiseDistribution(16, {"coefficients": 2**26}, "gaussian")
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def added(design=DESIGN, distribution=LAW):
    """A release whose noise is in the coefficients and nowhere else."""
    return replace(fitted_inside(design, trace=False), noise=distribution)


def test_the_noise_of_each_coefficient_is_told_in_original_units():
    result = fit(added())
    half, half_a, mid_a = 5, 2, 1
    slope = SD * half / half_a
    by_hand = [math.hypot(SD * half, slope * mid_a), slope, *[SD * half] * 3]
    assert list(result.privacy_sd.values()) == pytest.approx(by_hand, rel=1e-14)
    turned = fit(added(), features=["b", "g", "a"])
    assert dict(turned.privacy_sd) == pytest.approx(dict(result.privacy_sd))
    assert dict(fit(added(CENTRED)).privacy_sd) == pytest.approx({"a": 5 * SD, "b": 2.5 * SD})


def test_intervals_are_for_this_table_and_for_nothing_else():
    result = fit(added())
    for level in (0.5, 0.95):
        z = stats.norm.isf((1 - level) / 2)
        for name, (low, high) in result.table_conf_int(level).items():
            assert (low + high) / 2 == pytest.approx(result.params[name])
            assert (high - low) / 2 == pytest.approx(z * result.privacy_sd[name], rel=1e-6)
    assert result.interval_target == "none"
    reason = "the mechanism 'steps' publishes coefficients but no sums, so sampling errors cannot be estimated"
    for values in (
        result.bse, result.tvalues, result.pvalues, result.conf_int(), result.sampling_sd, result.privacy_share,
        result.t_test("a = b").pvalue, dict(enumerate((result.s2, result.rsquared, result.cov_params()))),
    ):  # fmt: skip
        assert all(isinstance(value, NotEstimable) and value.reason.startswith(reason) for value in values.values())
    with pytest.raises(SpecError, match="level"):
        result.table_conf_int(1.0)


def test_tables_json_and_diagnostics_say_the_same():
    result = fit(added())
    assert result.to_frame()["privacy_sd"].to_pylist() == list(result.privacy_sd.values())
    assert result.to_frame()["std_error"].null_count == len(result.names)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["privacy_sd"] == dict(result.privacy_sd)
    assert plain["table_conf_int"] == {name: ends.to_dict() for name, ends in result.table_conf_int().items()}
    assert plain["table_conf_int_reason"] is None
    assert set(plain["conf_int"].values()) == {None}
    text = " ".join(result.summary().split())
    low, high = result.table_conf_int()["a"]
    assert "coef privacy sd this table [0.025 0.975]" in text
    assert f"a {result.params['a']:.6g} {result.privacy_sd['a']:.4g} {low:.5g} {high:.5g}" in text
    assert "They include no sampling error and are not intervals for a population" in text
    assert "Standard errors and tests are not estimable (Intercept, a, g[q], g[r], b): the mechanism 'steps'" in text
    assert "this table [0.025" in result._repr_html_()
    found = {finding.number: finding.text for finding in findings(added())}
    assert "the effect of its noise is known" in found["D013"]


@pytest.mark.parametrize(
    "distribution",
    [
        NoiseDistribution(16, {"linear": 2**30, "coefficients": 2**10}, "gaussian"),
        NoiseDistribution(16, {"score": 2**30}, "gaussian"),
        NoiseDistribution(16, {"coefficients": 2**26}, "pure", "discrete-laplace"),
    ],
)
def test_where_noise_goes_through_the_table_or_has_another_distribution_nothing_is_told(distribution):
    result = fit(added(distribution=distribution))
    reason = "the mechanism 'steps' publishes coefficients but no sums, so the errors of the coefficients cannot be"
    for values in (result.privacy_sd, result.table_conf_int()):
        assert all(isinstance(value, NotEstimable) and value.reason.startswith(reason) for value in values.values())
    assert result.to_dict()["table_conf_int_reason"].startswith(reason)
    assert "this table" not in result.summary()


def test_sums_have_intervals_of_another_kind():
    rows = {"y": [0.1, 0.4, 0.3, 0.9], "x": [0.0, 0.3, 0.6, 1.0]}
    result = fit(exact_release(rows, Design("y", {"y": (0, 1), "x": (0, 1)})))
    reason = "the noise of this release was added to sums, not to the coefficients; conf_int accounts for it"
    assert all(why.reason == reason for why in result.table_conf_int().values())
    assert result.to_dict()["table_conf_int"] == {"Intercept": None, "x": None}


def test_without_noise_the_interval_is_the_coefficient():
    result = fit(added(distribution=NoiseDistribution(16, {"coefficients": 0}, "none")))
    assert set(result.privacy_sd.values()) == {0.0}
    assert {name: tuple(ends) for name, ends in result.table_conf_int().items()} == {
        name: (value, value) for name, value in result.params.items()
    }


def test_noise_too_large_for_a_double_is_not_told():
    design = Design("y", {"y": (-8e307, 8e307), "x": (-1e-10, 1e-10), "v": (-1, 1)})
    release = replace(added(design), coefficients=Coefficients((0.0,) * 3))
    result = fit(release)
    assert isinstance(result.privacy_sd["x"], NotEstimable)
    assert "too large for double precision" in result.table_conf_int()["x"].reason
    assert result.privacy_sd["v"] == pytest.approx(8e307 * SD)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "estimable" in result.summary()


@pytest.mark.no_cover
def test_each_interval_holds_the_table_s_own_coefficient_as_often_as_it_says():
    """300 releases, three coefficients with independent noise, level 80 %.

    The count of hits is binomial: a false alarm has probability 1e-9, and intervals 0.65 or 1.5 times as wide fall
    out of the band but for 1e-12.
    """
    runs, level = 300, 0.8
    rng = np.random.default_rng(8)
    x, v = rng.uniform(-2, 2, 60), rng.uniform(-1, 1, 60)
    table = {"x": x.tolist(), "v": v.tolist(), "y": (x - v + rng.normal(0, 1, 60)).tolist()}
    design = Design("y", {"y": (-5, 5), "x": (-2, 2), "v": (-1, 1)})
    settings = {"strength": 20.0, "bound": 1.0}
    # ordinary algebra, and inside the ball
    Z, target = np.column_stack([np.ones(60), x / 2, v]), np.array(table["y"]) / 5
    ridge = np.linalg.solve(Z.T @ Z + 20 * np.eye(3), Z.T @ target)
    assert np.linalg.norm(ridge) < 1
    truth = ridge * [5, 5 / 2, 5]
    hits = dict.fromkeys((1.0, 0.65, 1.5), 0)
    for _ in range(runs):
        result = fit(discreet.release(table, design, **BUDGET, mechanism="output", settings=settings))
        for value, (low, high) in zip(truth, result.table_conf_int(level).values(), strict=True):
            for scale in hits:
                hits[scale] += abs(value - (low + high) / 2) <= scale * (high - low) / 2
    least, most = (stats.binom.ppf(tail, 3 * runs, level) for tail in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    assert least <= hits[1.0] <= most
    assert hits[0.65] < least
    assert hits[1.5] > most


def discrete_gaussian(sigma, furthest=60):
    """Probabilities of -reach .. reach steps."""
    weights = np.exp(-(np.arange(-furthest, furthest + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


@pytest.mark.parametrize("sigma", [1, 2, 3, 7])
def test_noise_of_a_few_steps_is_covered_on_its_lattice(sigma):
    """The exact distribution of one slope and of an intercept that holds it too, in whole steps; a normal reach falls
    short."""
    distribution = NoiseDistribution(16, {"coefficients": sigma}, "gaussian")
    units = Units(np.zeros(2), np.ones(2), np.array([1.0, 0.0]), 0.0, True, np.zeros(1), np.ones(1), ())
    one = discrete_gaussian(sigma)
    both = np.convolve(one, one)
    short = 0
    for level in (0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        ends = table_intervals(distribution, units, ["Intercept", "x"], [0.0, 0.0], level)
        normal = stats.norm.isf((1 - level) / 2) * sigma
        for (low, high), weights, spread in ((ends["x"], one, 1.0), (ends["Intercept"], both, math.sqrt(2))):
            steps = np.abs(np.arange(len(weights)) - len(weights) // 2)
            assert low == -high
            assert weights[steps <= high * 4**16].sum() >= level - 1e-8
            short += weights[steps <= normal * spread].sum() < level - 1e-8
    assert short > 0


@pytest.mark.parametrize("intercept", [True, False])
def test_a_plan_tells_the_noise_that_the_fit_will_tell(intercept):
    columns = {"y": (-5, 5), "x": (0, 4) if intercept else (-2, 2), "b": (-1, 1)}
    design = Design("y", columns, intercept=intercept)
    release = discreet.release({name: [0.5, 1.0] for name in columns}, design, **BUDGET, mechanism="output")
    made = plan(design, rows=100, **BUDGET, mechanism="output")
    assert {one.name: one.privacy_sd for one in made.coefficients} == dict(fit(release).privacy_sd)
    assert not made.estimable
    for one in made.coefficients:
        assert (one.std_error, one.width, one.privacy_share) == (None, None, None)
        assert "widths for a population are not known before or after the release" in one.reason


def test_plans_of_sums_tell_it_too_and_those_of_other_coefficients_do_not():
    design = Design("y", {"y": (0, 1), "x": (0, 1)})
    for one in plan(design, rows=20_000, **BUDGET).coefficients:
        assert one.privacy_sd**2 == pytest.approx(one.privacy_share * one.std_error**2)
    for name in ("irls", "gradient", "frank-wolfe", "dpme", "objective"):
        for one in plan(design, rows=20_000, **BUDGET, mechanism=name).coefficients:
            assert one.privacy_sd is None
            assert "the effect of its noise depends on the table" in one.reason
