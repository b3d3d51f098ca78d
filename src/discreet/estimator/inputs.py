"""Conversion of the parameters and the data of the estimator to a design and a table."""

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
# Build the design from the estimator's parameters and column names only.

# parameters that a design replaces, with their defaults
IN_DESIGN: Final[Mapping[str, object]] = {
    "bounds": None,
    "target_bounds": None,
    "fit_intercept": True,
    "radius": None,
    "neighbours": "add-remove",
    "missing": "error",
}


def checked_design(design: object, parameters: Mapping[str, object]) -> Design | None:
    """Return the design, or raise if it is unsupported or if other parameters restate what it declares."""
    if design is None:
        return None
    if not isinstance(design, Design):
        raise OptionError(
            f"design: expected a discreet.Design, got {type(design).__name__}",
            option="design",
            allowed="a discreet.Design",
            remedy="load a design with Design.load(path)",
        )
    for name, default in IN_DESIGN.items():
        # parameters may have any type, and comparing arrays would give an array
        if not (parameters[name] is default or (isinstance(default, str) and parameters[name] == default)):
            raise OptionError(
                f"got both a design and {name}, but the design already declares {name}",
                option=name,
                remedy=LeaveOut(name),
            )
    if design.unit.id is not None:
        raise UnsupportedError(
            f"the design declares the id {design.unit.id!r}, but PrivateLinearRegression reads no ids and treats every "
            "row as a separate individual",
            code="estimator-without-ids",
            option="design",
            remedy="use discreet.release, which reads the ids, and discreet.fit",
        )
    if design.weights is not None:
        raise UnsupportedError(
            f"the design declares the weights {design.weights!r}, but PrivateLinearRegression reads no weights",
            code="estimator-without-weights",
            option="design",
            remedy="use discreet.release, which reads the weights, and discreet.fit",
        )
    return design


def features_of(design: Design) -> tuple[str, ...]:
    """Return the table columns that a design needs besides the target, in declared order."""
    return tuple(name for name in design.table_columns if name != design.target)


def named_columns(design: Design, columns: Mapping[str, Any], *, named: bool) -> dict[str, Any]:
    """Return the columns of X by their declared names. Columns without names are matched by position."""
    expected = features_of(design)
    if not named and len(columns) == len(expected):
        return dict(zip(expected, columns.values(), strict=True))
    if not named:
        raise OptionError(
            f"expected {len(expected)} columns in X, as the design declares ({', '.join(expected)}), got "
            f"{len(columns)} columns without names",
            code="columns-differ",
            option="X",
            allowed=expected,
            remedy="pass the declared columns in this order",
        )
    unknown, lacking = [name for name in columns if name not in expected], [n for n in expected if n not in columns]
    if unknown or lacking:
        difference = f"in X but not in the design: {shown(unknown)}; in the design but not in X: {shown(lacking)}"
        raise OptionError(
            f"X must have the same columns as the design; {difference}",
            code="columns-differ",
            option="X",
            allowed=expected,
            remedy="pass every column of the design and no other",
        )
    return dict(columns)


def declared_design(names: Sequence[str], target: str, parameters: Mapping[str, Any]) -> Design:
    """Build the design that the parameters declare for the columns of X and the target.

    >>> parameters = {**IN_DESIGN, "bounds": {"x": (1, 9), "log_x": {"formula": "log(x)"}}, "target_bounds": (0, 1)}
    >>> declared_design(["x"], "y", parameters).released
    ('1', 'x', 'log_x', 'y')
    """
    if parameters["target_bounds"] is None:
        raise OptionError(
            "expected target_bounds, got None",
            code="bounds-missing",
            option="target_bounds",
            remedy=f"{HOW_TO_DECLARE} target_bounds=(0, 200_000)",
        )
    declared, derived = _parted(parameters["bounds"], names)
    unit = {"neighbours": parameters["neighbours"]}
    design_with = partial(Design, target, intercept=parameters["fit_intercept"], radius=parameters["radius"], unit=unit)
    columns = {**declared_bounds(declared, names), **derived, target: parameters["target_bounds"]}
    read = design_with(columns=columns).table_columns
    rules = {name: {"missing": parameters["missing"], **read[name].to_dict()} for name in columns if name in read}
    return design_with(columns={name: rules.get(name, columns[name]) for name in columns})


def _parted(bounds: object, names: Sequence[str]) -> tuple[object, dict[str, object]]:
    """Separate the declarations of columns of X from the declarations of derived columns."""
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


def fit_options(options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the options for fitting a release, with the best predictor as the default penalty for moments.

    A release of coefficients has no options.
    """
    if kind != "moments":
        return {}
    return {name: options[name] for name in FIT_OPTIONS} | {
        "penalty": REMEDY if options["penalty"] is None else options["penalty"]
    }


def check_fit_options(options: Mapping[str, Any]) -> None:
    """Raise for options that are invalid for every release."""
    for name in ("strength", "l1_ratio"):
        if options["penalty"] is None and options[name] is not None:
            raise OptionError(
                f"{name}={shown(options[name])} has no effect without a penalty",
                option=name,
                given=options[name],
                remedy=(f"pass a penalty that uses {name}, such as penalty='elastic-net'", LeaveOut(name)),
            )
    _tried(options, Design("y", {"y": (-1, 1), "x": (-1, 1)}), None)


def check_formula(formula: str | None, options: Mapping[str, Any], design: Design) -> None:
    """Raise if the formula cannot be fitted to a release of this design."""
    if formula is None:
        return
    model = _tried(options, design, formula)
    if model.target != design.target:
        raise FormulaError(
            f"expected a formula with the target {design.target!r}, got the target {model.target!r}",
            option="formula",
            given=formula,
            remedy=f"write {design.target} ~ ...",
        )


def check_kind(formula: str | None, penalty: object, kind: str, mechanism: str) -> None:
    """Raise for a penalty or a formula if the mechanism publishes a fitted model."""
    if kind == "moments":
        return
    if formula is not None:
        raise UnsupportedError(
            f"got formula={shown(formula)}, but the mechanism {mechanism!r} publishes only the coefficients of one "
            "model with all columns",
            code="one-model-released",
            option="formula",
            given=formula,
            remedy=(LeaveOut("formula"), SetOption("mechanism", "gaussian")),
        )
    if penalty not in (None, "none"):
        raise UnsupportedError(
            f"got penalty={shown(penalty)}, but the mechanism {mechanism!r} publishes only the coefficients of one "
            "fitted model, which cannot be penalised",
            code="one-model-released",
            option="penalty",
            given=penalty,
            remedy=(
                LeaveOut("penalty"),
                Message(
                    SetOption("mechanism", "gaussian"),
                    ", which publishes moments that can be fitted with any penalty at no cost and with intervals",
                ),
            ),
        )


def _tried(options: Mapping[str, Any], design: Design, formula: str | None) -> Fit:
    """Fit a synthetic release of moments, so that invalid options are rejected before the budget is spent."""
    size = len(design.released)
    totals = tuple((4**9 if i == j else 0) for i in range(size) for j in range(i, size))
    distribution = NoiseDistribution(8, dict.fromkeys(BLOCKS, 0), "none")
    stand_in = Release(design, None, "none", "0", distribution, totals, None, "untracked", "a stand-in")
    return fit(stand_in, formula, **fit_options(options, "moments"))


# -- pipelines ---------------------------------------------------------------------------------------------------------
# Find pipeline steps that learn from rows before a private regressor sees them.
#
# The regressor receives an array, which does not show whether a scaler produced it, and inspecting its cells would make
# the message depend on the data. So the pipeline itself is inspected, without reading a row: by the user before it is
# fitted, or by the regressor, which finds the pipeline among the callers of its `fit`.

# steps already reported in this process, because model selection fits a pipeline many times
_SAID: Final[set[tuple[str, ...]]] = set()


def check_pipeline(pipeline: Pipeline) -> tuple[str, ...]:
    """Warn of pipeline steps that learn from rows before a private regressor sees them, and return their names.

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
        Names of these steps, with nested ones as `outer__inner`. Empty if the guarantee holds for the pipeline.

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
    """Warn if a pipeline that calls `fit` of the model has steps that learn from rows, once for the same steps."""
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
        # added after the warning, so that a warning turned into an error is repeated
        _SAID.add(tuple(learning))


def _steps(pipeline: Pipeline) -> tuple[str, ...]:
    return tuple(name for label, step in pipeline.steps[:-1] for name in _learning(label, step))


def _notice(learning: Iterable[str]) -> str:
    return (
        f"{', '.join(learning)}: learns from the rows before a private regressor sees them, so the privacy guarantee "
        "does not cover it. Declare bounds, which replace scaling, and a rule for missing cells (missing=...). "
        "Transform columns by declared formulas, or by steps that learn nothing"
    )


def _learning(label: str, step: object) -> Iterator[str]:
    """Yield the names of the parts of a step that learn from rows, or of the step itself if it has no parts."""
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
# Convert the inputs of scikit-learn to columns, and report rejected cells in scikit-learn's wording.

_Result = TypeVar("_Result")
_ROWS: Final = 2**16


def read_target(y: object, features: Mapping[str, object], declared: str | None) -> tuple[str, Any]:
    """Return the name and the values of the target. A column of a data frame is not converted.

    Call it directly from `fit`, because the stack level of its warning assumes that.
    """
    if y is None:
        raise OptionError("PrivateLinearRegression requires y to be passed, but the target y is None", option="y")
    series_name = getattr(y, "name", None)
    own = series_name if isinstance(series_name, str) and series_name else None
    if declared is not None and own not in (None, declared):
        raise OptionError(
            f"expected y to be named {declared!r}, the target of the design, got {own!r}",
            code="target-differs",
            option="y",
            given=own,
            allowed=(declared,),
            remedy="rename y, or the target of the design",
        )
    name = declared or own or "y"
    if name in features:
        raise OptionError(
            f"expected different names for y and the columns of X, got {name!r} for both",
            code="target-in-features",
            option="X",
            remedy=("rename one of them", "remove the target from X"),
        )
    values, is_matrix = target_column(y)
    if is_matrix:
        advice = "A column-vector y was passed when a 1d array was expected; pass y with the shape (n_samples,)"
        warnings.warn(advice, DataConversionWarning, stacklevel=3)
    return name, values


def check_rows(design: Design, table: Mapping[str, Any]) -> None:
    """Raise if columns have different lengths, or if the table is empty although no rule allows that."""
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise OptionError(
            "X and y must have the same number of rows",
            code="rows-differ",
            option="y",
            remedy="pass one value of y for each row of X",
        )
    if lengths == {0} and not design.total:
        raise OptionError(
            "expected at least one row in X, got none",
            code="no-rows",
            option="X",
            remedy=(
                "pass at least one row",
                "declare the rule drop or fill, which allows an empty table (discreet.check counts the valid rows)",
            ),
        )


def read_column(name: str, column: Base, values: object) -> npt.NDArray[np.float64]:
    """Read a numeric column as a release does, with NaN for each row that its rule drops."""
    table = {name: target_column(values)[0]}
    parts = [declared_array(name, column, batch.column(name)) for batch in frame_batches(table, {name: column}, _ROWS)]
    numbers = np.concatenate([np.empty(0), *parts])
    filled, keep = settle_missing({name: column}, [numbers])
    return filled[0] if keep is None else np.where(keep, numbers, np.nan)


class RefusedCellError(CellError, TypeError):
    """Error for a rejected cell that is both a ValueError and a TypeError, as scikit-learn's checks expect."""


def in_familiar_words(target: str, call: Callable[[], _Result]) -> _Result:
    """Run `call`, and report the location of a rejected cell, but not its value, in the wording of scikit-learn."""
    try:
        return call()
    except CellError as error:
        what = "y" if error.column == target else "X"
        problem = RefusedCellError(
            Message(
                f"Input {what} contains NaN, infinity or text (an argument must be no string but a number, "
                "unless its levels are declared): ",
                error,
            ),
            column=error.column,
        )
    raise problem
