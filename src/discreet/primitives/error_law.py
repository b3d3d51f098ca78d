"""How far noise goes: bounds that hold with a stated probability, and the expected largest of many."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

# below this scale the sum over integers is taken term by term
_TERMS: Final = 200_000


def laplace_bound(scale: float, how_many: int, level: float) -> int:
    """Smallest t with P(all of `how_many` discrete Laplace variates are at most t in size) >= level.

    One variate exceeds t with probability 2 r^(t+1) / (1 + r), r = exp(-1/scale).

    >>> laplace_bound(1.0, 1, 0.95), laplace_bound(1.0, 10, 0.95)
    (3, 5)
    """
    r = math.exp(-1 / scale)
    # 1 - level^(1/K) without cancellation
    each = -math.expm1(math.log(level) / how_many)
    return max(0, math.ceil(-scale * math.log(each * (1 + r) / 2)) - 1)


def laplace_expected_largest(scale: float, how_many: int) -> float:
    """Expected largest size among `how_many` discrete Laplace variates: the sum over t of P(some size is above t).

    Large scales use the integral with half the first term (Euler & Maclaurin), which is
    scale * sum over j of (1 - s^j) / j with s = (1 - r) / (1 + r).

    >>> round(laplace_expected_largest(1.0, 1), 4)
    0.8509
    """
    r = math.exp(-1 / scale)
    terms = scale * (math.log(how_many) + 40) + 2
    if terms <= _TERMS:
        above = 2 * np.exp(-(np.arange(math.ceil(terms)) + 1) / scale) / (1 + r)
        return float(np.sum(-np.expm1(how_many * np.log1p(-above))))
    s = math.tanh(1 / (2 * scale))
    # 1 + 1/2 + ... + 1/K, without the powers of s, which are tiny at these scales
    harmonic = float(np.sum(1 / np.arange(1, how_many + 1)))
    return scale * (harmonic + math.log1p(-s)) + (1 - s**how_many) / 2


def laplace_mean_size(scale: float) -> float:
    """Expected size of a discrete Laplace variate, 2 r / (1 - r^2) = 1 / sinh(1/scale).

    >>> round(laplace_mean_size(10.0), 3)
    9.983
    """
    # beyond 700 the hyperbolic sine leaves the doubles, and the size is 0 to all digits
    return 1 / math.sinh(min(700.0, 1 / scale))


def gaussian_bound(sigma: float, how_many: int, level: float) -> float:
    """The t with P(all of `how_many` normal variates are at most t in size) = level.

    >>> round(gaussian_bound(1.0, 1, 0.95), 3)
    1.96
    """
    from scipy.special import ndtri

    each = -math.expm1(math.log(level) / how_many)
    return float(-ndtri(each / 2)) * sigma


def gaussian_expected_largest(sigma: float, how_many: int) -> float:
    """Expected largest size among `how_many` normal variates.

    >>> round(gaussian_expected_largest(1.0, 1), 4)
    0.7979
    """
    from scipy.special import log_ndtr

    t = np.linspace(0.0, 40.0, 200_001)
    above = np.exp(math.log(2) + log_ndtr(-t[1:]))
    some = np.concatenate([[1.0], -np.expm1(how_many * np.log1p(-above))])
    return float(np.trapezoid(some, t)) * sigma
