"""Tests of a stated law with a false-alarm rate that is proved for every number of draws.

By the inequality of Dvoretzky, Kiefer & Wolfowitz with the constant of Massart (1990), the empirical distribution
function of n independent draws is farther than t from the true one, anywhere, with probability at most 2 exp(-2 n t^2),
whatever the law, continuous or discrete.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Check:
    """A test beside the bounds.

    Attributes
    ----------
    name
        What is tested.
    distance
        The largest distance between two distribution functions.
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
