"""A claim is read from whatever states one."""

from __future__ import annotations

import pytest

import discreet
from discreet.audit.judging import Claim
from discreet.errors import SpecError


def test_a_claim_is_read_from_a_budget_a_guarantee_a_number_and_itself():
    design = discreet.Design("y", {"y": (-1, 1), "x": (-1, 1)})
    released = discreet.release({"x": [1.0], "y": [1.0]}, design, epsilon=1.0, delta=1e-6)
    of_release = Claim.of(released.guarantee)
    assert (of_release.epsilon, of_release.delta, of_release.mu) == (1.0, 1e-6, released.guarantee.mu)
    assert 0 < of_release.gap < 1e-8
    assert Claim.of(discreet.PrivacyBudget(2.0, 1e-5)) == Claim(2.0, 1e-5)
    assert Claim.of(0.5) == Claim(0.5)
    assert Claim.of(of_release) is of_release
    pure = discreet.release({"x": [1.0], "y": [1.0]}, design, epsilon=1.0)
    assert Claim.of(pure.guarantee) == Claim(1.0)


def test_what_states_no_claim_is_refused():
    with pytest.raises(SpecError, match="expected a PrivacyBudget, a Guarantee, a Claim or an epsilon for claimed"):
        Claim.of("one")
    for wrong in ({"epsilon": 0}, {"epsilon": float("nan")}, {"epsilon": 1, "delta": 1}, {"epsilon": 1, "mu": -1}):
        with pytest.raises(SpecError):
            Claim(**wrong)
