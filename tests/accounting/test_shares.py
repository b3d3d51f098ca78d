"""Shares of noise: their scale, what is counted, and how far their sum is from one variate."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from discreet.accounting.curator_shares import LEAST_SHARE, check_share, counted_distribution, share_steps
from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.errors import SpecError

SCALES = (1, 17, 1000, 2**34 + 1, 2**56 + 12345)


@pytest.mark.parametrize("sigma", SCALES)
@pytest.mark.parametrize("honest", [1, 2, 3, 999])
@pytest.mark.parametrize("most", [1, 2, 7])
def test_the_share_is_the_least_that_suffices_and_what_is_counted_is_never_more(sigma, honest, most):
    share = share_steps(sigma, honest, most)
    assert honest * share**2 >= (most * sigma) ** 2 > honest * (share - 1) ** 2
    distribution = NoiseDistribution(8, {"count": share, "cross": 0}, "gaussian", parameters={
        "shares": honest + 1, "honest": honest, "parts_per_person": most,
    })  # fmt: skip
    counted = counted_distribution(distribution)
    assert counted.sigma["count"] >= sigma
    assert counted.sigma["count"] ** 2 * most**2 <= honest * share**2
    assert counted.sigma["cross"] == 0
    assert not counted.parameters


def test_the_standard_deviation_is_that_of_all_shares():
    distribution = NoiseDistribution(
        8, {"count": 2**16}, "gaussian", parameters={"shares": 4, "honest": 3, "parts_per_person": 1}
    )
    assert distribution.sd("count") == 2.0


def shares_distance(share: int, shares: int) -> float:
    """The bound of Kairouz, Liu & Steinke 2021 on the log ratio of a sum of shares and one variate."""
    return 10 * math.fsum(math.exp(-2 * math.pi**2 * share * share * k / (k + 1)) for k in range(1, shares))


def exact_distance(sigma: float, shares: int) -> mpmath.mpf:
    """Largest log ratio of the distribution of a sum of shares and of one variate, by convolution with fifty digits."""
    with mpmath.workdps(60):
        furthest = math.ceil(sigma * 12 * math.sqrt(shares))
        one = [mpmath.exp(-mpmath.mpf(z * z) / (2 * mpmath.mpf(sigma) ** 2)) for z in range(-furthest, furthest + 1)]
        weight = mpmath.fsum(one)
        one = [value / weight for value in one]
        # kept as long as `one`: what is cut off is below 1e-40
        total = one
        for _ in range(shares - 1):
            total = [
                mpmath.fsum(
                    total[a] * one[k - a + furthest]
                    for a in range(max(0, k - furthest), min(2 * furthest, k + furthest) + 1)
                )
                for k in range(2 * furthest + 1)
            ]
        alone = [mpmath.exp(-mpmath.mpf(z * z) / (2 * shares * mpmath.mpf(sigma) ** 2))
                 for z in range(-furthest, furthest + 1)]  # fmt: skip
        weight = mpmath.fsum(alone)
        near = range(furthest - round(3 * sigma), furthest + round(3 * sigma) + 1)
        return max(abs(mpmath.log(total[k] * weight / alone[k])) for k in near)


@pytest.mark.parametrize("shares", [2, 3])
def test_the_bound_holds_for_small_shares_and_half_of_its_power_does_not(shares):
    found = exact_distance(1.0, shares)
    bound = shares_distance(1, shares)
    assert 0 < found <= bound
    # negative control: with twice the scale in the exponent the bound is broken
    assert found > shares_distance(2, shares)
    # the proof beside the code has 5 in place of 10
    assert found <= bound / 2


def test_at_the_least_share_the_distance_is_below_every_double():
    assert shares_distance(LEAST_SHARE, 1000) == 0.0
    # in logarithms: of all numbers of a large release together, times e to a large epsilon
    power = -(math.pi**2) * LEAST_SHARE**2 + math.log(10 * 999 * 2**24) + 700
    assert power < math.log(5e-324)


@pytest.mark.parametrize(("sigma", "fine"), [(0, True), (1, False), (15, False), (16, True)])
def test_small_shares_are_refused(sigma, fine):
    if fine:
        check_share("count", sigma)
    else:
        with pytest.raises(SpecError, match=f"at least 16 grid steps for each share of the noise on .*, got {sigma}"):
            check_share("count", sigma)


def test_shares_of_the_number_of_parts_would_not_suffice():
    """Negative control: sigma^2/N in place of sigma^2/h."""
    sigma, parts, honest = 10**6, 3, 2
    wrong = share_steps(sigma, parts, 1)
    assert Fraction(honest * wrong**2, sigma**2) < Fraction(67, 100)
