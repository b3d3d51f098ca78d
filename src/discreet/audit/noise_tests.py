"""Tests of a stated law with a false-alarm rate that is proved for every number of draws.

By the inequality of Dvoretzky, Kiefer & Wolfowitz with the constant of Massart (1990), the empirical distribution
function of n independent draws is farther than t from the true one, anywhere, with probability at most 2 exp(-2 n t^2),
whatever the law, continuous or discrete.

Bias in the probabilities of single integers hardly moves a distribution function. By Agrawal (2020, Theorem I.2) the
relative entropy from the frequencies of n independent draws in k cells to their probabilities exceeds t > (k - 1) / n
with probability at most exp(-n t) (e n t / (k - 1))^(k - 1), whatever the probabilities.
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

# from this scale on the middle of a step stands for it: the two functions differ by less than 1e-7
_FINE: Final = 2**10
# up to this scale single integers are frequent enough to be counted one by one
_COUNTED: Final = 2**4


@dataclass(frozen=True, slots=True)
class Check:
    """A test beside the bounds.

    Attributes
    ----------
    name
        What is tested.
    distance
        The largest distance between two distribution functions, or the relative entropy of frequencies.
    allowed
        What it exceeds with the stated probability at most, if the law is as stated.
    """

    name: str
    distance: float
    allowed: float

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the law.

        >>> Check("noise", 0.01, 0.02).passed
        True
        """
        return self.distance <= self.allowed


def law_check(name: str, draws: FloatArray, cdf: Callable[[FloatArray], npt.ArrayLike], alpha: float) -> Check:
    """Independent draws against a continuous law.

    >>> from scipy.stats import norm
    >>> draws = np.random.default_rng(0).normal(size=10_000)
    >>> law_check("noise", draws, norm.cdf, 1e-9).passed, law_check("noise", draws / 2, norm.cdf, 1e-9).passed
    (True, False)
    """
    ordered = np.sort(draws.ravel())
    stated, count = np.asarray(cdf(ordered)), len(ordered)
    steps = np.arange(count + 1) / count
    distance = float(max(np.max(steps[1:] - stated), np.max(stated - steps[:-1])))
    return Check(name, distance, _allowed(count, alpha))


def integer_law_check(
    name: str, draws: Mapping[tuple[str, int], npt.ArrayLike] | Mapping[tuple[str, float], npt.ArrayLike], alpha: float
) -> Check:
    """Independent integers against the law of their family and scale, for many scales at once.

    Compares distribution functions, and at scales up to 16 also the frequencies of single integers.

    Parameters
    ----------
    name
        What is tested.
    draws
        Variates by family, `gaussian`, `laplace` or `rounded gaussian`, and scale.
    alpha
        Probability of a false alarm, over all scales together.

    Returns
    -------
    Check
        Of the scale whose draws lie farthest from its law, by the comparison that shows it best.

    Examples
    --------
    >>> from discreet.mechanisms.sampler import ExactSampler
    >>> draws = ExactSampler().laplace([8] * 4000)
    >>> integer_law_check("noise", {("laplace", 8): draws}, 1e-9).passed
    True
    >>> integer_law_check("noise", {("laplace", 16): draws}, 1e-9).passed
    False
    """
    counted = sum(scale <= _COUNTED for _, scale in draws)
    each, checks = alpha / (len(draws) + counted), []
    for (family, scale), values in draws.items():
        integers = np.asarray(values, dtype=np.float64)
        checks.append(Check(name, _from_law(family, scale, integers), _allowed(len(integers), each)))
        if scale <= _COUNTED:
            checks.append(_frequencies(name, family, scale, integers, each))
    return max(checks, key=lambda check: check.distance / check.allowed)


def _from_law(family: str, scale: float, draws: FloatArray) -> float:
    """The largest distance between the distribution functions of integers and of their law: at one of the integers."""
    known, counts = np.unique(draws, return_counts=True)
    cdf = _INTEGER_CDFS[family]
    above = np.cumsum(counts) / len(draws)
    below = np.concatenate([[0.0], above[:-1]])
    return float(max(np.max(np.abs(above - cdf(known, scale))), np.max(np.abs(below - cdf(known - 1, scale)))))


def _frequencies(name: str, family: str, scale: float, draws: FloatArray, alpha: float) -> Check:
    """Compare frequencies of integers up to three scales from 0, and of both tails, with their probabilities."""
    last = np.arange(-math.ceil(3 * scale), math.ceil(3 * scale) + 1.0)
    stated = np.diff(_INTEGER_CDFS[family](last, scale), prepend=0.0, append=1.0)
    observed = np.bincount(np.searchsorted(last, draws), minlength=len(stated)) / len(draws)
    free = len(stated) - 1
    # the larger solution of exp(-x) (e x / free)^free = alpha
    most = -free * float(lambertw(-math.exp(math.log(alpha) / free - 1), -1).real)
    return Check(name, float(np.sum(rel_entr(observed, stated))), most / len(draws))


def _laplace_cdf(places: FloatArray, scale: float) -> FloatArray:
    """P(z <= place) for P(z) proportional to exp(-|z| / scale)."""
    ratio = math.exp(-1 / scale)
    negative = np.exp(np.minimum(places, 0) / scale) / (1 + ratio)
    return np.where(places < 0, negative, 1 - np.exp(-(np.maximum(places, 0) + 1) / scale) / (1 + ratio))


def _gaussian_cdf(places: FloatArray, sigma: float) -> FloatArray:
    """P(z <= place) for P(z) proportional to exp(-z^2 / (2 sigma^2)); the sum is an integral where steps are fine."""
    if sigma >= _FINE:
        return _rounded_cdf(places, sigma)
    integers = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    weights = np.cumsum(np.exp(-(integers**2) / (2 * sigma**2)))
    at = np.clip(places, integers[0], integers[-1]).astype(np.int64) - integers[0]
    return np.asarray(weights[at] / weights[-1])


def _rounded_cdf(places: FloatArray, sigma: float) -> FloatArray:
    """P(z <= place) for a normal variate rounded to an integer: all that lies less than half a step above."""
    return np.asarray(ndtr((places + 0.5) / sigma))


_INTEGER_CDFS: Final = {"laplace": _laplace_cdf, "gaussian": _gaussian_cdf, "rounded gaussian": _rounded_cdf}


def bits_check(name: str, integers: npt.NDArray[np.int64], bits: int, alpha: float) -> Check:
    """The lowest bits of independent integers against uniform ones.

    >>> draws = np.random.default_rng(0).integers(0, 2**40, 10_000)
    >>> bits_check("bits", draws, 4, 1e-9).passed, bits_check("bits", 2 * draws, 4, 1e-9).passed
    (True, False)
    """
    lowest = integers.ravel() & ((1 << bits) - 1)
    found = np.cumsum(np.bincount(lowest, minlength=1 << bits)) / len(lowest)
    uniform = np.arange(1, (1 << bits) + 1) / (1 << bits)
    return Check(name, float(np.max(np.abs(found - uniform))), _allowed(len(lowest), alpha))


def agreement_check(name: str, one: FloatArray, other: FloatArray, alpha: float) -> Check:
    """Two sets of draws of the same numbers, one in each row: whether their laws can be the same, number by number.

    Parameters
    ----------
    name
        What is compared.
    one, other
        Draws.
    alpha
        Probability of a false alarm, over all numbers together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> some, many = rng.normal(size=(200, 2)), rng.normal(size=(10_000, 2))
    >>> agreement_check("path", some, many, 1e-9).passed, agreement_check("path", 5 * some, many, 1e-9).passed
    (True, False)
    """
    if one.shape[1] != other.shape[1]:
        # what is published on one way only is seen by nobody on the other
        return Check(name, math.inf, 0.0)
    each = alpha / one.shape[1] / 2
    distance = max(_apart(one[:, k], other[:, k]) for k in range(one.shape[1]))
    return Check(name, distance, _allowed(len(one), each) + _allowed(len(other), each))


def _apart(one: FloatArray, other: FloatArray) -> float:
    places = np.concatenate([one, other])
    found = [np.searchsorted(np.sort(side), places, side="right") / len(side) for side in (one, other)]
    return float(np.max(np.abs(found[0] - found[1])))


def _allowed(draws: int, alpha: float) -> float:
    """The distance that is exceeded with probability of at most alpha."""
    return math.sqrt(math.log(2 / alpha) / (2 * draws))
