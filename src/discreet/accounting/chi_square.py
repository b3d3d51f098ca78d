"""Compute upper bounds on delta for chi-square noise, which the Wishart mechanism needs."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import EIGHTY_DIGITS, PI

# -- chi square --------------------------------------------------------------------------------------------------------
# Proved upper bounds on delta at a given epsilon for shifted chi-square noise. Proof: chi_square.proof.md.
#
# Adding a row to a matrix with Wishart noise shifts a chi-square variate C by r. With F the distribution function of C,
# nu its degrees of freedom and a = nu/2 - 1 > 0,
#
#     row absent:   delta = F(c) - e^eps F(c - r),               c = r / (1 - exp(-(eps + r/2) / a));
#     row present:  delta = 1 - F(c) - e^eps (1 - F(c + r)),     c = r / (exp((r/2 - eps) / a) - 1), or 0 if r <= 2 eps.
#
# `Decimal` results are upper bounds that include rounding. Floats are only used to search for good values.

EPSILON_LOWEST, EPSILON_HIGHEST = 1e-6, 1e9
DELTA_LOWEST: Final = 1e-30

# more than a thousand times the relative rounding error of any computation below
_MARGIN: Final = Decimal("1e-50")
# far above 1 - F(8 nu + 2000)
_NOTHING: Final = Decimal("1e-100")
_LEAST_EXPONENT: Final = Decimal("1e-20")
# above this epsilon, e^eps would amplify rounding, so a negative term is omitted, which only raises delta
_EPSILON_SMALL: Final = 30
# A replacement is accounted for as two steps: adding a row, then removing a row. Shares of epsilon for the first step.
_SPLITS: Final = np.linspace(0.05, 0.95, 91)
_HALVINGS: Final = 60
_MOST_EXCHANGED: Final = 30.0


def added_delta(degrees: int, shift: Fraction, epsilon: Fraction) -> Decimal:
    """Return an upper bound on delta at `epsilon` when one row is added or removed.

    >>> bool(added_delta(43, Fraction(1), Fraction(1)) <= 1e-6 < added_delta(42, Fraction(1), Fraction(1)))
    True
    """
    return max(absent_delta(degrees, shift, epsilon), present_delta(degrees, shift, epsilon))  # [P:both-directions]


def exchanged_delta(degrees: int, shift: Fraction, epsilon: Fraction, first: Fraction) -> Decimal:
    """Return an upper bound on delta at `epsilon` when one row is replaced or dropped.

    The new row is added at a cost of epsilon = `first`, then the old row is removed with the remaining epsilon.
    """
    with localcontext(EIGHTY_DIGITS):
        joined = absent_delta(degrees, shift, first)
        left = present_delta(degrees, shift, epsilon - first)
        return (joined + _decimal(first).exp() * left) * (1 + _MARGIN)  # [P:row-exchanged]


def proved_delta(degrees: int, shift: Fraction, epsilon: float, share: float, *, exchanged: bool) -> Decimal:
    """Return an upper bound on delta at `epsilon` for an added or removed row or, if `exchanged`, for a replaced one.

    A replacement has two steps, and the first step uses `share` of epsilon.
    """
    exact = Fraction(epsilon)
    if exchanged:
        return exchanged_delta(degrees, shift, exact, exact * Fraction(share))
    return added_delta(degrees, shift, exact)


def served_epsilon(epsilon: float, *, exchanged: bool) -> float:
    """Return the epsilon for which noise is calibrated. Under `replace` it is at most 30.

    Under `replace`, a larger epsilon would gain nothing and lose precision.
    """
    return min(epsilon, _MOST_EXCHANGED) if exchanged else epsilon


def best_share(degrees: int, shift: float, epsilon: float, *, exchanged: bool) -> float:
    """Return the share of epsilon for the first step with which delta is nearly smallest, or 1 if there is one step."""
    if not exchanged:
        return 1.0
    return float(_SPLITS[int(np.argmin(_float_delta(degrees, shift, epsilon, _SPLITS)))])


def absent_delta(degrees: int, shift: Fraction, epsilon: Fraction) -> Decimal:
    """Return an upper bound on delta(P, Q) at `epsilon`, where P is the output without the row and Q with it."""
    with localcontext(EIGHTY_DIGITS):
        r, eps = _decimal(shift), _decimal(epsilon)
        ratio = (-(eps + r / 2) / (Decimal(degrees) / 2 - 1)).exp()
        rest = r * ratio / (1 - ratio)
        _, high = _cdf(degrees, rest + r)
        low, _ = _cdf(degrees, rest)
        return high - eps.exp() * low * (1 - _MARGIN)  # [P:absent-delta]


def present_delta(degrees: int, shift: Fraction, epsilon: Fraction) -> Decimal:
    """Return an upper bound on delta(P, Q) at `epsilon`, where P is the output with the row and Q without it."""
    if shift <= 2 * epsilon:
        return Decimal(0)
    with localcontext(EIGHTY_DIGITS):
        r, eps = _decimal(shift), _decimal(epsilon)
        exponent = max(_decimal(shift / 2 - epsilon) / (Decimal(degrees) / 2 - 1), _LEAST_EXPONENT)
        start = r / (exponent.exp() - 1)
        low, _ = _cdf(degrees, start)
        if epsilon > _EPSILON_SMALL:
            return 1 - low + _NOTHING
        _, high = _cdf(degrees, start + r)
        return 1 - low + _NOTHING - eps.exp() * max(Decimal(0), 1 - high)  # [P:present-delta]


def largest_shift(degrees: int, epsilon: float, delta: float, *, exchanged: bool) -> tuple[float, float]:
    """Return the largest shift that satisfies (epsilon, delta), and the share of epsilon for the first step.

    The search uses floats. Callers must bound the delta of the result with `proved_delta`.

    >>> shift, _ = largest_shift(1142, 1.0, 1e-6, exchanged=False)
    >>> round(1146**0.5 / shift, 3)
    3.385
    """
    low, high, split = -80.0, 20.0, 1.0
    shares = _SPLITS if exchanged else np.ones(1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        deltas = _float_delta(degrees, float(np.exp(middle)), epsilon, shares)
        best = int(np.argmin(deltas))
        if deltas[best] <= delta:
            low, split = middle, float(shares[best])
        else:
            high = middle
    return float(np.exp(low)), split


def _float_delta(degrees: int, shift: float, epsilon: float, shares: FloatArray) -> FloatArray:
    """Return delta for each possible share of epsilon in the first step. A share of 1 means a single step."""
    # imported here because scipy loads slowly and most mechanisms do not need it
    from scipy.special import gammainc, gammaincc

    s, a = degrees / 2, degrees / 2 - 1
    first = epsilon * shares
    second = np.where(shares == 1.0, epsilon, epsilon - first)
    factor, later = (np.where(e < 700, np.exp(np.minimum(e, 700)), 0.0) for e in (first, second))
    ratio = np.exp(-(first + shift / 2) / a)
    rest = shift * ratio / -np.expm1(-(first + shift / 2) / a)
    absent = gammainc(s, (rest + shift) / 2) - factor * gammainc(s, rest / 2)
    over = shift / 2 - second
    start = shift / np.expm1(np.minimum(np.maximum(over, 1e-12) / a, 700))
    present = np.where(over > 0, gammaincc(s, start / 2) - later * gammaincc(s, (start + shift) / 2), 0.0)
    joint = absent + np.where(present > 0, np.where(factor > 0, factor, np.inf), 0.0) * np.maximum(present, 0.0)
    return np.where(shares == 1.0, np.maximum(absent, present), joint)


def _cdf(degrees: int, value: Decimal) -> tuple[Decimal, Decimal]:
    """Return lower and upper bounds on the chi-square distribution function. The lower bound may be 1e-100 too high."""
    if value > 8 * degrees + 2000:
        return Decimal(1), Decimal(1)
    x, s = value / 2, Decimal(degrees) / 2
    # Gamma(s + 1), from Gamma(1) = 1 or Gamma(1/2) = sqrt(pi)
    gamma = Decimal(1) if degrees % 2 == 0 else PI.sqrt()
    factor = s
    while factor > 0:
        gamma *= factor
        factor -= 1
    term = total = Decimal(1)
    denominator = s
    while term > total * _MARGIN / 10**6 or denominator < 2 * x:
        denominator += 1
        term *= x / denominator
        total += term
    middle = (s * x.ln() - x).exp() * total / gamma
    return middle * (1 - _MARGIN), middle * (1 + _MARGIN)  # [P:cdf-margin]


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


# -- wishart -----------------------------------------------------------------------------------------------------------
# Shift of Wishart noise that one row causes. Proof: wishart.proof.md.


def row_shift(domain: RowDomain, constant: int, regressor: int, target: int) -> Fraction:
    """Return the largest squared norm of a row (1, x, y) whose columns are divided by their scales in grid steps.

    >>> row_shift(RowDomain(2, 0, 0, None, False, 8), 256, 256, 512)
    Fraction(13, 4)
    """
    unit2 = domain.unit**2
    return (
        Fraction(unit2, constant**2) + Fraction(domain.norm2_bound, regressor**2) + Fraction(unit2, target**2)
    )  # [P:row-shift]
