"""What a caller of scikit-learn gives, as columns; and refused cells in the words that such a caller knows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning  # type: ignore[import-untyped]  # scikit-learn has no types

from discreet.design.columns import Base
from discreet.design.model import Design
from discreet.errors import CellError, SpecError
from discreet.tables.arrow import declared_array
from discreet.tables.encoder import settle_missing
from discreet.tables.frames import frame_batches
from discreet.tables.matrices import target_column

_Result = TypeVar("_Result")
_ROWS: Final = 2**16


def read_target(y: object, features: Mapping[str, object], declared: str | None) -> tuple[str, Any]:
    """Name and values of the target; a column of a table library stays as it is.

    To be called by `fit`, so that a notice names the line that called it.
    """
    if y is None:
        raise SpecError("PrivateLinearRegression requires y to be passed, but the target y is None")
    given = getattr(y, "name", None)
    own = given if isinstance(given, str) and given else None
    if declared is not None and own not in (None, declared):
        raise SpecError(f"y is called {own!r}, but the target of the design is {declared!r}; rename one of them")
    name = declared or own or "y"
    if name in features:
        raise SpecError(f"the target is called {name!r}, and so is a column of X; rename one, or take it out of X")
    values, is_matrix = target_column(y)
    if is_matrix:
        advice = "A column-vector y was passed when a 1d array was expected; give y the shape (n_samples,)"
        warnings.warn(advice, DataConversionWarning, stacklevel=3)
    return name, values


def check_rows(design: Design, table: Mapping[str, Any]) -> None:
    """Refuse columns of different lengths, and an empty table where no rule allows for it."""
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise SpecError("X and y have different numbers of rows; give one value of y for each row of X")
    if lengths == {0} and not design.total:
        raise SpecError(
            "X has no rows; give at least one, or declare `drop` or `fill`, which allow an empty table "
            "(discreet.check counts the rows that fit)"
        )


def read_column(name: str, column: Base, values: object) -> npt.NDArray[np.float64]:
    """Numbers of one column, read as a release reads them; NaN where the rule is to drop the row."""
    table = {name: target_column(values)[0]}
    parts = [declared_array(name, column, batch.column(name)) for batch in frame_batches(table, {name: column}, _ROWS)]
    numbers = np.concatenate([np.empty(0), *parts])
    settled, keep = settle_missing({name: column}, [numbers])
    return settled[0] if keep is None else np.where(keep, numbers, np.nan)


class RefusedCellError(CellError, TypeError):
    """A refused cell as scikit-learn's checks expect it: an error of value where it is missing, else one of type."""


def in_familiar_words(target: str, call: Callable[[], _Result]) -> _Result:
    """Say of a refused cell, in the words that users of scikit-learn and its checks know, where it is; never which."""
    try:
        return call()
    except CellError as error:
        what = "y" if error.column == target else "X"
        problem = RefusedCellError(
            f"Input {what} contains NaN, infinity or a cell of another kind (an argument must be no string: "
            f"cells must be numbers, unless levels are declared): {error}",
            column=error.column,
        )
    raise problem
