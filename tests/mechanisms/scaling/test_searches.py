"""Noisy searches: without noise they find quantiles and means; with it they use sums over rows and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.sums.column_cells import CELLS, ColumnCells
from discreet.design.model import Design
from discreet.losses.sensitivity.searches import LAST, comparisons
from discreet.mechanisms.coefficients.refined import RefinedRegression
from discreet.mechanisms.scaling.searches import (
    NARROWEST,
    Counts,
    columns_centred,
    columns_scaled,
    in_steps,
    noisy,
    search,
    target_centred,
)
from discreet.testing.not_private import SeededSampler
from support.iterative_runs import prepared


def context_of(sampler=None, *, intercept=True, target=(-1, 1)):
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": target}, intercept=intercept)
    return prepared(RefinedRegression(), design, 1.0, 1e-6, sampler)


def cells_of(context, *columns):
    rows = np.rint(np.stack([np.ones_like(columns[0]), *columns]) * 2**16)
    counts = ColumnCells(context.domain, range(1, len(rows)))
    counts.add(rows)
    return counts.cells()


@pytest.mark.parametrize("block", ["centre", "spread", "radius", "clip", "target_spread", "one_spread"])
def test_without_noise_a_search_finds_the_first_point_that_reaches_the_quantile(block):
    context = context_of(intercept=block != "one_spread")
    last, rng = LAST[block], np.random.default_rng(1)
    for _ in range(50):
        counts = np.sort(rng.integers(0, 100, last + 1)).tolist()
        counts[-1] = 100
        below = int(rng.integers(1, 33))
        (found,) = search(context, block, lambda at, c=counts: [c[k] for k in at], 100, in_steps(context, below))
        assert found == next(k for k, count in enumerate(counts) if 32 * count >= below * 100)


def test_every_comparison_is_made_and_paid_whatever_it_says():
    context, asked = context_of(SeededSampler(1)), []

    def counts_at(at):
        asked.append(list(at))
        return [0] * 3

    assert search(context, "centre", counts_at, 0, 0, columns=3) == [0, 0, 0] or len(asked) == 5
    assert len(asked) == comparisons("centre") == 5


def test_counts_around_a_centre_are_those_of_an_interval():
    context, rng = context_of(), np.random.default_rng(2)
    x = rng.integers(-CELLS, CELLS + 1, (2, 400)) / CELLS
    counts = Counts(cells_of(context, *x))
    for centre, width in ((0, 100), (-CELLS, 300), (CELLS, 9000), (77, 1)):
        c, w = centre / CELLS, width / CELLS
        assert counts.around([centre] * 2, [width] * 2) == [int(((c - w < one) & (one <= c + w)).sum()) for one in x]
    assert counts.up_to([-CELLS - 5, CELLS + 5]) == [0, 400]


@pytest.mark.parametrize(("centre", "sd"), [(0.0, 0.3), (0.7, 0.05), (-0.4, 0.1)])
def test_without_noise_centre_and_scale_are_close(centre, sd):
    context, rng = context_of(), np.random.default_rng(3)
    x = np.clip(rng.normal(centre, sd, 5000), -1, 1)
    (found, _), (scale, _) = columns_centred(context, cells_of(context, x, -x), 5000)
    assert abs(found - centre) < 0.5 * sd
    assert 0.5 * sd < scale < 2 * sd


def test_a_column_of_one_value_has_the_narrowest_scale():
    context = context_of()
    constant = np.full(300, 0.25)
    (found, _), scales = columns_centred(context, cells_of(context, constant, constant), 300)
    assert abs(found - 0.25) < 0.1
    assert scales[0] <= 0.1
    without = context_of(intercept=False)
    assert columns_scaled(without, cells_of(without, 0 * constant, constant), 300)[0] >= NARROWEST


def test_scales_around_zero_without_an_intercept():
    context, rng = context_of(intercept=False), np.random.default_rng(4)
    x = np.clip(rng.normal(0, 0.2, 5000), -1, 1)
    scale, _ = columns_scaled(context, cells_of(context, x, x), 5000)
    assert 0.12 < scale < 0.4


@pytest.mark.parametrize(("target", "low"), [((-1, 1), -1.0), (bool, 0.0)])
def test_without_noise_the_target_is_centred_at_its_mean(target, low):
    context, rng = context_of(target=target), np.random.default_rng(5)
    y = (rng.random(20_000) < 0.3).astype(float) if target is bool else np.clip(rng.normal(0.4, 0.1, 20_000), -1, 1)
    (cells,) = cells_of(context, y)
    found = target_centred(context, cells, 20_000, 20_000.0)
    assert found.centre == pytest.approx(y.mean(), abs=0.02)
    assert (found.low, found.high) == (low, 1.0)
    assert found.span == max(1 - found.centre, found.centre - low)
    assert 0 < found.variance < 1e-3


def test_with_hardly_any_rows_the_centre_stays_near_the_middle():
    """Noise of many half ranges is not followed."""
    centres = []
    for seed in range(50):
        context = context_of(SeededSampler(seed))
        (cells,) = cells_of(context, np.full(20, 0.9))
        centres.append(target_centred(context, cells, 20, 20.0).centre)
    # the noise of the mean alone is about twice as large
    assert np.std(centres) < 0.4
    assert context.law.sd("target_mean") / 20 > 0.79
    assert len(set(centres)) > 10


def test_without_an_intercept_the_target_is_not_moved():
    context = context_of(intercept=False)
    (cells,) = cells_of(context, np.full(50, 0.5))
    found = target_centred(context, cells, 50, 50.0)
    assert (found.centre, found.variance) == (0.0, 0.0)
    assert found.spread >= 0.5


def test_noise_of_a_block_is_added_in_integers():
    context = context_of(SeededSampler(1))
    got = noisy(context, "radius", [10**30, 0])
    assert got[0] - 10**30 != 0
    assert abs(got[0] - 10**30) < 50 * context.law.sigma["radius"]
    assert noisy(context_of(), "radius", [10**30]) == [10**30]
