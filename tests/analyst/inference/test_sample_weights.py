"""Fits of rows with weights: statsmodels' WLS with the noise off, what is refused, and coverage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.design.design import Design
from discreet.design.domain import WEIGHT_BITS
from discreet.errors import SpecError
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing import exact_release, seeded_release
from discreet.workflow import release_with

sm = pytest.importorskip("statsmodels.api")

LARGEST = 5.0
COLUMNS = {"y": (-8, 14), "x": (0, 2), "g": ["a", "b", "c"], "w": (0, LARGEST)}
# rows are rounded to the grid, weights are not: those of the comparison are on it
CLOSE = 1e-4


class NoNoise:
    """Draws zeros, NOT PRIVATE."""

    private = False

    def draw(self, sigmas):
        return [0] * len(sigmas)


def table_of(rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    x, g = rng.uniform(0, 2, rows), rng.integers(0, 3, rows)
    w = np.rint(rng.uniform(0.2, 4.5, rows) / LARGEST * 2**WEIGHT_BITS) * LARGEST / 2**WEIGHT_BITS
    y = 1 + 2 * x + (g == 1) + (0.2 + 0.3 * x) * rng.normal(size=rows) / np.sqrt(w)
    return {"x": x, "y": y, "g": [("a", "b", "c")[one] for one in g], "w": w}


def without_noise(table, design, robust):
    made = release_with(NoNoise(), table, design, PrivacyBudget(1.0, 1e-6), ReleaseOptions(robust=robust))
    return replace(made, noise=replace(made.noise, sigma=dict.fromkeys(made.noise.sigma, 0), calibration="none"))


@pytest.fixture(scope="module")
def table():
    return table_of()


@pytest.fixture(scope="module")
def wls(table):
    levels = np.array(table["g"])
    X = np.column_stack([np.ones(len(table["x"])), table["x"], levels == "b", levels == "c"]).astype(float)
    return sm.WLS(table["y"], X, weights=table["w"]).fit()


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}])
def test_plain_errors_are_those_of_wls(table, wls, unit):
    fit = discreet.fit(exact_release(table, Design("y", COLUMNS, weights="w", unit=unit)))
    np.testing.assert_allclose(list(fit.params.values()), wls.params, atol=CLOSE)
    np.testing.assert_allclose(list(fit.bse.values()), wls.bse, rtol=CLOSE)
    np.testing.assert_allclose([ends.lower for ends in fit.conf_int().values()], wls.conf_int()[:, 0], atol=CLOSE)
    for ours, theirs in (
        (fit.s2, wls.scale), (fit.rsquared, wls.rsquared), (fit.rsquared_adj, wls.rsquared_adj),
        (fit.fvalue, wls.fvalue), (fit.nobs, wls.nobs), (fit.df_resid, wls.df_resid),
    ):  # fmt: skip
        assert ours == pytest.approx(theirs, rel=CLOSE)
    assert fit.nobs_sd == 0
    row = {"x": [1.0], "g": ["b"]}
    mean = wls.get_prediction(np.array([[1.0, 1.0, 1.0, 0.0]])).conf_int()
    np.testing.assert_allclose(np.array(fit.get_prediction(row).conf_int()), mean, atol=CLOSE)


@pytest.mark.parametrize("kind", ["inverse-variance", "sampling"])
@pytest.mark.parametrize("cov_type", ["HC0", "HC1"])
def test_robust_errors_are_those_of_wls(table, wls, kind, cov_type):
    made = without_noise(table, Design("y", COLUMNS, weights="w", weights_are=kind), robust=True)
    fit = discreet.fit(made, cov_type=cov_type)
    np.testing.assert_allclose(list(fit.bse.values()), wls.get_robustcov_results(cov_type).bse, rtol=2 * CLOSE)


def test_errors_of_persons_are_clustered():
    rows = table_of(600)
    rows["who"] = [str(index // 2) for index in range(600)]
    unit = {"id": "who", "max_rows": 2}
    made = without_noise(
        rows, Design("y", {"y": (-8, 14), "x": (0, 2), "w": (0, LARGEST)}, weights="w", unit=unit), robust=True
    )
    fit = discreet.fit(made)
    assert fit.cov_type == "cluster"
    X = sm.add_constant(rows["x"])
    model = sm.WLS(rows["y"], X, weights=rows["w"]).fit()
    groups = np.array([int(one) for one in rows["who"]])
    theirs = model.get_robustcov_results("cluster", groups=groups, use_correction=False).bse * np.sqrt(600 / 598)
    np.testing.assert_allclose(list(fit.bse.values()), theirs, rtol=1e-3)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_clustered_errors_take_statsmodels_factor_where_the_number_of_people_is_public(neighbours):
    """With G people it is G / (G - 1) (n - 1) / (n - k); where G is data the factor is n / (n - k), without G."""
    random, people, most = np.random.default_rng(5), 40, 3
    groups = np.repeat(np.arange(people), random.integers(1, most + 1, people))
    n = len(groups)
    x = random.uniform(0, 2, n)
    y = 1 + 2 * x + random.normal(0, 0.3, people)[groups] + random.normal(0, 0.3, n)
    unit = {"id": "who", "max_rows": most, "neighbours": neighbours}
    design = Design("y", {"y": (-8, 14), "x": (0, 2)}, unit=unit)
    made = without_noise({"x": x, "y": y, "who": [str(one) for one in groups]}, design, robust=True)
    fit = discreet.fit(made)
    assert fit.cov_type == "cluster"
    model = sm.OLS(y, sm.add_constant(x)).fit()
    theirs, bare = (
        np.diag(model.get_robustcov_results("cluster", groups=groups, use_correction=corrected).cov_params())
        for corrected in (True, False)
    )
    ours = np.asarray(fit.bse) ** 2
    factors = {"replace": people / (people - 1) * (n - 1) / (n - 2), "add-remove": n / (n - 2)}
    assert factors["replace"] / factors["add-remove"] > 1.01, "the test needs rules that differ"
    np.testing.assert_allclose(ours, bare * factors[neighbours], rtol=1e-3)
    if neighbours == "replace":
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)
        assert "(with the factor G / (G - 1) (n - 1) / (n - k))" in " ".join(fit.summary().split())
    else:
        assert ((theirs > ours) & (theirs / ours <= 1 + (most - 1) / (n - most) + 1e-3)).all()
    # a table of one person has no factor of statsmodels
    alone = replace(made, units_public=None if neighbours == "add-remove" else 1)
    np.testing.assert_allclose(np.asarray(discreet.fit(alone).bse) ** 2, bare * n / (n - 2), rtol=1e-3)


def test_weights_of_a_sample_have_no_plain_errors(table):
    design = Design("y", COLUMNS, weights="w", weights_are="sampling")
    made = without_noise(table, design, robust=True)
    full = discreet.fit(made)
    assert full.cov_type == "HC1"
    with pytest.raises(SpecError, match="has only HC1 standard errors for this model"):
        discreet.fit(made, cov_type="nonrobust")
    part = discreet.fit(made, "y ~ x")
    assert part.estimable
    assert "plain standard errors are wrong" in str(part.bse["x"])
    assert isinstance(discreet.fit(made, penalty="ridge", strength=0.1).bse["x"], NotEstimable)
    exact = discreet.fit(exact_release(table, design))
    assert "plain standard errors are wrong" in str(exact.bse["x"])
    assert "They are sampling weights" in " ".join(full.summary().split())


def test_what_rows_with_weights_do_not_tell_has_a_reason(table):
    made = exact_release(table, Design("y", COLUMNS, weights="w"))
    fit = discreet.fit(made)
    assert "no interval for R^2" in str(fit.rsquared_conf_int())
    assert "likelihoods" in str(fit.aic)
    prediction = fit.get_prediction({"x": [1.0], "g": ["b"]})
    assert "depends on its weight" in prediction.reasons(obs=True)[0]
    assert prediction.privacy_share(obs=True).mask.all()
    assert not prediction.privacy_share().mask.any()
    assert isinstance(fit.standardised()["x"], NotEstimable)
    with pytest.raises(SpecError, match="cannot describe a release of weighted rows"):
        made.describe()
    with pytest.raises(SpecError, match="leave clip_counts out"):
        exact_release(table, made.design, clip_counts=True)
    assert "Weighted least squares with weights w" in fit.summary()
    assert "weighted columns" in made.summary()


def test_a_plan_counts_the_mean_weight():
    design = Design("y", COLUMNS, weights="w")
    budget = {"epsilon": 1.0, "delta": 1e-6, "rows": 20_000}
    light, heavy = (discreet.plan(design, **budget, assume={"w": {"mean": mean}}) for mean in (0.5, 4.0))
    for one, other in zip(light.coefficients, heavy.coefficients, strict=True):
        assert one.std_error > 2 * other.std_error
    public = Design("y", COLUMNS, weights="w", unit={"neighbours": "replace"})
    assert discreet.plan(public, **budget).coefficients[1].std_error > 0


# -- coverage ----------------------------------------------------------------------------------------------------------

RELEASES = 1000


def measured(seed, rows=1500):
    """Rows whose errors have one over the weight as their variance; the line is y = 1 + 2 x."""
    rng = np.random.default_rng(seed)
    x, w = rng.uniform(0, 2, rows), rng.uniform(0.3, 5, rows)
    return {"x": x, "y": 1 + 2 * x + rng.normal(size=rows) / np.sqrt(w), "w": w}, (1.0, 2.0)


_people = np.random.default_rng(77)
_X = _people.uniform(0, 2, 200_000)
_ERROR = (0.4 + 0.6 * _X) * _people.standard_t(6, 200_000)
_Y = 1 + _X + 0.6 * _X**2 + _ERROR
# people in the middle and those with a large target are drawn more often, which biases what has no weights
_CHANCE = 0.0025 * (1 + 4 * np.exp(-(((_X - 0.8) / 0.4) ** 2)) + 2 / (1 + np.exp(-_Y + 3)))
_LINE = tuple(np.linalg.lstsq(np.column_stack([np.ones_like(_X), _X]), _Y, rcond=None)[0])


def sampled(seed):
    """A sample of a population with curved means, unequal chances and unequal variances; weights are 1 / chance."""
    drawn = np.random.default_rng(seed).random(len(_X)) < _CHANCE
    return {"x": _X[drawn], "y": _Y[drawn], "w": 0.0025 / _CHANCE[drawn] * LARGEST}, _LINE


def covered(draw, kind, robust, epsilon, unit, releases=RELEASES):
    design = Design("y", {"y": (-8, 14), "x": (0, 2), "w": (0, LARGEST)}, weights="w", weights_are=kind, unit=unit)
    hits = np.zeros(2)
    for seed in range(releases):
        rows, line = draw(seed)
        made = seeded_release(rows, design, seed=seed, epsilon=epsilon, delta=1e-6, robust=robust)
        fit = discreet.fit(made)
        fit = fit.robust() if robust else fit
        hits += [ends.contains(truth) for truth, ends in zip(line, fit.conf_int().values(), strict=True)]
    return hits / releases


@pytest.mark.slow
@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}], ids=["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize(
    ("draw", "kind", "robust"),
    [
        (measured, "inverse-variance", False),
        (measured, "inverse-variance", True),
        (sampled, "sampling", True),
    ],
)
def test_intervals_cover(draw, kind, robust, epsilon, unit):
    """95% sets of seeded releases: at least 92.5%, which true 95% sets miss with chance below 3e-4 a cell."""
    found = covered(draw, kind, robust, epsilon, unit)
    print(f"\n{kind} {robust} epsilon {epsilon:g} {unit}: {found}")
    assert stats.binom.cdf(0.925 * RELEASES - 1, RELEASES, 0.95) < 3e-4
    assert (found >= 0.925).all()


@pytest.mark.slow
def test_plain_errors_of_a_sample_cover_too_little():
    """Why they are refused: the same sample without noise, declared as if its weights were inverse variances."""
    design = Design("y", {"y": (-8, 14), "x": (0, 2), "w": (0, LARGEST)}, weights="w")
    hits = np.zeros(2)
    for seed in range(RELEASES):
        rows, line = sampled(seed)
        sets = discreet.fit(exact_release(rows, design)).conf_int().values()
        hits += [ends.contains(truth) for truth, ends in zip(line, sets, strict=True)]
    print(f"\nplain errors of a sample: {hits / RELEASES}")
    assert hits.min() < 0.9 * RELEASES
