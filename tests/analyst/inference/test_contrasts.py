"""Confidence sets through the public path: given whatever they are, in every place that shows them."""

from __future__ import annotations

import html
import json
import math
import re

import numpy as np
import pytest
from scipy.optimize import brentq

import discreet
from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.inference.contrasts import unit_map
from discreet.analyst.inference.nuisance import reference_tail
from discreet.analyst.inference.score import ContrastTerms, fieller_sets, joint_score
from discreet.analyst.notes import SELECTION
from discreet.analyst.residual_plan import residual_plan
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.number_text import number, rough, significant
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.releases import BLOCKS
from discreet.releases.reference_distribution import NotEstimable
from support.made_releases import made

COLUMNS = {"y": (0, 10), "x": (2, 6), "w": (-3, 1), "flag": bool}
ROWS = {"x": [3.0, 5.0], "w": [0.0, -2.0], "flag": [True, False]}
NAMES = ("Intercept", "x", "w", "flag")


def table(count=200, seed=0):
    random = np.random.default_rng(seed)
    x, w, flag = random.uniform(2, 6, count), random.uniform(-3, 1, count), random.random(count) < 0.5
    y = np.clip(1 + x + 0.5 * w + flag + random.normal(0, 0.4, count), 0, 10)
    return {"y": y.tolist(), "x": x.tolist(), "w": w.tolist(), "flag": flag.tolist()}


def noisy(size, seed):
    """A release whose sums of products of regressors have noise of this standard deviation."""
    sigma = {**dict.fromkeys(BLOCKS, 0.2), "gram_diagonal": size, "gram_off_diagonal": size}
    return made(Design("y", COLUMNS), table(), sigma=sigma, seed=seed).release


@pytest.fixture(scope="module")
def by_kind():
    """Releases in which some coefficient has a set of each kind, and one that is not positive definite."""
    found = {}
    for seed in range(400):
        release = noisy(25.0, seed)
        fit = discreet.fit(release)
        if not fit.estimable:
            found.setdefault("indefinite", release)
            continue
        for ends in fit.conf_int().values():
            found.setdefault(ends.kind, release)
        if {"interval", "outside", "everything", "indefinite"} <= set(found):
            return found
    raise AssertionError(f"only {sorted(found)} were found")


@pytest.mark.parametrize(("noise", "kinds"), [(0.0, {"interval", "everything"}), (1.0, {"everything"})])
def test_hardly_a_degree_of_freedom_excludes_hardly_anything(noise, kinds):
    """Critical values up to 1e152: no warning, no number that is none, and no interval with an infinite end."""
    terms = ContrastTerms(np.array([1e5, 1e-5]), np.zeros(2), np.zeros(2), np.full(2, noise))
    for z in (1e60, 1e151, 1e152, 1e153):
        sets = fieller_sets(terms, z).moved(np.zeros(2), 1e3)
        assert set(sets.kind) <= kinds
        finite = np.isfinite(sets.lower) & np.isfinite(sets.upper)
        assert (finite == (sets.kind == "interval")).all()


# -- a fit whose sums are positive definite --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["interval", "outside", "everything"])
def test_a_set_holds_a_value_exactly_if_its_test_does_not_reject(by_kind, kind):
    fit = discreet.fit(by_kind[kind])
    random = np.random.default_rng(2)
    for name, ends in fit.conf_int(0.9).items():
        step = [1e-6 * (1 + abs(end)) for end in (ends.lower, ends.upper)]
        finite = [end for end in (ends.lower, ends.upper) if math.isfinite(end)]
        near = [end + sign * size for end, size in zip(finite, step, strict=False) for sign in (-1, 1)]
        for value in [*near, *random.normal(0, 100, 10), -1e7, 1e7]:
            (p,) = fit.t_test({name: value}).pvalue.values()
            assert (p >= 0.1) == ends.contains(value), (name, ends, value)


def test_the_gap_is_where_the_score_test_rejects(by_kind):
    """The ends of a gap against numeric inversion of the test."""
    fit = discreet.fit(by_kind["outside"])
    name, ends = next((name, ends) for name, ends in fit.conf_int().items() if ends.kind == "outside")

    def excess(value):
        (p,) = fit.t_test({name: value}).pvalue.values()
        return 0.05 - p

    middle = (ends.lower + ends.upper) / 2
    width = ends.upper - ends.lower
    assert excess(middle) > 0
    assert brentq(excess, ends.lower - width, middle) == pytest.approx(ends.lower, rel=1e-6)
    assert brentq(excess, middle, ends.upper + width) == pytest.approx(ends.upper, rel=1e-6)
    assert ends.contains(fit.params[name])


@pytest.mark.no_cover
def test_a_wider_level_never_excludes_more(by_kind):
    for release in by_kind.values():
        fit = discreet.fit(release)
        for value in np.linspace(-50, 50, 201):
            for name in fit.names:
                inside = [fit.conf_int(level)[name].contains(value) for level in (0.5, 0.9, 0.95, 0.999)]
                assert inside == sorted(inside)


@pytest.mark.parametrize("kind", ["outside", "everything"])
def test_errors_are_numbers_wherever_the_sums_are_positive_definite(by_kind, kind):
    fit = discreet.fit(by_kind[kind])
    for values in (fit.params, fit.bse, fit.tvalues, fit.score_z, fit.pvalues, fit.sampling_sd, fit.privacy_sd):
        assert np.isfinite(np.asarray(values)).all()
    np.testing.assert_allclose(np.asarray(fit.tvalues), np.asarray(fit.params) / np.asarray(fit.bse), rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.cov_params())), np.asarray(fit.bse), rtol=1e-10)
    low, high = fit.rsquared_conf_int()
    assert 0 <= low < high <= 1
    with pytest.raises(NotEstimableError, match="unbounded"):
        np.asarray(fit.conf_int())


@pytest.mark.parametrize("kind", ["outside", "everything"])
def test_an_unbounded_coefficient_is_bracketed_wherever_it_is_shown(by_kind, kind):
    fit = discreet.fit(by_kind[kind])
    words = {"outside": "not between", "everything": "any"}[kind]
    name = next(name for name, ends in fit.conf_int().items() if ends.kind == kind)
    value, bare = fit.params[name], f"{fit.params[name]:.6g}"
    assert len(bare) > 5, "the test needs digits to hide"
    for shown in (fit.summary(), repr(fit.params), fit._repr_html_(), repr(fit.t_test({name: 0.0}))):
        assert f"[{rough(value)}]" in shown
        assert bare not in shown
    text = " ".join(fit.summary().split())
    line = next(line for line in fit.summary().splitlines() if line.startswith(f"{name} "))
    assert words in line
    assert "Estimates in brackets are unreliable" in text
    assert "the release is too noisy to rule out any value; " in text
    assert "nan" not in text.lower()
    assert "inf" not in text.replace("information", "")
    told = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert told["params"][name] == value
    assert told["conf_int"][name]["kind"] == kind
    assert (told["conf_int"][name]["lower"] is None) == (kind == "everything")
    assert "too noisy to rule out" in told["reasons"][name]
    frame = fit.to_frame().to_pydict()
    index = frame["coefficient"].index(name)
    assert frame["kind"][index] == kind
    assert math.isfinite(frame["low"][index]) == (kind == "outside")
    assert frame["std_error"][index] is None


def rounded(value):
    """A number in every form that a table may print."""
    return {f"{value:.{digits}g}" for digits in (2, 3, 4, 5, 6)} | {rough(value), significant(value, 4), number(value)}


@pytest.mark.parametrize("kind", ["outside", "everything"])
def test_no_standard_error_or_t_value_stands_beside_an_unbounded_set(by_kind, kind):
    fit = discreet.fit(by_kind[kind])
    sets = fit.conf_int()
    weak = [name for name, ends in sets.items() if not ends.bounded]
    told, frame, tidy = fit.to_dict(), fit.to_frame().to_pylist(), list(fit.tidy())
    page = render(report_view(by_kind[kind], fit))
    written = {name: fit.table().written(name) for name in ("text", "md", "tex", "html")}
    errors = {name: discreet.table([fit, fit]).written(name) for name in ("text", "tex")}
    test = fit.t_test(dict.fromkeys(fit.names, 0.0))
    shown = {"summary": fit.summary(), "notebook": fit._repr_html_(), "page": page, "test": test._repr_html_()}
    shown |= written | {f"{name} of two": text for name, text in errors.items()}
    for index, name in enumerate(fit.names):
        values = (told["bse"][name], told["tvalues"][name], told["sampling_sd"][name], told["privacy_sd"][name])
        more = (frame[index]["std_error"], frame[index]["t"], tidy[index]["std.error"], tidy[index]["privacy.sd"])
        assert {value is None for value in (*values, *more)} == {name in weak}, name
        # the attribute is the root of the sandwich variance whatever the set is
        assert math.isfinite(fit.bse[name])
        for where, text in shown.items():
            cells = set(re.split(r"[\s<>&|(){}$]+", text.replace(",", "")))
            found = rounded(fit.bse[name]) & cells
            assert bool(found) == (name not in weak), (where, name, found)


def test_a_prediction_has_no_standard_error_beside_an_unbounded_set(by_kind):
    fit = discreet.fit(by_kind["everything"])
    frame = fit.get_prediction(ROWS).summary_frame().to_pydict()
    kinds = frame["mean_ci_kind"]
    assert "everything" in kinds or "outside" in kinds
    for error, kind in zip(frame["mean_se"], kinds, strict=True):
        assert (error is None) == (kind != "interval")


@pytest.mark.parametrize("kind", ["interval", "outside", "everything"])
def test_intervals_beside_unbounded_sets_are_called_a_selection(by_kind, kind):
    fit = discreet.fit(by_kind[kind])
    kinds = {ends.bounded for ends in fit.conf_int().values()}
    words = SELECTION.format(level="95%")
    page = " ".join(html.unescape(render(report_view(by_kind[kind], fit))).split())
    shown = [" ".join(fit.summary().split()), page, html.unescape(fit._repr_html_()), fit.table().written("md")]
    for text in (*shown, " ".join(fit.to_dict()["notes"])):
        assert (words in text) == (len(kinds) == 2)


def test_a_bounded_coefficient_is_shown_as_it_was(by_kind):
    fit = discreet.fit(noisy(0.5, 0))
    assert {ends.kind for ends in fit.conf_int().values()} == {"interval"}
    assert "[" not in repr(fit.params)
    assert "Estimates in brackets" not in fit.summary()
    low, high = fit.conf_int()["x"]
    assert fit.to_dict()["conf_int"]["x"] == {"kind": "interval", "lower": low, "upper": high}
    assert np.asarray(fit.conf_int()).shape == (4, 2)
    assert fit.to_dict()["reasons"] == {}


# -- sums that are not positive definite -----------------------------------------------------------------------------


def test_indefinite_sums_exclude_no_value(by_kind):
    fit = discreet.fit(by_kind["indefinite"])
    assert not fit.estimable
    for values in (fit.params, fit.bse, fit.tvalues, fit.score_z, fit.sampling_sd, fit.privacy_sd, fit.privacy_share):
        assert all(isinstance(value, NotEstimable) for value in values.values())
        assert "not positive definite" in values["x"].reason
    assert set(fit.pvalues.values()) == {1.0}
    for sets in (fit.conf_int(), fit.conf_int(simultaneous="max-t"), fit.conf_int(alpha=0.5)):
        assert {ends.kind for ends in sets.values()} == {"everything"}
        assert "not positive definite" in sets["x"].reason
    assert tuple(fit.rsquared_conf_int()) == (0.0, 1.0)
    assert isinstance(fit.rsquared, NotEstimable)
    assert isinstance(fit.cov_params(), NotEstimable)
    assert fit.interval_target == "least squares"
    test = fit.t_test("x = 0, w = flag")
    assert set(test.pvalue.values()) == {1.0}
    assert {ends.kind for ends in test.conf_int().values()} == {"everything"}
    assert isinstance(test.effect["x = 0"], NotEstimable)
    joint = fit.f_test("x = 0, w = 0")
    assert isinstance(joint.statistic, NotEstimable)
    assert joint.pvalue == 1.0


@pytest.mark.parametrize("use", ["predict", "predict_arrays", "get_prediction", "coefficients", "scaled_coefficients"])
def test_what_needs_coefficients_refuses_and_names_the_penalised_call(by_kind, use):
    fit = discreet.fit(by_kind["indefinite"])
    arrays = [np.array(values, dtype=float) for values in ROWS.values()]
    calls = {
        "predict": lambda: fit.predict(ROWS),
        "predict_arrays": lambda: fit.predict_arrays(arrays),
        "get_prediction": lambda: fit.get_prediction(ROWS),
    }
    call = calls.get(use, lambda: getattr(fit, use))
    with pytest.raises(NotEstimableError, match="pass penalty='bayes'"):
        call()
    again = discreet.fit(by_kind["indefinite"], penalty="bayes")
    assert np.isfinite(again.predict(ROWS)).all()


def test_an_indefinite_fit_is_shown_with_its_count_first(by_kind):
    fit = discreet.fit(by_kind["indefinite"])
    lines = fit.summary().splitlines()
    assert lines[1].startswith("Rows:     about ")
    assert f"(noisy count, standard deviation {fit.nobs_sd:.3g})" in lines[1]
    rows = [" ".join(line.split()) for line in lines if line.split(" ")[0] in NAMES]
    assert rows == [f"{name} not estimable - - 1.000 any value -" for name in NAMES]
    text = " ".join(fit.summary().split())
    # how many rows would help is said for each on its own
    said = re.findall(r"No value can be ruled out \(([^)]*)\): the released sums of products are not positive", text)
    assert sorted(", ".join(said).split(", ")) == sorted(NAMES)
    assert "Estimates in brackets" not in text
    told = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert next(iter(told)) == "nobs"
    assert told["nobs_sd"] == fit.nobs_sd
    assert told["estimable"] is False
    assert set(told["params"].values()) == set(told["bse"].values()) == {None}
    assert set(told["pvalues"].values()) == {1.0}
    assert told["conf_int"]["x"] == {"kind": "everything", "lower": None, "upper": None}
    assert told["rsquared_conf_int"] == {"kind": "interval", "lower": 0.0, "upper": 1.0}
    assert "not estimable" in repr(fit.params)
    assert "any value" in repr(fit.conf_int())
    frame = fit.to_frame().to_pydict()
    assert frame["estimate"] == [None] * 4
    assert frame["kind"] == ["everything"] * 4
    assert frame["p"] == [1.0] * 4


def test_a_column_that_is_a_combination_of_others_is_not_estimable_without_noise_either():
    data = table(50)
    release = made(Design("y", {**COLUMNS, "v": (2, 6)}), {**data, "v": data["x"]}).release
    fit = discreet.fit(release)
    assert not fit.estimable
    assert {ends.kind for ends in fit.conf_int().values()} == {"everything"}
    assert discreet.fit(release, features=["x", "w"]).estimable


def test_a_model_that_a_penalty_cannot_save_returns_too():
    """Without noise nothing is repaired, and the adaptive rule adds no ridge to columns that repeat each other."""
    data = table(50)
    release = made(Design("y", {**COLUMNS, "v": (2, 6)}), {**data, "v": data["x"]}).release
    fit = discreet.fit(release, penalty="adaptive")
    assert not fit.estimable
    assert {ends.kind for ends in fit.conf_int().values()} == {"everything"}
    assert fit.interval_target == "penalised"


def test_residuals_are_taken_from_the_adaptive_ridge_where_least_squares_has_no_coefficients(by_kind):
    weak = by_kind["indefinite"]
    assert residual_plan(weak).coefficients == tuple(
        discreet.fit(weak, penalty="adaptive").scaled_coefficients.tolist()
    )
    good = noisy(0.5, 0)
    assert residual_plan(good).coefficients == tuple(discreet.fit(good).scaled_coefficients.tolist())


def test_a_robust_release_of_too_few_rows_is_made_and_fitted():
    """Thirteen sums of squares of noise alone are positive definite with a probability of about 1e-20."""
    random = np.random.default_rng(3)
    names = [f"x{j}" for j in range(12)]
    rows = {name: random.uniform(-1, 1, 60).tolist() for name in (*names, "y")}
    design = Design("y", dict.fromkeys((*names, "y"), (-1, 1)))
    release = discreet.release(rows, design, epsilon=0.2, delta=1e-6, robust=True)
    fit = discreet.fit(release)
    assert not fit.estimable
    assert {ends.kind for ends in fit.robust().conf_int().values()} == {"everything"}


# -- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("obs", [False, True])
def test_predictions_have_a_set_for_each_row(by_kind, obs):
    kinds = set()
    for release in (*by_kind.values(), noisy(0.5, 0), noisy(12.0, 1), noisy(12.0, 2)):
        fit = discreet.fit(release)
        if not fit.estimable:
            continue
        prediction = fit.get_prediction(ROWS)
        sets = prediction.conf_int(obs=obs)
        frame = prediction.summary_frame().to_pydict()
        stem = "obs_ci" if obs else "mean_ci"
        for row, one in enumerate(sets):
            kinds.add(one.kind)
            assert one.contains(prediction.predicted_mean[row])
            assert (one.kind, one.lower, one.upper) == (sets.kind[row], sets.lower[row], sets.upper[row])
            assert frame[f"{stem}_kind"][row] == one.kind
            assert frame[f"{stem}_lower"][row] == one.lower
            assert (one.reason is None) == one.bounded
        assert np.isfinite(prediction.se_mean).all()
        if obs:
            assert all(
                wide.contains(end)
                for wide, mean in zip(sets, prediction.conf_int(), strict=True)
                for end in (mean.lower, mean.upper)
                if mean.kind == wide.kind == "interval"
            )
    assert {"interval"} < kinds


def test_sets_of_predictions_are_arrays_only_if_all_are_intervals(by_kind):
    fit = discreet.fit(noisy(0.5, 0))
    sets = fit.get_prediction(ROWS).conf_int()
    ends = np.asarray(sets)
    assert ends.shape == (2, 2)
    assert [tuple(one) for one in sets] == [tuple(row) for row in ends]
    assert sets[-1] == sets[1] == sets[:][1]
    assert sets[:, 1].tolist() == ends[:, 1].tolist()
    assert sets[1, 0] == ends[1, 0]
    assert repr(sets) == f"{sets[0]}\n{sets[1]}"
    for release in by_kind.values():
        weak = discreet.fit(release)
        if weak.estimable and not weak.get_prediction(ROWS).conf_int()[0].bounded:
            with pytest.raises(NotEstimableError, match=r"row 0 has no bounded interval .*too noisy to rule out"):
                np.asarray(weak.get_prediction(ROWS).conf_int())
            break
    else:
        raise AssertionError("no release has an unbounded prediction")


# -- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["interval", "outside", "everything"])
@pytest.mark.parametrize("claim", ["x = 0", "x = w", "Intercept + 3 * x = 7"])
def test_t_and_f_of_one_hypothesis_agree(by_kind, kind, claim):
    fit = discreet.fit(by_kind[kind])
    one, joint = fit.t_test(claim), fit.f_test(claim)
    assert joint.statistic == pytest.approx(one.score_z[claim] ** 2, rel=1e-8)
    assert joint.pvalue == pytest.approx(one.pvalue[claim], rel=1e-8)
    assert one.tvalue[claim] == pytest.approx((one.effect[claim] - float(claim.endswith("7") * 7)) / one.sd[claim])


def test_a_joint_test_does_not_depend_on_how_its_hypotheses_are_written(by_kind):
    for kind in ("interval", "outside", "everything"):
        fit = discreet.fit(by_kind[kind])
        one, two = fit.f_test("x = 1, w = 2"), fit.f_test("x + w = 3, 1000*x - 1000*w = -1000")
        assert one.statistic == pytest.approx(two.statistic, rel=1e-6)
        assert one.df_num == 2


def test_a_joint_test_uses_the_covariance_under_the_hypothesis(by_kind):
    """By hand: the noise is that of the sums at theta0, which is not where the sandwich has it."""
    fit = discreet.fit(noisy(5.0, 0))
    score, equations = fit._score, fit._inputs.basis.equations
    L = np.eye(4)[[1, 2]] @ unit_map(fit._inputs.units)
    d = np.asarray(fit.params)[[1, 2]] - [3.0, 4.0]
    theta = fit.scaled_coefficients
    theta0 = theta - score.covariance @ L.T @ np.linalg.solve(L @ score.covariance @ L.T, d)
    assert unit_map(fit._inputs.units)[[1, 2]] @ theta0 == pytest.approx([3.0, 4.0])
    t, T = np.append(-theta0, 1.0), equations.block_sd**2
    cov = np.diag(T @ t**2) + np.outer(t, t) * T - np.diag(np.diag(T) * t**2)
    H = np.linalg.inv(equations.A)
    S = score.s2 * H + H @ cov[:-1, :-1] @ H
    expected = d @ np.linalg.solve(L @ S @ L.T, d)
    assert joint_score(score, L, d).statistic == pytest.approx(expected, rel=1e-8)
    # what is open about the other two coefficients can only take away from it
    assert 0 < fit.wald_test("x = 3, w = 4", use_f=False).statistic < expected
    wald = d @ np.linalg.solve(L @ score.covariance @ L.T, d)
    assert abs(wald / expected - 1) > 0.01, "the test needs the two to differ"


# -- levels ----------------------------------------------------------------------------------------------------------


def asked(fit):
    prediction = fit.get_prediction(ROWS)
    return [
        fit.conf_int,
        fit.t_test("x = 0").conf_int,
        prediction.conf_int,
        prediction.summary_frame,
        fit.rsquared_conf_int,
        fit.table_conf_int,
        fit.to_frame,
        lambda *a, **k: fit.conf_int(*a, simultaneous="bonferroni", **k),
    ]


def test_alpha_and_level_by_name_mean_the_same():
    for call in asked(discreet.fit(noisy(0.5, 0))):
        for level, alpha in ((0.95, 0.05), (0.9, 0.1), (0.68, 0.32), (0.999, 0.001)):
            assert repr(call(alpha=alpha)) == repr(call(level=level)) == repr(call(level))
        assert repr(call()) == repr(call(0.95)) == repr(call(alpha=0.05))
    fit = discreet.fit(noisy(0.5, 0))
    assert fit.conf_int(alpha=0.1)["x"] == fit.conf_int(level=0.9)["x"] != fit.conf_int()["x"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": 0.05}, r"from 0\.5 to below 1 for level, got 0\.05; pass level=0\.95, or pass alpha=0\.05$"),
        ({"level": 0.1}, r"level=0\.9, or pass alpha=0\.1$"),
        ({"level": 0.49999}, r"level=0\.50001, or pass alpha=0\.49999$"),
        ({"alpha": 0.95}, r"at most 0\.5 for alpha, got 0\.95; pass level=0\.95, or pass alpha=0\.05$"),
        ({"level": 0.95, "alpha": 0.05}, r"both level=0\.95 and alpha=0\.05"),
        ({"alpha": 0}, "for alpha, got 0;"),
        ({"alpha": 1e-18}, "for alpha, got 1e-18;"),
        *[({"level": bad}, "from 0.5 to below 1 for level, got ") for bad in (0, 1, -0.1, 95, "0.95", True, math.nan)],
        *[({"alpha": bad}, "at most 0.5 for alpha, got ") for bad in (1, -0.1, 5, "0.05", True, math.nan)],
    ],
)
def test_a_level_that_is_probably_an_alpha_is_refused_with_both_spellings(given, message):
    for call in asked(discreet.fit(noisy(0.5, 0))):
        with pytest.raises(SpecError, match=message):
            call(**given)
    if set(given) == {"level"}:
        with pytest.raises(SpecError, match=message):
            discreet.fit(noisy(0.5, 0)).conf_int(given["level"])


# -- t and the score -------------------------------------------------------------------------------------------------


def test_t_is_coefficient_over_error_and_p_comes_from_the_score():
    fit = discreet.fit(noisy(5.0, 0))
    from discreet.releases.reference_distribution import tail_probability

    for name in fit.names:
        assert fit.tvalues[name] == pytest.approx(fit.params[name] / fit.bse[name], rel=1e-12)
        plain = tail_probability(fit.score_z[name], "gaussian", fit.df_resid)
        kappa = fit._contrasts.nuisances[fit.names.index(name)].kappa
        assert fit.pvalues[name] == pytest.approx(reference_tail(plain, kappa, 1))
    assert abs(fit.score_z["x"] / fit.tvalues["x"] - 1) > 0.01, "the test needs the two to differ"
    told, frame = fit.to_dict(), fit.to_frame().to_pydict()
    assert told["score_z"] == dict(fit.score_z)
    assert told["tvalues"] == dict(fit.tvalues)
    assert frame["t"] == list(fit.tvalues.values())
    assert frame["score_z"] == list(fit.score_z.values())
    assert "p-values and confidence sets come from a score test (score_z)" in " ".join(fit.summary().split())
    line = next(line for line in fit.summary().splitlines() if line.startswith("x "))
    assert f" {fit.tvalues['x']:.4g} " in line
