"""Errors in the public code of baselines, with functions that evaluate each claim."""

from __future__ import annotations

import math
from typing import Final

from discreet.privacy import epsilon_from, mu_from
from discreet_papers.figure import Erratum, Outcome

DELTA: Final = 1e-6


def script_keeps_its_epsilon(epsilon: float = 1.0, rounds: int = 100) -> Outcome:
    """Check whether noise with sd mu on the Gram matrix, its eigenvalue and every round satisfies epsilon."""
    mu = mu_from(epsilon, DELTA)
    spent = epsilon_from(math.sqrt(rounds + 2) / mu, DELTA)
    needed = math.sqrt(3 * rounds) / mu
    return Outcome(
        spent <= epsilon,
        f"noise multiplier {mu:.3f} where {needed:.1f} is needed for each round; {rounds} rounds at a stated "
        f"({epsilon:g}, {DELTA:g}) spend epsilon {spent:,.0f}",
    )


def distance_test_keeps_its_epsilon(epsilon: float = math.log(3)) -> Outcome:
    """Check whether Laplace noise of scale epsilon/2 on a count with sensitivity 1 satisfies epsilon/2."""
    spent = 1 / (epsilon / 2)
    return Outcome(
        spent <= epsilon / 2,
        f"noise of scale {epsilon / 2:.3f} on a distance of sensitivity 1 spends {spent:.2f}, stated "
        f"{epsilon / 2:.3f}; at epsilon 0.1 it spends 20, stated 0.05",
    )


ERRATA: Final = (
    Erratum(
        29,
        "baselines",
        "Tang et al. (2023), public script, sigma",
        "The noise multiplier is mu, in each of T rounds, and the whole keeps (epsilon, delta).",
        script_keeps_its_epsilon,
    ),
    Erratum(
        30,
        "baselines",
        "Amin et al. (2023), public code, test of the distance",
        "Laplace noise of scale epsilon/2 makes the test epsilon/2-differentially private.",
        distance_test_keeps_its_epsilon,
    ),
)
