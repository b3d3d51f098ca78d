"""Simultaneous intervals."""

from __future__ import annotations

import pytest
from scipy import stats

from discreet.analyst.inference.contrasts import simultaneous_tails, simultaneous_value
from discreet.analyst.model import fit
from discreet.analyst.values import NamedValues
from support.compared import release


def test_max_t_meets_the_known_quantile_of_independent_errors():
    """Orthogonal columns: the quantile of the largest of four independent t values, within 0.05 of it.

    The error of the 95 % quantile of 9,999 draws is about 0.014 here, and the seed is that of one release.
    """
    result = fit(release(count=4000))
    got = simultaneous_value(result._contrasts, 0.95, "max-t", result.release.digest)
    assert got == pytest.approx(stats.norm.ppf((1 + 0.95**0.25) / 2), abs=0.05)


def test_bonferroni_shares_the_misses_out():
    result = fit(release())
    about = result._contrasts
    assert simultaneous_value(about, 0.95, "bonferroni", "d") == pytest.approx(
        stats.t.ppf(1 - 0.05 / 8, result.df_resid), rel=1e-9
    )
    # one alone, and a level beyond what is simulated
    alone = fit(release(), features=[])._contrasts
    assert simultaneous_value(alone, 0.95, "max-t", "d") == alone.critical(0.95)
    assert simultaneous_value(about, 0.99999, "max-t", "d") == simultaneous_value(about, 0.99999, "bonferroni", "d")


@pytest.mark.parametrize("way", ["bonferroni", "max-t"])
def test_a_joint_p_value_is_the_level_at_which_the_set_leaves_the_value(way):
    about = fit(release(together=0.7))._contrasts
    ps = NamedValues(about.names, [0.5, 0.04, 1e-3, 1e-12])
    found = simultaneous_tails(about, ps, way, "d")
    assert list(found) == list(about.names)
    for alone, p in zip(ps.values(), found.values(), strict=True):
        assert alone < p <= min(1.0, 4 * alone)
        reach = about.critical(1 - alone)
        if 1e-3 < p < 0.5:
            assert (
                simultaneous_value(about, 1 - p - 0.002, way, "d")
                < reach
                < simultaneous_value(about, 1 - p + 0.002, way, "d")
            )
    assert found[about.names[3]] == pytest.approx(4e-12)
    assert simultaneous_tails(about, NamedValues(about.names, [0.0] * 4), way, "d")[about.names[0]] == 0
