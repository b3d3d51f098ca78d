"""Errors in the note, with functions that evaluate each claim."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.privacy import delta_from
from discreet_papers.figure import Erratum, Outcome
from discreet_papers.park.park_algorithm import (
    Noise,
    cdp_epsilon,
    cdp_level,
    expected_loss,
    gaussian_multiplier,
    reweighted,
    ruled_out,
    ruled_out_probability,
    true_epsilon,
)
from discreet_papers.park.park_figures import EPSILON, FAILURE

_SEED: Final = 20
_CAPS: Final = (0.5, 5.0, 50.0)


def wishart_keeps_its_level(level: float = 0.1, draws: int = 4000) -> Outcome:
    """Check that no draw of a noisy second moment rules out a neighbouring table."""
    count = ruled_out(level, draws, np.random.default_rng(_SEED), columns=5)
    return Outcome(
        count == 0,
        f"a neighbour is ruled out in {count / draws:.3f} of {draws:,} draws (1 - exp(-{level:g}) = "
        f"{ruled_out_probability(level):.3f}); true epsilon at delta {FAILURE:g}: {true_epsilon(level, FAILURE):g}",
    )


def gaussian_keeps_its_level(level: float = 0.3) -> Outcome:
    """Check whether the noise of equation (5) never fails, and whether the weight cap can be its delta."""
    failure = delta_from(level, level / gaussian_multiplier(FAILURE))
    square = 2 * math.log(1.25 / 10)
    return Outcome(
        failure == 0 and square > 0,
        f"at level {level:g} the loss exceeds it with delta = {failure:.2g}, above 0; with the weight cap 10 as delta, "
        f"c^2 >= {square:.2f}, so c = 0 would do",
    )


def levels_keep_the_expected_loss(iterations: int = 10) -> Outcome:
    """Check whether the expected loss at the level of the note is bounded by epsilon."""
    pieces = 2 * iterations
    loss = expected_loss(cdp_level(EPSILON, pieces), pieces)
    return Outcome(
        loss <= EPSILON,
        f"the bound gives {loss:.3f} at epsilon = {EPSILON:g}, J = {iterations}; {EPSILON:g}-CDP is "
        f"({cdp_epsilon(EPSILON, FAILURE):.2f}, {FAILURE:g})-DP, and is compared with {EPSILON:g}-DP",
    )


def cap_sets_the_sparsity() -> Outcome:
    """Check whether the cap determines how many coefficients are 0, and whether its noise covers the first pass."""
    rng = np.random.default_rng(_SEED)
    x = rng.standard_normal((400, 6)) / 8
    y = x @ np.array([0.9, -0.6, 0.0, 0.0, 0.0, 0.0]) + rng.laplace(0, 0.02, 400)
    last = reweighted(x, y, [Noise(cap) for cap in _CAPS], 60, rng)[-1]
    nonzero = [int((np.abs(theta) > 1e-9).sum()) for theta in last]
    gap = max(_huber_gradient(x, y, theta, 1 / cap) for theta, cap in zip(last, _CAPS, strict=True))
    # the first pass has weights 1 but the noise of weights up to the cap
    spent = 1 / _CAPS[0]
    return Outcome(
        len(set(nonzero)) > 1 and spent <= 1,
        f"{nonzero} of 6 coefficients are nonzero at caps {list(_CAPS)} though 2 are in truth; the fit is Huber's with "
        f"threshold 1/cap (gradient {gap:.1g}); at cap {_CAPS[0]:g} the first pass spends {spent:g} times its level",
    )


def _huber_gradient(x: FloatArray, y: FloatArray, theta: FloatArray, threshold: float) -> float:
    """Return the largest gradient entry of Huber's loss per row, which is 0 at the minimum."""
    score = np.clip(y - x @ theta, -threshold, threshold)
    return float(np.abs(x.T @ score).max() / len(y))


ERRATA: Final = (
    Erratum(
        20,
        "park",
        "equations (6) to (10)",
        "Wishart noise with d + 1 degrees of freedom makes the second moment epsilon'-differentially private.",
        wishart_keeps_its_level,
    ),
    Erratum(
        21,
        "park",
        "equation (5)",
        "Gaussian noise makes the first moment epsilon'-differentially private, with c^2 >= 2 log(1.25/delta).",
        gaussian_keeps_its_level,
    ),
    Erratum(
        22,
        "park",
        "section 3",
        "With epsilon' = sqrt(2 epsilon / J) for J pieces, the expected loss is at most epsilon.",
        levels_keep_the_expected_loss,
    ),
    Erratum(
        23,
        "park",
        "Algorithm 1 and section 2",
        "delta sets how many coefficients are nonzero, and the noise of the moments covers every pass.",
        cap_sets_the_sparsity,
    ),
)
