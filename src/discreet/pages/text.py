"""Values as text for a page: control characters made visible, numbers to the digits that people read."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from discreet.analyst.values.confidence_sets import set_words
from discreet.analyst.values.estimates import rough
from discreet.text import escape_control as escape_control

if TYPE_CHECKING:
    from discreet.pages.view import Coefficient

_DIGITS: Final = 4
_SMALLEST_P: Final = 0.001


def shortened(text: str, letters: int) -> str:
    """Give text that fits, cut in its middle if it has to be.

    >>> shortened("abcdefghij", 7)
    'abc…hij'
    """
    if len(text) <= letters:
        return text
    side = (letters - 1) // 2
    return f"{text[: letters - 1 - side]}…{text[len(text) - side :]}"


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
        return _without_zero(f"{value:.{_DIGITS}g}")
    return f"{value:,.{max(0, _DIGITS - 1 - size)}f}"


def plain(value: float) -> str:
    """Give a declared number as it was declared.

    >>> plain(1.0), plain(1e-6)
    ('1', '1e-6')
    """
    return _without_zero(f"{value:.6g}")


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
    return f"{100 * value:.3g}%"


def p_value(value: float | None) -> str:
    """Give a p-value to three decimals.

    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.031', '< 0.001', '–')
    """
    if value is None:
        return "–"
    return f"< {_SMALLEST_P}" if value < _SMALLEST_P else f"{value:.3f}"


def estimate(row: Coefficient) -> str:
    """Give an estimate; in brackets and to two digits where the release does not bound it."""
    if row.estimate is None:
        return "not estimable"
    return f"[{_without_zero(rough(row.estimate))}]" if row.unbounded else number(row.estimate)


def confidence_set(row: Coefficient) -> str:
    """Give a confidence set in words."""
    return "–" if row.kind is None else set_words(row.kind, number(row.low), number(row.high))


def _without_zero(text: str) -> str:
    """Write 1e-06 as people do."""
    return re.sub(r"e([+-])0+(?=\d)", r"e\1", text)
