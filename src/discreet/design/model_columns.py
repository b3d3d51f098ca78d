"""Select the columns of a model by name or by formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.design.design import INTERCEPT, Design
from discreet.design.domain import full_columns, model_names
from discreet.design.scales import scales_of
from discreet.errors import FormulaError, ModelError, OptionError, SpecError, shown
from discreet.options import RobustErrors
from discreet.privacy.checks import listed
from discreet.wording import Message

# -- selection ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SubModel:
    """Linear model that can be fitted to a release.

    `features` holds declared names, or released names of single indicators such as `region[south]`. The declared name
    of a category means all its indicators. `names` holds the names of the coefficients, starting with `Intercept` if
    there is one. `positions` and `target_position` are indices in `release.columns`, where the constant has index 0.
    """

    target: str
    features: tuple[str, ...]
    intercept: bool
    names: tuple[str, ...]
    positions: tuple[int, ...]
    target_position: int

    @property
    def slopes(self) -> tuple[str, ...]:
        """Names of the coefficients except the intercept."""
        return self.names[1:] if self.intercept else self.names

    @property
    def columns(self) -> tuple[int, ...]:
        """Indices of the features, sorted so that models can be compared, followed by the index of the target."""
        return (*sorted(self.positions), self.target_position)


def has_all_regressors(design: Design, features: Iterable[str]) -> bool:
    """Return whether `features` are all regressors of the design, so that the declared radius bounds their norm."""
    return set(features) == set(design.regressors)


def is_feature(design: Design, name: str) -> bool:
    """Return whether a name can be a feature of a model, as a released column or as an indicator of a category.

    >>> design = Design("y", {"y": (0, 1), "g": ["a", "b", "c"]})
    >>> is_feature(design, "g"), is_feature(design, "g[b]"), is_feature(design, "g[a]")
    (True, True, False)
    """
    return name in design.offered or (name in design.parts and name not in design.columns)


def model_of(
    design: Design,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
) -> SubModel:
    """Select the columns of a model by declared names.

    The target and the intercept default to those of the design. The features default to all other released columns.
    """
    chosen_target = _checked_target(design, design.target if target is None else target)
    if features is None:
        chosen = tuple(name for name in design.offered if name != chosen_target)
    else:
        chosen = _checked_features(design, chosen_target, features)
    with_intercept = design.intercept if intercept is None else intercept
    if not isinstance(with_intercept, bool):
        raise OptionError(option="intercept", given=intercept, allowed="true or false")
    if not chosen and not with_intercept:
        raise ModelError(
            "the model has neither features nor an intercept",
            code="empty-model",
            option="features",
            remedy="name a feature or keep the intercept",
        )
    slopes = tuple(name for declared in chosen for name in design.parts[declared].released(declared))
    for name in slopes:
        if slopes.count(name) > 1:
            raise ModelError(
                f"the indicator {name!r} is included twice, by its own name and by its category",
                code="repeated-feature",
                option="features",
                remedy="name either the category or the indicator",
            )
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
        raise ModelError.unknown_name("target", target, targets, option="target")
    if not isinstance(design.columns[target], Numeric | Boolean):
        raise ModelError(
            f"the target must be a numeric or boolean column, but {shown(target)} is categorical",
            code="categorical-target",
            option="target",
            given=target,
            allowed=targets,
        )
    return target


def _checked_features(design: Design, target: str, features: Iterable[str]) -> tuple[str, ...]:
    chosen = listed(features)
    if chosen is None:
        raise OptionError(
            option="features", given=features, allowed=f"a list of declared names such as [{design.regressors[0]!r}]"
        )
    for name in chosen:
        if not isinstance(name, str) or not is_feature(design, name):
            raise ModelError.unknown_name("feature", name, design.offered, option="features")
        if name == target:
            raise ModelError(
                f"{name!r} is both the target and a feature",
                code="target-as-feature",
                option="features",
                given=name,
                remedy=f"remove {name!r} from the features",
            )
        if chosen.count(name) > 1:
            raise ModelError(
                f"the feature {name!r} is named twice",
                code="repeated-feature",
                option="features",
                given=name,
                remedy="name each feature once",
            )
    return tuple(chosen)


# -- formula -----------------------------------------------------------------------------------------------------------
_CLOSES: Final = {"(": ")", "[": "]", "`": "`", '"': '"', "'": "'"}
_CATEGORY: Final = re.compile(r"C\((.*)\)", re.DOTALL)
_IDENTITY: Final = re.compile(r"I\((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelFormula:
    """Target, features and intercept of a model formula. The intercept is None if the formula does not mention it."""

    target: str
    features: tuple[str, ...]
    intercept: bool | None


def parse_model(text: str, design: Design) -> ModelFormula:
    """Parse a model formula such as `y ~ x + z`.

    A `.` means every other column, and `- 1` or `+ 0` means no intercept. `- feature` removes a term, as in `. -
    region`. `C(region)` means `region`, which must have levels, and `region[south]` means one of its indicators. Names
    with blanks or operators are written in back quotes. A function or an interaction, such as `log(income)` or
    `age:region`, refers to the released column declared with this formula.
    """
    if not isinstance(text, str):
        raise FormulaError(f"expected a formula such as 'income ~ age + region', got {type(text).__name__}")
    left, tilde, right = text.partition("~")
    if not tilde or not left.strip() or "~" in right:
        raise FormulaError(f"formula {shown(text)}: expected a target, '~' and features, as in 'income ~ age'")
    target = _target(left.strip(), design)
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
                raise FormulaError(
                    f"formula {shown(text)}: {name!r} cannot be removed, because no term before it adds this column",
                    remedy=f"write '. - {name}' for all columns but this one",
                )
    return ModelFormula(target, tuple(features), intercept)


def _target(term: str, design: Design) -> str:
    """Return the column that the left side names, or the column with this formula. `model_of` checks it."""
    if _name(term) in design.columns:
        return _name(term)
    return _by_formula(term, design) or _name(term)


def _feature(text: str, term: str, design: Design) -> str:
    """Return the declared name to which a term refers, or the released name of an indicator."""
    if is_feature(design, _name(term)):
        return _name(term)
    if category := _CATEGORY.fullmatch(term):
        name = _name(category[1].strip())
        if name not in design.columns:
            raise FormulaError.unknown_name("column", name, design.offered)
        if not isinstance(design.columns[name], Categorical):
            raise FormulaError(
                f"formula {shown(text)}: C(...) requires a column with declared levels, but {name!r} has none; levels "
                "must be declared before the release"
            )
        return name
    if declared := _by_formula(term, design):
        return declared
    category_name, bracket, level = term.partition("[")
    column = design.columns.get(_name(category_name.strip()))
    if bracket and isinstance(column, Categorical):
        name = _name(category_name.strip())
        if f"{name}[{level.removesuffix(']')}]" in column.released(name):
            return f"{name}[{level.removesuffix(']')}]"
        levels = [str(column.levels[code]) for code in column.indicator_codes]
        raise FormulaError.unknown_name("level", level.removesuffix("]"), levels, f" among the indicators of {name!r}")
    if re.search(r"[(*:^/|]", term):
        raise FormulaError(
            f"formula {shown(text)}: {shown(term)} is not a released column; functions and products must be "
            "declared before the release, as columns with a formula"
        )
    if re.search(r"\s", term) and not term.startswith("`"):
        raise _not_joined(text)
    raise FormulaError.unknown_name("column", _name(term), design.offered)


def _not_joined(text: str) -> FormulaError:
    return FormulaError(f"formula {shown(text)}: terms must be joined by '+', as in 'income ~ age + region'")


def _by_formula(term: str, design: Design) -> str | None:
    """Return the released column declared with a formula, or None. The columns of an interaction may be swapped."""
    from discreet.design.formula import parse
    from discreet.design.formula_syntax import Cross

    inner = _IDENTITY.fullmatch(term)
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
    """Split the right side at each + and - outside brackets and quotes. Return each term and the sign before it."""
    terms: list[tuple[str, str]] = []
    sign = ""
    for piece in _pieces(right):
        if piece in ("+", "-"):
            if sign:
                raise _not_joined(text)
            sign = piece
        else:
            terms.append((sign or "+", piece))
            sign = ""
    if sign:
        raise _not_joined(text)
    if not terms:
        raise FormulaError(
            f"formula {shown(text)}: expected features after '~'; write '.' for all columns, or 1 for none"
        )
    return terms


def _pieces(right: str) -> Iterator[str]:
    """Yield the terms and the operators between them, without surrounding blanks."""
    term, closers = "", [""]
    for sign in right:
        if sign == closers[-1]:
            closers.pop()
        elif sign in _CLOSES and closers[-1] not in ("`", '"', "'"):
            closers.append(_CLOSES[sign])
        if sign in "+-" and len(closers) == 1:
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


# -- robust models -----------------------------------------------------------------------------------------------------

# indices of released columns: the features in increasing order, then the target
ModelColumns: TypeAlias = tuple[int, ...]


def declared_models(design: Design, formulas: Sequence[str]) -> tuple[ModelColumns, ...]:
    """Return the columns of the additional models with robust standard errors. Raise if a model is not allowed.

    The result does not depend on the order of the formulas, so that a ledger recognises a repeated request. Models of
    the target of the design come first, and smaller models come before larger ones.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
    >>> declared_models(design, ["y ~ C(g)", "y ~ x"])
    ((1, 4), (2, 3, 4))
    """
    formula_of: dict[ModelColumns, str] = {}
    for formula in formulas:
        columns = _columns(design, formula)
        if columns in formula_of:
            raise OptionError(
                f"the formulas {shown(formula_of[columns])} and {shown(formula)} describe the same model",
                code="repeated-model",
                option="robust",
                remedy="keep one of them",
            )
        formula_of[columns] = formula
    # the target of a model is its last index, and the target of the design has the largest index of all
    return tuple(sorted(formula_of, key=lambda columns: (-columns[-1], len(columns), columns)))


def _columns(design: Design, formula: str) -> ModelColumns:
    try:
        named = parse_model(formula, design)
        model = model_of(design, named.target, named.features, named.intercept)
        target, features = model_names(design, model.columns)
        # fail now, not at the fit, when the budget is already spent
        scales_of(design, (*features, target))
    except SpecError as error:
        raise OptionError(
            Message("additional model: ", error), code=error.code, option="robust", given=formula
        ) from None
    if not model.intercept:
        raise OptionError(
            f"robust standard errors require an intercept, but the model {shown(formula)} has none",
            code="intercept-required",
            option="robust",
            given=formula,
            remedy="remove '- 1' or '+ 0'",
        )
    if model.columns == full_columns(design):
        raise OptionError(
            f"the model {shown(formula)} is the full model, which has robust standard errors anyway",
            code="repeated-model",
            option="robust",
            given=formula,
            remedy="remove it from the additional models",
        )
    return model.columns


def scaled_residual_bound(design: Design, robust: RobustErrors) -> float | None:
    """Return the residual bound in scaled units of the target, or None if the noisy sums determine it."""
    if not design.intercept:
        raise SpecError("robust standard errors require a model with an intercept; remove intercept = false")
    bound = robust.residual_bound
    if bound is None:
        return None
    if design.target in design.searched:
        raise SpecError(
            "a residual bound is not allowed if the bounds of the target are private; leave the residual bound out, "
            "so that it is computed from the noisy sums, or declare the bounds of the target"
        )
    target = design.columns[design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    if not 1e-6 * half <= bound <= 4 * half:
        raise SpecError(
            f"residual bound: expected a number above 0 and at most {4 * half:g}, twice the width of the target's "
            f"bounds, got {shown(bound)}"
        )
    return float(bound) / half
