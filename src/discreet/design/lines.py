"""On which line of a design file each key stands: the parser of the standard library does not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from discreet.errors import DesignProblem

Path: TypeAlias = tuple[str, ...]

# of text that is known to be TOML: strings first, as they may hold any other character
_TOKEN: Final = re.compile(
    r"""(?P<string>"{3}(?s:\\.|[^\\])*?"{3,5}|'{3}(?s:.)*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*')"""
    r"""|(?P<comment>\#[^\n]*)|(?P<end>\n)|(?P<sign>[][{}=.,])|(?P<word>[^][{}=.,\s"'\#]+)"""
)


class _Scanner:
    """Goes through the tokens of a file once."""

    def __init__(self, text: str) -> None:
        self.found: dict[Path, int] = {}
        self.tokens: list[tuple[str, str, int]] = []
        line = 1
        for match in _TOKEN.finditer(text):
            if match.lastgroup != "comment":
                self.tokens.append((str(match.lastgroup), match[0], line))
            line += match[0].count("\n")
        self._at = 0

    def read(self) -> dict[Path, int]:
        """The line of every table and key."""
        table: Path = ()
        while self._at < len(self.tokens):
            kind, text, _ = self.tokens[self._at]
            if kind == "end":
                self._at += 1
            elif text == "[":
                self._at += 1
                table = self._key(())
                self._skip_line()
            else:
                self._key(table)
                self._value(table + self._last)
                self._skip_line()
        return self.found

    def _key(self, table: Path) -> Path:
        """A key up to what ends it; the line of the first part is that of all."""
        parts: list[str] = []
        line = self.tokens[self._at][2]
        while (token := self.tokens[self._at])[1] not in ("=", "]") or token[0] != "sign":
            kind, text, _ = token
            if kind == "string":
                parts.append(str(tomllib.loads(f"key = {text}")["key"]))
            elif kind == "word":
                parts.append(text)
            self._at += 1
        self._at += 1
        self._last = tuple(parts)
        for length in range(1, len(parts) + 1):
            self.found.setdefault((*table, *parts[:length]), line)
        return self._last

    def _value(self, path: Path) -> None:
        """A value up to its end: a plain token, a list or a table on one line."""
        depth = 0
        while self._at < len(self.tokens):
            kind, text, _ = self.tokens[self._at]
            if depth == 0 and (kind == "end" or (kind == "sign" and text in ",}")):
                return
            self._at += 1
            if kind == "sign" and text == "{" and depth == 0:
                self._inline(path)
            elif kind == "sign" and text in "[{":
                depth += 1
            elif kind == "sign" and text in "]}":
                depth -= 1

    def _inline(self, table: Path) -> None:
        while self.tokens[self._at][1] != "}" or self.tokens[self._at][0] != "sign":
            if self.tokens[self._at][0] == "end" or self.tokens[self._at][1] == ",":
                self._at += 1
                continue
            self._key(table)
            self._value(table + self._last)
        self._at += 1

    def _skip_line(self) -> None:
        while self._at < len(self.tokens) and self.tokens[self._at][0] != "end":
            self._at += 1


def key_lines(text: str) -> dict[Path, int]:
    r"""The line of every table and key of a TOML text that the parser has taken.

    >>> lines = key_lines('target = "y"\n[columns]\ny = {bounds = [0,\n 1]}\n[columns."a b"]\ndtype = "bool"\n')
    >>> lines[("columns", "y", "bounds")], lines[("columns", "a b")]
    (3, 5)
    """
    return _Scanner(text).read()


def not_toml(message: str) -> DesignProblem:
    """The problem of a text that is not TOML, at the place that the parser names.

    >>> print(not_toml("Invalid value (at line 3, column 10)"))
    line 3: the design is not valid TOML: Invalid value (at column 10)
    """
    place = re.search(r"at line ([0-9]+), ", message)
    if place is None:
        return DesignProblem(f"the design is not valid TOML: {message}")
    rest = message[: place.start()] + "at " + message[place.end() :]
    return DesignProblem(f"the design is not valid TOML: {rest}", line=int(place[1]))


def too_many_digits(text: str) -> DesignProblem:
    """The problem of a text with an integer that Python does not read, at its place.

    >>> print(too_many_digits("radius = " + "9" * 5000))
    line 1: an integer has 5000 digits, and no double more than 309; write a smaller number
    """
    tokens = [("", "", 0), *_Scanner(text).tokens, ("", "", 0)]
    length, line = max(
        (sum(sign.isdigit() for sign in word), line)
        for (_, before, _), (kind, word, line), (_, after, _) in zip(tokens, tokens[1:], tokens[2:], strict=False)
        # beside a point it is a part of a number that is no integer
        if kind == "word" and "." not in (before, after) and re.fullmatch("[+-]?[0-9_]+", word)
    )
    said = f"an integer has {length} digits, and no double more than 309; write a smaller number"
    return DesignProblem(said, line=line)


def with_lines(problems: Iterable[DesignProblem], lines: Mapping[Path, int]) -> list[DesignProblem]:
    """The problems with the lines of their keys, in the order of the lines; those without a line come last.

    >>> [one.line for one in with_lines([DesignProblem("?", key="a"), DesignProblem("?", key="b")], {("b",): 2})]
    [2, None]
    """
    placed = [replace(one, line=_line(one, lines)) for one in problems]
    return sorted(placed, key=lambda one: (one.line is None, one.line or 0))


def _line(problem: DesignProblem, lines: Mapping[Path, int]) -> int | None:
    if problem.column:
        places: list[Path] = [("columns", problem.column, problem.key), ("columns", problem.column)]
    else:
        parts = tuple(problem.key.split("."))
        # the last two are of a column whose name is empty
        unnamed: list[Path] = [("columns", "")] if problem.key in ("", "name") else []
        places = [(problem.key,), parts, parts[:1], ("columns", "", problem.key), *unnamed]
    return next((lines[place] for place in places if place in lines), None)
