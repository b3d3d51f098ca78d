"""Every public primitive is a subject."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.stats import norm

from discreet import primitives
from discreet.audit.audited_primitives import PrimitiveSubject, primitive_entries

# these draw nothing
FORMULAS = {"laplace_epsilon", "laplace_scales"}
SPELLINGS = {"randomized_response"}


def test_every_primitive_that_draws_is_a_subject():
    public = (
        {name for name in primitives.__all__ if inspect.isfunction(getattr(primitives, name))} - FORMULAS - SPELLINGS
    )
    assert primitives.randomized_response is primitives.randomised_response
    assert {name.split(".")[1].split()[0] for name in primitive_entries()} == public - FORMULAS - SPELLINGS


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", list(primitive_entries()))
def test_draws_have_one_shape_and_exact_losses_are_kept_and_reached(name, epsilon):
    subject = PrimitiveSubject(primitive_entries()[name], epsilon)
    one, other = subject.draws(0, 33), subject.draws(1, 33)
    assert one.shape == other.shape
    assert len(one) == 33
    assert subject.claim.epsilon == epsilon
    assert (subject.claim.mu is None) == (subject.claim.delta == 0)
    assert all(check.passed for check in subject.checks((one, other), 1e-9))
    for loss in subject.exact():
        assert loss.covered
        assert loss.value >= 0.999 * loss.claimed


@pytest.mark.parametrize(("factor", "passes"), [(1.0, True), (0.5, False), (1.25, False)])
def test_rounded_counts_are_compared_with_their_distribution_and_with_nothing_else(factor, passes):
    name, many = "primitives.counting_queries gaussian", 10_000
    subject = PrimitiveSubject(primitive_entries()[name], 4.0)
    sigma = primitives.counting_queries([0], 4.0, delta=1e-6, max_memberships=1).scale
    # as close to the distribution as so many integers can be
    best = np.round(factor * sigma * norm.ppf((np.arange(many) + 0.5) / many))
    checks = subject.checks(((best + 5)[:, None], (best + 6)[:, None]), 1e-9)
    assert [check.passed for check in checks] == [passes, passes]
    if passes:
        assert all(check.distance <= 1 / many for check in checks)
