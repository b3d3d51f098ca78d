"""Centre and bound of a target: a median, and some scales around it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from discreet.curator.sums.cell_counts import CELLS, ColumnCells
from discreet.design.design import Design
from discreet.mechanisms.private_scaling import NARROWEST, ScaledMoments, target_bounded
from discreet.testing.not_private import SeededSampler
from support.iterative_runs import prepared


def bounded(values, many=None, sampler=None):
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)})
    context = prepared(ScaledMoments(), design, 1.0, 1e-6, sampler)
    counts = ColumnCells(context.domain, [1])
    counts.add(np.rint(np.stack([np.ones_like(values), values]) * 2**16))
    return target_bounded(context, counts.cells()[0], len(values), float(many or len(values)))


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 0.1), (0.5, 0.05), (-0.7, 0.04)])
def test_without_noise_it_is_the_median_and_six_scales(mean, sd):
    values = np.clip(np.random.default_rng(1).normal(mean, sd, 30_000), -1, 1)
    centre, bound = bounded(values)
    assert centre == pytest.approx(mean, abs=2 / 31 + 1 / CELLS)
    # the centre is on a grid, so the spread around it is larger by up to that and by half an octave
    assert 6 * sd <= bound <= 6 * 1.5 * (sd + 2 / 31)


def test_fewer_rows_keep_two_scales():
    many, few = (bounded(0.09 * norm.ppf((np.arange(n) + 0.5) / n))[1] for n in (30_000, 1000))
    assert many == pytest.approx(3 * few)


def test_a_target_that_is_mostly_one_value_has_its_mean_square_as_scale_and_no_bound_beyond_its_range():
    values = np.zeros(30_000)
    assert bounded(values)[1] == pytest.approx(6 * max(NARROWEST, 2**-7 / 1.68), rel=1e-3)
    values[:750] = 1.0
    centre, bound = bounded(values)
    assert abs(centre) < 2 / 31
    # some scales of the root of a mean square of 1/40, less a standard deviation of its noise
    assert 0.3 < bound < 6 * 40**-0.5
    values[:3000] = 1.0
    assert bounded(values)[1] == 1 + abs(centre)


def test_noise_moves_them_but_keeps_them_in_their_ranges():
    for seed in range(20):
        centre, bound = bounded(np.zeros(3), many=20, sampler=SeededSampler(seed))
        assert -1 <= centre <= 1
        assert 2 * NARROWEST <= bound <= 2
