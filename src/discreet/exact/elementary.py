"""Compute logarithms and exponentials from operations that IEEE 754 rounds correctly.

The log or exp of a library may round differently in the vectorised and the scalar part of a loop, or on another
machine. Here, every element goes through +, -, *, / and exact steps only (splitting off an exponent, scaling by a power
of two, comparing). Each is a separate ufunc, so that operations cannot be fused. The result therefore depends on the
value alone.

Errors are below one unit in the last place. The leading term is held as a pair of doubles and only a small correction
is rounded, so that the error before the last rounding is below half a unit. A result that is itself a double, such as
log10(1000), is therefore exact.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray

# -- elementary --------------------------------------------------------------------------------------------------------

_Pair: TypeAlias = tuple[float, float]

# the first part has 42 bits, so its product with an exponent of at most 11 bits is exact
_LN_2: Final[_Pair] = (float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c76730p-45"))
_LOG10_2: Final[_Pair] = (float.fromhex("0x1.34413509f78p-2"), float.fromhex("0x1.fef311f12b358p-46"))
_LOG2_E: Final[_Pair] = (float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56"))
_LOG10_E: Final[_Pair] = (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57"))
_ONE: Final[_Pair] = (1.0, 0.0)

_SQRT_HALF: Final = math.sqrt(0.5)
_SPLITTER: Final = float(2**27 + 1)
# the truncation error is below 2**-58 of the result
_LOG_TERMS: Final = tuple(2.0 / (2 * k + 1) for k in range(1, 13))
_EXP_TERMS: Final = tuple(1.0 / math.factorial(k) for k in range(2, 16))
# beyond this range the exponential is infinity or zero
_EXP_RANGE: Final = 800.0


def log(x: FloatArray) -> FloatArray:
    """Compute the natural logarithm of positive numbers.

    >>> log(np.array([1.0, 10.0]))
    array([0.        , 2.30258509])
    """
    return _logarithm(x, _ONE, _LN_2)


def log2(x: FloatArray) -> FloatArray:
    """Compute the base-2 logarithm of positive numbers.

    >>> log2(np.array([1.0, 8.0]))
    array([0., 3.])
    """
    return _logarithm(x, _LOG2_E, _ONE)


def log10(x: FloatArray) -> FloatArray:
    """Compute the base-10 logarithm of positive numbers.

    >>> log10(np.array([1.0, 1000.0]))
    array([0., 3.])
    """
    return _logarithm(x, _LOG10_E, _LOG10_2)


def log1p(x: FloatArray) -> FloatArray:
    """Compute log(1 + x) for x above -1, accurately for small x.

    >>> log1p(np.array([0.0, 1e-20]))
    array([0.e+00, 1.e-20])
    """
    total = 1.0 + x
    # the exact rounding error of the sum (Knuth 1969, section 4.2.2, theorem B)
    part = total - x
    lost = (x - (total - part)) + (1.0 - part)
    return _logarithm(total, _ONE, _LN_2, lost / total)


def exp(x: FloatArray) -> FloatArray:
    """Compute the exponential. Results outside the range of doubles become zero or infinity.

    >>> exp(np.array([0.0, 1.0, -1000.0]))
    array([1.        , 2.71828183, 0.        ])
    """
    x = np.where(x < -_EXP_RANGE, -_EXP_RANGE, np.where(x > _EXP_RANGE, _EXP_RANGE, x))
    octaves = np.rint(x * _LOG2_E[0])
    # exact: both are multiples of 2**-54 and the difference is below 1/2
    rest = x - octaves * _LN_2[0]
    small = octaves * _LN_2[1]
    r = rest - small
    correction = (rest - r) - small
    series = np.full_like(r, _EXP_TERMS[-1])
    for term in _EXP_TERMS[-2::-1]:
        series = term + r * series
    fraction = 1.0 + (r + (correction + r * r * series))
    # two exact powers of two, because a single one may overflow; only the last product can round, to a subnormal
    first = np.floor(octaves * 0.5)
    return fraction * _power_of_two(first) * _power_of_two(octaves - first)


def _power_of_two(exponent: FloatArray) -> FloatArray:
    return np.ldexp(1.0, exponent.astype(np.int32))


def _logarithm(x: FloatArray, scale: _Pair, octave: _Pair, extra: FloatArray | float = 0.0) -> FloatArray:
    """Compute log(x) * scale + extra, where `octave` is scale * log(2).

    Let x = 2**e (1 + f), h = f**2 / 2 and s = f / (2 + f). Then log(1 + f) = 2 artanh(s) = (f - h) + s (h + 2 s**2 / 3
    + 2 s**4 / 5 + ...).
    """
    mantissa, exponent = np.frexp(x)
    low = mantissa < _SQRT_HALF
    f = np.where(low, mantissa + mantissa, mantissa) - 1.0
    e = (exponent - low).astype(np.float64)
    s = f / (2.0 + f)
    square = s * s
    series = np.full_like(s, _LOG_TERMS[-1])
    for term in _LOG_TERMS[-2::-1]:
        series = term + square * series
    half_square, half_lost = _product(f, 0.5 * f)
    lead = f - half_square
    rest = ((f - lead) - half_square) - half_lost + s * (half_square + square * series)
    lead_scaled, lost = _product(lead, np.asarray(scale[0]))
    octaves = e * octave[0]
    total = octaves + lead_scaled
    # exact, because `octaves` is zero or the larger term
    lost = lost + ((octaves - total) + lead_scaled)
    return total + (lost + (lead * scale[1] + rest * scale[0] + e * octave[1] + extra))


def _product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded product of a and b and its rounding error, which is exact [Dekker 1971]."""
    product = a * b
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _high(a: FloatArray) -> FloatArray:
    """Return each number rounded to the upper half of its bits."""
    scaled = a * _SPLITTER
    return scaled - (scaled - a)


# -- halves ------------------------------------------------------------------------------------------------------------
# Conversion of doubles to pairs of 32-bit integers and back, bit for bit.


def halves(values: FloatArray) -> npt.NDArray[np.int32]:
    """Split each double into two 32-bit integers, the low half first, with shape (2, m). -0.0 becomes 0.0.

    >>> halves(np.array([1.0, -0.0])).tolist()
    [[0, 0], [1072693248, 0]]
    """
    plain = np.ascontiguousarray(values + 0.0, dtype="<f8")
    return plain.view("<i4").reshape(-1, 2).T.astype(np.int32)


def doubles(pair: npt.NDArray[np.generic]) -> FloatArray:
    """Join 32-bit halves into doubles. The halves have shape (2, m) and any type that can hold them.

    >>> doubles(halves(np.array([0.1, -3e300]))).tolist()
    [0.1, -3e+300]
    """
    low_first = np.ascontiguousarray(pair.T, dtype="<i4")
    return low_first.view("<f8").reshape(-1).astype(np.float64)
