"""Format numbers for people: in tables, notes, reports and on axes."""

from __future__ import annotations

import math
import re
from typing import Final

DASH: Final = "–"  # shown for an undefined number
_DIGITS: Final = 4
_DIGITS_OF_ERROR: Final = 3
_MOST_DECIMALS: Final = 9
_LARGE: Final = 1e9
_LARGEST_POWER: Final = 9  # numbers from this power of ten on have an exponent
_SMALLEST_POWER: Final = -4
_DOUBLE_DIGITS: Final = 15
_SMALLEST_P: Final = 0.001


def number(value: float | None) -> str:
    """Format a number to four significant digits, with thousands separators.

    >>> number(54321.7), number(0.012345), number(1.5e-9), number(-0.0), number(None)
    ('54,322', '0.01235', '1.5e-9', '0', '–')
    """
    if value is None:
        return DASH
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    if not _SMALLEST_POWER <= power < _LARGEST_POWER:
        return short_exponent(f"{value:.{_DIGITS}g}")
    return f"{value:,.{max(0, _DIGITS - 1 - power)}f}"


def significant(value: float, digits: int) -> str:
    """Format a number to at least `digits` significant digits, with trailing zeros.

    >>> significant(12345.678, 4), significant(-0.0012345, 4), significant(0.0, 4), significant(9.99996, 4)
    ('12346', '-0.001234', '0', '10.00')
    >>> significant(3e-7, 2)
    '3.0e-07'
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    power = math.floor(math.log10(abs(rounded)))
    if not _SMALLEST_POWER <= power < _LARGEST_POWER:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - power, 0)}f}"


def plain(value: float) -> str:
    """Format a declared number, such as epsilon, without padding.

    >>> plain(1.0), plain(1e-6)
    ('1', '1e-6')
    """
    return short_exponent(f"{value:.6g}")


def rough(value: float) -> str:
    """Format a number to two significant digits.

    >>> rough(-1234.5), rough(0.0678)
    ('-1200', '0.068')
    """
    return f"{float(f'{value:.2g}'):g}"


def count(value: float) -> str:
    """Format a number of rows.

    >>> count(20_074.3)
    '20,074'
    """
    return f"{value:,.0f}"


def share(value: float | None) -> str:
    """Format a probability or a share as a percentage.

    >>> share(0.1359), share(0.5), share(None), share(0.99999), share(0.0004)
    ('13.6%', '50%', '–', 'more than 99.9%', 'less than 0.1%')
    """
    if value is None:
        return DASH
    if 0 < value < 0.001:
        return "less than 0.1%"
    if 0.999 < value < 1:
        return "more than 99.9%"
    return f"{100 * value:.1f}".removesuffix(".0") + "%"


def percent(level: float) -> str:
    """Format a confidence level as a percentage.

    >>> percent(0.95), percent(0.9999)
    ('95%', '99.99%')
    """
    return f"{100 * level:.6g}%"


def p_value(value: float | None) -> str:
    """Format a p-value to three decimals.

    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.031', '<0.001', '–')
    """
    if value is None:
        return DASH
    return f"<{_SMALLEST_P}" if value < _SMALLEST_P else f"{value:.3f}"


def decimals_for(error: float) -> int:
    """Return the number of decimals that shows three digits of an error; negative for errors of 1000 or more.

    >>> decimals_for(0.0123), decimals_for(286.7), decimals_for(4.8e6)
    (4, 0, -4)
    """
    return _DIGITS_OF_ERROR - 1 - math.floor(math.log10(error))


def fixed(value: float, decimals: int) -> str:
    """Format a number to this many decimals, or with an exponent if that would be too long.

    >>> fixed(11_615.62, 0), fixed(906.2512, 2), fixed(-0.0001, 2), fixed(1.23456e-12, 14), fixed(2.345678e12, -9)
    ('11,616', '906.25', '0.00', '1.23e-12', '2.346e12')
    """
    if value and (abs(value) >= _LARGE or decimals > _MOST_DECIMALS):
        digits = math.floor(math.log10(abs(value))) + 1 + decimals
        return short_exponent(f"{value:.{min(max(digits, 1), _DOUBLE_DIGITS)}g}")
    text = f"{value:,.{max(decimals, 0)}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def with_error(value: float | None, error: float | None) -> str:
    """Format a number with as many decimals as show three digits of its error.

    >>> with_error(793.2, 17.84), with_error(17.84, 17.84), with_error(None, 17.84), with_error(0.123456, None)
    ('793.2', '17.8', '–', '0.1235')
    """
    if value is None or not error or not math.isfinite(error):
        return number(value)
    return fixed(value, decimals_for(error))


def short_exponent(text: str) -> str:
    """Drop the plus sign and leading zeros of an exponent.

    >>> short_exponent("1e-06"), short_exponent("1.5e+12")
    ('1e-6', '1.5e12')
    """
    return re.sub(r"e\+?(-?)0*(?=\d)", r"e\1", text)


def axis_number(value: float) -> str:
    """Format a tick label of an axis.

    >>> axis_number(0.30000000000000004), axis_number(1_000_000.0), axis_number(2e-7), axis_number(-0.0)
    ('0.3', '1,000,000', '2e-7', '0')
    """
    if value == 0:
        return "0"
    needs_exponent = not 1e-4 <= abs(value) < _LARGE
    return short_exponent(f"{value:.6g}" if needs_exponent else f"{value:,.10g}")
