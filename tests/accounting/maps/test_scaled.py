"""The map of privately scaled moments: what is charged, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.privacy_maps import loss_of
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from
from discreet.release_request import ReleaseRequest

DESIGN = Design("y", {"x": (-1, 1), "z": (0, 5), "b": bool, "y": (-1, 1)})


def distribution_of(design=DESIGN, robust=False):
    return ReleaseRequest.checked(
        design, PrivacyBudget(1.0, 1e-6), ReleaseOptions(mechanism="gaussian", robust=robust, scaling="private")
    ).distribution


def loss(distribution, design=DESIGN):
    return loss_of("gaussian", design, distribution, {}, 1.0, 1e-6)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "p", "max_rows": 3}])
def test_the_noise_keeps_its_promise_and_hardly_more(robust, unit):
    design = Design("y", DESIGN.columns, unit=unit)
    found = loss(distribution_of(design, robust), design)
    assert 0.98 * mu_from(1.0, 1e-6) <= found.mu <= mu_from(1.0, 1e-6)
    assert found.delta <= 1e-6


@pytest.mark.parametrize("robust", [False, True])
def test_less_noise_on_any_statistic_costs_more(robust):
    distribution = distribution_of(robust=robust)
    for name in distribution.sigma:
        less = replace(distribution, sigma=distribution.sigma | {name: distribution.sigma[name] // 2})
        assert loss(less).mu > 1.001 * loss(distribution).mu, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target_centre": None}, "needs a scale 'target_centre', but the release states none"),
        # without a search for the radius it is the noise of rows that keep their declared scale
        ({"radius": None}, "expected noise.indicators = .*, got"),
        ({"fourth_diagonal": None}, "needs a scale 'fourth_diagonal', but the release states none"),
        ({"score": 10}, "takes no scale 'score', but the release states one"),
        ({"cross": 0}, "steps for 'cross', got 0"),
    ],
)
def test_another_distribution_is_refused(change, message):
    distribution = distribution_of()
    sigma = {name: scale for name, scale in (distribution.sigma | change).items() if scale is not None}
    with pytest.raises(SpecError, match=message):
        loss(replace(distribution, sigma=sigma))


def test_squared_weights_without_noise_are_refused_also_where_the_number_of_rows_is_public():
    design = Design("y", DESIGN.columns, unit={"neighbours": "replace"})
    distribution = distribution_of(design)
    with pytest.raises(SpecError, match="squared weights"):
        loss(replace(distribution, sigma=distribution.sigma | {"count": 0}), design)
