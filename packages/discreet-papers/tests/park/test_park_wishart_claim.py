"""The refuted claim: how often a noisy second moment rules out a neighbouring table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet_papers.park.park_algorithm import ruled_out, ruled_out_probability, true_epsilon


@pytest.mark.parametrize("columns", [1, 2, 6])
@pytest.mark.parametrize("level", [0.1, 1.0])
def test_a_neighbour_is_ruled_out_with_the_stated_probability_whatever_the_columns(level, columns):
    """Binomial test on 3,000 draws, false alarm 1e-9; the claim of probability 0 and a quarter off are rejected."""
    found = ruled_out(level, 3000, np.random.default_rng(columns), columns=columns)
    chance = ruled_out_probability(level)
    assert stats.binomtest(found, 3000, chance).pvalue > 1e-9
    assert found > 0
    assert stats.binomtest(found, 3000, 0.6 * chance).pvalue < 1e-9


def test_no_epsilon_holds_unless_delta_covers_that_probability():
    assert true_epsilon(0.1, 1e-6) == math.inf
    assert true_epsilon(0.1, 0.0951) == math.inf
    assert true_epsilon(0.1, 0.0952) == 0.0
