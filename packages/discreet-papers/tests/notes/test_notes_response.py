"""Randomised response of the notes: estimate, loss, belief, and the share of rows in full."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from discreet_papers.notes import notes_response


@pytest.mark.parametrize("q", [0.25, 0.5, 0.9])
def test_the_estimate_is_unbiased_and_the_raw_share_is_not(q):
    rng = np.random.default_rng(5)
    share = notes_response.said_yes(200, 800, q, rng, 20_000) / 1000
    estimate = notes_response.unbiased_share(share, q)
    # five standard errors of the mean: false alarm 6e-7, and the seed is fixed
    assert abs(estimate.mean() - 0.2) < 5 * estimate.std() / math.sqrt(20_000)
    assert abs(share.mean() - 0.2) > 5 * share.std() / math.sqrt(20_000)


def test_the_loss_is_as_claimed():
    assert all(
        notes_response.true_loss(q) == pytest.approx(notes_response.claimed_loss(q), abs=1e-12)
        for q in np.linspace(0.01, 0.99, 30)
    )
    assert notes_response.true_loss(0.5) == pytest.approx(math.log(3))


def test_a_yes_at_most_triples_a_belief():
    prior = np.linspace(1e-6, 1, 1000)
    belief = notes_response.posterior(prior, 0.5)
    assert (belief <= 3 * prior).all()
    assert belief[0] == pytest.approx(3 * prior[0], rel=1e-5)
    # negative control: a bound of 2.9 r does not hold
    assert (belief > 2.9 * prior).any()


def test_the_delta_of_a_share_is_the_total_variation_of_an_added_row():
    share, rows = 0.3, 3

    def distribution(persons: int) -> dict[tuple[int, ...], float]:
        return {
            chosen: share ** len(chosen) * (1 - share) ** (persons - len(chosen))
            for size in range(persons + 1)
            for chosen in combinations(range(persons), size)
        }

    one, other = distribution(rows), distribution(rows + 1)
    distance = sum(abs(one.get(key, 0) - chance) for key, chance in other.items()) / 2
    assert distance == pytest.approx(notes_response.share_delta(share))


def test_a_fixed_number_of_rows_may_show_who_was_added():
    assert notes_response.fixed_share_delta(100, 0.1) == pytest.approx(10 / 101)
    assert max(notes_response.fixed_share_delta(n, 0.1) for n in range(100, 120)) == 1.0


def test_published_rows_have_the_share():
    published = notes_response.published_share(1000, 0.02, np.random.default_rng(2), 4000)
    # five standard errors: false alarm 6e-7
    assert abs(published.mean() - 20) < 5 * math.sqrt(1000 * 0.02 * 0.98 / 4000)
