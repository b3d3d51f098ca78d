"""The text encodings in which a CSV file may be written: those that read every character by itself.

An encoding with a state, or with escapes, lets one row change how the rows behind it are read, or lets one line become
several. Then adding one row could move the sums by more than one row. So only encodings without either are accepted.
"""

from __future__ import annotations

import codecs
from functools import cache
from typing import Final

from discreet.errors import SpecError, shown

CHARSETS: Final = (
    "ascii", "utf-8", "utf-8-sig", "utf-16", "latin-1",
    *(f"iso8859-{part}" for part in range(2, 17) if part != 12),  # there is no part 12
    *(f"cp125{last}" for last in range(9)),
    "cp437", "cp850", "cp852", "cp866", "koi8-r", "koi8-u",
    "mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-turkish",
)  # fmt: skip
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS: Final = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def charset_named(name: object) -> str:
    """Python's own name of an accepted encoding, which may be given by any of its other names.

    >>> charset_named("Windows-1252"), charset_named("latin-1")
    ('cp1252', 'iso8859-1')
    """
    try:
        found = codecs.lookup(name).name if isinstance(name, str) else None
    except (LookupError, ValueError):
        # ValueError: names with NUL
        found = None
    # looking all of them up loads a module for each
    if found not in CHARSETS and found not in _names_in_python():
        raise SpecError(f"encoding {shown(name)} is not accepted; choose one of {', '.join(CHARSETS)}")
    return str(found)


@cache
def _names_in_python() -> frozenset[str]:
    return frozenset(codecs.lookup(name).name for name in CHARSETS)


def wrong_mark(head: bytes, charset: str) -> str | None:
    """What is wrong with the first bytes of a file for an encoding, as the end of a sentence; none if nothing is.

    >>> wrong_mark(b"a,b", "utf-8"), wrong_mark(b"a,b", "utf-16")
    (None, 'has no byte order mark at its beginning, which utf-16 needs; write it with one, or as utf-8')
    """
    if head.startswith(_UTF32_MARKS):
        return "is UTF-32 text, which is not accepted; write it as utf-8"
    marked = head.startswith(_UTF16_MARKS)
    if charset == "utf-16" and not marked:
        return "has no byte order mark at its beginning, which utf-16 needs; write it with one, or as utf-8"
    if charset in ("utf-8", "utf-8-sig") and marked:
        return "is UTF-16 text; pass --encoding utf-16"
    return None
