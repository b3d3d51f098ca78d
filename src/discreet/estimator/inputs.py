"""Convert the parameters and data of the estimator to a design and a table."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from discreet.accounting.noise_distribution import BLOCKS, NoiseDistribution
from discreet.analyst.confidence_sets import REMEDY
from discreet.analyst.fitted import Fit
from discreet.analyst.model import fit
from discreet.design.columns import Base
from discreet.design.declarations import HOW_TO_DECLARE, declared_bounds
from discreet.design.design import Design
from discreet.errors import CellError, FormulaError, OptionError, PrivacyNotice, UnsupportedError, shown
from discreet.releases.release import Release
from discreet.tables.arrow import declared_array
from discreet.tables.cells import settle_missing
from discreet.tables.frames import frame_batches, target_column
from discreet.wording import LeaveOut, Message, SetOption

# -- declaring ---------------------------------------------------------------------------------------------------------
# Build the design of a release from the parameters of the estimator and column names only.

# parameters that a design replaces, with their defaults
IN_DESIGN: Final[Mapping[str, object]] = {
    "bounds": None,
    "target_bounds": None,
    "fit_intercept": True,
    "radius": None,
    "neighbours": "add-remove",
    "missing": "error",
}


def checked_design(design: object, given: Mapping[str, object]) -> Design | None:
    """Check a complete design, and that no parameter repeats what the design declares.

    >>> checked_design(None, {}) is None
    True
    """
    if design is None:
        return None
    if not isinstance(design, Design):
        raise OptionError(
            f"design: expected a discreet.Design, got {type(design).__name__}",
            option="design",
            allowed="a discreet.Design",
            remedy="load one with Design.load(path)",
        )
    for name, unsaid in IN_DESIGN.items():
        # a value may have any type, and comparing two of them may give an array
        if not (given[name] is unsaid or (isinstance(unsaid, str) and given[name] == unsaid)):
            raise OptionError(f"got a design and {name}, which the design declares", option=name, remedy=LeaveOut(name))
    if design.unit.id is not None:
        raise UnsupportedError(
            f"the design names an id, {design.unit.id!r}, but a regressor gets no ids: it treats every row as another "
            "person",
            code="estimator-without-ids",
            option="design",
            remedy="use discreet.release, which reads the ids, and discreet.fit",
        )
    if design.weights is not None:
        raise UnsupportedError(
            f"the design has weights, {design.weights!r}, but a regressor takes rows without them",
            code="estimator-without-weights",
            option="design",
            remedy="use discreet.release, which reads the weights, and discreet.fit",
        )
    return design


def features_of(design: Design) -> tuple[str, ...]:
    """Return the columns that a table must have for a design, without the target, in declared order.

    >>> features_of(Design("y", {"y": (0, 1), "x": (1, 9), "log_x": {"formula": "log(x)"}}))
    ('x',)
    """
    return tuple(name for name in design.table_columns if name != design.target)


def named_columns(design: Design, columns: Mapping[str, Any], *, named: bool) -> dict[str, Any]:
    """Return the columns of X by their names in a design, matched by position if X has no names.

    >>> design = Design("y", {"y": (0, 1), "age": (18, 90)})
    >>> named_columns(design, {"x0": [40, 50]}, named=False)
    {'age': [40, 50]}
    """
    expected = features_of(design)
    if not named and len(columns) == len(expected):
        return dict(zip(expected, columns.values(), strict=True))
    if not named:
        raise OptionError(
            f"X has {len(columns)} columns without names, the design has {len(expected)}: {', '.join(expected)}",
            code="columns-differ",
            option="X",
            allowed=expected,
            remedy="give them in this order",
        )
    unknown, lacking = [name for name in columns if name not in expected], [n for n in expected if n not in columns]
    if unknown or lacking:
        found = f"in X but not in the design: {shown(unknown)}; in the design but not in X: {shown(lacking)}"
        raise OptionError(
            f"X and the design differ in their columns; {found}",
            code="columns-differ",
            option="X",
            allowed=expected,
            remedy="give every column of the design and no other",
        )
    return dict(columns)


def declared_design(names: Sequence[str], target: str, given: Mapping[str, Any]) -> Design:
    """Build the design that the parameters declare for the columns of X and the target.

    >>> given = {**IN_DESIGN, "bounds": {"x": (1, 9), "log_x": {"formula": "log(x)"}}, "target_bounds": (0, 1)}
    >>> declared_design(["x"], "y", given).released
    ('1', 'x', 'log_x', 'y')
    """
    if given["target_bounds"] is None:
        raise OptionError(
            "target_bounds are missing",
            code="bounds-missing",
            option="target_bounds",
            remedy=f"{HOW_TO_DECLARE} target_bounds=(0, 200_000)",
        )
    declared, derived = _parted(given["bounds"], names)
    unit = {"neighbours": given["neighbours"]}
    made = partial(Design, target, intercept=given["fit_intercept"], radius=given["radius"], unit=unit)
    columns = {**declared_bounds(declared, names), **derived, target: given["target_bounds"]}
    read = made(columns=columns).table_columns
    rules = {name: {"missing": given["missing"], **read[name].to_dict()} for name in columns if name in read}
    return made(columns={name: rules.get(name, columns[name]) for name in columns})


def _parted(bounds: object, names: Sequence[str]) -> tuple[object, dict[str, object]]:
    """Separate declarations of columns of X from those of formulas over them."""
    if not isinstance(bounds, Mapping):
        return bounds, {}
    derived: dict[str, object] = {
        name: column
        for name, column in bounds.items()
        if name not in names and isinstance(column, Mapping) and "formula" in column
    }
    return {name: column for name, column in bounds.items() if name not in derived}, derived


# -- options -----------------------------------------------------------------------------------------------------------
# Options of the model, checked before the budget is spent.

FIT_OPTIONS: Final = ("penalty", "strength", "l1_ratio")


def fit_options(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the options to fit a release. The default for moments is the best predictor. Coefficients take no penalty.

    >>> fit_options({"penalty": None, "strength": None, "l1_ratio": None}, "moments")["penalty"]
    'bayes'
    """
    if kind != "moments":
        return {}
    return {name: given[name] for name in FIT_OPTIONS} | {
        "penalty": REMEDY if given["penalty"] is None else given["penalty"]
    }


def check_fit_options(given: Mapping[str, Any]) -> None:
    """Refuse options that no release can be fitted with."""
    for name in ("strength", "l1_ratio"):
        if given["penalty"] is None and given[name] is not None:
            raise OptionError(
                f"got {name}={shown(given[name])} without a penalty",
                option=name,
                given=given[name],
                remedy=("name the penalty it belongs to, such as penalty='elastic-net'", LeaveOut(name)),
            )
    _tried(given, Design("y", {"y": (-1, 1), "x": (-1, 1)}), None)


def check_formula(formula: str | None, given: Mapping[str, Any], design: Design) -> None:
    """Refuse a model that cannot be fitted to a release of this design."""
    if formula is None:
        return
    model = _tried(given, design, formula)
    if model.target != design.target:
        raise FormulaError(
            f"the formula explains {model.target!r}, but y is {design.target!r}",
            option="formula",
            given=formula,
            remedy=f"write {design.target} ~ ...",
        )


def check_kind(formula: str | None, penalty: object, kind: str, mechanism: str) -> None:
    """Refuse a penalty or a formula for a mechanism that publishes a fitted model."""
    if kind == "moments":
        return
    if formula is not None:
        raise UnsupportedError(
            f"got formula={shown(formula)}, but the mechanism {mechanism!r} publishes the coefficients of one model "
            "on all columns",
            code="one-model-released",
            option="formula",
            given=formula,
            remedy=(LeaveOut("formula"), SetOption("mechanism", "gaussian")),
        )
    if penalty not in (None, "none"):
        raise UnsupportedError(
            f"got penalty={shown(penalty)}, but the mechanism {mechanism!r} publishes the coefficients of one "
            "model and leaves nothing to penalise",
            code="one-model-released",
            option="penalty",
            given=penalty,
            remedy=(
                LeaveOut("penalty"),
                Message(
                    SetOption("mechanism", "gaussian"),
                    ", which publishes moments: any penalty can be fitted to them at no cost, and they have intervals",
                ),
            ),
        )


def _tried(given: Mapping[str, Any], design: Design, formula: str | None) -> Fit:
    """Fit a synthetic release of moments, because a refusal after the spend would be too late."""
    size = len(design.released)
    totals = tuple((4**9 if i == j else 0) for i in range(size) for j in range(i, size))
    distribution = NoiseDistribution(8, dict.fromkeys(BLOCKS, 0), "none")
    stand_in = Release(design, None, "none", "0", distribution, totals, None, "untracked", "a stand-in")
    return fit(stand_in, formula, **fit_options(given, "moments"))


# -- pipelines ---------------------------------------------------------------------------------------------------------
# Whether steps of a pipeline learn from rows before a private regressor sees them.
#
# The regressor receives an array, which does not show whether a scaler made it, and inspecting its cells would let the
# data decide the message. So the pipeline is inspected, without a row: by the user before it is
# fitted, or by the regressor, which finds the pipeline among the callers of its `fit`.

# steps already warned about in this process, because model selection fits a pipeline many times
_SAID: Final[set[tuple[str, ...]]] = set()


def check_pipeline(pipeline: Pipeline) -> tuple[str, ...]:
    """Name the pipeline steps that learn from rows before a private regressor sees them, and warn about them once.

    The guarantee of the regressor does not cover what a scaler, an imputer or a feature selection learns from the rows,
    and the bounds of scaled columns cannot be known in advance. Steps that learn nothing (a `FunctionTransformer`, a
    `Normalizer`) are fine. The pipeline need not be fitted, and no row is read.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Pipeline whose last step is the regressor.

    Returns
    -------
    tuple of str
        Names of these steps, nested ones as `outer__inner`. Empty if the guarantee holds for the pipeline.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> import discreet
    >>> model = discreet.PrivateLinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1))
    >>> discreet.check_pipeline(make_pipeline(FunctionTransformer(), model))
    ()
    """
    if not isinstance(pipeline, Pipeline):
        raise OptionError(
            f"expected a scikit-learn Pipeline, got {type(pipeline).__name__}",
            option="pipeline",
            allowed="a scikit-learn Pipeline",
        )
    learning = _steps(pipeline)
    if learning:
        warnings.warn(_notice(learning), PrivacyNotice, stacklevel=2)
    return learning


def warn_of_callers(model: object) -> None:
    """Warn, once for the same steps, if a pipeline that learns from rows calls `fit` of a model."""
    inside, learning = model, list[str]()
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Pipeline) and caller is not inside and caller.steps[-1][1] is inside:
            learning = [*_steps(caller), *learning]
            inside = caller
        frame = frame.f_back
    if learning and tuple(learning) not in _SAID:
        warnings.warn(_notice(learning), PrivacyNotice, stacklevel=3)
        # only now, so that a notice turned into an error is repeated
        _SAID.add(tuple(learning))


def _steps(pipeline: Pipeline) -> tuple[str, ...]:
    return tuple(name for label, step in pipeline.steps[:-1] for name in _learning(label, step))


def _notice(learning: Iterable[str]) -> str:
    return (
        f"{', '.join(learning)}: learns from the rows in front of a private regressor, whose promise does not cover it."
        " Declare bounds, which do the scaling, and a rule for missing cells (missing=...); transform columns by "
        "declared formulas, or by steps that learn nothing"
    )


def _learning(label: str, step: object) -> Iterator[str]:
    """Return the names of the parts of a step that learn from rows, or of the step if it has no parts."""
    if step is None or isinstance(step, str):
        # "passthrough" and "drop"
        return
    parts = [getattr(step, name) for name in ("steps", "transformers", "transformer_list") if hasattr(step, name)]
    if parts:
        for name, part, *_ in parts[0]:
            yield from (f"{label}__{inside}" for inside in _learning(name, part))
    elif get_tags(step).requires_fit:
        yield label


# -- reading -----------------------------------------------------------------------------------------------------------
# Convert the inputs of scikit-learn to columns, and report refused cells in the words of scikit-learn.

_Result = TypeVar("_Result")
_ROWS: Final = 2**16


def read_target(y: object, features: Mapping[str, object], declared: str | None) -> tuple[str, Any]:
    """Return name and values of the target. A column of a table library is not converted.

    Call it from `fit`, so that a notice names the line that called `fit`.
    """
    if y is None:
        raise OptionError("PrivateLinearRegression requires y to be passed, but the target y is None", option="y")
    given = getattr(y, "name", None)
    own = given if isinstance(given, str) and given else None
    if declared is not None and own not in (None, declared):
        raise OptionError(
            f"y is called {own!r}, but the target of the design is {declared!r}",
            code="target-differs",
            option="y",
            given=own,
            allowed=(declared,),
            remedy="rename one of them",
        )
    name = declared or own or "y"
    if name in features:
        raise OptionError(
            f"the target is called {name!r}, and so is a column of X",
            code="target-in-features",
            option="X",
            remedy=("rename one", "take it out of X"),
        )
    values, is_matrix = target_column(y)
    if is_matrix:
        advice = "A column-vector y was passed when a 1d array was expected; give y the shape (n_samples,)"
        warnings.warn(advice, DataConversionWarning, stacklevel=3)
    return name, values


def check_rows(design: Design, table: Mapping[str, Any]) -> None:
    """Refuse columns of different lengths, and an empty table unless a rule allows it."""
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise OptionError(
            "X and y have different numbers of rows",
            code="rows-differ",
            option="y",
            remedy="give one value of y for each row of X",
        )
    if lengths == {0} and not design.total:
        raise OptionError(
            "X has no rows",
            code="no-rows",
            option="X",
            remedy=(
                "give at least one",
                "declare `drop` or `fill`, which allow an empty table (discreet.check counts the rows that fit)",
            ),
        )


def read_column(name: str, column: Base, values: object) -> npt.NDArray[np.float64]:
    """Read the numbers of a column as a release does, with NaN if the rule is to drop the row."""
    table = {name: target_column(values)[0]}
    parts = [declared_array(name, column, batch.column(name)) for batch in frame_batches(table, {name: column}, _ROWS)]
    numbers = np.concatenate([np.empty(0), *parts])
    settled, keep = settle_missing({name: column}, [numbers])
    return settled[0] if keep is None else np.where(keep, numbers, np.nan)


class RefusedCellError(CellError, TypeError):
    """A refused cell as scikit-learn expects it: a ValueError if it is missing, otherwise a TypeError."""


def in_familiar_words(target: str, call: Callable[[], _Result]) -> _Result:
    """Report the location of a refused cell, but not its value, in the words that scikit-learn's checks expect."""
    try:
        return call()
    except CellError as error:
        what = "y" if error.column == target else "X"
        problem = RefusedCellError(
            Message(
                f"Input {what} contains NaN, infinity or a cell of another kind (an argument must be no string: "
                "cells must be numbers, unless levels are declared): ",
                error,
            ),
            column=error.column,
        )
    raise problem
