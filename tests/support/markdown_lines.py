"""Markdown is wrapped: no line over 120 characters, but for rows of tables, targets of links and hidden checks.

`make check` runs this module; it prints every line that is too long and then fails.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WIDEST = 120
# a target such as ](https://...) or <https://...> cannot be wrapped
_TARGET = re.compile(r"\]\([^)\s]*\)|<https?://[^>]*>")
# rows of tables, and code that the tests of the documentation run and no reader sees
_ONE_LINE = ("|", "% check: ")
_SKIPPED = ("_build", ".venv", "discreet-demo")


def long_lines(text: str) -> list[int]:
    """Numbers of the lines that are too long, from 1."""
    return [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if len(_TARGET.sub("]", line)) > WIDEST and not line.lstrip().startswith(_ONE_LINE)
    ]


def pages(root: Path) -> Iterator[Path]:
    """Every Markdown file of the repository."""
    for file in sorted(root.rglob("*.md")):
        inside = file.relative_to(root)
        if not any(part in _SKIPPED or part.startswith(".") for part in inside.parts):
            yield file


def complaints(root: Path) -> list[str]:
    """One line for each long line, as FILE:LINE."""
    return [f"{file.relative_to(root)}:{number}" for file in pages(root) for number in long_lines(file.read_text())]


if __name__ == "__main__":
    found = complaints(ROOT)
    print(*(f"{one}: more than {WIDEST} characters" for one in found), sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
