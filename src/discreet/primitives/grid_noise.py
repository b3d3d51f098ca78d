"""Draw noise on a grid, and bound its errors."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.mechanisms.sampler import MAX_SIGMA, ExactSampler, laplace_variates
from discreet.primitives.arguments import public_fraction

# -- lattice -----------------------------------------------------------------------------------------------------------
# Noise on integers, in bulk, and the grids on which other numbers live.

# draws of one call; a call holds its numbers several times over
CHUNK: Final = 2**17
# how many binary digits finer than the sensitivity a grid is unless given otherwise
GRID_BITS: Final = 30


def default_step(size: Fraction) -> Fraction:
    """The power of two that is 2^30 to 2^31 times smaller than `size`.

    >>> default_step(Fraction(3)) == Fraction(2, 2**30)
    True
    """
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    return Fraction(2) ** (exponent - GRID_BITS)


def on_grid(value: Fraction, step: Fraction) -> int:
    """The nearest multiple of `step`, as an integer number of steps; ties go up.

    Ties must not go to the even one: 1/2 and 3/2, one step apart, would become 0 and 2.

    >>> on_grid(Fraction(7, 10), Fraction(1, 4)), on_grid(Fraction(1, 2), Fraction(1))
    (3, 1)
    """
    return math.floor(value / step + Fraction(1, 2))  # [P:on-grid]


def nearest_double(value: Fraction) -> float:
    """The nearest double, or the largest one of that sign where a noisy value lies beyond it.

    >>> nearest_double(Fraction(1, 2)), nearest_double(-Fraction(10) ** 400) == -sys.float_info.max
    (0.5, True)
    """
    largest = sys.float_info.max
    return float(min(max(value, -Fraction(largest)), Fraction(largest)))


def checked_step(step: object, sensitivity: Fraction) -> Fraction:
    """The grid as given, or by default the one for this sensitivity; one finer than the doubles is refused.

    >>> checked_step(None, Fraction(1)) == Fraction(1, 2**30), checked_step(0.25, Fraction(1))
    (True, Fraction(1, 4))
    """
    grid = default_step(sensitivity) if step is None else public_fraction("step", step)
    if grid < Fraction(sys.float_info.min):
        raise SpecError("the grid would be finer than doubles are; scale the values up or choose a coarser step")
    return grid


def refuse_beyond_doubles(scale: Fraction) -> None:
    """Refuse noise whose bounds no double holds; at the highest level of confidence a bound is 21 scales."""
    if 32 * scale > Fraction(sys.float_info.max):
        raise SpecError("the noise would be larger than a double holds; scale the values down or raise epsilon")


def scale_in_steps(scale: Fraction, step: Fraction | None = None) -> float:
    """A scale as a double in steps, rounded up, or in integers without a step; what cannot be drawn is refused."""
    steps = scale if step is None else scale / step
    refuse_beyond_doubles(scale)
    if steps > MAX_SIGMA and step is None:
        raise SpecError(
            f"noise of scale {float(scale):.3g} on integers is beyond the 64-bit sampler, which goes up to "
            f"{MAX_SIGMA:.3g}; raise epsilon"
        )
    if step is not None and steps > MAX_SIGMA:
        raise SpecError(
            f"noise of scale {float(scale):.3g} on a grid of {float(step):.3g} is too fine for the 64-bit sampler; "
            f"choose a step of at least {float(scale / MAX_SIGMA):.3g}"
        )
    return up(steps)


def laplace_noise(scale: float, how_many: int) -> list[int]:
    """Independent discrete Laplace variates without limit of size: P(z) proportional to exp(-|z| / scale).

    >>> len(laplace_noise(1.5, 3))
    3
    """
    drawn: list[int] = []
    while len(drawn) < how_many:
        drawn += laplace_variates(scale, min(CHUNK, how_many - len(drawn)))  # [P:laplace-chunks]
    return drawn


def laplace_noises(scales: Sequence[float]) -> list[int]:
    """One discrete Laplace variate for each scale; those of one scale come in one call.

    >>> len(laplace_noises([1.5, 2.0, 1.5]))
    3
    """
    of_scale = {scale: iter(laplace_noise(scale, times)) for scale, times in Counter(scales).items()}
    return [next(of_scale[scale]) for scale in scales]


def gaussian_noise(sigma: int, how_many: int) -> list[int]:
    """Independent discrete Gaussian variates: P(z) proportional to exp(-z^2 / (2 sigma^2)).

    >>> len(gaussian_noise(4, 3))
    3
    """
    sampler = ExactSampler()
    drawn: list[int] = []
    while len(drawn) < how_many:
        drawn += sampler.draw([sigma] * min(CHUNK, how_many - len(drawn)))
    return drawn


# -- error law ---------------------------------------------------------------------------------------------------------
# How far noise goes: bounds that hold with a stated probability, and the expected largest of many.

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
