"""Releases that are NOT PRIVATE run through the line of `discreet.release`, with another source of noise."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import discreet
from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanisms
from discreet.options import ReleaseOptions, RobustErrors
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import Release
from discreet.testing.not_private import SeededSampler, exact_release, seeded_release
from discreet.workflow import release_with

DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 10)})
TABLE = {"x": [0.5, 0.25, 0.125] * 20, "y": [1.0, 2.0, 3.0] * 20}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
# what the noise changes, and what marks a release as NOT PRIVATE
DRAWN = {"totals", "scalars", "coefficients", "residuals"}
MARKS = {"guarantee", "mechanism", "mechanism_version", "noise"}


def common(release: Release) -> dict[str, object]:
    return {one.name: getattr(release, one.name) for one in fields(Release) if one.name not in DRAWN | MARKS}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", mechanisms())
def test_a_seeded_release_is_the_private_one_but_for_its_noise_and_its_marks(name):
    budget = BUDGET if mechanisms()[name].info.notion == "approximate" else {"epsilon": 1.0}
    private = discreet.release(TABLE, DESIGN, mechanism=name, **budget)
    seeded = seeded_release(TABLE, DESIGN, seed=1, mechanism=name, **budget)
    plain, drawn = ({k: v for k, v in common(made).items() if k != "staged"} for made in (seeded, private))
    assert plain == drawn
    assert seeded.kind == private.kind
    assert (seeded.noise.sigma, seeded.noise.parameters) == (private.noise.sigma, private.noise.parameters)
    assert (seeded.private, seeded.mechanism, seeded.noise.calibration) == (False, f"{name}-seeded", "none")


def test_robust_seeded_releases_repeat_and_follow_the_declared_bound():
    gaussian = BUDGET | {"mechanism": "gaussian"}
    one, two, other = (seeded_release(TABLE, DESIGN, seed=s, robust=True, **gaussian) for s in (1, 1, 2))
    assert one == two
    assert one.residuals is not None
    assert one.residuals.totals != other.residuals.totals
    bounded = seeded_release(TABLE, DESIGN, seed=1, robust=RobustErrors(residual_bound=2.0), **BUDGET)
    assert bounded.totals == one.totals
    assert bounded.residuals.bound == 2.0 / 5.0
    assert not bounded.private
    assert discreet.fit(one).robust().is_robust


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"robust": "sturdy"}, "robust"),
        ({"robust": RobustErrors(residual_bound=1e9)}, "residual bound"),
        ({"robust": True, "mechanism": "laplace"}, "need the mechanism 'gaussian'"),
        ({"robust": True, "delta": 0.0}, "delta"),
        ({"settings": {"bins": 3}}, "no settings"),
    ],
)
def test_a_seeded_release_refuses_what_a_private_one_refuses(options, message):
    words = []
    for make in (discreet.release, lambda *given, **more: seeded_release(*given, seed=1, **more)):
        with pytest.raises(SpecError, match=message) as caught:
            make(TABLE, DESIGN, **{**BUDGET, **options})
        words.append(str(caught.value))
    assert words[0] == words[1]


def test_no_promise_comes_with_noise_that_is_not_private():
    made = release_with(
        SeededSampler(1),
        TABLE,
        DESIGN,
        PrivacyBudget(**BUDGET),
        ReleaseOptions(mechanism="gaussian"),
    )
    assert made.guarantee is None
    assert not made.private


def test_exact_sums_and_a_budget_without_end_agree():
    near = seeded_release(TABLE, DESIGN, seed=1, epsilon=1e9, delta=1e-6, mechanism="gaussian")
    assert np.allclose(near.moments, exact_release(TABLE, DESIGN).moments, atol=1e-3)
