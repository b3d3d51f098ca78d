"""What iterative mechanisms share: the bound on a score, its noise, the box, and what is published."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.accounting.iterations import row_norm, score_sensitivity
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.mechanisms.irls import LARGEST_COEFFICIENT, fitted_indices, noisy_score, published, stepped
from discreet.releases import NoiseDistribution
from support.iterative_runs import NoNoise, grid_rows
from support.tables import random_design, random_table


@pytest.mark.parametrize("seed", range(12))
def test_no_row_is_longer_than_the_norm_and_a_corner_comes_near(seed):
    rng = np.random.default_rng(seed)
    design = random_design(rng, ball=False)
    rows = grid_rows(random_table(design, 300, rng), design)[:-1] / 2**16
    longest = np.sqrt((rows[fitted_indices(design)] ** 2).sum(axis=0).max())
    bound = row_norm(RowDomain.of(design), intercept=design.intercept)
    assert longest <= bound
    # a column has a corner with a chance of at least 0.4 in a row, so that one of 300 rows is nearly the longest
    assert longest > 0.7 * bound


@pytest.mark.parametrize(("neighbours", "apart"), [("add-remove", 1), ("replace", 2)])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_sensitivity_counts_rows_that_come_and_rows_that_go(neighbours, apart, max_rows):
    person = {"id": "person", "max_rows": max_rows} if max_rows > 1 else {}
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": neighbours, **person})
    found = score_sensitivity(RowDomain.of(design), design.unit, intercept=True)
    assert found == pytest.approx(math.sqrt(2) * apart * max_rows, rel=1e-12)
    assert found > math.sqrt(2) * apart * max_rows


class Counted(NoNoise):
    """Draws 1, 2, 3, ... and keeps the scales that were asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def draw(self, sigmas):
        self.asked += sigmas
        return list(range(1, len(sigmas) + 1))


@pytest.mark.parametrize("intercept", [True, False])
def test_noise_of_the_scale_of_the_distribution_is_added_to_each_fitted_score(intercept):
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)}, intercept=intercept)
    sampler = Counted()
    context = SimpleNamespace(
        design=design,
        domain=RowDomain.of(design, 16),
        distribution=NoiseDistribution(16, {"score": 77}, "none"),
        sampler=sampler,
    )
    totals = [5 * 2**80, 2**16, -3]
    found = noisy_score(Totals(tuple(totals), 2**16, RowCounts(3)), context)
    fitted = totals if intercept else totals[1:]
    assert sampler.asked == [77] * len(fitted)
    assert found.tolist() == [(total * 2**16 + k + 1) / 2**32 for k, total in enumerate(fitted)]
    assert found[-1] != fitted[-1] / 2**16


def test_a_step_moves_the_last_coefficients_and_ends_at_the_box():
    assert stepped(np.array([0.0, 1.0, 2.0]), np.array([0.5, -0.5])).tolist() == [0.0, 1.5, 1.5]
    far = stepped(np.array([0.0, 0.0]), np.array([1e300, -1e300]))
    assert far.tolist() == [LARGEST_COEFFICIENT, -LARGEST_COEFFICIENT]


def test_the_last_iterate_or_the_mean_of_the_last_half_is_published_with_the_trace():
    iterates = [np.array([float(k), -float(k)]) for k in range(5)]
    last, mean = (published(iterates, average=average) for average in (False, True))
    assert last.values == (4.0, -4.0)
    # of five, the last three
    assert mean.values == (3.0, -3.0)
    assert last.trace == mean.trace == tuple((float(k), -float(k)) for k in range(5))
