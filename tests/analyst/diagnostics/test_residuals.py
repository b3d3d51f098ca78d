"""Residuals that were clipped, and errors of one person that are taken as independent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.analyst.diagnostics import clipped_residuals, findings
from discreet.testing.not_private import exact_release
from support.robust_releases import BETA, DESIGN, released, released_persons, table_of, visits


def test_a_release_of_persons_read_plainly_says_that_rows_are_taken_as_independent():
    table = visits(2_000, np.random.default_rng(7))
    plain, robust = released_persons(table, robust=False), released_persons(table)
    cases = {
        "A release with robust standard errors": discreet.fit(plain),
        "The full model without a penalty has clustered standard errors": discreet.fit(
            robust, penalty="ridge", strength=0.1
        ),
        "has clustered standard errors.": discreet.fit(robust, intercept=False),
    }
    for remedy, fit in cases.items():
        assert not fit.is_robust
        (finding,) = (one for one in findings(fit.release, fit) if one.number == "D021")
        assert finding.severity == "caution"
        assert "up to 3 rows, and these standard errors treat them as independent" in finding.text
        assert remedy in finding.text
        assert finding.text in fit.to_dict()["notes"]
        assert " ".join(finding.text.split()) in " ".join(fit.summary().split())
    rows = discreet.fit(released(table_of(2_000, np.random.default_rng(8)), 5.0))
    lasso = discreet.fit(plain, penalty="lasso", strength=0.1)
    for fit in (rows, rows.robust(), lasso):
        assert "D021" not in {finding.number for finding in findings(fit.release, fit)}
        assert "treat them as independent" not in fit.summary()


def test_clipped_residuals_are_said_and_others_are_not():
    """Spread errors clipped at 0.4 of 4 lose most of their squares; the default bound loses none."""
    table = table_of(20_000, np.random.default_rng(9))
    clipped = discreet.fit(released(table, 5.0, residual_bound=0.4))
    (finding,) = (one for one in findings(clipped.release, clipped) if one.number == "D020")
    assert "Residuals were clipped at 0.4" in finding.text
    assert "at most 0.1% of releases" in finding.text
    share = float(finding.text.split("add up to ")[1].split("%")[0])
    residuals = table["y"] - np.column_stack([np.ones(20_000), table["x"], table["z"]]) @ BETA
    assert share == pytest.approx(100 * np.sum(np.clip(residuals, -0.4, 0.4) ** 2) / np.sum(residuals**2), abs=3)
    assert finding.text in clipped.robust().to_dict()["notes"]
    assert finding.text not in clipped.to_dict()["notes"]
    default = discreet.fit(released(table, 5.0))
    assert "D020" not in {one.number for one in findings(default.release, default)}
    assert "Residuals were clipped at" not in default.robust().summary()
    # other models have other residuals, and no fit has none
    for fit in (discreet.fit(clipped.release, features=["x"]), discreet.fit(clipped.release, penalty="adaptive"), None):
        assert "D020" not in {one.number for one in findings(clipped.release, fit)}


@pytest.mark.full
@pytest.mark.no_cover
def test_clipped_residuals_are_rarely_said_of_residuals_that_were_not_clipped():
    """Stated: at most 0.1%. 2,000 releases with seeded noise, so that the count is the same in every run.

    Without the noise of the second part in the account the alarm would go off in a tenth of them.
    """
    table, random = table_of(1_500, np.random.default_rng(10)), np.random.default_rng(12)
    made = released(table, 3.0, residual_bound=8.0)
    exact = exact_release(table, DESIGN)
    steps = np.array(made.noise.steps(len(made.columns)), dtype=float)
    X = np.column_stack([np.ones(1_500), table["x"], table["z"]])
    alarms = low = 0
    for _ in range(2_000):
        noise = (steps * random.standard_normal(len(steps))).round().tolist()
        totals = tuple(a + int(b) for a, b in zip(exact.totals, noise, strict=True))
        fit = discreet.fit(replace(made, totals=totals))
        rows = X * ((table["y"] / 4 - X @ fit.scaled_coefficients) / made.residuals.bound)[:, None]
        drawn = made.noise.sigma["residual_diagonal"] * random.standard_normal()
        square = (float(np.sum(rows[:, 0] ** 2)) * 4**16 + drawn, *made.residuals.totals[1:])
        part = replace(made.residuals, totals=tuple(map(round, square)))
        again = discreet.fit(replace(fit.release, residuals=part))
        alarms += clipped_residuals(again) is not None
        low += again.release.residual_moments[0, 0] < 0.5 * again._known[1].residual
    assert alarms <= 6, "a true rate of 0.1% gives more than 6 of 2,000 with probability 5e-3; the seed is fixed"
    assert low > 200
