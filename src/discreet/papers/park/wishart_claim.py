"""Whether Wishart noise with d + 1 degrees of freedom keeps the pure epsilon that the note claims (equations 6 to 10).

Claimed: level-DP. True: no epsilon at all. The noisy matrix minus that of a neighbouring table with one row more has
a negative eigenvalue with probability 1 - exp(-level), whatever the number of columns, and that table could never have
produced it. So the release is not (epsilon, delta)-DP for any epsilon unless delta is at least that large.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.papers.park.algorithm import Noise, wishart_noise


def ruled_out_probability(level: float) -> float:
    """How often a neighbouring table is ruled out, which is the least delta at any epsilon.

    >>> round(ruled_out_probability(0.1), 3), round(ruled_out_probability(1.0), 2)
    (0.095, 0.63)
    """
    return -math.expm1(-level)


def true_epsilon(level: float, delta: float) -> float:
    """The epsilon that one noisy second moment keeps at delta for one row more or less: infinite, unless delta is huge.

    With the row present the loss is `level` in every draw; without it, it is infinite with `ruled_out_probability`,
    and -`level` otherwise. From that delta on epsilon is 0, because 1 - exp(-level) covers the other direction too.

    >>> true_epsilon(0.3, 1e-6)
    inf
    """
    return math.inf if delta < ruled_out_probability(level) else 0.0


def ruled_out(level: float, draws: int, rng: np.random.Generator, *, columns: int = 10) -> int:
    """In how many of so many draws the noisy second moment rules out the table with one more row at the bound.

    >>> rng = np.random.default_rng(3)
    >>> 100 <= ruled_out(0.1, 1500, rng, columns=3) <= 190
    True
    """
    row = rng.standard_normal(columns)
    row /= np.linalg.norm(row)
    # one row among one: the number of rows and the cap cancel
    noise = Noise(cap=1.0, level=level)
    drawn = np.array([wishart_noise(noise, 1, columns, rng) for _ in range(draws)])
    return int((np.linalg.eigvalsh(drawn - np.outer(row, row))[:, 0] < 0).sum())
