"""Where the lines and records of CSV text begin and end, found from quotes and line ends alone.

The quotes of a rightly quoted text open and close in turn, and a pair inside a cell closes and opens at once. So a
character is inside a cell exactly where the number of quotes before it is odd.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

_LF, _CR, _QUOTE = b'\n\r"'
Places = npt.NDArray[np.int64]
_NONE: Final = np.zeros(0, np.int64)


def count_lines(block: bytes) -> int:
    r"""How many line ends there are: LF, CR or both together.

    >>> count_lines(b"a\r\nb\rc\n")
    3
    """
    signs = np.frombuffer(block, np.uint8)
    lines = int(np.count_nonzero(signs == _LF))
    return lines + block.count(b"\r") - block.count(b"\r\n") if b"\r" in block else lines


def first_stray_quote(block: bytes, delimiter: str, *, line_breaks: bool = False) -> int | None:
    r"""Find a quote that neither opens nor closes a whole cell nor is one of a pair inside it.

    Each first quote of two has a border or a quote before it, each second one has a border or a quote behind it. Unless
    cells may hold line breaks, no line ends after an odd number of them; and never does the text.

    >>> first_stray_quote(b'"a",b"', ","), first_stray_quote(b'"a\n",b', ",", line_breaks=True)
    (5, None)
    """
    signs = np.frombuffer(block, np.uint8)
    border = np.zeros(256, bool)
    border[[_LF, _CR, _QUOTE, ord(delimiter)]] = True
    quotes = np.flatnonzero(signs == _QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    inner = closing[closing < len(signs) - 1]
    ends = _NONE if line_breaks else np.flatnonzero((signs == _LF) | (signs == _CR))
    before = np.append(np.searchsorted(quotes, ends), len(quotes))
    stray = [
        opening[(opening > 0) & ~border[signs[opening - 1]]],
        inner[~border[signs[inner + 1]]],
        quotes[before[before % 2 == 1] - 1],
    ]
    return min((int(found[0]) for found in stray if len(found)), default=None)


def record_ends(block: bytes) -> Places:
    r"""Behind which characters a record ends: line ends outside of quotes, CR and LF together as one.

    A CR that is the last character is left out, since it may be half of such a pair.

    >>> record_ends(b'a,"b\n"\r\nc\n').tolist()
    [8, 10]
    """
    signs = np.frombuffer(block, np.uint8)
    line_feed, carriage = signs == _LF, signs == _CR
    paired = np.zeros(len(signs), bool)
    paired[:-1] = carriage[:-1] & line_feed[1:]
    ends = np.flatnonzero((line_feed | carriage) & ~paired)
    if block.endswith(b"\r"):
        ends = ends[:-1]
    quotes = np.flatnonzero(signs == _QUOTE)
    outside = np.searchsorted(quotes, ends) % 2 == 0
    return np.asarray(ends[outside] + 1, np.int64)


def record_starts(block: bytes) -> Places:
    """Where each record of whole records begins; what follows the last record end is one too."""
    if block.endswith(b"\r"):
        # no half of a pair here: the text ends
        block += b"\n"
    ends = record_ends(block)
    return np.append(np.zeros(1, np.int64), ends[ends < len(block)])


def record_widths(block: bytes, delimiter: str) -> Places:
    r"""How many cells each record has.

    >>> record_widths(b'a,"b,\n"\n\nc\n', ",").tolist()
    [2, 1, 1]
    """
    signs = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    found = np.flatnonzero(signs == ord(delimiter))
    found = found[np.searchsorted(quotes, found) % 2 == 0]
    inside = np.searchsorted(found, [*record_starts(block), len(block)])
    return np.asarray(np.diff(inside) + 1, np.int64)


def record_lines(block: bytes, first: int) -> list[int]:
    """The line on which each record begins, where the block begins on line `first`."""
    starts = record_starts(block).tolist()
    numbers, line = [], first
    for start, before in zip(starts, [0, *starts], strict=False):
        line += count_lines(block[before:start])
        numbers.append(line)
    return numbers
