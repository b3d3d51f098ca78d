"""Simultaneous intervals."""

from __future__ import annotations

import pytest
from scipy import stats

from discreet.analyst.inference.simultaneous import simultaneous_value
from discreet.analyst.model import fit
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
