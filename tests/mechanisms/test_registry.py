"""Names of mechanisms, each loaded by itself."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanism_named, mechanisms
from discreet.mechanisms.sampler import ExactSampler


def test_the_registry_knows_its_mechanisms_and_refuses_others():
    assert "gaussian" in mechanisms()
    gaussian = mechanism_named("gaussian")
    assert (gaussian.kind, gaussian.info.domain) == ("moments", "box or ball")
    assert ExactSampler().private
    with pytest.raises(SpecError, match=r"unknown mechanism 'gausian'; allowed: auto, .*Did you mean 'gaussian'\?"):
        mechanism_named("gausian")
