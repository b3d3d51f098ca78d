"""Variates that a release fixes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.analyst.equations.noise import standard_normals

FALSE_ALARM = 1e-9


@pytest.mark.parametrize("entries", [1, 2, 7])
def test_the_normal_variates_are_normal(entries):
    values = standard_normals(np.random.PCG64(3), 20_000, entries)
    assert values.shape == (20_000, entries)
    assert np.isfinite(values).all()
    assert stats.kstest(values.ravel(), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(values.ravel() * 1.1, "norm").pvalue < FALSE_ALARM
    correlation = np.corrcoef(np.vstack([values.T, np.roll(values[:, 0], 1)]))
    # 6 standard errors of a correlation of independent variates
    assert np.abs(correlation - np.eye(entries + 1)).max() < 6.5 / math.sqrt(20_000)


def test_the_stream_of_variates_is_the_one_that_files_rely_on():
    np.testing.assert_allclose(standard_normals(np.random.PCG64(3), 1, 4)[0], GOLDEN_NORMALS, rtol=1e-12)


GOLDEN_NORMALS = [0.7019457487911144, -1.47615236508088, -2.102917906665405, -0.8378330447270018]
