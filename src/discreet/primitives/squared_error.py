"""The exponential mechanism with squared error on [0, 1], drawn exactly on a fine grid."""

from __future__ import annotations

from fractions import Fraction

from discreet.mechanisms.sampling.coins import below, bernoulli_exp


def grid_size(n: int, epsilon: float) -> int:
    """Number of steps into which [0, 1] is cut: a power of two, at least 2^20, fine against the spread of the law.

    >>> grid_size(1000, 1.0) == 2**20
    True
    """
    spread = int((n * epsilon) ** 0.5)
    return 1 << max(20, spread.bit_length() + 10)


def squared_error_draw(mean: Fraction, n: int, epsilon: float, cells: int | None = None) -> Fraction:
    """A draw from P(t) proportional to exp(-(n epsilon / 2) (mean - t)^2) over t = 0, 1/cells, ..., 1.

    The expected number of proposals is about sqrt(n epsilon / 6), or twice that at the ends.

    >>> 0 <= squared_error_draw(Fraction(1, 2), 100, 1.0) <= 1
    True
    """
    steps = grid_size(n, epsilon) if cells is None else cells
    rate = n * Fraction(epsilon) / 2
    t = Fraction(below(steps + 1), steps)
    while not bernoulli_exp(rate * (mean - t) ** 2):  # [P:squared-error-law]
        t = Fraction(below(steps + 1), steps)
    return t
