"""Robust standard errors: statsmodels' in the limit, and intervals that hold where the plain ones do not."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

import discreet
from discreet.analyst.diagnostics import findings
from discreet.analyst.inference.robust import has_ratio_spread
from discreet.analyst.inference.score import joint_score
from discreet.design.design import Design
from discreet.errors import PrivacyNotice, SpecError
from discreet.options import RobustErrors
from discreet.testing.not_private import seeded_release
from support.robust_releases import BETA, DESIGN, released, released_persons, table_of, visits


def test_without_noise_they_are_the_textbook_ones():
    table = table_of(20_000, np.random.default_rng(1))
    fit = discreet.fit(released(table, 1e7, residual_bound=8.0)).robust()
    X = sm.add_constant(np.column_stack([table["x"], table["z"]]))
    textbook = sm.OLS(table["y"], X).fit(cov_type="HC1")
    np.testing.assert_allclose(np.asarray(fit.bse), textbook.bse, rtol=0.01)
    plain = sm.OLS(table["y"], X).fit()
    assert abs(fit.bse["x"] / plain.bse[1] - 1) > 0.2, "the errors are not of one variance, and it shows"


def test_their_degrees_of_freedom_are_those_of_hc1():
    """40 rows and 3 coefficients: the factor n / (n - k) moves the errors by 4%, what remains of noise by 0.2%."""
    table = table_of(40, np.random.default_rng(11))
    options = {"epsilon": 1e9, "delta": 1e-6, "robust": RobustErrors(residual_bound=8.0)}
    fit = discreet.fit(seeded_release(table, DESIGN, seed=1, **options)).robust()
    model = sm.OLS(table["y"], sm.add_constant(np.column_stack([table["x"], table["z"]])))
    np.testing.assert_allclose(np.asarray(fit.bse), model.fit(cov_type="HC1").bse, rtol=0.002)
    assert (np.abs(np.asarray(fit.bse) / model.fit(cov_type="HC0").bse - 1) > 0.03).all()
    plain = fit.robust("HC0")
    np.testing.assert_allclose(np.asarray(plain.bse), model.fit(cov_type="HC0").bse, rtol=0.002)
    joint = "x = 0, z = 0"
    assert plain.f_test(joint).statistic == pytest.approx(float(model.fit(cov_type="HC0").fvalue), rel=0.005)
    assert (fit.cov_type, plain.cov_type, discreet.fit(fit.release).cov_type) == ("HC1", "HC0", "nonrobust")
    assert any("robust (HC0)" in note for note in plain.to_dict()["notes"])
    named = {kind: discreet.fit(fit.release, cov_type=kind) for kind in ("nonrobust", "HC0", "HC1")}
    assert {kind: one.cov_type for kind, one in named.items()} == {kind: kind for kind in named}
    assert dict(named["HC0"].bse) == dict(plain.bse)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("HC3", "needs the leverage of every row"),
        ("HC2", "leverage"),
        ("HAC", "unknown"),
        ("cluster", "there are no clusters.* id with max_rows"),
    ],
)
def test_other_kinds_are_refused_with_the_reason(kind, message):
    made = seeded_release(table_of(40, np.random.default_rng(11)), DESIGN, seed=1, epsilon=1e9, delta=1e-6)
    for ask in (lambda: discreet.fit(made, cov_type=kind), lambda: discreet.fit(made).robust(kind)):
        with pytest.raises(SpecError, match=message) as caught:
            ask()
        assert caught.value.exit_code == 2
    with pytest.raises(SpecError, match=r"(allowed:|one of) nonrobust, HC0, HC1"):
        discreet.fit(made, cov_type=kind)
    with pytest.raises(SpecError, match=r"(allowed:|one of) HC0, HC1"):
        discreet.fit(made).robust(kind)
    with pytest.raises(SpecError, match="need sums of squared residuals, which this release does not have"):
        discreet.fit(made, cov_type="HC0")


def skewed(rows, rng):
    """Log-normal errors that grow with x: most rows lie near the line and a few far above it."""
    x = rng.uniform(0, 1, rows)
    return {"x": x, "y": 10 + 10 * x + (0.2 + x) * rng.lognormal(1.5, 1.2, rows)}


def test_the_default_bound_keeps_the_residuals_of_skewed_errors():
    """Robust errors through the public path against HC1 of the clipped rows; a quarter of the width is too narrow."""
    design = Design("y", {"x": (0, 1), "y": (0, 200)})
    table = skewed(50_000, np.random.default_rng(15))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        wide, narrow = (
            discreet.release(
                table,
                design,
                epsilon=1e6,
                delta=1e-6,
                robust=RobustErrors(residual_bound=bound),
                allow_weak_privacy=True,
            )
            for bound in (None, 50)
        )
    textbook = sm.OLS(np.clip(table["y"], 0, 200), sm.add_constant(table["x"])).fit(cov_type="HC1").bse
    np.testing.assert_allclose(np.asarray(discreet.fit(wide).robust().bse), textbook, rtol=0.03)
    assert (np.asarray(discreet.fit(narrow).robust().bse) < 0.9 * textbook).all()
    assert {one.number for one in findings(narrow, discreet.fit(narrow))} >= {"D020"}


def test_with_persons_they_are_the_clustered_ones_from_the_start():
    table = visits(4_000, np.random.default_rng(6))
    fit = discreet.fit(released_persons(table, residual_bound=3.0))
    X = sm.add_constant(table["x"])
    model = sm.OLS(table["y"], X)
    clustered = model.fit(cov_type="cluster", cov_kwds={"groups": table["person"]})
    np.testing.assert_allclose(np.asarray(fit.bse), clustered.bse, rtol=0.02)
    assert clustered.bse[1] > 1.4 * model.fit().bse[1]
    assert fit.is_robust
    assert fit.cov_type == "cluster"
    assert dict(fit.robust().bse) == dict(fit.bse)
    for kind in ("HC1", "HC3", "cluster", "HAC"):
        with pytest.raises(SpecError, match="clustered by individual; leave cov_type out"):
            fit.robust(kind)
    with pytest.raises(SpecError, match="only cluster standard errors for this model"):
        discreet.fit(fit.release, cov_type="nonrobust")
    text = " ".join(fit.summary().split())
    assert "Standard errors are clustered by 'person' (with the factor n / (n - k))" in text
    assert "HC1): errors may" not in text
    assert "treat them as independent" not in text
    assert not {"D020", "D021"} & {finding.number for finding in findings(fit.release, fit)}


def test_a_robust_interval_of_r_squared_is_wider_where_rows_are_skewed():
    """Log-normal x: the plain interval assumes Gaussian rows, says so, and is too narrow by a third."""
    random = np.random.default_rng(13)
    x = random.lognormal(0, 1, 50_000)
    design = Design("y", {"x": (0, 20), "y": (-20, 20)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        made = discreet.release(
            {"x": x, "y": x + random.normal(0, 1, 50_000)},
            design,
            epsilon=1e4,
            delta=1e-6,
            mechanism="gaussian",
            robust=True,
            allow_weak_privacy=True,
        )
    plain = discreet.fit(made)
    robust = plain.robust()
    x = np.clip(x, 0, 20)
    (low, high), (wide_low, wide_high) = plain.rsquared_conf_int(), robust.rsquared_conf_int()
    residual = 1.0
    rho = residual / (residual + x.var())
    # the sampling deviation of R^2 by the delta method, with the moments that these columns have
    errors = random.normal(0, 1, 50_000)
    psi = errors**2 - rho * (x - x.mean() + errors) ** 2
    textbook = 2 * 1.96 * psi.std() / (residual + x.var()) / np.sqrt(50_000)
    assert wide_high - wide_low == pytest.approx(textbook, rel=0.1)
    assert wide_high - wide_low > 1.5 * (high - low)
    assert plain.rsquared == robust.rsquared
    assert any("The interval for R^2 assumes Gaussian rows" in note for note in plain.to_dict()["notes"])
    assert any("uses the released spread of squared residuals" in note for note in robust.to_dict()["notes"])
    assert not any("assumes Gaussian rows" in note for note in robust.to_dict()["notes"])
    earlier = discreet.fit(replace(made, residuals=replace(made.residuals, ratio=None))).robust()
    assert tuple(earlier.rsquared_conf_int()) == (low, high)
    assert any("assumes Gaussian rows" in note for note in earlier.to_dict()["notes"])


def test_gaussian_rows_keep_the_interval_of_r_squared():
    """Uniform x has a smaller fourth moment than Gaussian x: the plain variance is the larger one and is kept."""
    fit = discreet.fit(released(table_of(20_000, np.random.default_rng(14)), 1e6))
    (low, high), (robust_low, robust_high) = fit.rsquared_conf_int(), fit.robust().rsquared_conf_int()
    assert robust_high - robust_low >= (high - low) * (1 - 1e-9)


def coverage(replications, rows, epsilon, seed):
    rng = np.random.default_rng(seed)
    hits = np.zeros((2, 3))
    for _ in range(replications):
        plain = discreet.fit(released(table_of(rows, rng), epsilon))
        for row, fit in enumerate((plain, plain.robust())):
            intervals = fit.conf_int()
            for index, (name, truth) in enumerate(zip(fit.names, BETA, strict=True)):
                low, high = intervals[name]
                hits[row, index] += low <= truth <= high
    return hits / replications


@pytest.mark.full
@pytest.mark.no_cover
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
    with pytest.raises(SpecError, match="make a release with the option robust"):
        discreet.fit(plain).robust()
    for options in ({"features": ["x"]}, {"target": "x"}, {"intercept": False}, {"penalty": "ridge", "strength": 0.1}):
        with pytest.raises(SpecError, match="declared full model"):
            discreet.fit(robust, **options).robust()
    swapped, straight = (discreet.fit(robust, features=names).robust() for names in (["z", "x"], ["x", "z"]))
    assert swapped.bse["x"] == pytest.approx(straight.bse["x"])


def test_noise_that_turns_the_middle_negative_is_taken_for_nothing_there():
    made = released(table_of(3_000, np.random.default_rng(4)), 5.0)
    size = len(made.columns) - 1
    negative = tuple(-(10**15) if i == j else 0 for i in range(size) for j in range(i, size))
    empty = replace(made, residuals=replace(made.residuals, totals=negative))
    fit = discreet.fit(empty).robust()
    assert all(value == pytest.approx(0, abs=1e-12) for value in fit.sampling_sd.values())
    assert fit.bse["x"] == pytest.approx(fit.privacy_sd["x"])
    assert "Standard errors are robust (HC1)" in fit.summary()
    assert "HC1" not in discreet.fit(empty).summary()


@pytest.fixture(scope="module")
def noisy_fit():
    random = np.random.default_rng(4)
    x, w = random.uniform(-1, 1, (2, 2_000))
    design = Design("y", {"x": (-1, 1), "w": (-1, 1), "y": (-4, 4)})
    rows = {"x": x, "w": w, "y": x + random.normal(0, 0.5, 2_000)}
    asked = {"epsilon": 5.0, "delta": 1e-6, "mechanism": "gaussian", "robust": True}
    return discreet.fit(seeded_release(rows, design, seed=2, **asked)).robust()


def test_joint_robust_tests_have_a_middle_of_their_own(noisy_fit):
    score = noisy_fit._score
    both = noisy_fit.f_test("x = 0, w = 0").statistic
    joint = replace(score, sampling=score.joint_sampling)
    L, distance = np.eye(3)[1:], noisy_fit.scaled_coefficients[1:]
    assert 2 * both == pytest.approx(joint_score(joint, L, distance).statistic, rel=0.02)
    assert 2 * both != pytest.approx(joint_score(score, L, distance).statistic, rel=1e-3)


def test_one_robust_hypothesis_has_one_statistic_and_one_variance_in_every_form(noisy_fit):
    score = noisy_fit._score
    assert noisy_fit.f_test("x = 0").statistic == pytest.approx(noisy_fit.score_z["x"] ** 2)
    assert noisy_fit.f_test("x = 0").pvalue == pytest.approx(noisy_fit.pvalues["x"])
    np.testing.assert_allclose(noisy_fit.cov_params().diagonal(), np.square([*noisy_fit.bse.values()]))
    assert noisy_fit.t_test("x = 0").sd["x = 0"] == pytest.approx(noisy_fit.bse["x"])
    for row in np.eye(3):
        one = score.for_one(row)
        assert row @ one.sampling @ row == pytest.approx(score.sampling_along(row[None, :])[0])
        # what is known of the others where this one is known stays as it is
        given = [S - np.outer(S @ row, S @ row) / (row @ S @ row) for S in (score.covariance, one.covariance)]
        np.testing.assert_allclose(given[0], given[1], atol=1e-9 * np.abs(score.covariance).max())
    assert discreet.fit(noisy_fit.release)._score.for_one(np.eye(3)[0]).middle is None


@pytest.fixture(scope="module")
def with_models():
    """Almost without noise: the full model and three others, in a table whose errors vary with x."""
    rng = np.random.default_rng(21)
    table = table_of(20_000, rng)
    table["y"] = np.clip(table["y"], -4, 4)
    robust = RobustErrors(models=["y ~ z", "y ~ 1", "x ~ y + z"], residual_bound=8.0)
    return table, seeded_release(table, DESIGN, seed=2, epsilon=1e9, delta=1e-6, robust=robust)


@pytest.mark.parametrize(
    ("formula", "target", "names"),
    [("y ~ z", "y", ["z"]), ("y ~ 1", "y", []), ("x ~ z + y", "x", ["z", "y"]), ("y ~ z + x", "y", ["z", "x"])],
)
def test_those_of_a_declared_model_are_the_textbook_ones(with_models, formula, target, names):
    """In the order in which the model is written, for HC1 and HC0; of `x` the largest residuals were clipped."""
    table, made = with_models
    columns = np.column_stack([np.ones(20_000), *(table[name] for name in names)])
    for kind in ("HC1", "HC0"):
        textbook = sm.OLS(table[target], columns).fit(cov_type=kind)
        fit = discreet.fit(made, formula, cov_type=kind)
        np.testing.assert_allclose(np.asarray(fit.bse), textbook.bse, rtol=0.005 if target == "y" else 0.015)
    plain = np.asarray(discreet.fit(made, formula).bse)
    if formula in ("y ~ z + x", "x ~ z + y"):
        assert (np.abs(np.asarray(fit.bse) / plain - 1) > 0.05).any()


def test_a_declared_model_is_known_however_it_is_written(with_models):
    _, made = with_models
    asked = [{"formula": "y ~ ."}, {"formula": "y ~ . - x"}, {"features": ["z"]}, {"formula": "y ~ z + 1"}]
    found = [discreet.fit(made, **one).robust() for one in asked]
    assert all(one.is_robust for one in found)
    assert dict(found[1].bse) == dict(found[2].bse) == dict(found[3].bse)
    assert made.robust_models == ("y ~ 1", "y ~ z", "x ~ z + y")


def test_a_model_that_was_not_declared_is_refused_with_those_that_were(with_models):
    _, made = with_models
    for options in (
        {"formula": "y ~ x"},
        {"formula": "z ~ x"},
        {"formula": "y ~ z - 1"},
        {"formula": "y ~ z", "penalty": "adaptive"},
    ):
        with pytest.raises(SpecError, match="has no sums of squared residuals for this model") as caught:
            discreet.fit(made, **options).robust()
        models = "the declared full model and 'y ~ 1', 'y ~ z', 'x ~ z + y', with an intercept"
        assert f"the release has the sums for {models}" in str(caught.value)
        assert "make another release, which spends budget, and declare this model as an additional" in str(caught.value)


def test_the_notes_of_a_declared_model_name_its_own_bound(with_models):
    """A declared bound is in units of the target of the design; another target has one of its own."""
    _, made = with_models
    first, other = (discreet.fit(made, formula).robust() for formula in ("y ~ z", "x ~ y + z"))
    assert any("residuals clipped at 8;" in note for note in first.to_dict()["notes"])
    bound = made.residuals.further[2].bound
    assert any(f"residuals clipped at {bound:.4g};" in note for note in other.to_dict()["notes"])
    # the sum for R^2 is of the full model alone
    assert not has_ratio_spread(first)
    assert has_ratio_spread(discreet.fit(made).robust())
    assert any("A robust fit of the full model gives a wider interval." in note for note in first.to_dict()["notes"])


def test_residuals_of_a_declared_model_that_were_clipped_are_seen():
    table = table_of(5_000, np.random.default_rng(5))
    made = seeded_release(
        table, DESIGN, seed=1, epsilon=50.0, delta=1e-6, robust=RobustErrors(models=["y ~ x"], residual_bound=0.2)
    )
    for formula in ("y ~ x", "y ~ x + z"):
        fit = discreet.fit(made, formula).robust()
        assert any(one.number == "D020" for one in findings(made, fit=fit))


def test_declared_models_of_persons_are_clustered_from_the_start():
    table = visits(3_000, np.random.default_rng(6))
    made = released_persons(table, models=["y ~ 1"])
    mean = discreet.fit(made, "y ~ 1")
    assert mean.cov_type == "cluster"
    groups = table["person"]
    textbook = sm.OLS(table["y"], np.ones(len(groups))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert mean.bse["Intercept"] == pytest.approx(textbook.bse[0], rel=0.01)
    other = discreet.fit(made, "x ~ 1")
    assert other.cov_type == "nonrobust"
    text = " ".join(other.summary().split())
    assert "The full model, y ~ 1 without a penalty have clustered standard errors." in text


def test_declared_models_of_rows_with_sampling_weights_have_their_only_errors():
    rng = np.random.default_rng(7)
    table = table_of(20_000, rng) | {"w": rng.uniform(0.2, 2, 20_000)}
    design = Design("y", {**DESIGN.columns, "w": (0, 2)}, weights="w", weights_are="sampling")
    made = seeded_release(
        table, design, seed=3, epsilon=1e9, delta=1e-6, robust=RobustErrors(models=["y ~ x"], residual_bound=8.0)
    )
    fit = discreet.fit(made, "y ~ x")
    textbook = sm.WLS(table["y"], sm.add_constant(table["x"]), table["w"]).fit(cov_type="HC1")
    np.testing.assert_allclose(np.asarray(fit.bse), textbook.bse, rtol=0.01)
    assert fit.cov_type == "HC1"
    assert "for the declared full model and 'y ~ x', with an intercept" in discreet.fit(made, "y ~ z").bse["z"].reason
