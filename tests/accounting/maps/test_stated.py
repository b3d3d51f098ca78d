"""What a distribution cannot have is refused in words, whatever the mechanism."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.design.design import Design
from discreet.errors import SpecError
from support.loss_cases import one_case

BROKEN = {
    "family": (
        lambda distribution: replace(distribution, family="discrete-laplace"),
        "the noise family must be 'discrete-gaussian' for this mechanism, got 'discrete-laplace'",
    ),
    "account": (
        lambda distribution: replace(distribution, calibration="pure"),
        "for this mechanism, got 'pure'",
    ),
    "missing": (
        lambda distribution: replace(distribution, sigma={k: v for k, v in distribution.sigma.items() if k != "cross"}),
        "scale 'cross'",
    ),
    "unknown": (
        lambda distribution: replace(distribution, sigma={**distribution.sigma, "mean": 5}),
        "takes no scale 'mean', but the release states one",
    ),
    "parameter": (
        lambda distribution: replace(distribution, parameters={"degrees": 5}),
        "takes no parameter 'degrees', but the release states one",
    ),
    "no noise": (
        lambda distribution: replace(distribution, sigma={**distribution.sigma, "cross": 0}),
        "a noise scale from 1 to 2.100 steps for 'cross'",
    ),
    "count": (
        lambda distribution: replace(distribution, sigma={**distribution.sigma, "count": 0}),
        "must have noise unless the neighbouring relation makes it public",
    ),
    "too much": (
        lambda distribution: replace(distribution, sigma={**distribution.sigma, "cross": 2**101}),
        "a noise scale from 1 to 2.100 steps for 'cross'",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_distribution_that_the_mechanism_cannot_have_is_refused(what):
    change, message = BROKEN[what]
    case = one_case("gaussian")
    with pytest.raises(SpecError, match=message):
        case.loss_with(change(case.distribution))


def test_a_count_without_noise_is_for_public_counts_only():
    case = one_case("gaussian", Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"}))
    assert case.distribution.sigma["count"] == 0
    assert case.kept
    with pytest.raises(SpecError, match="must have noise unless the neighbouring relation makes it public"):
        case.loss_with(replace(case.distribution, sigma={**case.distribution.sigma, "count": 5}))


@pytest.mark.parametrize(
    ("name", "setting", "value", "message"),
    [
        ("ssp", "target_square", "yes", "expected true or false, got 'yes'"),
        ("gradient", "iterations", 2000, "expected a number from 1 to 1000, got 2000"),
        ("gradient", "iterations", 1.5, "expected an integer, got 1.5"),
        ("gradient", "iterations", True, "expected a number from 1 to 1000, got True"),
        ("irls", "form", "scores", "the setting 'form' must be 'score' or 'moment' for this mechanism, got 'scores'"),
        ("output", "bound", "1", "expected a number"),
    ],
)
def test_a_setting_of_another_type_or_range_is_refused(name, setting, value, message):
    case = one_case(name)
    with pytest.raises(SpecError, match=message):
        case.loss_with(case.distribution, **{setting: value})
