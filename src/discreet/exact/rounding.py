"""Directed rounding: a privacy figure may be rounded only towards the side that promises less.

Exact numbers (fractions, long decimals) come in, floats go out on the side that was asked for.
A float compares exactly with a `Fraction` and with a `Decimal`, so one step from the nearest float decides.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction


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
