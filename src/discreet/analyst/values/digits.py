"""Numbers to the digits that their errors leave them: three of the error, and the same decimals for a whole row."""

from __future__ import annotations

import math
import re
from typing import Final

_OF_ERROR: Final = 3  # digits of an error that are shown
_MOST_DECIMALS: Final = 9
_LARGE: Final = 1e9
_DOUBLE: Final = 15  # digits that every double has


def decimals_for(error: float) -> int:
    """Decimals that show three digits of an error; negative where not even its integer digits all count.

    >>> decimals_for(0.0123), decimals_for(286.7), decimals_for(4.8e6)
    (4, 0, -4)
    """
    return _OF_ERROR - 1 - math.floor(math.log10(error))


def fixed(value: float, decimals: int) -> str:
    """Give a number to these decimals, with thousands apart; with an exponent where it would be too long.

    >>> fixed(11_615.62, 0), fixed(906.2512, 2), fixed(-0.0001, 2), fixed(1.23456e-12, 14), fixed(2.345678e12, -9)
    ('11,616', '906.25', '0.00', '1.23e-12', '2.346e12')
    """
    if value and (abs(value) >= _LARGE or decimals > _MOST_DECIMALS):
        digits = math.floor(math.log10(abs(value))) + 1 + decimals
        return short_exponent(f"{value:.{min(max(digits, 1), _DOUBLE)}g}")
    text = f"{value:,.{max(decimals, 0)}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def short_exponent(text: str) -> str:
    """Write an exponent as people do.

    >>> short_exponent("1e-06"), short_exponent("1.5e+12")
    ('1e-6', '1.5e12')
    """
    return re.sub(r"e\+?(-?)0*(?=\d)", r"e\1", text)


def axis_number(value: float) -> str:
    """Give the number of a place on an axis.

    >>> axis_number(0.30000000000000004), axis_number(1_000_000.0), axis_number(2e-7), axis_number(-0.0)
    ('0.3', '1,000,000', '2e-7', '0')
    """
    if value == 0:
        return "0"
    large = not 1e-4 <= abs(value) < _LARGE
    return short_exponent(f"{value:.6g}" if large else f"{value:,.10g}")
