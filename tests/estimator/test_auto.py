"""What `mechanism="auto"` means for the estimator: one model for prediction, unless something asks for moments."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.errors import SpecError
from discreet.estimator import PrivateLinearRegression
from discreet.mechanisms.registry import predicting_mechanism
from discreet.testing.not_private import seeded_release

RANDOM = np.random.default_rng(4)
X = RANDOM.uniform(0, 1, (200, 2))
Y = X @ [1.0, 0.5]


def estimator(**changes):
    good = {"epsilon": 1.5, "delta": 1e-6, "bounds": (0, 1), "target_bounds": (0, 2)}
    return PrivateLinearRegression(**{**good, **changes})


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("changes", "mechanism", "penalty"),
    [
        ({}, "refined", "none"),
        ({"settings": {}}, "refined", "none"),
        ({"neighbours": "replace"}, "refined", "none"),
        ({"radius": 1.0}, "refined", "none"),
        ({"missing": "drop", "grid_bits": 12}, "refined", "none"),
        ({"bounds": {"x0": (0, 1), "x1": {"bounds": (0, 1), "missing": {"fill": 0}}}}, "refined", "none"),
        ({"fit_intercept": False, "bounds": (-1, 1), "target_bounds": (-2, 2)}, "refined", "none"),
        ({"penalty": "adaptive"}, "staged", "adaptive"),
        ({"penalty": "none"}, "staged", "none"),
        ({"penalty": "bayes"}, "staged", "bayes"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": 0.5}, "staged", "elastic-net"),
        ({"clip_counts": True}, "gaussian", "bayes"),
        ({"fit_intercept": False}, "staged", "bayes"),
        ({"fit_intercept": False, "radius": 1.0}, "gaussian", "bayes"),
        ({"delta": 0.0}, "k-norm", "bayes"),
        ({"delta": 0.0, "clip_counts": True}, "laplace", "bayes"),
        ({"mechanism": "gaussian"}, "gaussian", "bayes"),
        ({"mechanism": "irls"}, "irls", "none"),
        ({"mechanism": "irls", "penalty": "none"}, "irls", "none"),
    ],
)
def test_what_is_left_at_its_default_decides(changes, mechanism, penalty):
    model = estimator(**changes).fit(X, Y)
    assert (model.release_.mechanism, model.fit_.penalty) == (mechanism, penalty)
    assert model.fit_.fitted_inside == (model.release_.kind == "coefficients")
    assert np.isfinite(model.predict(X)).all()


def test_settings_ask_for_moments_which_have_none():
    with pytest.raises(SpecError, match="the mechanism 'staged' has no settings; leave out 'steps'"):
        estimator(settings={"steps": 3}).fit(X, Y)


@pytest.mark.parametrize("name", ["strength", "l1_ratio"])
def test_a_number_of_a_penalty_needs_the_penalty(name):
    model = estimator(**{name: 0.1})
    with pytest.raises(SpecError, match=f"{name}=0.1 has no effect without a penalty; pass a penalty that uses"):
        model.fit(X, Y)
    assert not hasattr(model, "release_")


def test_no_cell_has_a_say(monkeypatch):
    """Two tables with nothing in common but their columns get the same mechanism and the same distribution of the
    noise."""
    others = np.where(X > 0.5, 1e9, -1e9)
    first, second = estimator().fit(X, Y), estimator().fit(others[:3], [1e9, -5.0, 0.0])
    assert first.release_.mechanism == second.release_.mechanism == "refined"
    assert first.release_.noise == second.release_.noise
    seen = []
    monkeypatch.setattr(
        "discreet.estimator.regression.predicting_mechanism", lambda *given: seen.append(given) or "gaussian"
    )
    assert estimator().fit(X, Y).release_.mechanism == "gaussian"
    ((design, delta),) = seen
    assert isinstance(design, discreet.Design)
    assert delta == 1e-6


def test_release_keeps_moments():
    design = discreet.Design("y", {"y": (0, 2), "a": (0, 1), "b": (0, 1)})
    table = {"a": X[:, 0], "b": X[:, 1], "y": Y}
    assert predicting_mechanism(design, 1e-6) == "refined"
    assert discreet.release(table, design, epsilon=1.5, delta=1e-6).mechanism == "staged"


@pytest.mark.parametrize("penalty", ["ridge", "adaptive", "bayes"])
def test_one_published_model_cannot_be_penalised(penalty):
    model = estimator().fit(X, Y)
    before, coefficients = model.get_params(), model.coef_.copy()
    strength = 0.1 if penalty == "ridge" else None
    with pytest.raises(SpecError, match=f"got penalty='{penalty}', .*'refined'.* mechanism='gaussian'"):
        model.refit(penalty, strength=strength)
    assert model.get_params() == before
    np.testing.assert_array_equal(model.refit().coef_, coefficients)
    np.testing.assert_array_equal(model.refit("none").coef_, coefficients)


def test_refit_goes_by_the_release_that_is_there():
    model = estimator(mechanism="gaussian").fit(X, Y).set_params(mechanism="irls")
    assert model.refit("ridge", strength=0.1).fit_.penalty == "ridge"


def test_everything_about_errors_names_the_mechanism_that_has_them():
    fitted = estimator().fit(X, Y).fit_
    said = [
        *fitted.bse.values(), *fitted.conf_int().values(), *fitted.pvalues.values(), *fitted.tvalues.values(),
        fitted.cov_params(), fitted.rsquared, fitted.f_test("x0 = 0, x1 = 0").pvalue, fitted.t_test("x0 = 0"),
        " ".join(fitted.summary().split()),
    ]  # fmt: skip
    assert len(said) >= 15
    assert all("make a release with 'gaussian'" in str(one) for one in said)
    release = fitted.release
    for call in (
        lambda: release.moments,
        lambda: discreet.fit(release, penalty="bayes"),
        lambda: discreet.path(release),
        lambda: discreet.compare_models(release, ["y ~ x0", "y ~ x1"]),
    ):
        with pytest.raises(SpecError, match=r"release with (mechanism=)?'gaussian'"):
            call()


@pytest.mark.no_cover
def test_by_itself_it_predicts_better_than_from_moments_where_bounds_are_wide():
    """Errors of ten releases each, with seeds: the median falls to less than half."""
    rng = np.random.default_rng(11)
    x = rng.normal(0, 1, (5000, 5))
    y = x @ [1.0, -1.0, 0.5, 0.5, 0.0] + rng.normal(0, 1, 5000)
    design = discreet.Design("y", {"y": (-40, 40), **{f"x{k}": (-20, 20) for k in range(5)}})
    table = {f"x{k}": x[:, k] for k in range(5)} | {"y": y}

    def error(mechanism, penalty, seed):
        made = seeded_release(table, design, seed=seed, epsilon=1.0, delta=1e-6, mechanism=mechanism)
        return np.mean((discreet.fit(made, penalty=penalty).predict(table) - y) ** 2) - 1

    chosen = predicting_mechanism(design, 1e-6)
    assert chosen == "refined"
    by_itself = np.median([error(chosen, "none", seed) for seed in range(10)])
    assert by_itself < np.median([error("gaussian", "bayes", seed) for seed in range(10)]) / 2
