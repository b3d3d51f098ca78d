"""Test draws against a stated noise distribution, with a false-alarm rate that is proved for any number of draws.

The Dvoretzky-Kiefer-Wolfowitz inequality with Massart's constant (1990) holds for continuous and discrete
distributions: with probability at most 2 exp(-2 n t^2), the empirical distribution function of n independent draws
differs from the true one by more than t at some point.

A bias in the probabilities of single integers hardly changes a distribution function, so frequencies are tested too.
For n independent draws in k cells, consider the relative entropy of the observed frequencies with respect to the
probabilities of the cells. By Agrawal (2020, Theorem I.2) it exceeds t > (k - 1) / n with probability at most exp(-n t)
(e n t / (k - 1))^(k - 1), whatever the probabilities are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import lambertw, ndtr, rel_entr

from discreet.exact.arrays import FloatArray

# from this scale on, a continuous distribution replaces the discrete one, with an error below 1e-7
_FINE: Final = 2**10
# up to this scale the frequencies of single integers are tested
_COUNTED: Final = 2**4


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one statistical test.

    Attributes
    ----------
    name
        Name of the test.
    distance
        Test statistic, for example the largest distance between two distribution functions, or a relative entropy.
    allowed
        Largest value with which the test passes. If the stated distribution is right, the distance exceeds it with at
        most the chosen probability.
    """

    name: str
    distance: float
    allowed: float

    @property
    def passed(self) -> bool:
        """Whether the distance does not exceed its limit.

        >>> Check("noise", 0.01, 0.02).passed
        True
        """
        return self.distance <= self.allowed


def distribution_check(name: str, draws: FloatArray, cdf: Callable[[FloatArray], npt.ArrayLike], alpha: float) -> Check:
    """Test independent draws against a continuous distribution.

    >>> from scipy.stats import norm
    >>> draws = np.random.default_rng(0).normal(size=10_000)
    >>> distribution_check("noise", draws, norm.cdf, 1e-9).passed
    True
    >>> distribution_check("noise", draws / 2, norm.cdf, 1e-9).passed
    False
    """
    ordered = np.sort(draws.ravel())
    stated, count = np.asarray(cdf(ordered)), len(ordered)
    steps = np.arange(count + 1) / count
    distance = float(max(np.max(steps[1:] - stated), np.max(stated - steps[:-1])))
    return Check(name, distance, _allowed(count, alpha))


def integer_check(
    name: str, draws: Mapping[tuple[str, int], npt.ArrayLike] | Mapping[tuple[str, float], npt.ArrayLike], alpha: float
) -> Check:
    """Test independent integers against the discrete distributions that they are stated to have.

    `draws` maps (family, scale) to variates, where the family is `gaussian`, `laplace` or `rounded gaussian`. The test
    compares distribution functions and, at scales up to 16, also the frequencies of single integers. The joint
    false-alarm probability is at most `alpha`. Return the check whose distance is largest relative to its limit.

    >>> from discreet.mechanisms.sampler import ExactSampler
    >>> draws = ExactSampler().laplace([8] * 4000)
    >>> integer_check("noise", {("laplace", 8): draws}, 1e-9).passed
    True
    >>> integer_check("noise", {("laplace", 16): draws}, 1e-9).passed
    False
    """
    small_scales = sum(scale <= _COUNTED for _, scale in draws)
    each, checks = alpha / (len(draws) + small_scales), []
    for (family, scale), values in draws.items():
        integers = np.asarray(values, dtype=np.float64)
        checks.append(Check(name, _cdf_distance(family, scale, integers), _allowed(len(integers), each)))
        if scale <= _COUNTED:
            checks.append(_frequencies(name, family, scale, integers, each))
    return max(checks, key=lambda check: check.distance / check.allowed)


def _cdf_distance(family: str, scale: float, draws: FloatArray) -> float:
    """Return the largest distance between the empirical and the stated distribution function of integer draws."""
    values, counts = np.unique(draws, return_counts=True)
    cdf = _INTEGER_CDFS[family]
    above = np.cumsum(counts) / len(draws)
    below = np.concatenate([[0.0], above[:-1]])
    return float(max(np.max(np.abs(above - cdf(values, scale))), np.max(np.abs(below - cdf(values - 1, scale)))))


def _frequencies(name: str, family: str, scale: float, draws: FloatArray, alpha: float) -> Check:
    """Compare observed with expected frequencies of integers within three noise scales of 0, and of the two tails."""
    last = np.arange(-math.ceil(3 * scale), math.ceil(3 * scale) + 1.0)
    stated = np.diff(_INTEGER_CDFS[family](last, scale), prepend=0.0, append=1.0)
    observed = np.bincount(np.searchsorted(last, draws), minlength=len(stated)) / len(draws)
    free = len(stated) - 1
    # the larger solution of exp(-x) (e x / free)^free = alpha
    limit = -free * float(lambertw(-math.exp(math.log(alpha) / free - 1), -1).real)
    return Check(name, float(np.sum(rel_entr(observed, stated))), limit / len(draws))


def _laplace_cdf(points: FloatArray, scale: float) -> FloatArray:
    """Return P(Z <= point), where P(Z = z) is proportional to exp(-|z| / scale)."""
    ratio = math.exp(-1 / scale)
    negative = np.exp(np.minimum(points, 0) / scale) / (1 + ratio)
    return np.where(points < 0, negative, 1 - np.exp(-(np.maximum(points, 0) + 1) / scale) / (1 + ratio))


def _gaussian_cdf(points: FloatArray, sigma: float) -> FloatArray:
    """Return P(Z <= point), where P(Z = z) is proportional to exp(-z^2 / (2 sigma^2)).

    For large `sigma`, return that of a rounded normal variate, which hardly differs.
    """
    if sigma >= _FINE:
        return _rounded_cdf(points, sigma)
    integers = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    weights = np.cumsum(np.exp(-(integers**2) / (2 * sigma**2)))
    indices = np.clip(points, integers[0], integers[-1]).astype(np.int64) - integers[0]
    return np.asarray(weights[indices] / weights[-1])


def _rounded_cdf(points: FloatArray, sigma: float) -> FloatArray:
    """Return P(Z <= point), where Z is a normal variate rounded to an integer."""
    return np.asarray(ndtr((points + 0.5) / sigma))


_INTEGER_CDFS: Final = {"laplace": _laplace_cdf, "gaussian": _gaussian_cdf, "rounded gaussian": _rounded_cdf}


def bits_check(name: str, integers: npt.NDArray[np.int64], bits: int, alpha: float) -> Check:
    """Test whether the lowest bits of independent integers are uniform."""
    lowest = integers.ravel() & ((1 << bits) - 1)
    observed = np.cumsum(np.bincount(lowest, minlength=1 << bits)) / len(lowest)
    uniform = np.arange(1, (1 << bits) + 1) / (1 << bits)
    return Check(name, float(np.max(np.abs(observed - uniform))), _allowed(len(lowest), alpha))


def agreement_check(name: str, first: FloatArray, second: FloatArray, alpha: float) -> Check:
    """Test whether two samples of outputs can have the same distribution, one number of the output at a time."""
    if first.shape[1] != second.shape[1]:
        # the two sets have different numbers of values per output
        return Check(name, math.inf, 0.0)
    each = alpha / first.shape[1] / 2
    distance = max(_apart(first[:, k], second[:, k]) for k in range(first.shape[1]))
    return Check(name, distance, _allowed(len(first), each) + _allowed(len(second), each))


def _apart(first: FloatArray, second: FloatArray) -> float:
    points = np.concatenate([first, second])
    cdfs = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in (first, second)]
    return float(np.max(np.abs(cdfs[0] - cdfs[1])))


def _allowed(draws: int, alpha: float) -> float:
    """Return the limit that the distance exceeds with probability at most `alpha`."""
    return math.sqrt(math.log(2 / alpha) / (2 * draws))
