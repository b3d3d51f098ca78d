"""The mean of Wishart noise is taken away once, and only where it was left in."""

from __future__ import annotations

from dataclasses import replace

import pytest

import discreet
from discreet.releases import NoiseDistribution, NoisyCount
from discreet.releases.fields import centred, released_count
from discreet.testing import exact_release


def test_degrees_times_scale_leave_the_diagonal_and_nothing_else():
    design = discreet.Design("y", {"y": (-1, 1), "x": (-1, 1)})
    exact = exact_release({"y": [0.5, -0.5], "x": [1.0, 0.25]}, design)
    distribution = NoiseDistribution(16, dict.fromkeys(exact.noise.sigma, 2**32), "none", "wishart", {"degrees": 7})
    with_mean = tuple(total + 7 * 2**32 * (index in (0, 3, 5)) for index, total in enumerate(exact.totals))
    biased = replace(exact, noise=distribution, totals=with_mean, settings={"debiased": False})
    assert centred(biased).totals == exact.totals
    assert centred(centred(biased)) == centred(biased)
    assert centred(exact) is exact
    assert centred(replace(biased, settings={"debiased": True})).totals == with_mean
    assert centred(replace(biased, totals=(*with_mean[:-1], None))).totals[-1] is None


@pytest.mark.parametrize("mechanism", ["gaussian", "wishart", "irls"])
def test_the_released_count_is_that_of_the_moments_or_none(mechanism):
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
    table = {"x": [0.25] * 50, "y": [0.5] * 50}
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    count = released_count(made)
    if mechanism == "irls":
        assert count is None
        public = discreet.Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"})
        made = discreet.release(table, public, epsilon=1.0, delta=1e-6, mechanism=mechanism)
        assert released_count(made) == NoisyCount(50.0, 0.0)
    else:
        assert count == NoisyCount(centred(made).moments[0, 0], made.noise_sd[0, 0])
