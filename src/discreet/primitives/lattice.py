"""Noise on integers, in bulk, and the grids on which other numbers live."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.mechanisms.sampling.sampler import MAX_SIGMA, ExactSampler, laplace_variates
from discreet.primitives.arguments import public_fraction

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
