"""The distribution that statistics and intervals are compared with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.errors import SpecError
from discreet.releases.reference_distribution import checked_level, critical_value, family_of, tail_probability
from support.noise_distributions import LAWS


def test_the_quantile_is_that_of_student():
    assert critical_value(0.9, "gaussian", 7.0) == pytest.approx(stats.t.ppf(0.95, 7))


@pytest.mark.parametrize("wrong", [{"level": 0.05}, {"level": 1}, {"alpha": 0.9}, {"level": 0.9, "alpha": 0.1}])
def test_a_level_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(SpecError):
        checked_level(**wrong)


def test_the_laplace_quantile_is_used_where_it_is_the_larger():
    assert critical_value(0.95, "laplace", 1e9) == pytest.approx(np.log(20) / np.sqrt(2))
    assert critical_value(0.5, "laplace", 1e9) == critical_value(0.5, "gaussian", 1e9)
    for level in (0.5, 0.9, 0.95, 0.999):
        z = critical_value(level, "laplace", 30.0)
        assert tail_probability(z, "laplace", 30.0) == pytest.approx(1 - level)
        assert tail_probability(-z, "gaussian", 30.0) <= 1 - level + 1e-12


def test_every_family_has_its_reference():
    families = {name: family_of(distribution.family) for name, distribution in LAWS.items()}
    assert {name for name, family in families.items() if family == "laplace"} == {
        "discrete-laplace", "k-norm", "k-norm of all",
    }  # fmt: skip
