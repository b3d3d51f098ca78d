"""Amounts as integers: a sum of many small spends is exact, and none of them vanishes.

SQLite's integers end at 9.2e18, so amounts are stored as decimal text.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Final

from discreet.errors import LedgerError

# steps of mu^2, rho and epsilon, and steps of delta and tau
AMOUNT: Final = 10**12
CHANCE: Final = 10**30
_LONGEST: Final = 400  # digits; the largest double has 309, and 30 more of the smallest step


def rounded_up(value: Fraction, steps: int) -> int:
    """The fewest steps that are not below a value.

    >>> rounded_up(Fraction(1, 3), 10), rounded_up(Fraction(1, 10**40), AMOUNT)
    (4, 1)
    """
    return math.ceil(value * steps)


def rounded_down(value: Fraction, steps: int) -> int:
    """The most steps that are not above a value.

    >>> rounded_down(Fraction(1, 3), 10)
    3
    """
    return math.floor(value * steps)


def as_written(value: float) -> Fraction:
    """A double as the shortest decimal that is read as it, which is what a person wrote.

    The two differ by less than one part in 2^52.

    >>> as_written(0.1)
    Fraction(1, 10)
    """
    return Fraction(Decimal(repr(value)))


def units_from(text: object) -> int:
    """An amount that was stored as decimal text.

    >>> units_from("250000000000")
    250000000000
    """
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _LONGEST):
        raise LedgerError("the ledger holds an amount that is not a number; restore it from a copy and verify that")
    return int(text)
