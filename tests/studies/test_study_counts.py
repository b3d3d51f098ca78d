"""Two million counts at once, as in a genome-wide study: the errors that happen against the stated ones."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from discreet import primitives

K = 2_000_000
PEOPLE = 5000


@pytest.mark.slow
@pytest.mark.parametrize(("delta", "max_memberships"), [(0.0, None), (0.0, K // 2), (1e-6, K // 2)])
def test_two_million_counts_have_the_stated_errors(delta, max_memberships):
    """K = 2 million, epsilon = log 2; each person is a case or a control, so in half of the counts."""
    counts = np.random.default_rng(5).binomial(PEOPLE, 0.2, size=K)
    start = time.perf_counter()
    noisy = primitives.counting_queries(counts, math.log(2), delta=delta, max_memberships=max_memberships)
    seconds = time.perf_counter() - start
    sizes = np.abs(np.array(noisy.values) - counts)
    print(
        f"\n{noisy.noise}, each person in {max_memberships or K}: scale {noisy.scale:.4g}; mean absolute error "
        f"{sizes.mean():.5g} (stated {noisy.mean_error:.5g}); largest {sizes.max():.5g} "
        f"(expected {noisy.largest_error:.5g}, bound {noisy.simultaneous_bound:.5g}); {seconds:.0f} s"
    )
    # seven standard errors of a mean of two million; sizes spread no more than their mean
    assert sizes.mean() == pytest.approx(noisy.mean_error, rel=7 / math.sqrt(K))
    # the largest of K: 25 scales of a Gumbel distribution above and 4 below have a probability under 1e-10
    spread = noisy.scale if noisy.noise == "laplace" else noisy.scale / math.sqrt(2 * math.log(K))
    assert noisy.largest_error - 4 * spread < sizes.max() < noisy.largest_error + 25 * spread
    # the notes' conclusion: useless for a study of thousands of people
    assert noisy.noise == "gaussian" or noisy.mean_error > 100 * PEOPLE
