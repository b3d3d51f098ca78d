"""Draw noise on a grid, and bound the size of the noise."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.errors import OptionError, UnsupportedError
from discreet.exact.rounding import up
from discreet.mechanisms.sampler import MAX_SIGMA, ExactSampler, laplace_variates
from discreet.primitives.arguments import public_fraction

# -- lattice -----------------------------------------------------------------------------------------------------------
# Bulk draws of integer noise, and the grids to which other numbers are rounded.

# number of variates per call, which limits memory
CHUNK: Final = 2**17
# number of binary digits by which the default grid is finer than the sensitivity
GRID_BITS: Final = 30


def default_step(size: Fraction) -> Fraction:
    """Return the power of two that is smaller than `size` by a factor between 2^30 and 2^31.

    >>> default_step(Fraction(3)) == Fraction(2, 2**30)
    True
    """
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    return Fraction(2) ** (exponent - GRID_BITS)


def on_grid(value: Fraction, step: Fraction) -> int:
    """Round to the nearest multiple of `step`, and return the number of steps. Ties round up.

    If ties were rounded to even, 1/2 and 3/2, which are one step apart, would become 0 and 2.
    """
    return math.floor(value / step + Fraction(1, 2))  # [P:on-grid]


def nearest_double(value: Fraction) -> float:
    """Return the nearest double. Values outside the range of doubles are clipped to it.

    >>> nearest_double(Fraction(1, 2)), nearest_double(-Fraction(10) ** 400) == -sys.float_info.max
    (0.5, True)
    """
    largest = sys.float_info.max
    return float(min(max(value, -Fraction(largest)), Fraction(largest)))


def checked_step(step: object, sensitivity: Fraction) -> Fraction:
    """Return the given grid step, or the default step for this sensitivity.

    Reject a step below the smallest normal double.

    >>> checked_step(None, Fraction(1)) == Fraction(1, 2**30), checked_step(0.25, Fraction(1))
    (True, Fraction(1, 4))
    """
    grid = default_step(sensitivity) if step is None else public_fraction("step", step)
    if grid < Fraction(sys.float_info.min):
        raise OptionError(
            f"step must be at least {sys.float_info.min:.3g}, the smallest normal double",
            code="step-too-fine",
            option="step",
            remedy="scale the values up, or choose a coarser step",
        )
    return grid


def check_range(scale: Fraction) -> None:
    """Reject a noise scale for which error bounds could overflow.

    At the highest confidence level, a bound is 21 times the scale.
    """
    if 32 * scale > Fraction(sys.float_info.max):
        raise UnsupportedError(
            "noise of this scale would exceed the range of doubles",
            code="noise-overflow",
            remedy="scale the values down, or raise epsilon",
        )


def scale_in_steps(scale: Fraction, step: Fraction | None = None) -> float:
    """Convert a noise scale to grid steps, rounded up to a double. Reject scales that cannot be sampled."""
    steps = scale if step is None else scale / step
    check_range(scale)
    if steps > MAX_SIGMA and step is None:
        raise UnsupportedError(
            f"noise of scale {float(scale):.3g} on integers exceeds {MAX_SIGMA:.3g}, the limit of the 64-bit sampler",
            code="noise-overflow",
            remedy="raise epsilon",
        )
    if step is not None and steps > MAX_SIGMA:
        raise OptionError(
            f"a step of {float(step):.3g} is too fine for the 64-bit sampler at a noise scale of {float(scale):.3g}",
            code="step-too-fine",
            option="step",
            remedy=f"choose a step of at least {float(scale / MAX_SIGMA):.3g}",
        )
    return up(steps)


def laplace_noise(scale: float, count: int) -> list[int]:
    """Draw `count` independent discrete Laplace variates, with P(z) proportional to exp(-|z| / scale)."""
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += laplace_variates(scale, min(CHUNK, count - len(drawn)))  # [P:laplace-chunks]
    return drawn


def laplace_noises(scales: Sequence[float]) -> list[int]:
    """Draw one discrete Laplace variate for each scale."""
    of_scale = {scale: iter(laplace_noise(scale, times)) for scale, times in Counter(scales).items()}
    return [next(of_scale[scale]) for scale in scales]


def gaussian_noise(sigma: int, count: int) -> list[int]:
    """Draw `count` independent discrete Gaussian variates, with P(z) proportional to exp(-z^2 / (2 sigma^2))."""
    sampler = ExactSampler()
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += sampler.draw([sigma] * min(CHUNK, count - len(drawn)))
    return drawn


# -- errors ------------------------------------------------------------------------------------------------------------
# Bounds on the size of the noise, and the expected maximum of many variates.

# largest number of terms for which the sum is computed term by term
_MAX_TERMS: Final = 200_000


def laplace_bound(scale: float, count: int, level: float) -> int:
    """Return the smallest t that bounds the absolute values of `count` variates jointly with probability `level`.

    The variates are discrete Laplace. The absolute value of one exceeds t with probability 2 r^(t+1) / (1 + r), where r
    = exp(-1/scale).

    >>> laplace_bound(1.0, 1, 0.95), laplace_bound(1.0, 10, 0.95)
    (3, 5)
    """
    r = math.exp(-1 / scale)
    # 1 - level^(1/K) without cancellation
    each = -math.expm1(math.log(level) / count)
    return max(0, math.ceil(-scale * math.log(each * (1 + r) / 2)) - 1)


def laplace_expected_largest(scale: float, count: int) -> float:
    """Compute the expected largest absolute value of `count` discrete Laplace variates.

    It is the sum over t of the probability that some absolute value is above t. For large scales, the sum is replaced
    by the integral plus half of the first term (Euler & Maclaurin). The integral is scale * sum over j of (1 - s^j) / j
    with s = (1 - r) / (1 + r).

    >>> round(laplace_expected_largest(1.0, 1), 4)
    0.8509
    """
    r = math.exp(-1 / scale)
    terms = scale * (math.log(count) + 40) + 2
    if terms <= _MAX_TERMS:
        above = 2 * np.exp(-(np.arange(math.ceil(terms)) + 1) / scale) / (1 + r)
        return float(np.sum(-np.expm1(count * np.log1p(-above))))
    s = math.tanh(1 / (2 * scale))
    # 1 + 1/2 + ... + 1/K, without the powers of s, which are tiny at these scales
    harmonic = float(np.sum(1 / np.arange(1, count + 1)))
    return scale * (harmonic + math.log1p(-s)) + (1 - s**count) / 2


def laplace_mean_size(scale: float) -> float:
    """Compute the expected absolute value of a discrete Laplace variate, 2 r / (1 - r^2) = 1 / sinh(1/scale).

    >>> round(laplace_mean_size(10.0), 3)
    9.983
    """
    # sinh overflows above 700, where the expected size is practically 0
    return 1 / math.sinh(min(700.0, 1 / scale))


def gaussian_bound(sigma: float, count: int, level: float) -> float:
    """Return the t that bounds the absolute values of `count` normal variates jointly with probability `level`.

    >>> round(gaussian_bound(1.0, 1, 0.95), 3)
    1.96
    """
    from scipy.special import ndtri

    each = -math.expm1(math.log(level) / count)
    return float(-ndtri(each / 2)) * sigma


def gaussian_expected_largest(sigma: float, count: int) -> float:
    """Compute the expected largest absolute value of `count` normal variates.

    >>> round(gaussian_expected_largest(1.0, 1), 4)
    0.7979
    """
    from scipy.special import log_ndtr

    t = np.linspace(0.0, 40.0, 200_001)
    above = np.exp(math.log(2) + log_ndtr(-t[1:]))
    some = np.concatenate([[1.0], -np.expm1(count * np.log1p(-above))])
    return float(np.trapezoid(some, t)) * sigma
