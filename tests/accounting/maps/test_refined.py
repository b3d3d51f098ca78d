"""The loss of `refined` forwards from its noise: that of the budget, more with less noise, refused with none."""

from __future__ import annotations

import pytest

from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.accounting.privacy_loss import keeps
from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanism_named
from support.loss_cases import cases, one_case


def test_forwards_it_is_what_it_was_calibrated_to():
    for case in cases("refined", budgets=((1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3))):
        assert keeps(case.loss, case.epsilon, case.delta)
        assert case.loss.delta >= 0.98 * case.delta


@pytest.mark.parametrize("block", sorted(one_case("refined").distribution.sigma))
def test_half_the_noise_of_any_statistic_is_more_than_promised(block):
    assert not one_case("refined").kept_with_half(block)


def test_noise_that_it_never_has_is_refused():
    case = one_case("refined")
    without = {name: sigma for name, sigma in case.distribution.sigma.items() if name != "below"}
    for sigma in (without, {**case.distribution.sigma, "more": 100}, {**case.distribution.sigma, "score": 0}):
        with pytest.raises(SpecError):
            case.loss_with(NoiseDistribution(16, sigma, "gaussian"))
    assert mechanism_named("refined").version == "1"
