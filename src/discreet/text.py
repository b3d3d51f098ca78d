"""Escape control characters in text, and format HTML tables for notebooks."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

# control, format (including bidirectional marks), surrogate, private use, unassigned, line and paragraph separators
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
# invisible letters and marks: the rest of Unicode's Default_Ignorable_Code_Point, and empty Braille
_BLANK: Final = frozenset(
    map(
        chr,
        (
            0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, *range(0xFE00, 0xFE10),
            0xFFA0, *range(0xE0100, 0xE01F0),
        ),
    )
)  # fmt: skip
# Cyrillic and Greek letters, and the Latin letters of the same shape
_SHAPES: Final = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0501\u04bb"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b9\u03bd\u03bf\u03c1",
    "ABEKMHOPCTYXSIJaeopcyxsijdhABEZHIKMNOPTYXaivop",
)
_GROUP: Final = 4


def escape_control(text: str, *, keep: str = "") -> str:
    r"""Escape characters that are invisible or control a terminal or the surrounding text.

    >>> print(escape_control("red \x1b[31m, two\nlines, abc\u202ecba"))
    red \x1b[31m, two\nlines, abc\u202ecba
    """
    return "".join(
        sign.encode("unicode_escape").decode() if _is_hidden(sign) and sign not in keep else sign for sign in text
    )


def has_invisible_characters(text: str) -> bool:
    r"""Return whether a text contains a character that `escape_control` would escape.

    >>> has_invisible_characters("north"), has_invisible_characters("no\x1brth"), has_invisible_characters("a\u2028b")
    (False, True, True)
    """
    return any(map(_is_hidden, text))


def _is_hidden(sign: str) -> bool:
    """Return whether a character is invisible or may control a terminal, a page or the surrounding text."""
    return unicodedata.category(sign) in _HIDDEN or sign in _BLANK


def twins(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    r"""Yield pairs of texts that look identical, such as an accented letter in composed and decomposed form.

    >>> [[ascii(text) for text in pair] for pair in twins(["caf\xe9", "cafe\u0301", "cafe"])]
    [["'caf\\xe9'", "'cafe\\u0301'"]]
    """
    first: dict[str, str] = {}
    for text in texts:
        twin = first.setdefault(unicodedata.normalize("NFC", text), text)
        if twin != text:
            yield twin, text


def lookalikes(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    r"""Yield pairs of names that differ only in case, blanks, width or similar letters of other scripts.

    A Greek or Cyrillic letter that looks like a Latin letter is treated as that letter.

    >>> [[ascii(name) for name in pair] for pair in lookalikes(["north", "NORTH", "s\xfcd", "sud", "n\u043erth"])]
    [["'north'", "'NORTH'"], ["'north'", "'n\\u043erth'"]]
    """
    first: dict[str, str] = {}
    for name in names:
        plain = " ".join(unicodedata.normalize("NFKC", name).split())
        # translate before folding case, because some letters resemble a Latin letter only as capitals
        shapes = {unicodedata.normalize("NFKC", text.casefold()) for text in (plain, plain.translate(_SHAPES))}
        similar = next((first[shape] for shape in sorted(shapes) if shape in first), None)
        if similar is not None:
            yield similar, name
        first |= {shape: first.get(shape, name) for shape in shapes}


def in_groups(digits: str) -> str:
    """Split digits into groups of four, for reading aloud.

    >>> in_groups("0123456789")
    '0123 4567 89'
    """
    return " ".join(digits[start : start + _GROUP] for start in range(0, len(digits), _GROUP))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    r"""Format a table with its first column left-aligned and the others right-aligned. Rows may have missing cells.

    >>> print("\n".join(aligned([("name", "value"), ("age", "1.5"), ("height",)])))
    name    value
    age       1.5
    height
    """
    widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in enumerate(cells)).rstrip()
        for cells in (list(zip(row, widths, strict=False)) for row in rows)
    ]


def html_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Format an HTML table with a title, and notes below it. The first column is text, the others are numbers.

    >>> print(html_table("<b>", ["name", "value"], [["x", "1"]], []))
    <table><caption>&lt;b&gt;</caption><thead><tr><th style="text-align:left">name</th><th>value</th></tr></thead>\
<tbody><tr><td style="text-align:left">x</td><td>1</td></tr></tbody></table>
    """
    head = "".join(_cell("th", text, first=index == 0) for index, text in enumerate(headers))
    lines = ("".join(_cell("td", text, first=index == 0) for index, text in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    below = "".join(f"<p>{_escaped(note)}</p>" for note in notes)
    table = f"<table><caption>{_escaped(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div>{table}{below}</div>" if below else table


def _cell(tag: str, text: str, *, first: bool) -> str:
    style = ' style="text-align:left"' if first else ""
    return f"<{tag}{style}>{_escaped(text)}</{tag}>"


def _escaped(text: str) -> str:
    return html.escape(escape_control(text, keep="\n"))
