"""Directed rounding: a privacy figure may be rounded only towards the side that promises less.

Exact numbers (fractions, long decimals) come in, floats go out on the side that was asked for.
A float compares exactly with a `Fraction` and with a `Decimal`, so one step from the nearest float decides.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction

# -- rounding ----------------------------------------------------------------------------------------------------------


def nearest(value: float | Fraction | Decimal) -> float:
    """Nearest float; infinite beyond the largest.

    Parameters
    ----------
    value : int, float, Fraction or Decimal
        Any number.

    Examples
    --------
    >>> nearest(Fraction(1, 4)), nearest(-(10**400))
    (0.25, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def down(value: Fraction | Decimal) -> float:
    """Largest float that is not above `value`.

    >>> down(Fraction(1, 10)), down(Fraction(1, 4))
    (0.09999999999999999, 0.25)
    """
    near = nearest(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def up(value: Fraction | Decimal) -> float:
    """Smallest float that is not below `value`.

    >>> up(Fraction(1, 10)), up(Fraction(1, 3))
    (0.1, 0.33333333333333337)
    """
    near = nearest(value)
    return near if near >= value else math.nextafter(near, math.inf)


def root_down(square: Fraction) -> float:
    """Largest float whose square is not above `square`, which is positive.

    >>> root_down(Fraction(25)), root_down(Fraction(2)) ** 2 <= 2
    (5.0, True)
    """
    root = root_up(square)
    return root if Fraction(root) ** 2 == square else math.nextafter(root, 0.0)


def root_up(square: Fraction) -> float:
    """Smallest float whose square is not below `square`, which is positive.

    >>> root_up(Fraction(25)), root_up(Fraction(2))
    (5.0, 1.4142135623730951)
    """
    # isqrt keeps the start exact for squares outside the float range: 2^-1074 squared is still a budget
    shift = 2 * max(0, 120 - square.numerator.bit_length() + square.denominator.bit_length())
    floor = math.isqrt((square.numerator << shift) // square.denominator)
    root = math.nextafter(float(Fraction(floor, 1 << (shift // 2))), 0.0)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


# -- normal ------------------------------------------------------------------------------------------------------------
# The Mills ratio to eighty digits: the one special function that Gaussian accounting rests on.
#
# M(x) = (1 - Phi(x)) / phi(x) = integral over t > 0 of exp(-x t - t^2/2).
#
# Long decimals (standard library) instead of floats: the profile is a difference of nearly equal terms, and a promise
# of privacy needs a proved error, not a likely one. One evaluation costs about a tenth of a millisecond.
#
# Error. |x| < 6: M = sqrt(pi/2) exp(x^2/2) - sum over k of x^(2k+1)/(2k+1)!!, whose terms share one sign; fewer than
# 300 terms, and the tail after a term below 10^-76 of the sum is below that term once the ratio x^2/(2k+3) < 1/2. At x
# = 6 the two parts are 8e7 times the result, so the relative error stays below 1e-64. x >= 6: the convergents of
# Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))) lie in turn above and below M, and two neighbours
# differ by k!/(B_k B_(k+1)); the loop stops when that is below 10^-76 of the value. All terms are positive, so rounding
# adds at most some units per step to the 80th digit. x <= -6: reflection M(x) = sqrt(2 pi) exp(x^2/2) - M(-x), where
# the second part is below 1e-8 of the first. Hence the relative error of `mills` is below 1e-64 for |x| < 6 and below
# 1e-74 elsewhere.

# underflow is not trapped: a delta too small for any exponent is 0 here and becomes the smallest float on rounding up
EIGHTY_DIGITS = Context(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[DivisionByZero, InvalidOperation, Overflow])

PI = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170680")
SQRT_TWO_PI = EIGHTY_DIGITS.sqrt(EIGHTY_DIGITS.multiply(Decimal(2), PI))
_SMALL = Decimal(10) ** -76
_TURN = 6


def mills(x: Decimal) -> Decimal:
    """Mills ratio of the normal law, to more than sixty digits, in the `EIGHTY_DIGITS` context.

    Parameters
    ----------
    x : Decimal
        Any real number with x^2/2 below 1e18, the range of decimal exponents.

    Returns
    -------
    Decimal
        (1 - Phi(x)) / phi(x).

    Examples
    --------
    >>> from decimal import localcontext
    >>> with localcontext(EIGHTY_DIGITS):
    ...     print(round(mills(Decimal(1)), 30))
    0.655679542418798471543871230731
    """
    if x >= _TURN:
        return _continued_fraction(x)
    if x <= -_TURN:
        return SQRT_TWO_PI * (x * x / 2).exp() - _continued_fraction(-x)
    return SQRT_TWO_PI / 2 * (x * x / 2).exp() - _odd_series(x)


def _odd_series(x: Decimal) -> Decimal:
    """Sum of x^(2k+1) / (1 * 3 * ... * (2k+1)), which is (Phi(x) - 1/2) / phi(x)."""
    square = x * x
    term = total = x
    odd = 1
    # the first terms may grow; the ratio condition keeps the loop from stopping on the way up
    while abs(term) > _SMALL * abs(total) or 2 * square > odd:
        odd += 2
        term = term * square / odd
        total += term
    return total


def _continued_fraction(x: Decimal) -> Decimal:
    """Laplace's continued fraction by its convergents A_k / B_k, for x >= 6."""
    a_before, a = Decimal(0), Decimal(1)
    b_before, b = Decimal(1), x
    factorial = Decimal(1)
    k = 0
    # A_(k+1)/B_(k+1) - A_k/B_k = +-k!/(B_k B_(k+1)), compared with A_(k+1)/B_(k+1) without a division
    while factorial > _SMALL * a * b_before:
        k += 1
        a_before, a = a, x * a + k * a_before
        b_before, b = b, x * b + k * b_before
        factorial *= k
    return a / b
