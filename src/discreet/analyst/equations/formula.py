"""`income ~ age + region`: a model by one line, over released columns only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from discreet.errors import SpecError, shown
from discreet.releases import Release

_TERM: Final = re.compile(r"\s*([+-]?)\s*(`[^`]+`|[^\s+\-~`]+)\s*")


@dataclass(frozen=True, slots=True)
class ModelFormula:
    """Target, features and intercept as a formula names them; none where it leaves them to the design."""

    target: str
    features: tuple[str, ...]
    intercept: bool | None


def parse_model(text: str, release: Release) -> ModelFormula:
    """Read `target ~ feature + feature`, with `.` for every other column and `- 1` or `+ 0` for no intercept.

    Names with blanks or operators are written in back quotes. Functions and products are not part of it: a
    transformation has to be declared before the release, as a column with a formula of its own.
    """
    if not isinstance(text, str):
        raise SpecError(f"expected a formula such as 'income ~ age + region', got {type(text).__name__}")
    left, tilde, right = text.partition("~")
    target = _name(left.strip())
    offered = release.design.offered
    if not tilde or not target or "~" in right:
        raise SpecError(f"formula {shown(text)}: expected a target, '~' and features, as in 'income ~ age'")
    features: list[str] = []
    intercept: bool | None = None
    for sign, term in _terms(text, right):
        if term in ("0", "1"):
            intercept = (term == "1") == (sign == "+")
        elif sign == "-":
            raise SpecError(f"formula {shown(text)}: '-' is only allowed in '- 1'; name the features to keep")
        elif term == ".":
            features += [name for name in offered if name != target and name not in features]
        elif _name(term) in offered:
            features.append(_name(term))
        elif re.search(r"[(*:^/|]", term):
            raise SpecError(
                f"formula {shown(text)}: {shown(term)} is not a released column; functions and products must be "
                "declared before the release, as columns with a formula"
            )
        else:
            raise SpecError.unknown_name("column", _name(term), offered)
    return ModelFormula(target, tuple(features), intercept)


def _terms(text: str, right: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    index = 0
    while index < len(right.rstrip()):
        match = _TERM.match(right, index)
        if match is None or (not match[1] and found):
            raise SpecError(f"formula {shown(text)}: terms must be joined by '+', as in 'income ~ age + region'")
        found.append((match[1] or "+", match[2]))
        index = match.end()
    if not found:
        raise SpecError(f"formula {shown(text)}: nothing follows '~'; name features, '.' for all, or 1 for none")
    return found


def _name(term: str) -> str:
    return term[1:-1] if len(term) > 1 and term[0] == term[-1] == "`" else term
