"""Which mechanism is taken when the choice is left to us, and what is refused before data."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import discreet
from discreet.design.design import Design
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.registry import NOT_OFFERED, chosen_mechanism, mechanisms, predicted_error
from discreet.options import ReleaseOptions, RobustErrors
from discreet.privacy.budget import PrivacyBudget

BOX = {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}


def taken(delta, **declared) -> str:
    design = Design("y", BOX, **declared)
    return chosen_mechanism(design, PrivacyBudget(1.0, delta))[0].name


def test_auto_is_staged_with_delta_and_the_pure_one_of_less_error_without():
    assert taken(1e-6) == "staged"
    assert taken(1e-6, intercept=False, unit={"neighbours": "replace"}) == "staged"
    assert taken(1e-6, unit={"id": "person", "max_rows": 3}) == "staged"
    assert taken(0.0) == "k-norm"
    assert taken(0.0, unit={"neighbours": "replace"}) == "laplace"
    assert taken(0.0, radius=0.5, unit={"neighbours": "replace"}) == "k-norm"


@pytest.mark.parametrize(
    ("declared", "options", "expected"),
    [
        ({}, {}, "staged"),
        ({"unit": {"neighbours": "replace"}}, {}, "staged"),
        ({"unit": {"id": "who", "max_rows": 1}}, {}, "staged"),
        ({}, {"mechanism": "gaussian"}, "gaussian"),
        # what staged does not serve
        ({"unit": {"id": "who", "max_rows": 2}}, {}, "gaussian"),
        ({"radius": 0.5}, {}, "gaussian"),
        ({"weights": "z"}, {}, "gaussian"),
        ({}, {"clip_counts": True}, "gaussian"),
        ({}, {"robust": RobustErrors(models=["y ~ x"])}, "gaussian"),
        ({}, {"robust": RobustErrors(residual_bound=0.5)}, "gaussian"),
    ],
)
def test_auto_takes_staged_for_robust_errors_where_it_serves(declared, options, expected):
    columns = BOX | ({"z": (0, 1)} if "weights" in declared else {})
    asked = ReleaseOptions(**({"robust": True} | options))
    mechanism, _, noise = chosen_mechanism(Design("y", columns, **declared), PrivacyBudget(1.0, 1e-6), asked)
    assert mechanism.name == expected
    assert ("score_diagonal" in noise.sigma) == (expected == "staged")


WITHOUT_STAGED = {
    "radius": ({"radius": 0.5}, {}, "leave the radius out, or use mechanism 'gaussian'"),
    "weights": ({"columns": BOX | {"w": (0, 2)}, "weights": "w"}, {}, 'use mechanism="gaussian", or leave out the wei'),
    "clip counts": ({}, {"clip_counts": True}, "needs one of the mechanisms 'gaussian' and 'laplace', got 'staged'"),
    "clustered errors": ({"unit": {"id": "who", "max_rows": 2}}, {"robust": True}, "use mechanism 'gaussian', whose"),
}


@pytest.mark.parametrize("what", WITHOUT_STAGED)
def test_auto_is_gaussian_where_staged_is_refused_and_the_refusal_says_what_serves(what):
    declared, options, message = WITHOUT_STAGED[what]
    design = Design("y", **{"columns": BOX} | declared)
    budget = PrivacyBudget(1.0, 1e-6)
    assert chosen_mechanism(design, budget, ReleaseOptions(**options))[0].name == "gaussian"
    with pytest.raises(SpecError) as refused:
        chosen_mechanism(design, budget, ReleaseOptions(mechanism="staged", **options))
    assert message in str(refused.value)


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}])
def test_what_auto_takes_has_the_smaller_predicted_error(unit):
    design = Design("y", BOX, unit=unit)
    errors = {
        name: predicted_error(chosen_mechanism(design, PrivacyBudget(1.0), ReleaseOptions(mechanism=name))[2], 4)
        for name in ("laplace", "k-norm")
    }
    assert taken(0.0, unit=unit) == min(errors, key=errors.get)


def test_without_delta_a_release_simply_works_and_promises_none():
    release = discreet.release({"x": [0.5] * 9, "z": [0.1] * 9, "y": [0.2] * 9}, Design("y", BOX), epsilon=1.0)
    assert release.guarantee.delta == 0
    assert release.mechanism == "k-norm"


@pytest.mark.parametrize("name", ["laplace", "ssp", "irls"])
def test_robust_standard_errors_come_with_gaussian_and_staged_only(name):
    with pytest.raises(SpecError, match=f"need the mechanism 'gaussian' or 'staged', got '{name}'"):
        discreet.release("no such file.csv", Design("y", BOX), epsilon=1.0, delta=1e-6, mechanism=name, robust=True)


def test_a_line_that_would_miss_the_origin_is_refused_before_data():
    lopsided = Design("y", BOX | {"x": (0, 1)}, intercept=False)
    with pytest.raises(SpecError, match="needs bounds symmetric around 0"):
        discreet.release("no such file.csv", lopsided, epsilon=1.0, delta=1e-6, mechanism="irls")
    assert lopsided.needs_sums
    assert not Design("y", BOX, intercept=False).needs_sums


@pytest.mark.parametrize("name", ["DPME", "Gaussian", "K-Norm", "AUTO"])
def test_a_name_in_other_letters_gets_a_suggestion(name):
    with pytest.raises(SpecError, match=f"Did you mean '{name.lower()}'"):
        discreet.release("no such file.csv", Design("y", BOX), epsilon=1.0, delta=1e-6, mechanism=name)


@pytest.mark.parametrize("name", ["posterior", "Posterior"])
def test_a_known_method_that_is_not_offered_says_why_and_what_to_take(name):
    with pytest.raises(SpecError, match=r"'posterior' is not offered, because .*exact.*; use 'objective'") as caught:
        discreet.release("no such file.csv", Design("y", BOX), epsilon=1.0, delta=1e-6, mechanism=name)
    assert "unknown" not in str(caught.value)
    assert NOT_OFFERED.keys().isdisjoint(mechanisms())


@pytest.mark.parametrize(
    ("name", "settings"),
    [("laplace", {}), ("k-norm", {}), ("functional", {}), ("dpme", {}), ("frank-wolfe", {"iterations": 1})],
)
def test_a_delta_that_is_not_used_is_told(name, settings):
    table = {"x": [0.5] * 9, "z": [0.1] * 9, "y": [0.2] * 9}
    words = f"the mechanism '{name}' does not use delta = 1e-06.*guarantees delta = 0; leave delta out"
    with pytest.warns(PrivacyNotice, match=words) as told:
        release = discreet.release(table, Design("y", BOX), epsilon=1.0, delta=1e-6, mechanism=name, settings=settings)
    assert [Path(one.filename).name for one in told] == ["test_choice.py"]
    assert release.guarantee.delta == 0


@pytest.mark.parametrize(
    ("name", "settings"),
    [("auto", {}), ("gaussian", {}), ("dpme", {"noise": "gaussian"}), ("frank-wolfe", {"iterations": 100})],
)
def test_a_delta_that_is_used_brings_no_notice(name, settings):
    table = {"x": [0.5] * 9, "z": [0.1] * 9, "y": [0.2] * 9}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = discreet.release(table, Design("y", BOX), epsilon=1.0, delta=1e-6, mechanism=name, settings=settings)
    assert release.guarantee.delta == 1e-6


@pytest.mark.parametrize("name", ["gaussian", "ssp", "adassp", "gradient", "objective", "output"])
def test_a_mechanism_that_needs_delta_is_named_with_those_that_do_without(name):
    with pytest.raises(SpecError) as caught:
        discreet.release("no such file.csv", Design("y", BOX), epsilon=1.0, mechanism=name)
    message = str(caught.value)
    assert message.startswith(f"the mechanism '{name}' needs delta above 0, for instance delta = 1e-6; got delta = 0")
    without = {other for other in mechanisms() if f"'{other}'" in message} - {name}
    own = mechanisms()[name].kind
    pure = {"coefficients": {"dpme", "frank-wolfe", "irls"}, "moments": {"laplace", "k-norm", "functional"}}
    assert without == pure[own]
    for other in without:
        assert mechanisms()[other].kind == own
        design = Design("y", BOX)
        assert chosen_mechanism(design, PrivacyBudget(1.0), ReleaseOptions(mechanism=other))[0].name == other


def test_robust_standard_errors_without_delta_are_refused_with_no_mechanism_in_their_place():
    with pytest.raises(SpecError, match="robust standard errors need delta above 0") as caught:
        discreet.release("no such file.csv", Design("y", BOX), epsilon=1.0, robust=True)
    assert "laplace" not in str(caught.value)


def test_wishart_says_itself_why_it_needs_delta():
    with pytest.raises(SpecError, match="published claim that Wishart noise satisfies pure DP is false"):
        discreet.release("no such file.csv", Design("y", BOX), epsilon=1.0, mechanism="wishart")


def test_a_setting_that_needs_delta_is_told_too():
    with pytest.raises(SpecError, match=r"Gaussian noise needs delta above 0.*choose other noise or another mechanism"):
        discreet.release(
            "no such file.csv", Design("y", BOX), epsilon=1.0, mechanism="dpme", settings={"noise": "gaussian"}
        )


@pytest.mark.parametrize(
    ("epsilon", "delta", "options"),
    [(1.0, 1e-6, {}), (1.0, 0.0, {"mechanism": "laplace"}), (0.01, 1e-6, {"clip_counts": True})],
)
def test_a_grid_that_is_too_fine_is_refused_with_the_finest_that_works(epsilon, delta, options):
    design = Design("y", {**{f"x{j}": (-1, 1) for j in range(20)}, "y": (-1, 1)})

    def distribution(grid_bits):
        return discreet.planning.noise_distribution_for(design, epsilon, delta, grid_bits=grid_bits, **options)

    with pytest.raises(
        SpecError, match=r"at grid_bits = 26; choose grid_bits from 8 to \d+, or raise epsilon"
    ) as found:
        distribution(26)
    finest = int(re.search(r"8 to (\d+)", str(found.value))[1])
    assert found.value.exit_code == 2
    assert distribution(finest).grid_bits == finest
    with pytest.raises(SpecError, match=f"choose grid_bits from 8 to {finest},"):
        distribution(finest + 1)


def test_noise_that_no_grid_holds_is_refused_without_one():
    design = Design("y", BOX)
    with pytest.raises(SpecError, match="raise epsilon, because no value of grid_bits is small enough for this noise"):
        chosen_mechanism(design, PrivacyBudget(1e-12), ReleaseOptions(mechanism="laplace"))
