"""The mean of Wishart noise is taken away once, and only where it was left in."""

from __future__ import annotations

from dataclasses import replace

import discreet
from discreet.releases import NoiseLaw
from discreet.releases.noise_mean import centred
from discreet.testing import exact_release


def test_degrees_times_scale_leave_the_diagonal_and_nothing_else():
    design = discreet.Design("y", {"y": (-1, 1), "x": (-1, 1)})
    exact = exact_release({"y": [0.5, -0.5], "x": [1.0, 0.25]}, design)
    law = NoiseLaw(16, dict.fromkeys(exact.noise.sigma, 2**32), "none", "wishart", {"degrees": 7})
    with_mean = tuple(total + 7 * 2**32 * (index in (0, 3, 5)) for index, total in enumerate(exact.totals))
    biased = replace(exact, noise=law, totals=with_mean, settings={"debiased": False})
    assert centred(biased).totals == exact.totals
    assert centred(centred(biased)) == centred(biased)
    assert centred(exact) is exact
    assert centred(replace(biased, settings={"debiased": True})).totals == with_mean
    assert centred(replace(biased, totals=(*with_mean[:-1], None))).totals[-1] is None
