"""The map of moments of rows with weights: what is charged, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.noise_distribution import WEIGHT_STEPS
from discreet.accounting.privacy_maps import MAPS, loss_of
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


def law_of(design=DESIGN, robust=False):
    return ReleaseRequest.checked(
        design, PrivacyBudget(1.0, 1e-6), ReleaseOptions(mechanism="gaussian", robust=robust)
    ).law


def loss(law, design=DESIGN, mechanism="gaussian"):
    return loss_of(mechanism, design, law, {}, 1.0, 1e-6)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "p", "max_rows": 3}])
def test_the_noise_keeps_its_promise_and_hardly_more(robust, unit):
    design = Design("y", COLUMNS, weights="w", unit=unit)
    found = loss(law_of(design, robust), design)
    assert 0.98 * mu_from(1.0, 1e-6) <= found.mu <= mu_from(1.0, 1e-6)
    assert found.delta <= 1e-6


def test_noise_on_the_square_of_an_indicator_is_refused():
    law = law_of()
    assert law.indicators == DESIGN.indicators != ()
    with pytest.raises(SpecError, match="one number for sum and square of the indicators"):
        loss(replace(law, indicators=()))


@pytest.mark.parametrize("robust", [False, True])
def test_less_noise_on_any_statistic_costs_more(robust):
    law = law_of(robust=robust)
    for name in law.sigma:
        less = replace(law, sigma={**law.sigma, name: law.sigma[name] // 2})
        assert loss(less).mu > 1.001 * loss(law).mu, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": None}, "expected a scale 'rows'"),
        ({"residual_diagonal": 10}, "expected a scale 'residual_off_diagonal'"),
        ({"score": 10}, "a scale 'score'"),
        ({"count": 0}, "contradicts the neighbouring relation"),
        ({"rows": 0}, "expected noise on 'rows'"),
    ],
)
def test_another_law_is_refused(change, message):
    law = law_of()
    sigma = {name: scale for name, scale in (dict(law.sigma) | change).items() if scale is not None}
    with pytest.raises(SpecError, match=message):
        loss(replace(law, sigma=sigma))


def test_other_bits_of_weights_are_refused():
    law = law_of()
    with pytest.raises(SpecError, match="expected weights of 14 bits, got 2"):
        loss(replace(law, parameters={WEIGHT_STEPS: 2}))
    with pytest.raises(SpecError, match="expected a parameter 'weight_bits'"):
        loss(replace(law, parameters={}))


def test_noise_for_a_design_of_the_other_kind_is_refused():
    plain = Design("y", {name: column for name, column in COLUMNS.items() if name != "w"})
    with pytest.raises(SpecError, match="expected a scale 'rows'"):
        loss(law_of(plain), DESIGN)
    with pytest.raises(SpecError, match="got a scale 'rows'"):
        loss(law_of(), plain)


@pytest.mark.parametrize("mechanism", sorted(set(MAPS) - {"gaussian"}))
def test_no_other_mechanism_is_for_a_design_with_weights(mechanism):
    with pytest.raises(SpecError, match="contradicts the weights of the design"):
        loss(law_of(), mechanism=mechanism)


def test_sums_over_residuals_of_further_models_are_counted():
    design = Design("y", {"x": (0, 5), "z": (-1, 1), "y": (0, 10), "w": (0, 2)}, weights="w")
    models = ((1, 3), (3,))
    mechanism = GaussianMoments(robust=True, models=models)
    law = mechanism.noise_model(design, RowDomain.of(design), PrivacyBudget(1.0, 1e-6), {})
    loss = loss_of("gaussian", design, law, {}, 1.0, 1e-6)
    assert 0.999e-6 < loss.delta <= 1e-6
    for block in ("residual_diagonal_1", "residual_diagonal_2"):
        weak = replace(law, sigma={**law.sigma, block: law.sigma[block] // 2})
        assert loss_of("gaussian", design, weak, {}, 1.0, 1e-6).delta > 1e-6
