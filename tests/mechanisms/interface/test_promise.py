"""What a promise says of its noise beyond (epsilon, delta) is an upper bound of what that noise has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.accounting.moments import Blocks, ratio_sensitivity, residual_sensitivity, weighted_loss
from discreet.accounting.settings import checked_settings
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.calibration import DEFAULT_SHARES
from discreet.mechanisms.gaussian import GaussianMoments
from discreet.mechanisms.protocol import with_curve
from discreet.mechanisms.registry import mechanisms
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_gap
from support.moment_distributions import variates
from support.tables import random_design


def mu_of_the_noise(design: Design, domain: RowDomain, distribution) -> float:
    """Joint distance between neighbours over the noise really drawn, from the proved loss of all blocks."""
    weights = Blocks(**{
        name: 1 / distribution.sd("gram_diagonal" if name == "gram" else name) ** 2
        if distribution.sigma.get(name, 1)
        else 0.0
        for name in DEFAULT_SHARES.__dataclass_fields__
    })  # fmt: skip
    unit = design.unit
    loss = weighted_loss(
        domain,
        unit.neighbours,
        weights,
        count_public=design.count_public,
        rows_per_unit=unit.max_rows,
        copied=len(distribution.indicators),
    )
    if "residual_diagonal" in distribution.sigma:
        loss += (residual_sensitivity(domain, unit.neighbours) / distribution.sd("residual_diagonal")) ** 2
        loss += (ratio_sensitivity() / distribution.sd("residual_ratio")) ** 2
    return math.sqrt(loss)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_mu_and_its_gap_cover_the_noise_and_are_not_far_above(epsilon, neighbours, robust):
    random = np.random.default_rng(int(epsilon * 10))
    for _ in range(3):
        design = random_design(random, neighbours=neighbours)
        domain, budget, mechanism = RowDomain.of(design), PrivacyBudget(epsilon, 1e-6), GaussianMoments(robust=robust)
        distribution = mechanism.noise_model(design, domain, budget, {})
        kept = with_curve(Guarantee.promised(design.unit, budget), distribution)
        assert distribution.calibration == "gaussian"
        true = mu_of_the_noise(design, domain, distribution)
        # a share of 1% of delta moves mu by less than a thousandth
        assert true <= kept.mu <= true * 1.001
        distance = lattice_gap(epsilon, variates(distribution, len(design.released))) / (1 + math.exp(epsilon))
        assert distance <= kept.mu_gap < 1e-8
        assert delta_from(epsilon, kept.mu) <= 1e-6 * (1 + 1e-12)


def test_every_mechanism_keeps_the_curve_of_its_account_and_no_other():
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    domain = RowDomain.of(design)
    found = {}
    for name, mechanism in mechanisms().items():
        settings = checked_settings(name, mechanism.info.settings, None)
        for budget in (PrivacyBudget(1.0), PrivacyBudget(1.0, 1e-6), PrivacyBudget(8.0, 1e-30)):
            try:
                distribution = mechanism.noise_model(design, domain, budget, settings)
            except SpecError:
                continue
            kept = with_curve(Guarantee.promised(design.unit, budget), distribution)
            account = distribution.calibration if distribution.family == "discrete-gaussian" else "other"
            assert (kept.mu is not None) == (kept.mu_gap is not None) == (account == "gaussian")
            assert (kept.rho is not None) == (account == "discrete-zcdp")
            found.setdefault(account, set()).add(name)
    assert {"gaussian", "ssp", "adassp", "gradient", "output"} <= found["gaussian"]
    assert {"laplace", "k-norm", "wishart"} <= found["other"]
    assert "gaussian" in found["discrete-zcdp"]
