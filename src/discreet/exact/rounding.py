"""Round privacy parameters in a stated direction, so that rounding never makes a guarantee stronger.

Exact numbers (fractions, long decimals) are rounded to floats. Python compares floats exactly with a `Fraction` or a
`Decimal`, so a comparison shows whether the nearest float must be moved by one step.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from typing import Final

# -- rounding ----------------------------------------------------------------------------------------------------------

# covers the rounding of several dozen float operations, each with relative error 2**-53
MARGIN: Final = 1 + 2**-44


def nearest(value: float | Fraction | Decimal) -> float:
    """Return the nearest float, or an infinity if `value` is outside the range of floats.

    >>> nearest(Fraction(1, 4)), nearest(-(10**400))
    (0.25, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def down(value: Fraction | Decimal) -> float:
    """Return the largest float that is at most `value`.

    >>> down(Fraction(1, 10)), down(Fraction(1, 4))
    (0.09999999999999999, 0.25)
    """
    near = nearest(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def up(value: Fraction | Decimal) -> float:
    """Return the smallest float that is at least `value`.

    >>> up(Fraction(1, 10)), up(Fraction(1, 3))
    (0.1, 0.33333333333333337)
    """
    near = nearest(value)
    return near if near >= value else math.nextafter(near, math.inf)


def root_down(square: Fraction) -> float:
    """Return the largest float whose square is at most `square`, which must be positive.

    >>> root_down(Fraction(25)), root_down(Fraction(2)) ** 2 <= 2
    (5.0, True)
    """
    root = root_up(square)
    return root if Fraction(root) ** 2 == square else math.nextafter(root, 0.0)


def root_up(square: Fraction) -> float:
    """Return the smallest float whose square is at least `square`, which must be positive.

    >>> root_up(Fraction(25)), root_up(Fraction(2))
    (5.0, 1.4142135623730951)
    """
    # isqrt gives an exact starting point even for squares outside the float range, such as 2^-1074 squared
    shift = 2 * max(0, 120 - square.numerator.bit_length() + square.denominator.bit_length())
    floor = math.isqrt((square.numerator << shift) // square.denominator)
    root = math.nextafter(float(Fraction(floor, 1 << (shift // 2))), 0.0)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


# -- normal ------------------------------------------------------------------------------------------------------------
# The Mills ratio to eighty digits, the only special function that Gaussian accounting needs.
#
# M(x) = (1 - Phi(x)) / phi(x) = integral over t > 0 of exp(-x t - t^2/2).
#
# Long decimals (standard library) replace floats: the privacy profile is a difference of nearly equal terms, and a
# guarantee needs a proved error bound, not a likely one. One evaluation takes about a tenth of a millisecond.
#
# Error. |x| < 6: M = sqrt(pi/2) exp(x^2/2) - sum over k of x^(2k+1)/(2k+1)!!, whose terms share one sign; fewer than
# 300 terms, and the tail after a term below 10^-76 of the sum is below that term once the ratio x^2/(2k+3) < 1/2. At x
# = 6 the two parts are 8e7 times the result, so the relative error stays below 1e-64. x >= 6: the convergents of
# Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))) lie alternately above and below M, and neighbours
# differ by k!/(B_k B_(k+1)); the loop stops when that is below 10^-76 of the value. All terms are positive, so rounding
# adds at most a few units in the 80th digit per step. x <= -6: reflection M(x) = sqrt(2 pi) exp(x^2/2) - M(-x), where
# the second part is below 1e-8 of the first. Hence the relative error of `mills` is below 1e-64 for |x| < 6 and below
# 1e-74 elsewhere.

# underflow is not trapped: a delta below every exponent becomes 0 here and rounds up to the smallest float
EIGHTY_DIGITS = Context(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[DivisionByZero, InvalidOperation, Overflow])

PI = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170680")
SQRT_TWO_PI = EIGHTY_DIGITS.sqrt(EIGHTY_DIGITS.multiply(Decimal(2), PI))
_SMALL = Decimal(10) ** -76
_SERIES_LIMIT = 6


def mills(x: Decimal) -> Decimal:
    """Compute the Mills ratio (1 - Phi(x)) / phi(x) to more than sixty digits.

    Call it in the context `EIGHTY_DIGITS`. x^2/2 must be below 1e18, because of the range of decimal exponents.

    >>> from decimal import localcontext
    >>> with localcontext(EIGHTY_DIGITS):
    ...     print(round(mills(Decimal(1)), 30))
    0.655679542418798471543871230731
    """
    if x >= _SERIES_LIMIT:
        return _continued_fraction(x)
    if x <= -_SERIES_LIMIT:
        return SQRT_TWO_PI * (x * x / 2).exp() - _continued_fraction(-x)
    return SQRT_TWO_PI / 2 * (x * x / 2).exp() - _odd_series(x)


def _odd_series(x: Decimal) -> Decimal:
    """Compute (Phi(x) - 1/2) / phi(x), the sum of x^(2k+1) / (1 * 3 * ... * (2k+1)) over k."""
    square = x * x
    term = total = x
    odd = 1
    # the first terms may grow; the ratio condition keeps the loop from stopping while they do
    while abs(term) > _SMALL * abs(total) or 2 * square > odd:
        odd += 2
        term = term * square / odd
        total += term
    return total


def _continued_fraction(x: Decimal) -> Decimal:
    """Evaluate Laplace's continued fraction by its convergents A_k / B_k. Needs x >= 6."""
    a_last, a = Decimal(0), Decimal(1)
    b_last, b = Decimal(1), x
    factorial = Decimal(1)
    k = 0
    # A_(k+1)/B_(k+1) - A_k/B_k = +-k!/(B_k B_(k+1)), compared with A_(k+1)/B_(k+1) without a division
    while factorial > _SMALL * a * b_last:
        k += 1
        a_last, a = a, x * a + k * a_last
        b_last, b = b, x * b + k * b_last
        factorial *= k
    return a / b
