"""`income ~ age + region`: a model by one line, over released columns only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from discreet.analyst.equations.selection import is_feature
from discreet.design.columns import Categorical
from discreet.design.model import Design
from discreet.errors import SpecError, shown

_CLOSES: Final = {"(": ")", "[": "]", "`": "`", '"': '"', "'": "'"}
_CATEGORY: Final = re.compile(r"C\((.*)\)", re.DOTALL)
_AS_IT_IS: Final = re.compile(r"I\((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelFormula:
    """Target, features and intercept as a formula names them; none where it leaves them to the design."""

    target: str
    features: tuple[str, ...]
    intercept: bool | None


def parse_model(text: str, design: Design) -> ModelFormula:
    """Read `target ~ feature + feature`, with `.` for every other column and `- 1` or `+ 0` for no intercept.

    `- feature` leaves one out again, as in `. - region`. `C(region)` is `region`, a column with levels, and
    `region[south]` one of its indicators. Names with blanks or operators are written in back quotes. A function or an
    interaction, such as `log(income)` or `age:region`, stands for the released column that was declared by this
    formula; it has to be declared before the release.
    """
    if not isinstance(text, str):
        raise SpecError(f"expected a formula such as 'income ~ age + region', got {type(text).__name__}")
    left, tilde, right = text.partition("~")
    if not tilde or not left.strip() or "~" in right:
        raise SpecError(f"formula {shown(text)}: expected a target, '~' and features, as in 'income ~ age'")
    target = _target(text, left.strip(), design)
    features: list[str] = []
    intercept: bool | None = None
    for sign, term in _terms(text, right):
        if term in ("0", "1"):
            intercept = (term == "1") == (sign == "+")
        elif term == "." and sign == "+":
            features += [name for name in design.offered if name != target and name not in features]
        else:
            name = _feature(text, term, design)
            if sign == "+":
                features.append(name)
            elif name in features:
                features.remove(name)
            else:
                raise SpecError(
                    f"formula {shown(text)}: '-' leaves out a term named before it, as in '. - {name}', and {name!r} "
                    "is not among them"
                )
    return ModelFormula(target, tuple(features), intercept)


def _target(text: str, term: str, design: Design) -> str:
    """The column that the left side names, by its name or by its formula; others are refused with the model."""
    if _name(term) in design.columns:
        return _name(term)
    return _by_formula(term, design) or _name(term)


def _feature(text: str, term: str, design: Design) -> str:
    """The declared name, or the released name of an indicator, that a term stands for."""
    if is_feature(design, _name(term)):
        return _name(term)
    if category := _CATEGORY.fullmatch(term):
        name = _name(category[1].strip())
        if name not in design.columns:
            raise SpecError.unknown_name("column", name, design.offered)
        if not isinstance(design.columns[name], Categorical):
            raise SpecError(
                f"formula {shown(text)}: {name!r} has no levels; C(...) is for a column whose levels were declared "
                "before the release"
            )
        return name
    if found := _by_formula(term, design):
        return found
    category_name, bracket, level = term.partition("[")
    column = design.columns.get(_name(category_name.strip()))
    if bracket and isinstance(column, Categorical):
        name = _name(category_name.strip())
        if f"{name}[{level.removesuffix(']')}]" in column.released(name):
            return f"{name}[{level.removesuffix(']')}]"
        levels = [str(column.levels[code]) for code in column.indicator_codes]
        raise SpecError.unknown_name("level", level.removesuffix("]"), levels, f" of {name!r} with a column of its own")
    if re.search(r"[(*:^/|]", term):
        raise SpecError(
            f"formula {shown(text)}: {shown(term)} is not a released column; functions and products must be "
            "declared before the release, as columns with a formula"
        )
    if re.search(r"\s", term) and not term.startswith("`"):
        raise SpecError(f"formula {shown(text)}: terms must be joined by '+', as in 'income ~ age + region'")
    raise SpecError.unknown_name("column", _name(term), design.offered)


def _by_formula(term: str, design: Design) -> str | None:
    """The released column that was declared by this formula; an interaction in either order."""
    from discreet.design.formulas.formula import parse
    from discreet.design.formulas.tree import Cross

    inner = _AS_IT_IS.fullmatch(term)
    try:
        tree = parse(inner[1] if inner else term).tree
    except SpecError:
        return None
    trees = (tree, Cross(tree.right, tree.left)) if isinstance(tree, Cross) else (tree,)
    for name in design.offered:
        formula = design.columns[name].formula
        if formula is not None and formula.tree in trees:
            return name
    return None


def _terms(text: str, right: str) -> list[tuple[str, str]]:
    """Terms with the operator before each, split at + and - outside brackets and quotes."""
    found: list[tuple[str, str]] = []
    sign = ""
    for piece in _pieces(right):
        if piece in ("+", "-"):
            if sign:
                raise SpecError(f"formula {shown(text)}: terms must be joined by '+', as in 'income ~ age + region'")
            sign = piece
        else:
            found.append((sign or "+", piece))
            sign = ""
    if sign:
        raise SpecError(f"formula {shown(text)}: terms must be joined by '+', as in 'income ~ age + region'")
    if not found:
        raise SpecError(f"formula {shown(text)}: nothing follows '~'; name features, '.' for all, or 1 for none")
    return found


def _pieces(right: str) -> Iterator[str]:
    """Terms and the operators between them, without the blanks around."""
    term, open_ones = "", [""]
    for sign in right:
        if sign == open_ones[-1]:
            open_ones.pop()
        elif sign in _CLOSES and open_ones[-1] not in ("`", '"', "'"):
            open_ones.append(_CLOSES[sign])
        if sign in "+-" and len(open_ones) == 1:
            if term.strip():
                yield term.strip()
            yield sign
            term = ""
        else:
            term += sign
    if term.strip():
        yield term.strip()


def _name(term: str) -> str:
    return term[1:-1] if len(term) > 1 and term[0] == term[-1] == "`" else term
