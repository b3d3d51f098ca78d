"""The exponential mechanism with absolute error on a range, drawn exactly on the integers of the range."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

from discreet.exact.normal import EIGHTY_DIGITS
from discreet.exact.rounding import down
from discreet.mechanisms.sampling.coins import below, bernoulli_exp
from discreet.primitives.lattice import laplace_noise

_MARGIN: Final = Decimal("1e-70")


def absolute_error_rate(epsilon: float) -> float:
    """The most by which a neighbour may change the exponent: log((1 + e^epsilon) / 2), rounded down.

    The general theorem allows epsilon / 2. On a range only the ends change the normaliser, which costs less than half.

    >>> round(absolute_error_rate(1.0), 4), round(absolute_error_rate(8.0), 4)
    (0.6201, 7.3072)
    """
    with localcontext(EIGHTY_DIGITS):
        return down(((1 + Decimal(epsilon).exp()) / 2).ln() - _MARGIN)  # [P:absolute-error-rate]


def absolute_error_draw(total: int, furthest: int, scale: float) -> int:
    """A draw from P(t) proportional to exp(-|total - t| / scale) over the integers t from -furthest to furthest.

    Parameters
    ----------
    total : int
        From -furthest to furthest.
    furthest : int
        At least 1.
    scale : float
        Above 0.

    >>> -50 <= absolute_error_draw(50, 50, 10.0) <= 50
    True
    """
    if 2 * furthest <= scale:
        # nearly flat: at least one proposal in three is accepted
        t = below(2 * furthest + 1) - furthest
        while not bernoulli_exp(abs(total - t) / Fraction(scale)):  # [P:absolute-error-flat]
            t = below(2 * furthest + 1) - furthest
        return t
    t = total + laplace_noise(scale, 1)[0]
    while abs(t) > furthest:  # [P:absolute-error-law]
        t = total + laplace_noise(scale, 1)[0]
    return t
