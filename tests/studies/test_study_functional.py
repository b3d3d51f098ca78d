"""How much less noise the functional mechanism needs than the report that proposes it. Figures: make slow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.accounting.noise_distribution import entry_blocks
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.mechanisms.functional import FunctionalMechanism
from discreet.mechanisms.laplace import LaplaceMoments, noisy_totals
from discreet.mechanisms.sampler import ExactSampler, rounded_up
from discreet.privacy.budget import PrivacyBudget

DRAWS = 20_000


def design_of(d: int, **options: object) -> Design:
    return Design("y", {**{f"x{j}": (-1, 1) for j in range(d)}, "y": (-1, 1)}, **options)


def drawn_sds(distribution, d: int) -> dict[str, float]:
    """Standard deviations of released noise by block: releases of an empty table hold nothing else."""
    size = d + 2
    blocks = np.array(entry_blocks(size))
    empty = Totals((0,) * len(blocks), 4**16, RowCounts(0))
    rounds = -(-DRAWS // d)
    released = [noisy_totals(empty, distribution, ExactSampler()) for _ in range(rounds)]
    noise = np.array([[math.nan if total is None else float(total) for total in row] for row in released]) / 4**16
    return {block: float(noise[:, blocks == block].std()) for block in distribution.sigma if distribution.sigma[block]}


@pytest.mark.slow
@pytest.mark.parametrize("d", [5, 20])
def test_noise_against_the_report_as_written(d):
    """Same relation, same polynomial in d columns, epsilon = 1; the report mirrors noise of scale 2 (d + 1)^2."""
    epsilon = 1.0
    design = design_of(d, intercept=False, unit={"neighbours": "replace"})
    distribution = FunctionalMechanism().noise_model(
        design, RowDomain.of(design), PrivacyBudget(epsilon), {"target_square": False}
    )
    ours = drawn_sds(distribution, d)
    scale = rounded_up(math.ceil(2 * (d * d + 2 * d + 1) / epsilon * 4**16))
    theirs = float(np.std(np.array(ExactSampler().laplace([scale] * DRAWS), dtype=float))) / 4**16
    # its linear coefficients are 2 X'y with the same scale, so its X'y has half
    report = {"gram_diagonal": theirs, "gram_off_diagonal": theirs, "cross": theirs / 2}
    ratios = {block: sd / ours[block] for block, sd in report.items()}
    print(f"\nd = {d:2d}: " + ", ".join(f"{b} {report[b]:.1f} / {ours[b]:.1f} = {ratios[b]:.3f}" for b in ratios))
    # a standard deviation of 20,000 Laplace draws (kurtosis 6) is known to 0.8 %; a ratio of two to 1.1 %
    spread = stats.norm.isf(1e-10) * math.sqrt(2 * 5 / (4 * DRAWS))
    assert ratios["gram_diagonal"] == pytest.approx(2, rel=spread)
    assert ratios["gram_off_diagonal"] == pytest.approx(4, rel=spread)
    assert ratios["cross"] == pytest.approx(2, rel=spread)


@pytest.mark.slow
@pytest.mark.parametrize("d", [5, 20])
def test_standard_deviations_of_the_two_pure_releases(d):
    """Entry by entry at epsilon = 1, box, add-remove: the distributions say what is drawn."""
    design = design_of(d)
    domain, budget = RowDomain.of(design), PrivacyBudget(1.0)
    distributions = {
        "laplace": LaplaceMoments().noise_model(design, domain, budget, {}),
        "functional": FunctionalMechanism().noise_model(design, domain, budget, {"target_square": True}),
    }
    for name, distribution in distributions.items():
        drawn = drawn_sds(distribution, d)
        print(
            f"\nd = {d:2d} {name:11}"
            + "  ".join(f"{block} {distribution.sd(block):.1f}" for block in distribution.sigma)
        )
        for block, sd in drawn.items():
            # blocks of a single entry have 20,000 / d draws: seven standard errors
            assert sd == pytest.approx(distribution.sd(block), rel=7 * math.sqrt(5 / 4 / (DRAWS / d)))
