"""Values as text for a page: control characters made visible, numbers to the digits that people read."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

from discreet.analyst.values.confidence_sets import set_words
from discreet.analyst.values.digits import decimals_for, fixed, short_exponent
from discreet.analyst.values.estimates import rough
from discreet.text import escape_control as escape_control

if TYPE_CHECKING:
    from discreet.pages.view import Coefficient

_DIGITS: Final = 4
_SMALLEST_P: Final = 0.001


def number(value: float | None) -> str:
    """Give four significant digits, with thousands apart; a dash where there is no number.

    >>> number(54321.7), number(0.012345), number(1.5e-9), number(-0.0), number(None)
    ('54,322', '0.01235', '1.5e-9', '0', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -_DIGITS <= size < 9:
        return short_exponent(f"{value:.{_DIGITS}g}")
    return f"{value:,.{max(0, _DIGITS - 1 - size)}f}"


def plain(value: float) -> str:
    """Give a declared number as it was declared.

    >>> plain(1.0), plain(1e-6)
    ('1', '1e-6')
    """
    return short_exponent(f"{value:.6g}")


def share(value: float | None) -> str:
    """Give a probability or a share in percent.

    >>> share(0.1359).split(), share(0.5).split(), share(None)
    (['13.6%'], ['50%'], '–')
    >>> share(0.99999).split(), share(0.0004).split()
    (['more', 'than', '99.9%'], ['less', 'than', '0.1%'])
    """
    if value is None:
        return "–"
    if 0 < value < 0.001:
        return "less than 0.1%"
    if 0.999 < value < 1:
        return "more than 99.9%"
    return f"{100 * value:.1f}".removesuffix(".0") + "%"


def percent(level: float) -> str:
    """Give a confidence level as it was asked for.

    >>> percent(0.95), percent(0.9999)
    ('95%', '99.99%')
    """
    return f"{100 * level:.6g}%"


def p_value(value: float | None) -> str:
    """Give a p-value to three decimals.

    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.031', '< 0.001', '–')
    """
    if value is None:
        return "–"
    return f"< {_SMALLEST_P}" if value < _SMALLEST_P else f"{value:.3f}"


def count(value: float) -> str:
    """Give a number of rows.

    >>> count(20_074.3)
    '20,074'
    """
    return f"{value:,.0f}"


def in_row(value: float | None, row: Coefficient) -> str:
    """Give a number of a row to the digits that the row's error leaves: the same decimals for all of them.

    >>> from discreet.pages.view import Coefficient
    >>> age = Coefficient("age", 793.2, 17.84, 758.5, 828.4, 1e-9, 5.4, 17.0, 0.909, None, kind="interval")
    >>> in_row(age.estimate, age), in_row(age.std_error, age), in_row(None, age)
    ('793.2', '17.8', '–')
    """
    error = row.std_error or row.privacy_sd
    if value is None or not error or not math.isfinite(error):
        return number(value)
    return fixed(value, decimals_for(error))


def estimate(row: Coefficient) -> str:
    """Give an estimate; in brackets and to two digits where the release does not bound it."""
    if row.estimate is None:
        return "not estimable"
    return f"[{short_exponent(rough(row.estimate))}]" if row.unbounded else in_row(row.estimate, row)


def confidence_set(row: Coefficient) -> str:
    """Give a confidence set in words."""
    if row.kind is None:
        return "–"
    shown = number if row.unbounded else partial(in_row, row=row)
    return set_words(row.kind, shown(row.low), shown(row.high))
