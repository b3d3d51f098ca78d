"""Compute ranges that contain every result of an operation, by interval arithmetic.

For operands inside their ranges, both the exact result and the result rounded to a double lie inside the returned
range, because exact fractions are rounded outwards and rounding to the nearest double is monotone. Ends that are
doubles are not rounded: the square of [0, 60] is exactly [0, 3600].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from discreet.exact.arrays import FloatArray

Interval: TypeAlias = tuple[float, float]

# units in the last place added at each end; errors of the functions are below one unit
_SPARE_UNITS: Final = 4


class NoRangeError(ValueError):
    """Error for an operation without a finite result for some operands in their ranges."""


def add(a: Interval, b: Interval) -> Interval:
    """Return the range of x + y for x in `a` and y in `b`.

    >>> add((1.0, 2.0), (0.5, 4.0))
    (1.5, 6.0)
    """
    return _outward([Fraction(a[0]) + Fraction(b[0]), Fraction(a[1]) + Fraction(b[1])])


def negate(a: Interval) -> Interval:
    """Return the range of -x for x in `a`.

    >>> negate((-1.0, 2.0))
    (-2.0, 1.0)
    """
    return 0.0 - a[1], 0.0 - a[0]


def multiply(a: Interval, b: Interval) -> Interval:
    """Return the range of x * y for x in `a` and y in `b`.

    >>> multiply((-1.0, 2.0), (3.0, 4.0))
    (-4.0, 8.0)
    """
    return _outward([Fraction(x) * Fraction(y) for x in a for y in b])


def divide(a: Interval, b: Interval) -> Interval:
    """Return the range of x / y for x in `a` and y in `b`.

    >>> divide((1.0, 2.0), (2.0, 4.0))
    (0.25, 1.0)
    """
    if b[0] <= 0 <= b[1]:
        raise NoRangeError("the divisor can be 0")
    return _outward([Fraction(x) / Fraction(y) for x in a for y in b])


def power(a: Interval, exponent: int) -> Interval:
    """Return the range of x ** exponent for x in `a`, if it is computed by repeated multiplication from the left.

    >>> power((-2.0, 3.0), 2), power((-2.0, 3.0), 3), power((-2.0, 3.0), 0)
    ((0.0, 9.0), (-8.0, 27.0), (1.0, 1.0))
    """
    if exponent == 0:
        return 1.0, 1.0
    if exponent % 2 == 0:
        near, far = absolute(a)
        return _chain(near, exponent)[0], _chain(far, exponent)[1]
    # odd powers are increasing, and signs do not affect the size of a product
    low = _chain(a[0], exponent)[0] if a[0] >= 0 else 0.0 - _chain(-a[0], exponent)[1]
    high = _chain(a[1], exponent)[1] if a[1] >= 0 else 0.0 - _chain(-a[1], exponent)[0]
    return low, high


def absolute(a: Interval) -> Interval:
    """Return the range of the absolute value of x in `a`.

    >>> absolute((-2.0, 1.0)), absolute((-2.0, -1.0))
    ((0.0, 2.0), (1.0, 2.0))
    """
    near = 0.0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return near, max(abs(a[0]), abs(a[1]))


def square_root(a: Interval) -> Interval:
    """Return the range of the square root of x in `a`.

    >>> square_root((0.0, 9.0))
    (0.0, 3.0)
    """
    if a[0] < 0:
        raise NoRangeError("expected only numbers of at least 0 under a square root")
    low, high = math.sqrt(a[0]), math.sqrt(a[1])
    if Fraction(low) ** 2 > Fraction(a[0]):
        low = math.nextafter(low, -math.inf)
    if Fraction(high) ** 2 < Fraction(a[1]):
        high = math.nextafter(high, math.inf)
    return low, high


def least(a: Interval, b: Interval) -> Interval:
    """Return the range of the smaller of x in `a` and y in `b`.

    >>> least((0.0, 5.0), (1.0, 2.0))
    (0.0, 2.0)
    """
    return min(a[0], b[0]), min(a[1], b[1])


def greatest(a: Interval, b: Interval) -> Interval:
    """Return the range of the larger of x in `a` and y in `b`.

    >>> greatest((0.0, 5.0), (1.0, 2.0))
    (1.0, 5.0)
    """
    return max(a[0], b[0]), max(a[1], b[1])


def rising(a: Interval, function: Callable[[FloatArray], FloatArray], fixed: tuple[float, float]) -> Interval:
    """Return the range of an increasing function that is computed with an error below one unit in the last place.

    `fixed` is an (argument, value) pair for which the computed function is exact. To the left of the argument, computed
    values do not exceed this value, and to the right they are not below it.

    >>> from discreet.exact.elementary import log
    >>> rising((1.0, 2.0), log, (1.0, 0.0))
    (0.0, 0.6931471805599457)
    """
    with np.errstate(all="ignore"):
        low, high = function(np.array(a)).tolist()
    for _ in range(_SPARE_UNITS):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    if a[0] >= fixed[0]:
        low = max(low, fixed[1])
    if a[1] <= fixed[0]:
        high = min(high, fixed[1])
    return _finite(low, high)


def _chain(size: float, exponent: int) -> Interval:
    """Return the range of the power of a nonnegative number, if it is computed by repeated multiplication."""
    range_ = size, size
    for _ in range(exponent - 1):
        range_ = multiply(range_, (size, size))
    return range_


def _outward(results: list[Fraction]) -> Interval:
    low, high = min(results), max(results)
    try:
        low_end, high_end = float(low), float(high)
    except OverflowError:
        raise NoRangeError("the result can exceed the range of double precision") from None
    if Fraction(low_end) > low:
        low_end = math.nextafter(low_end, -math.inf)
    if Fraction(high_end) < high:
        high_end = math.nextafter(high_end, math.inf)
    return _finite(low_end, high_end)


def _finite(low: float, high: float) -> Interval:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise NoRangeError("the result can exceed the range of double precision")
    return low, high
