"""The columns of broom, with the numbers of statsmodels where there is no noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.analyst.tables.tidy import ends_of, set_words_of
from discreet.releases.reference_distribution import NotEstimable
from support.odd_names import odd_table


def test_without_noise_they_are_the_numbers_of_statsmodels(fits):
    data = odd_table()
    X = np.column_stack([np.ones(600), data["age|years"], data["re<gi&on"] == "so^uth", data["=cmd_%"]]).astype(float)
    known = sm.OLS(np.clip(data["income_$"], 0, 200_000), X).fit()
    tidy, glance = fits["exact"].tidy(0.9), fits["exact"].glance()[0]
    assert tidy.columns[:7] == ("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")
    # values are rounded to the grid: 2^-17 of half a width each
    for name, values in (("estimate", known.params), ("std.error", known.bse), ("statistic", known.tvalues)):
        assert tidy.column(name) == pytest.approx(values, rel=1e-3)
    assert tidy.column("p.value") == pytest.approx(known.pvalues, rel=1e-2, abs=1e-6)
    assert np.column_stack([tidy.column("conf.low"), tidy.column("conf.high")]) == pytest.approx(
        known.conf_int(0.1), rel=1e-3
    )
    assert glance["r.squared"] == pytest.approx(known.rsquared, rel=1e-4)
    assert glance["adj.r.squared"] == pytest.approx(known.rsquared_adj, rel=1e-4)
    assert glance["sigma"] == pytest.approx(math.sqrt(known.scale), rel=1e-4)
    assert glance["statistic"] == pytest.approx(known.fvalue, rel=1e-3)
    for name, wanted in (("logLik", known.llf), ("AIC", known.aic), ("BIC", known.bic)):
        assert glance[name] == pytest.approx(wanted, rel=1e-4)
    assert (glance["df"], glance["df.residual"], glance["nobs"]) == (3, 596, 600)


def test_a_missing_number_is_none_and_has_its_reason(fits):
    for name in ("bayes", "lasso", "gradient", "lost"):
        tidy = fits[name].tidy()
        assert all(row["std.error"] is None and row["reason"] for row in tidy), name
        assert "nan" not in repr(tidy).lower()
        assert "nan" not in tidy.to_csv()
        assert fits[name].glance()[0]["reason"]
    noise = fits["output"].tidy()
    assert all(row["table.low"] < row["estimate"] < row["table.high"] for row in noise)
    assert all(row["privacy.sd"] > 0 for row in noise)
    assert fits["constant"].glance()[0]["statistic"] is None


def test_the_outside_of_a_gap_is_no_interval():
    gap = ConfidenceSet("outside", 1.0, 2.0)
    assert ends_of(gap) == (-math.inf, math.inf)
    assert set_words_of(gap) == "not between 1 and 2"
    assert set_words_of(ConfidenceSet("interval", 1.0, 2.0)) == "interval"
    assert set_words_of(NotEstimable("why")) is None
    assert ends_of(NotEstimable("why")) == (None, None)


def test_the_promise_travels_with_them(fits):
    private, other = fits["private"].glance()[0], fits["exact"].glance()[0]
    assert (private["epsilon"], private["delta"], private["private"]) == (1.0, 1e-6, True)
    assert (other["epsilon"], other["private"]) == (None, False)
    assert not any(row["private"] for row in fits["exact"].tidy())
