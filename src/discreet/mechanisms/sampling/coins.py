"""Exact coins from the operating system: probability p for any fraction p, and exp(-x) for any fraction x."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction


def below(limit: int) -> int:
    """A uniform integer of at least 0 and below `limit`.

    >>> below(1)
    0
    """
    return secrets.randbelow(limit)


def bernoulli(chance: Fraction) -> bool:
    """True with probability `chance`, a fraction from 0 to 1.

    >>> bernoulli(Fraction(0)), bernoulli(Fraction(1))
    (False, True)
    """
    return below(chance.denominator) < chance.numerator  # [P:coin]


def bernoulli_exp(exponent: Fraction, *, coin: Callable[[Fraction], bool] = bernoulli) -> bool:
    """True with probability exp(-exponent), for a fraction of at least 0 (Canonne, Kamath & Steinke 2020, Algorithm 1).

    The coin can be exchanged so that a test can walk through every outcome.

    >>> bernoulli_exp(Fraction(0))
    True
    """
    whole, rest = divmod(exponent, 1)
    for _ in range(whole):
        if not _exp_of_at_most_one(Fraction(1), coin):
            return False
    return _exp_of_at_most_one(rest, coin)  # [P:exponential-coin]


def _exp_of_at_most_one(exponent: Fraction, coin: Callable[[Fraction], bool]) -> bool:
    turn = 1
    while coin(exponent / turn):
        turn += 1
    return turn % 2 == 1
