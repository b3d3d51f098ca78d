"""Which mechanism is taken when the choice is left to us, and what is refused before data."""

from __future__ import annotations

import pytest

import discreet
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.mechanisms.choice import chosen_mechanism, predicted_error
from discreet.privacy.budget import PrivacyBudget

BOX = {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}


def taken(delta, **declared) -> str:
    design = Design("y", BOX, **declared)
    return chosen_mechanism("auto", design, RowDomain.of(design), PrivacyBudget(1.0, delta))[0].name


def test_auto_is_gaussian_with_delta_and_the_pure_one_of_less_error_without():
    assert taken(1e-6) == "gaussian"
    assert taken(0.0) == "k-norm"
    assert taken(0.0, unit={"neighbours": "replace"}) == "laplace"
    assert taken(0.0, radius=0.5, unit={"neighbours": "replace"}) == "k-norm"


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}])
def test_what_auto_takes_has_the_smaller_predicted_error(unit):
    design = Design("y", BOX, unit=unit)
    errors = {
        name: predicted_error(chosen_mechanism(name, design, RowDomain.of(design), PrivacyBudget(1.0))[2], 4)
        for name in ("laplace", "k-norm")
    }
    assert taken(0.0, unit=unit) == min(errors, key=errors.get)


def test_without_delta_a_release_simply_works_and_promises_none():
    release = discreet.release({"x": [0.5] * 9, "z": [0.1] * 9, "y": [0.2] * 9}, Design("y", BOX), epsilon=1.0)
    assert release.guarantee.delta == 0
    assert release.mechanism == "k-norm"


@pytest.mark.parametrize("name", ["laplace", "ssp", "irls"])
def test_robust_standard_errors_come_with_gaussian_only(name):
    with pytest.raises(SpecError, match=f"'gaussian' only; '{name}' was asked for"):
        discreet.release(
            "no such file.csv", Design("y", BOX), epsilon=1.0, delta=1e-6, mechanism=name, moments="robust"
        )


def test_a_line_that_would_miss_the_origin_is_refused_before_data():
    lopsided = Design("y", BOX | {"x": (0, 1)}, intercept=False)
    with pytest.raises(SpecError, match="not symmetric around 0"):
        discreet.release("no such file.csv", lopsided, epsilon=1.0, delta=1e-6, mechanism="irls")
    assert lopsided.needs_sums
    assert not Design("y", BOX, intercept=False).needs_sums
