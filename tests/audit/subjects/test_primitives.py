"""Every public primitive is a subject."""

from __future__ import annotations

import inspect

import pytest

from discreet import primitives
from discreet.audit.subjects.primitives import PrimitiveSubject, primitive_entries

# these draw nothing
FORMULAS = {"laplace_epsilon", "laplace_scales"}


def test_every_primitive_that_draws_is_a_subject():
    public = {name for name in primitives.__all__ if inspect.isfunction(getattr(primitives, name))} - FORMULAS
    assert {name.split(".")[1].split()[0] for name in primitive_entries()} == public


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
        assert loss.kept
        assert loss.value >= 0.999 * loss.claimed
