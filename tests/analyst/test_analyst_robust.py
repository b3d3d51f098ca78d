"""Robust standard errors: statsmodels' in the limit, and intervals that hold where the plain ones do not."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

import discreet
from discreet.design.model import Design
from discreet.errors import PrivacyNotice, SpecError

DESIGN = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-4, 4)})
BETA = np.array([0.3, 1.0, -0.5])


def table_of(rows, rng):
    x, z = rng.uniform(-1, 1, (2, rows))
    errors = rng.normal(size=rows) * (0.1 + 1.2 * x**2)
    return {"x": x, "z": z, "y": BETA[0] + BETA[1] * x + BETA[2] * z + errors}


def released(table, epsilon, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        return discreet.release(
            table, DESIGN, epsilon=epsilon, delta=1e-6, moments="robust", allow_weak_privacy=True, **options
        )


def test_without_noise_they_are_the_textbook_ones():
    table = table_of(20_000, np.random.default_rng(1))
    fit = discreet.fit(released(table, 1e7, residual_bound=8.0)).robust()
    X = sm.add_constant(np.column_stack([table["x"], table["z"]]))
    textbook = sm.OLS(table["y"], X).fit(cov_type="HC1")
    np.testing.assert_allclose(np.asarray(fit.bse), textbook.bse, rtol=0.01)
    plain = sm.OLS(table["y"], X).fit()
    assert abs(fit.bse["x"] / plain.bse[1] - 1) > 0.2, "the errors are not of one variance, and it shows"


def test_with_persons_they_are_the_clustered_ones():
    rng = np.random.default_rng(6)
    people, rows = 4_000, 3
    person = np.repeat(np.arange(people), rows)
    x = np.repeat(rng.uniform(-1, 1, people), rows) * 0.9 + rng.uniform(-0.1, 0.1, people * rows)
    y = 0.5 * x + np.repeat(rng.normal(0, 0.4, people), rows) + rng.normal(0, 0.1, people * rows)
    design = Design("y", {"x": (-1, 1), "y": (-3, 3)}, unit={"id": "person", "max_rows": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        made = discreet.release(
            {"person": person, "x": x, "y": y}, design, epsilon=1e8, delta=1e-6, moments="robust", residual_bound=3.0,
            allow_weak_privacy=True,
        )  # fmt: skip
    X = sm.add_constant(x)
    clustered = sm.OLS(y, X).fit(cov_type="cluster", cov_kwds={"groups": person})
    np.testing.assert_allclose(np.asarray(discreet.fit(made).robust().bse), clustered.bse, rtol=0.02)
    assert clustered.bse[1] > 1.4 * sm.OLS(y, X).fit().bse[1]


def coverage(replications, rows, epsilon, seed):
    rng = np.random.default_rng(seed)
    hits = np.zeros((2, 3))
    for _ in range(replications):
        plain = discreet.fit(released(table_of(rows, rng), epsilon))
        for row, fit in enumerate((plain, plain.robust())):
            for place, (name, truth) in enumerate(zip(fit.names, BETA, strict=True)):
                low, high = fit.conf_int()[name]
                hits[row, place] += low <= truth <= high
    return hits / replications


def test_robust_intervals_hold_and_plain_ones_do_not():
    """500 releases through the public path; 94 % seen as 85 %, or nine points of difference gone: below 1e-9."""
    plain, robust = coverage(500, 5_000, 15.0, seed=2)
    assert robust.min() > 0.85
    assert plain[1] < robust[1]


@pytest.mark.slow
def test_coverage_of_robust_intervals_under_unequal_variances():
    """The noise cannot be seeded: a true coverage of 93.5 % fails a count with probability 1e-9 at most."""
    lowest = stats.binom.ppf(1e-9, 500, 0.935) / 500
    print("\ncoverage of 95 % intervals, errors whose spread depends on x, 500 releases (Intercept, x, z)")
    for rows, epsilon in ((2_000, 5.0), (10_000, 1.0), (10_000, 5.0), (50_000, 1.0)):
        plain, robust = coverage(500, rows, epsilon, seed=rows)
        print(
            f"  n {rows:6,} epsilon {epsilon:g}: plain {np.round(100 * plain, 1)}, robust {np.round(100 * robust, 1)}"
        )
        assert robust.min() >= lowest
        assert plain[1] < robust[1]


def test_robust_fits_say_what_they_need():
    table = table_of(3_000, np.random.default_rng(3))
    robust = released(table, 5.0)
    plain = discreet.release(table, DESIGN, epsilon=5.0, delta=1e-6)
    with pytest.raises(SpecError, match=r'release with moments "robust" \(--robust\)'):
        discreet.fit(plain).robust()
    for options in ({"features": ["x"]}, {"target": "x"}, {"intercept": False}, {"penalty": "ridge", "strength": 0.1}):
        with pytest.raises(SpecError, match="declared full model"):
            discreet.fit(robust, **options).robust()
    swapped, straight = (discreet.fit(robust, features=names).robust() for names in (["z", "x"], ["x", "z"]))
    assert swapped.bse["x"] == pytest.approx(straight.bse["x"])


def test_noise_that_turns_the_middle_negative_is_taken_for_nothing_there():
    made = released(table_of(3_000, np.random.default_rng(4)), 5.0)
    size = len(made.columns) - 1
    negative = tuple(-(10**12) if i == j else 0 for i in range(size) for j in range(i, size))
    empty = replace(made, residuals=replace(made.residuals, totals=negative))
    fit = discreet.fit(empty).robust()
    assert all(value == pytest.approx(0, abs=1e-12) for value in fit.sampling_sd.values())
    assert fit.bse["x"] == pytest.approx(fit.privacy_sd["x"])
    assert "Standard errors are robust (HC1)" in fit.summary()
    assert "HC1" not in discreet.fit(empty).summary()
