"""Further models that a curator declares before a release, so that their residuals are summed too."""

from __future__ import annotations

from typing import Final

from discreet.analyst.equations.formula import parse_model
from discreet.analyst.equations.selection import model_of
from discreet.design.model import Design
from discreet.design.scales import scales_of
from discreet.design.submodels import full_columns, model_names
from discreet.errors import SpecError, shown
from discreet.losses.law import Columns
from discreet.privacy.checks import listed

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
