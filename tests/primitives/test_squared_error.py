"""The distribution of the least squared error on a lattice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from discreet.primitives import mean as squared_error
from discreet.primitives.mean import squared_error_draw
from support.discrete_distributions import squared_error_distribution

FALSE_ALARM = 1e-9


def test_every_place_is_accepted_with_exactly_its_power(monkeypatch):
    caught = []
    monkeypatch.setattr(squared_error, "bernoulli_exp", lambda exponent: caught.append(exponent) or len(caught) == 5)
    indices = iter(range(5))
    monkeypatch.setattr(squared_error, "below", lambda limit: next(indices))
    mean, n, epsilon = Fraction(1, 3), 12, 0.5
    assert squared_error_draw(mean, n, epsilon, cells=4) == 1
    assert caught == [n * Fraction(epsilon) / 2 * (mean - Fraction(k, 4)) ** 2 for k in range(5)]


def test_draws_of_the_lattice_distribution_have_it():
    mean, n, epsilon, cells = Fraction(1, 5), 20, 1.0, 6
    p = np.exp(squared_error_distribution(mean, n, epsilon, cells))
    draws = [int(squared_error_draw(mean, n, epsilon, cells) * cells) for _ in range(4000)]
    observed = np.bincount(draws, minlength=cells + 1)
    pooled, expected = [*observed[:4], observed[4:].sum()], [*p[:4], p[4:].sum()]
    assert stats.chisquare(pooled, np.array(expected) * 4000).pvalue > FALSE_ALARM
    wrong = np.exp(squared_error_distribution(mean, n, 2 * epsilon, cells))
    assert stats.chisquare(pooled, np.array([*wrong[:4], wrong[4:].sum()]) * 4000).pvalue < FALSE_ALARM
