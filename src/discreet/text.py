"""Text that commands nothing: control characters made visible, and tables for notebooks in plain HTML, all escaped."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

# control, format (which has the bidirectional marks), surrogate, private use, unassigned, line and paragraph separator
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def escape_control(text: str, *, keep: str = "") -> str:
    r"""Write characters that cannot be seen, or that control a terminal or the text around them, as escapes.

    >>> print(escape_control("red \x1b[31m, two\nlines, abc\u202ecba"))
    red \x1b[31m, two\nlines, abc\u202ecba
    """
    return "".join(
        sign.encode("unicode_escape").decode() if unicodedata.category(sign) in _HIDDEN and sign not in keep else sign
        for sign in text
    )


def has_invisible_characters(text: str) -> bool:
    r"""Whether a text holds control, formatting or broken characters, which terminals and pages may obey.

    >>> has_invisible_characters("north"), has_invisible_characters("no\x1brth")
    (False, True)
    """
    return not text.isprintable() and any(unicodedata.category(sign) in ("Cc", "Cf", "Cs") for sign in text)


def twins(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    r"""Pairs of texts that no reader can tell apart: an accent may be a part of its letter or a character of its own.

    >>> [[ascii(text) for text in pair] for pair in twins(["caf\xe9", "cafe\u0301", "cafe"])]
    [["'caf\\xe9'", "'cafe\\u0301'"]]
    """
    first: dict[str, str] = {}
    for text in texts:
        other = first.setdefault(unicodedata.normalize("NFC", text), text)
        if other != text:
            yield other, text


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    r"""Lines of a table: the first column to the left, the others to the right; rows may end early.

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
    """A titled table with notes below it; the first column is text, the others are numbers.

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
