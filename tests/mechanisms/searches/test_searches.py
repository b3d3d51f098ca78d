"""Noisy searches: without noise they find quantiles and means; with it they use sums over rows and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.accounting.search_queries import LAST, comparisons
from discreet.curator.sums.cell_counts import CELLS
from discreet.mechanisms.column_search import Counts, noisy, search, target_centred
from discreet.mechanisms.column_search import quantile_in_steps as in_steps
from discreet.testing.not_private import SeededSampler
from support.column_counts import cells_of, context_of


@pytest.mark.parametrize("block", ["radius", "clip", "target_spread"])
def test_without_noise_a_search_finds_the_first_point_that_reaches_the_quantile(block):
    context = context_of()
    last, rng = LAST[block], np.random.default_rng(1)
    for _ in range(50):
        counts = np.sort(rng.integers(0, 100, last + 1)).tolist()
        counts[-1] = 100
        below = int(rng.integers(1, 33))
        found = search(context, block, counts.__getitem__, 100, in_steps(context, below))
        assert found == next(k for k, count in enumerate(counts) if 32 * count >= below * 100)


def test_every_comparison_is_made_and_paid_whatever_it_says():
    context, asked = context_of(SeededSampler(1)), []

    def count_at(k):
        asked.append(k)
        return 0

    assert 0 <= search(context, "radius", count_at, 0, 0) <= LAST["radius"]
    assert len(asked) == comparisons("radius") == 5


def test_counts_around_a_centre_are_those_of_an_interval():
    context, rng = context_of(), np.random.default_rng(2)
    x = rng.integers(-CELLS, CELLS + 1, (2, 400)) / CELLS
    counts = Counts(cells_of(context, *x))
    for centre, width in ((0, 100), (-CELLS, 300), (CELLS, 9000), (77, 1)):
        c, w = centre / CELLS, width / CELLS
        assert counts.around([centre] * 2, [width] * 2) == [int(((c - w < one) & (one <= c + w)).sum()) for one in x]
    assert counts.up_to([-CELLS - 5, CELLS + 5]) == [0, 400]


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
    assert context.distribution.sd("target_mean") / 20 > 0.79
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
    assert abs(got[0] - 10**30) < 50 * context.distribution.sigma["radius"]
    assert noisy(context_of(), "radius", [10**30]) == [10**30]
