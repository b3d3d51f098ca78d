"""The noise of several Gaussian statistics keeps its budget by every accounting rule, the step to the lattice included.

The budget is recomputed from the scales of a release alone: mu of each statistic from its largest change, which is
known by hand for one column in [-1, 1]; the exact delta of a Gaussian mechanism with sixty digits; and what the lattice
costs, (1 + e^epsilon) times the sum of 1 / (16 sigma^2) over all variates. Or zero-concentrated accounting, which the
discrete distribution keeps exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import discreet
from discreet.privacy.textbook import advanced_composition
from discreet.testing.not_private import seeded_release

DESIGN = discreet.Design("y", {"x": (-1, 1), "y": (-1, 1)})
TABLE = {"x": [0.5, -0.5], "y": [0.25, 0.0]}
DELTA = 1e-6
BITS = 8
# largest changes of the Gram of (1, x) and of a sum of scores (1, x) psi: |z|^2 and |z|
GRAM, SCORE = 2.0, 2**0.5


def gaussian_delta(mu: float, epsilon: float) -> mpmath.mpf:
    """Balle & Wang 2018, Theorem 8."""
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def concentrated_delta(rho: float, epsilon: float) -> float:
    """Canonne, Kamath & Steinke 2020, Corollary 13, at the best of many orders; every order is a valid bound."""
    orders = 1 + np.geomspace(1e-3, 1e5, 200_000)
    logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    return float(np.exp(logs.min()))


def each_epsilon(rule: str, epsilon: float, releases: int, spare: float) -> float:
    """The largest epsilon of one release, if several are together epsilon-private but for `spare` by a rule."""
    if rule == "basic":
        return epsilon / releases
    low, high = 0.0, epsilon
    for _ in range(200):
        middle = (low + high) / 2
        fits = advanced_composition(middle, 0.0, releases, spare)[0] <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


def accounts(rule: str, epsilon: float, iterations: int) -> tuple[float, float, float]:
    """Delta by Gaussian accounting, what the lattice adds to it, and delta by zero-concentrated accounting."""
    distribution = seeded_release(
        TABLE, DESIGN, seed=1, epsilon=epsilon, delta=DELTA, mechanism="irls", grid_bits=BITS,
        settings={"iterations": iterations, "composition": rule},
    ).noise  # fmt: skip
    sigma = {name: float(steps) for name, steps in distribution.sigma.items()}
    gram, score = GRAM * 4**BITS / sigma["gram_diagonal"], SCORE * 4**BITS / sigma["score"]
    # the Gram has two entries on its diagonal and one off it, whose noise is smaller by sqrt(2)
    variates = (
        2 / sigma["gram_diagonal"] ** 2 + 1 / sigma["gram_off_diagonal"] ** 2 + iterations * 2 / sigma["score"] ** 2
    )
    gap = float((1 + mpmath.exp(epsilon)) * variates / 16)
    if rule in ("exact", "zcdp"):
        mu2 = gram**2 + iterations * score**2
        return float(gaussian_delta(mu2**0.5, epsilon)), gap, concentrated_delta(mu2 / 2, epsilon)

    def spent(delta_of: Callable[[float, float], float], delta: float) -> float:
        spare = delta / 2 if rule == "advanced" else 0.0
        each = each_epsilon(rule, epsilon, iterations + 1, spare)
        return float(delta_of(gram, each) + iterations * delta_of(score, each) + spare)

    left = DELTA - gap if gap < DELTA else DELTA
    return spent(gaussian_delta, left), gap, spent(lambda mu, each: concentrated_delta(mu**2 / 2, each), DELTA)


@pytest.mark.parametrize("iterations", [1, 30])
@pytest.mark.parametrize("epsilon", [4.0, 8.0, 12.0, 18.0])
@pytest.mark.parametrize("rule", ["exact", "zcdp", "advanced", "basic"])
def test_the_budget_is_kept_with_what_the_lattice_costs(rule, epsilon, iterations):
    gaussian, gap, concentrated = accounts(rule, epsilon, iterations)
    assert gaussian + gap <= DELTA * (1 + 1e-9) or concentrated <= DELTA * (1 + 1e-6)


@pytest.mark.parametrize("rule", ["exact", "advanced", "basic"])
def test_the_lattice_would_break_the_budget_if_it_were_left_out(rule):
    """The calibration is tight, and on this grid the lattice costs a visible part of delta: none of it is spare."""
    shares = []
    for epsilon in (4.0, 8.0, 12.0):
        gaussian, gap, concentrated = accounts(rule, epsilon, 30)
        if concentrated > DELTA:
            assert gaussian + gap >= DELTA * 0.999
            shares.append(gap / DELTA)
    assert max(shares) > 1e-5
