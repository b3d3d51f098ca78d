"""Tests of a stated noise distribution, with a false-alarm rate proved for every number of draws.

By the Dvoretzky-Kiefer-Wolfowitz inequality with Massart's constant (1990), the empirical distribution function of n
independent draws differs by more than t from the true one, anywhere, with probability at most 2 exp(-2 n t^2), for
continuous and discrete distributions.

Bias in the probabilities of single integers hardly moves a distribution function. By Agrawal (2020, Theorem I.2) the
relative entropy from the frequencies of n independent draws in k cells to their probabilities exceeds t > (k - 1) / n
with probability at most exp(-n t) (e n t / (k - 1))^(k - 1), for any probabilities.
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

# from this scale on a continuous distribution replaces the discrete one, with an error below 1e-7
_FINE: Final = 2**10
# up to this scale the frequencies of single integers are tested
_COUNTED: Final = 2**4


@dataclass(frozen=True, slots=True)
class Check:
    """An additional test.

    Attributes
    ----------
    name
        Name of the test.
    distance
        Largest distance between two distribution functions, or relative entropy of frequencies.
    allowed
        Limit that the distance exceeds at most with the stated probability, if the stated distribution is right.
    """

    name: str
    distance: float
    allowed: float

    @property
    def passed(self) -> bool:
        """Whether the distance is within its limit.

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
    """Test independent integers against the distributions of their families and scales.

    `draws` maps family (`gaussian`, `laplace` or `rounded gaussian`) and scale to variates. Distribution functions are
    compared, and at scales up to 16 also the frequencies of single integers. The probability of a false alarm is at
    most `alpha` over all scales. Return the check that comes closest to its limit or exceeds it most.

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
    """Return the largest distance between the empirical and the stated distribution functions of integers."""
    values, counts = np.unique(draws, return_counts=True)
    cdf = _INTEGER_CDFS[family]
    above = np.cumsum(counts) / len(draws)
    below = np.concatenate([[0.0], above[:-1]])
    return float(max(np.max(np.abs(above - cdf(values, scale))), np.max(np.abs(below - cdf(values - 1, scale)))))


def _frequencies(name: str, family: str, scale: float, draws: FloatArray, alpha: float) -> Check:
    """Compare frequencies of integers up to three scales from 0, and of both tails, with their probabilities."""
    last = np.arange(-math.ceil(3 * scale), math.ceil(3 * scale) + 1.0)
    stated = np.diff(_INTEGER_CDFS[family](last, scale), prepend=0.0, append=1.0)
    observed = np.bincount(np.searchsorted(last, draws), minlength=len(stated)) / len(draws)
    free = len(stated) - 1
    # the larger solution of exp(-x) (e x / free)^free = alpha
    limit = -free * float(lambertw(-math.exp(math.log(alpha) / free - 1), -1).real)
    return Check(name, float(np.sum(rel_entr(observed, stated))), limit / len(draws))


def _laplace_cdf(places: FloatArray, scale: float) -> FloatArray:
    """Return P(z <= place) for P(z) proportional to exp(-|z| / scale)."""
    ratio = math.exp(-1 / scale)
    negative = np.exp(np.minimum(places, 0) / scale) / (1 + ratio)
    return np.where(places < 0, negative, 1 - np.exp(-(np.maximum(places, 0) + 1) / scale) / (1 + ratio))


def _gaussian_cdf(places: FloatArray, sigma: float) -> FloatArray:
    """Return P(z <= place) for P(z) proportional to exp(-z^2 / (2 sigma^2)), by an integral at large sigma."""
    if sigma >= _FINE:
        return _rounded_cdf(places, sigma)
    integers = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    weights = np.cumsum(np.exp(-(integers**2) / (2 * sigma**2)))
    indices = np.clip(places, integers[0], integers[-1]).astype(np.int64) - integers[0]
    return np.asarray(weights[indices] / weights[-1])


def _rounded_cdf(places: FloatArray, sigma: float) -> FloatArray:
    """Return P(z <= place) for a normal variate rounded to an integer."""
    return np.asarray(ndtr((places + 0.5) / sigma))


_INTEGER_CDFS: Final = {"laplace": _laplace_cdf, "gaussian": _gaussian_cdf, "rounded gaussian": _rounded_cdf}


def bits_check(name: str, integers: npt.NDArray[np.int64], bits: int, alpha: float) -> Check:
    """Test the lowest bits of independent integers for uniformity.

    >>> draws = np.random.default_rng(0).integers(0, 2**40, 10_000)
    >>> bits_check("bits", draws, 4, 1e-9).passed, bits_check("bits", 2 * draws, 4, 1e-9).passed
    (True, False)
    """
    lowest = integers.ravel() & ((1 << bits) - 1)
    observed = np.cumsum(np.bincount(lowest, minlength=1 << bits)) / len(lowest)
    uniform = np.arange(1, (1 << bits) + 1) / (1 << bits)
    return Check(name, float(np.max(np.abs(observed - uniform))), _allowed(len(lowest), alpha))


def agreement_check(name: str, first: FloatArray, second: FloatArray, alpha: float) -> Check:
    """Test whether two sets of outputs, one per row, can have the same distribution, number by number.

    >>> rng = np.random.default_rng(0)
    >>> some, many = rng.normal(size=(200, 2)), rng.normal(size=(10_000, 2))
    >>> agreement_check("path", some, many, 1e-9).passed, agreement_check("path", 5 * some, many, 1e-9).passed
    (True, False)
    """
    if first.shape[1] != second.shape[1]:
        # the two ways publish different numbers of values
        return Check(name, math.inf, 0.0)
    each = alpha / first.shape[1] / 2
    distance = max(_apart(first[:, k], second[:, k]) for k in range(first.shape[1]))
    return Check(name, distance, _allowed(len(first), each) + _allowed(len(second), each))


def _apart(first: FloatArray, second: FloatArray) -> float:
    points = np.concatenate([first, second])
    cdfs = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in (first, second)]
    return float(np.max(np.abs(cdfs[0] - cdfs[1])))


def _allowed(draws: int, alpha: float) -> float:
    """Return the distance that is exceeded with probability of at most alpha."""
    return math.sqrt(math.log(2 / alpha) / (2 * draws))
