"""The law that intervals are held against; `analyst` tests its quantiles with the tail."""

from __future__ import annotations

import pytest
from scipy import stats

from discreet.analyst.inference import reference_law as beyond
from discreet.errors import SpecError
from discreet.releases import reference_law
from discreet.releases.reference_law import checked_level, critical_value


def test_the_analyst_reads_the_same_law():
    for name in ("checked_level", "critical_value", "family_of", "DEFAULT_LEVEL"):
        assert getattr(beyond, name) is getattr(reference_law, name)


def test_the_quantile_is_that_of_student():
    assert critical_value(0.9, "gaussian", 7.0) == pytest.approx(stats.t.ppf(0.95, 7))


@pytest.mark.parametrize("wrong", [{"level": 0.05}, {"level": 1}, {"alpha": 0.9}, {"level": 0.9, "alpha": 0.1}])
def test_a_level_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(SpecError):
        checked_level(**wrong)
