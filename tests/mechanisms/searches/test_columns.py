"""Centres, scales and sizes: near the truth without noise, better than their prior with it, from sums alone."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.sums.cell_counts import CELLS
from discreet.mechanisms import column_search as columns
from discreet.mechanisms.column_search import (
    CENTRE_PRIOR,
    LEAST_SCALE,
    NARROWEST,
    Beliefs,
    column_sizes,
    columns_centred,
    columns_found,
    columns_scaled,
    columns_sized,
)
from discreet.testing.not_private import SeededSampler
from support.column_counts import cells_of, context_of


@pytest.mark.parametrize(("centre", "sd"), [(0.0, 0.3), (0.7, 0.05), (-0.4, 0.1), (0.9, 0.04), (-0.7, 0.01)])
def test_without_noise_centre_and_scale_are_close(centre, sd):
    context, rng = context_of(), np.random.default_rng(3)
    x = np.clip(rng.normal(centre, sd, 5000), -1, 1)
    (found, mirrored), (scale, same) = columns_centred(context, cells_of(context, x, -x), 5000, 5000.0)
    assert abs(found - centre) < 0.2 * sd
    assert abs(found + mirrored) < 0.1 * sd
    assert 0.75 * sd < scale < 1.3 * sd
    assert same == pytest.approx(scale, rel=0.1)


@pytest.mark.parametrize("draw", ["lognormal", "two heaps", "integers", "mostly one value"])
def test_columns_that_are_not_normal_are_found_too(draw):
    """The centre is within a scale of the median, and half of the rows and more are within two scales of it."""
    context, rng = context_of(), np.random.default_rng(5)
    x = {
        "lognormal": np.exp(rng.normal(size=5000)) / 30 - 1,
        "two heaps": rng.choice([-0.5, 0.5], 5000) + rng.normal(0, 0.05, 5000),
        "integers": rng.integers(0, 4, 5000) / 4,
        "mostly one value": np.where(rng.random(5000) < 0.8, -0.3, rng.uniform(-0.3, 1, 5000)),
    }[draw].clip(-1, 1)
    (centre, _), (scale, _) = columns_centred(context, cells_of(context, x, x), 5000, 5000.0)
    assert abs(centre - np.median(x)) < scale or draw == "two heaps"
    assert np.mean(abs(x - centre) < 2 * scale) > 0.5
    assert LEAST_SCALE <= scale < 1


def test_a_column_of_one_value_has_a_narrow_scale():
    context = context_of()
    constant = np.full(300, 0.25)
    (found, _), scales = columns_centred(context, cells_of(context, constant, constant), 300, 300.0)
    assert abs(found - 0.25) < 0.05
    assert scales[0] == LEAST_SCALE
    without = context_of(intercept=False)
    assert columns_scaled(without, cells_of(without, 0 * constant, constant), 300, 300.0)[0] >= LEAST_SCALE


def test_scales_around_zero_without_an_intercept():
    context, rng = context_of(intercept=False), np.random.default_rng(4)
    x = np.clip(rng.normal(0, 0.2, 5000), -1, 1)
    scale, _ = columns_scaled(context, cells_of(context, x, x), 5000, 5000.0)
    assert 0.16 < scale < 0.25


def test_noise_that_drowns_the_counts_leaves_the_prior():
    """With 20 rows the noise of a count is as large as the count: centres vary less than the prior does."""
    found = []
    for seed in range(60):
        context = context_of(SeededSampler(seed))
        found.append(columns_centred(context, cells_of(context, np.full(20, 0.9), np.full(20, -0.9)), 20, 20.0))
    centres, scales = np.array(found).transpose(1, 0, 2)
    assert np.std(centres) < CENTRE_PRIOR
    assert (scales > 0.05).all()
    assert np.mean(centres[:, 0] > centres[:, 1]) > 0.5


def test_with_some_noise_centres_are_much_better_than_their_prior():
    errors, blind = [], []
    for seed in range(60):
        rng, context = np.random.default_rng(seed), context_of(SeededSampler(seed))
        truth = rng.uniform(-0.8, 0.8, 2)
        x = np.clip(truth[:, None] + rng.normal(0, 0.1, (2, 400)), -1, 1)
        centres, _ = columns_centred(context, cells_of(context, *x), 400, 400.0)
        errors += (centres - truth).tolist()
        blind += truth.tolist()
    assert np.std(errors) < 0.3 * np.std(blind)


def test_every_count_is_centred_and_gets_noise_once(monkeypatch):
    """A sum over rows of 1[...] - quantile: the same table twice doubles every one of them at the same questions."""
    rng, asked = np.random.default_rng(6), []
    x = np.clip(rng.normal(0.2, 0.2, (2, 500)), -1, 1)
    noisy = columns.noisy

    def watched(context, block, exact):
        asked.append((block, list(exact)))
        return noisy(context, block, [0] * len(exact))

    monkeypatch.setattr(columns, "noisy", watched)
    for times in (1, 2):
        context = context_of()
        columns_centred(context, cells_of(context, *np.tile(x, times)), 500 * times, 500.0)
    once, twice = asked[:13], asked[13:]
    assert [block for block, _ in once] == ["centre"] * 5 + ["spread"] * 2 + ["zoomed_centre"] * 4 + [
        "zoomed_spread"
    ] * 2
    assert [(block, [2 * value for value in exact]) for block, exact in once] == twice
    assert all(value != 0 for _, exact in once for value in exact)


def test_what_is_asked_and_answered_depends_on_released_numbers_alone(monkeypatch):
    """Two unrelated tables with equal noisy counts and equal released numbers of rows have equal answers."""
    answers, rng = [], np.random.default_rng(7)
    released = [rng.normal(0, 100, 2).astype(int).tolist() for _ in range(13)]
    for low, rows in ((-0.9, 300), (0.5, 900)):
        context, given = context_of(), iter(released)
        unit = context.distribution.unit
        monkeypatch.setattr(columns, "noisy", lambda _, block, exact, g=given, u=unit: [u * one for one in next(g)])
        x = rng.uniform(low, low + 0.4, (2, rows))
        answers.append(columns_centred(context, cells_of(context, *x), rows, 500.0))
    assert answers[0] == answers[1]


def test_a_count_with_large_noise_moves_beliefs_less():
    moved = []
    for sd in (0.01, 0.5, 50.0):
        beliefs = Beliefs(1)
        beliefs.learn((np.array([0.0]),), np.array([0.0]), sd)
        moved.append(float(beliefs.means()[0][0]))
    assert moved[0] > 2 * moved[1] > 2 * moved[2] > -1e-3


def sized(x, scale, sampler=None, centre=0.0):
    context = context_of(sampler)
    return columns_sized(context, cells_of(context, x, x), len(x), float(len(x)), [centre] * 2, [scale] * 2)[0]


@pytest.mark.parametrize("scale", [0.3, 0.05, 0.01])
def test_mean_squares_leave_the_scale_of_a_normal_column(scale):
    x = np.clip(np.random.default_rng(1).normal(0, scale, 20_000), -1, 1)
    assert sized(x, scale) == scale
    assert np.mean([sized(x, scale, SeededSampler(seed)) == scale for seed in range(20)]) > 0.8


def test_a_narrow_scale_of_a_column_that_is_mostly_one_value_is_raised():
    rng = np.random.default_rng(2)
    x = np.where(rng.random(20_000) < 0.8, 0.0, rng.uniform(-1, 1, 20_000))
    root = float(np.sqrt(np.mean(x**2)))
    for found in (sized(x, LEAST_SCALE), sized(x, LEAST_SCALE, SeededSampler(1))):
        assert NARROWEST < 0.4 * root < found < root


def test_a_narrow_scale_is_not_believed_where_the_noise_is_large():
    x = np.clip(np.random.default_rng(3).normal(0, 0.01, 200), -1, 1)
    assert all(sized(x, 0.01, SeededSampler(seed)) >= NARROWEST for seed in range(10))


def test_noise_without_end_leaves_scales_within_the_range():
    class Far(SeededSampler):
        def draw(self, sigmas):
            return [40 * sigma for sigma in sigmas]

    for scale in (LEAST_SCALE, 0.1, 1.4):
        assert scale <= sized(np.zeros(20), scale, Far(1)) <= 1.5


def test_capped_squares_are_exact_and_a_row_counts_for_at_most_1():
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 5, 2 * CELLS + 1)
    for centre, width in [(0, 2 * CELLS), (-CELLS, 1), (1234, 100), (CELLS, 8192)]:
        expected = sum(
            int(many) * min((cell - centre) ** 2 * 2**16 // width**2, 2**16)
            for many, cell in zip(counts, range(-CELLS, CELLS + 1), strict=True)
        )
        assert columns._capped_squares(counts, centre, width) == expected
        assert expected <= 2**16 * counts.sum()


def test_mean_squares_are_centred_by_a_half_and_asked_where_released_numbers_say(monkeypatch):
    """Tables with equal noisy numbers have equal windows and scales; every part of a row is in [-1/2, 1/2]."""
    answers, asked, rng = [], [], np.random.default_rng(7)
    squares = columns._capped_squares

    def watched(counts, centre, width):
        asked.append((int(centre), int(width)))
        return squares(counts, centre, width)

    monkeypatch.setattr(columns, "_capped_squares", watched)
    for x in (rng.uniform(-1, 1, 300), np.zeros(900)):
        context, given, exact = context_of(), iter([[-100, 50], [-200, 10]]), []

        def released(_, block, sums, g=given, u=context.distribution.unit, e=exact):
            e.append(sums)
            return [u * one for one in next(g)]

        monkeypatch.setattr(columns, "noisy", released)
        answers.append(columns_sized(context, cells_of(context, x, x), len(x), 500.0, [0.1, 0.0], [0.01, 0.2]))
        assert all(abs(one) <= len(x) * context.distribution.unit // 2 for sums in exact for one in sums)
    assert answers[0] == answers[1]
    assert asked[:4] == asked[4:]


def test_sizes_are_root_mean_squares_around_the_centres_after_a_standard_deviation_is_subtracted():
    rng, context = np.random.default_rng(8), context_of()
    sd, rows = context.distribution.sd("mean_square"), 40_000
    at = np.rint(np.clip(rng.normal([[0.3], [-0.6]], 0.1, (2, rows)), -1, 1) * CELLS)
    cells, centres = cells_of(context, *at / CELLS), [round(0.25 * CELLS), -CELLS]
    # in units of two scaled units, each square rounded down to a multiple of 2^-16
    distances = ((row - centre) / (2 * CELLS) for row, centre in zip(at, centres, strict=True))
    sums = [np.floor(row**2 * 2**16).sum() / 2**16 for row in distances]
    found = column_sizes(context, "mean_square", cells, centres, float(rows))
    assert found == pytest.approx([2 * np.sqrt((total - sd) / rows) for total in sums], rel=1e-9)
    # noise is drawn for each column: seven standard deviations are not exceeded, and one is not all there is
    noisy = [
        column_sizes(context_of(SeededSampler(seed)), "mean_square", cells, centres, float(rows)) for seed in (1, 2)
    ]
    off = [rows * (size / 2) ** 2 - (total - sd) for sizes in noisy for size, total in zip(sizes, sums, strict=True)]
    assert len(set(off)) == 4
    assert max(map(abs, off)) < 7 * sd


def test_a_size_is_0_where_the_noise_is_larger_than_the_sum():
    context, empty = context_of(), np.zeros((2, 2 * CELLS + 1), dtype=np.int64)
    assert column_sizes(context, "mean_square", empty, [0, 0], 20.0) == [0.0, 0.0]


@pytest.mark.parametrize("share", [0.8, 0.9, 0.97])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_scale_misfits_a_column_that_is_mostly_one_value(share, seed):
    """And fits normal columns, however narrow, with and without noise."""
    rng = np.random.default_rng(8)
    context = context_of(None if seed is None else SeededSampler(seed))
    mostly = np.where(rng.random(5000) < share, -0.9, rng.uniform(-0.9, 0.9, 5000))
    for sd in (0.3, 0.03, 0.01):
        normal = np.clip(rng.normal(0.2, sd, 5000), -1, 1)
        assert columns_found(context, cells_of(context, mostly, normal), 5000, 5000.0)[2] == [True, False]


def test_a_scale_fits_if_the_noise_of_the_counts_is_large():
    context = context_of(SeededSampler(3))
    mostly = np.where(np.arange(100) < 80, -0.9, 0.5)
    assert columns_found(context, cells_of(context, mostly, mostly), 100, 100.0)[2] == [False, False]
