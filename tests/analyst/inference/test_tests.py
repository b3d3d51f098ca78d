"""Joint tests."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.analyst.inference.nuisance import reference_tail
from discreet.analyst.inference.tests import open_coefficients
from discreet.analyst.model import fit
from discreet.errors import SpecError
from discreet.releases.reference_distribution import NotEstimable, tail_probability
from support.compared import release
from support.noise_distributions import laplace_release


def test_a_joint_test_of_one_hypothesis_is_the_single_one_and_no_joint_one_is_sharper_than_bonferroni():
    result = fit(laplace_release()[1])
    gaussian = replace(result, release=laplace_release()[0])
    values = dict(result.params)
    # at small noise score and sandwich agree
    quiet = fit(laplace_release(sigma=1e-3)[1])
    (single,) = quiet.t_test({"a": quiet.params["a"] + 3 * quiet.bse["a"]}).pvalue.values()
    assert quiet.wald_test({"a": quiet.params["a"] + 3 * quiet.bse["a"]}).pvalue == pytest.approx(single, rel=1e-3)
    for steps in (0.5, 2.0, 4.0):
        claim = {name: values[name] + steps * result.bse[name] for name in ("a", "b")}
        for use_f in (True, False):
            heavy, light = result.wald_test(claim, use_f=use_f), gaussian.wald_test(claim, use_f=use_f)
            assert heavy.statistic == light.statistic
            assert heavy.pvalue >= light.pvalue
            wald = heavy.statistic * (2 if use_f else 1)
            least = min(1.0, 2 * tail_probability(math.sqrt(wald / 2), "laplace", result.df_resid))
            about = result._combined(tuple(claim), np.eye(len(values))[[*map(result.names.index, claim)]])
            kappa = open_coefficients(about, -np.array([steps * result.bse[name] for name in claim]) / about.scale)[1]
            assert heavy.pvalue == pytest.approx(max(light.pvalue, reference_tail(least, kappa, 2)), rel=1e-12)


def test_one_side_is_half_of_both_where_the_estimate_lies_there_and_the_rest_elsewhere():
    result = fit(release())
    claim = {"a": result.params["a"] - 2 * result.bse["a"]}
    (both,) = result.t_test(claim).pvalue.values()
    (larger,) = result.t_test(claim, alternative="larger").pvalue.values()
    (smaller,) = result.t_test(claim, alternative="smaller").pvalue.values()
    assert (larger, smaller) == (both / 2, 1 - both / 2)
    assert result.t_test(claim).alternative == "two-sided"


@pytest.mark.parametrize("side", ["two-sided", "larger", "smaller"])
def test_a_test_names_its_alternative_wherever_it_is_shown(side):
    good, weak = (fit(release(**options)) for options in ({}, {"count": 30, "sigma": 200.0, "seed": 3}))
    for result in (good, weak):
        test = result.t_test("a = 0, b = 0.5", alternative=side)
        told = json.loads(json.dumps(test.to_dict(0.9), allow_nan=False))
        assert (told["alternative"], told["interval_level"]) == (side, 0.9)
        assert told["pvalue"] == dict(test.pvalue)
        assert told["conf_int"]["a = 0"] == test.conf_int(0.9)["a = 0"].to_dict()
        assert f"<th>p, {side}</th><th>two-sided 95% set</th>" in test._repr_html_()
        for line in repr(test).splitlines():
            assert ("one-sided p (" in line) == (side != "two-sided")
            assert side == "two-sided" or f" one-sided p ({side}) = " in line
            assert " = " in line.rpartition("p")[2]
    lasso = fit(release(), penalty="lasso", strength=0.01).t_test("a = 0", alternative=side)
    assert lasso.to_dict()["conf_int"] == lasso.to_dict()["pvalue"] == {"a = 0": None}


def test_one_side_of_a_release_that_excludes_nothing_is_1_and_of_one_without_errors_is_refused():
    weak = fit(release(count=30, sigma=200.0, seed=3))
    assert not weak.estimable
    assert weak.t_test("a = 0", alternative="larger").pvalue["a = 0"] == 1.0
    lasso = fit(release(), penalty="lasso", strength=0.01)
    assert isinstance(lasso.t_test("a = 0", alternative="smaller").pvalue["a = 0"], NotEstimable)


@pytest.mark.parametrize("wrong", ["greater", None, 1])
def test_other_sides_are_refused(wrong):
    with pytest.raises(SpecError, match="unknown alternative"):
        fit(release()).t_test("a = 0", alternative=wrong)
