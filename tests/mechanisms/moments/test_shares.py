"""Noise in shares: exact neighbours over several parts, the distribution of the sum, and wrong shares that are
rejected."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import GridTooFineError, SpecError
from discreet.exact.linear import entry_count
from discreet.mechanisms.gaussian import GaussianMoments, GaussianShares
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.tables import neighbouring_table, random_table

FALSE_ALARM = 1e-9
BUDGET = PrivacyBudget(1.0, 1e-6)
DESIGN = Design("y", {"x": (-1, 1), "z": (0, 1), "g": ["a", "b"], "y": (-1, 1)})
MANY = Design("y", {**{f"x{k}": (-1, 1) for k in range(60)}, "y": (-1, 1)})


def shares(parts=3, honest=2, most=1):
    return GaussianShares(shares=parts, honest=honest, parts_per_person=most)


def distribution_of(made, design=DESIGN, grid_bits=16):
    return made.noise_model(design, RowDomain.of(design, grid_bits), BUDGET, {})


def exact(table, design):
    domain = RowDomain.of(design, 16)
    return accumulate(open_source(table), design, domain, ComputeOptions()).values


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_person_in_so_many_parts_moves_the_pooled_sums_no_farther_than_the_honest_noise_hides(most):
    """One row more in each of `most` parts, exactly; a corner row in all of them comes close to the claim."""
    made, rng = shares(parts=5, honest=4, most=most), np.random.default_rng(most)
    distribution = distribution_of(made)
    variance = [made.honest * step**2 for step in distribution.steps(len(DESIGN.released))]
    claim = Fraction(mu_from(1.0, 1e-6)) ** 2
    spent = []
    for _ in range(4):
        change = [0] * len(variance)
        for _ in range(most):
            table = random_table(DESIGN, 6, rng)
            pair = [exact(one, DESIGN) for one in (table, neighbouring_table(DESIGN, table, rng))]
            change = [now + b - a for now, a, b in zip(change, *pair, strict=True)]
        spent.append(sum(Fraction(c * c, v) for c, v in zip(change, variance, strict=True) if v))
    assert max(spent) <= claim
    row = {"x": [1.0], "z": [1.0], "g": ["b"], "y": [1.0]}
    corner = sum(Fraction((most * c) ** 2, v) for c, v in zip(exact(row, DESIGN), variance, strict=True) if v)
    assert claim * Fraction(9, 10) < corner <= claim


@pytest.fixture(scope="module")
def summed():
    """Noise of three shares, added up, in units of the scale of one share."""
    made = shares()
    distribution = distribution_of(made, MANY)
    size = len(MANY.released)
    nothing = Totals((0,) * entry_count(size), distribution.unit, RowCounts(0))
    drawn = [made.randomise(nothing, distribution, ExactSampler()) for _ in range(3)]
    return np.array([sum(one) / step for *one, step in zip(*drawn, distribution.steps(size), strict=True)], dtype=float)


def accepted(values: np.ndarray, variance: float) -> bool:
    """Whether so many independent numbers may have this variance, with false alarms below 1e-9."""
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(values))
    return low <= float((values**2).sum()) / variance <= high


def test_the_sum_of_three_shares_has_three_times_the_variance_of_one(summed):
    assert accepted(summed, 3.0)
    assert stats.kstest(summed / math.sqrt(3), "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("wrong", [1.0, 2.0, 4.5])
def test_another_variance_is_rejected(summed, wrong):
    assert not accepted(summed, wrong)


def test_two_honest_shares_have_the_variance_that_the_budget_needs():
    whole = GaussianMoments().noise_model(MANY, RowDomain.of(MANY, 16), BUDGET, {})
    distribution = distribution_of(shares(), MANY)
    for block, sigma in whole.sigma.items():
        assert sigma**2 <= 2 * distribution.sigma[block] ** 2 <= sigma**2 * (1 + 1e-6)
        assert distribution.sd(block) == pytest.approx(math.sqrt(3 / 2) * whole.sd(block))


def test_noise_falls_with_the_number_of_honest_curators():
    sds = [distribution_of(shares(parts=10, honest=honest)).sd("cross") for honest in range(1, 10)]
    assert all(one > other for one, other in pairwise(sds))


def test_too_much_or_too_little_noise_for_the_grid_is_refused():
    with pytest.raises(GridTooFineError, match="a share of the noise on 'count' needs a scale of"):
        shares(most=3)._share("count", 2**57)
    with pytest.raises(
        SpecError, match=r"expected a scale of at least 16 grid steps for each share of the noise on .*, got 8"
    ):
        shares()._share("count", 11)
    assert shares()._share("count", 0) == 0
