"""Select the columns of a model by name or by formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from discreet.accounting.noise_distribution import Columns
from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.design.design import INTERCEPT, Design
from discreet.design.domain import full_columns, model_names
from discreet.design.scales import scales_of
from discreet.errors import SpecError, shown
from discreet.privacy.checks import listed
from discreet.releases.release import Release

# -- selection ---------------------------------------------------------------------------------------------------------
# Which model to read from a release: target, regressors and intercept, by declared names.


@dataclass(frozen=True, slots=True)
class SubModel:
    """One linear model among all those that a release can answer.

    Attributes
    ----------
    target
        Declared name of the column to explain.
    features
        Declared names of the regressors; a categorical name means all its indicators. One indicator by itself has its
        released name, such as `region[south]`.
    intercept
        Whether the model has a free constant.
    names
        Coefficient names: `Intercept` first if there is one, then the released columns of the features.
    positions
        Positions of the released columns of the features in `release.columns`; the constant is at 0.
    target_position
        Position of the target in `release.columns`.
    """

    target: str
    features: tuple[str, ...]
    intercept: bool
    names: tuple[str, ...]
    positions: tuple[int, ...]
    target_position: int

    @property
    def slopes(self) -> tuple[str, ...]:
        """Coefficient names without the intercept."""
        return self.names[1:] if self.intercept else self.names

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of the features from left to right, and of the target last: the same however a model is written."""
        return (*sorted(self.positions), self.target_position)


def has_all_regressors(design: Design, features: Iterable[str]) -> bool:
    """Whether these are all regressors of the design, so that the length of a row, which its radius is about, is known.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "w": (0, 1)}, radius=1.0)
    >>> has_all_regressors(design, ["w", "x"]), has_all_regressors(design, ["x"])
    (True, False)
    """
    return set(features) == set(design.regressors)


def is_feature(design: Design, name: str) -> bool:
    """Whether a model can have this column: one that is offered, or one indicator of a category.

    >>> design = Design("y", {"y": (0, 1), "g": ["a", "b", "c"]})
    >>> is_feature(design, "g"), is_feature(design, "g[b]"), is_feature(design, "g[a]")
    (True, True, False)
    """
    return name in design.offered or (name in design.parts and name not in design.columns)


def choose(
    release: Release,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
) -> SubModel:
    """Pick a model by declared names; what is left out follows the design, features default to every other column."""
    return model_of(release.design, target, features, intercept)


def model_of(
    design: Design,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
) -> SubModel:
    """The same for a design, before there is a release."""
    chosen_target = _checked_target(design, design.target if target is None else target)
    if features is None:
        chosen = tuple(name for name in design.offered if name != chosen_target)
    else:
        chosen = _checked_features(design, chosen_target, features)
    with_intercept = design.intercept if intercept is None else intercept
    if not isinstance(with_intercept, bool):
        raise SpecError(f"intercept is {shown(intercept)}; allowed: True, False, or None for what the design says")
    if not chosen and not with_intercept:
        raise SpecError("the model has neither features nor an intercept; name a feature or keep the intercept")
    slopes = tuple(name for declared in chosen for name in design.parts[declared].released(declared))
    for name in slopes:
        if slopes.count(name) > 1:
            raise SpecError(f"{name!r} is named by itself and as a part of its category; name one of the two")
    return SubModel(
        target=chosen_target,
        features=chosen,
        intercept=with_intercept,
        names=(INTERCEPT, *slopes) if with_intercept else slopes,
        positions=tuple(design.released.index(name) for name in slopes),
        target_position=design.released.index(chosen_target),
    )


def _checked_target(design: Design, target: str) -> str:
    targets = [name for name in design.offered if isinstance(design.columns[name], Numeric | Boolean)]
    if not isinstance(target, str) or target not in design.offered:
        raise SpecError.unknown_name("target", target, targets)
    if not isinstance(design.columns[target], Numeric | Boolean):
        raise SpecError(f"the target {shown(target)} is categorical; a target is numeric or boolean")
    return target


def _checked_features(design: Design, target: str, features: Iterable[str]) -> tuple[str, ...]:
    chosen = listed(features)
    if chosen is None:
        raise SpecError(
            f"features: expected a list of declared names such as [{design.regressors[0]!r}], got {shown(features)}"
        )
    for name in chosen:
        if not isinstance(name, str) or not is_feature(design, name):
            raise SpecError.unknown_name("feature", name, design.offered)
        if name == target:
            raise SpecError(f"{name!r} is both the target and a feature; remove it from the features")
        if chosen.count(name) > 1:
            raise SpecError(f"the feature {name!r} is named twice; name each feature once")
    return tuple(chosen)


# -- formula -----------------------------------------------------------------------------------------------------------
# `income ~ age + region`: a model by one line, over released columns only.

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
    from discreet.design.formula import parse
    from discreet.design.formula_syntax import Cross

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


# -- declared models ---------------------------------------------------------------------------------------------------
# Further models that a curator declares before a release, so that their residuals are summed too.

MOST_MODELS: Final = 10


def declared_models(design: Design, formulas: object, *, robust: bool = True) -> tuple[Columns, ...]:
    """Columns of the models that formulas name; refused where a sum over residuals is not for them.

    They come in one order however they are listed, so that a ledger knows the same request again: models of the target
    of the design first, those of fewer columns before others.

    Parameters
    ----------
    design
        What was declared, before data is opened.
    formulas
        Such as `["income ~ age", "income ~ age + region"]`; an empty list for no further model.
    robust
        Whether the release has sums over residuals at all.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
    >>> declared_models(design, ["y ~ C(g)", "y ~ x"])
    ((1, 4), (2, 3, 4))
    """
    given = listed(formulas)
    if given is None:
        raise SpecError(
            f"robust_models: expected a list of formulas such as ['y ~ a', 'y ~ a + b'], got {shown(formulas)}"
        )
    if given and not robust:
        raise SpecError('got robust_models without moments "robust" (--robust); add it, or leave them out')
    if len(given) > MOST_MODELS:
        raise SpecError(
            f"robust_models has {len(given)} models; allowed: at most {MOST_MODELS}, because each takes its share of "
            "the budget; keep those that need robust standard errors"
        )
    found: dict[Columns, object] = {}
    for formula in given:
        columns = _columns(design, formula)
        if columns in found:
            raise SpecError(
                f"robust_models has the same model twice, {shown(found[columns])} and {shown(formula)}; keep one"
            )
        found[columns] = formula
    # the target is the last of the columns, and that of the design the last of all
    return tuple(sorted(found, key=lambda columns: (-columns[-1], len(columns), columns)))


def _columns(design: Design, formula: object) -> Columns:
    if not isinstance(formula, str):
        raise SpecError(f"robust_models: expected a formula such as 'y ~ a + b', got {shown(formula)}")
    try:
        named = parse_model(formula, design)
        model = model_of(design, named.target, named.features, named.intercept)
        target, features = model_names(design, model.columns)
        # refused now, and not when it is fitted, after the budget is spent
        scales_of(design, (*features, target))
    except SpecError as error:
        raise SpecError(f"robust_models: {error}") from None
    if not model.intercept:
        raise SpecError(
            f"robust_models: {shown(formula)} has no intercept, and robust standard errors are for models with one; "
            "leave out '- 1' or '+ 0'"
        )
    if model.columns == full_columns(design):
        raise SpecError(
            f"robust_models: {shown(formula)} is the full model, which has robust standard errors anyway; leave it out"
        )
    return model.columns
