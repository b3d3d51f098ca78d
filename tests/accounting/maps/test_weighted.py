"""The map of moments of rows with weights: what is charged, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.noise_distribution import WEIGHT_STEPS
from discreet.accounting.privacy_maps import loss_of
from discreet.accounting.settings import MECHANISMS
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.gaussian import GaussianMoments
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from
from discreet.release_request import ReleaseRequest

COLUMNS = {"x": (-1, 1), "g": ["a", "b", "c"], "y": (-1, 1), "w": (0, 2)}
DESIGN = Design("y", COLUMNS, weights="w")


def distribution_of(design=DESIGN, robust=False):
    return ReleaseRequest.checked(
        design, PrivacyBudget(1.0, 1e-6), ReleaseOptions(mechanism="gaussian", robust=robust)
    ).distribution


def loss(distribution, design=DESIGN, mechanism="gaussian"):
    return loss_of(mechanism, design, distribution, {}, 1.0, 1e-6)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "p", "max_rows": 3}])
def test_the_noise_keeps_its_promise_and_hardly_more(robust, unit):
    design = Design("y", COLUMNS, weights="w", unit=unit)
    found = loss(distribution_of(design, robust), design)
    assert 0.98 * mu_from(1.0, 1e-6) <= found.mu <= mu_from(1.0, 1e-6)
    assert found.delta <= 1e-6


def test_noise_on_the_square_of_an_indicator_is_refused():
    distribution = distribution_of()
    assert distribution.indicators == DESIGN.indicators != ()
    with pytest.raises(SpecError, match=r"expected noise.indicators = .*, got"):
        loss(replace(distribution, indicators=()))


@pytest.mark.parametrize("robust", [False, True])
def test_less_noise_on_any_statistic_costs_more(robust):
    distribution = distribution_of(robust=robust)
    for name in distribution.sigma:
        less = replace(distribution, sigma={**distribution.sigma, name: distribution.sigma[name] // 2})
        assert loss(less).mu > 1.001 * loss(distribution).mu, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": None}, "needs a scale 'rows', but the release states none"),
        ({"residual_diagonal": 10}, "needs a scale 'residual_off_diagonal', but the release states none"),
        ({"score": 10}, "takes no scale 'score', but the release states one"),
        ({"count": 0}, "must have noise unless the neighbouring relation makes it public"),
        ({"rows": 0}, "steps for 'rows', got 0"),
    ],
)
def test_another_distribution_is_refused(change, message):
    distribution = distribution_of()
    sigma = {name: scale for name, scale in (dict(distribution.sigma) | change).items() if scale is not None}
    with pytest.raises(SpecError, match=message):
        loss(replace(distribution, sigma=sigma))


def test_other_bits_of_weights_are_refused():
    distribution = distribution_of()
    with pytest.raises(SpecError, match="expected weight_bits = 14, got 2"):
        loss(replace(distribution, parameters={WEIGHT_STEPS: 2}))
    with pytest.raises(SpecError, match="needs a parameter 'weight_bits', but the release states none"):
        loss(replace(distribution, parameters={}))


def test_noise_for_a_design_of_the_other_kind_is_refused():
    plain = Design("y", {name: column for name, column in COLUMNS.items() if name != "w"})
    with pytest.raises(SpecError, match="needs a scale 'rows', but the release states none"):
        loss(distribution_of(plain), DESIGN)
    with pytest.raises(SpecError, match="takes no scale 'rows', but the release states one"):
        loss(distribution_of(), plain)


@pytest.mark.parametrize("mechanism", sorted(set(MECHANISMS) - {"gaussian"}))
def test_no_other_mechanism_is_for_a_design_with_weights(mechanism):
    with pytest.raises(SpecError, match="a design with weights needs the mechanism 'gaussian'"):
        loss(distribution_of(), mechanism=mechanism)


def test_sums_over_residuals_of_further_models_are_counted():
    design = Design("y", {"x": (0, 5), "z": (-1, 1), "y": (0, 10), "w": (0, 2)}, weights="w")
    models = ((1, 3), (3,))
    mechanism = GaussianMoments(robust=True, models=models)
    distribution = mechanism.noise_model(design, RowDomain.of(design), PrivacyBudget(1.0, 1e-6), {})
    loss = loss_of("gaussian", design, distribution, {}, 1.0, 1e-6)
    assert 0.999e-6 < loss.delta <= 1e-6
    for block in ("residual_diagonal_1", "residual_diagonal_2"):
        weak = replace(distribution, sigma={**distribution.sigma, block: distribution.sigma[block] // 2})
        assert loss_of("gaussian", design, weak, {}, 1.0, 1e-6).delta > 1e-6
