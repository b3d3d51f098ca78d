"""Prepare numeric tables for a comparison. Bounds come from the data, which only public data permits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.errors import OptionError, SpecError, shown
from discreet.files import checked_path
from discreet.wording import SetOption

if TYPE_CHECKING:
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

FEWEST_ROWS: Final = 50
MOST_LEVELS: Final = 50
SIMULATED: Final = "simulated-clinical"
_SIMULATED_ROWS: Final = 5_000
_SIMULATED_SEED: Final = 15


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A table that its owner declared public or simulated. `notes` says what was left out, one sentence each."""

    name: str
    x: FloatArray
    y: FloatArray
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Digest of all numbers."""
        return hashlib.sha256(np.ascontiguousarray(np.column_stack([self.x, self.y])).tobytes()).hexdigest()[:24]

    def save(self, folder: Path) -> Path:
        """Write the numbers for other processes, and return the path."""
        path = folder / f"table-{self.digest}.npz"
        if not path.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}.part.npz")
            np.savez(part, x=self.x, y=self.y)
            part.replace(path)
        return path


@lru_cache(maxsize=4)
def saved_rows(path: str) -> tuple[FloatArray, FloatArray]:
    """Load regressors and target of a table that `save` wrote."""
    with np.load(path) as arrays:
        return arrays["x"], arrays["y"]


def box(x: FloatArray, y: FloatArray, widen: float) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Return the ranges of regressors and target, widened on both sides by a fraction of the range.

    >>> box(np.array([[0.0], [10.0]]), np.array([1.0, 2.0]), 0.1)
    ([(-1.0, 11.0)], (0.9, 2.1))
    """
    pairs = []
    for column in (*x.T, y):
        low, high = float(column.min()), float(column.max())
        pairs.append((low - widen * (high - low), high + widen * (high - low)))
    return pairs[:-1], pairs[-1]


def public_tables(data: object, target: str | None) -> list[PublicTable]:
    """Return tables from paths, frames, or a mapping of names to either. By default, return a simulated table."""
    if data is None:
        if target is not None:
            raise SpecError(f"got target={shown(target)} but no data; leave out the target, or give the data")
        return [_simulated()]
    if target is None:
        raise OptionError(
            "expected the name of the target column, got none", option="target", remedy=SetOption("target")
        )
    if isinstance(data, Mapping):
        named = [(str(name), table) for name, table in data.items()]
    elif isinstance(data, Sequence) and not isinstance(data, str):
        named = [(_name(table), table) for table in data]
    else:
        named = [(_name(data), data)]
    if not named:
        raise SpecError("expected at least one table, got none")
    if len({name for name, _ in named}) < len(named):
        raise SpecError(f"expected tables with different names, got {', '.join(name for name, _ in named)}")
    return [prepared(name, _frame(table), target) for name, table in named]


def _name(data: object) -> str:
    return Path(data).stem if isinstance(data, str | os.PathLike) else "table"


def _simulated() -> PublicTable:
    from discreet.datasets import load

    dataset = load(SIMULATED, rows=_SIMULATED_ROWS, seed=_SIMULATED_SEED)
    return prepared(SIMULATED, _frame(dataset.data), dataset.design.target)


def _frame(data: object) -> DataFrame:
    from pandas import DataFrame, read_csv, read_parquet

    if isinstance(data, str | os.PathLike):
        path = checked_path(data)
        readers = {".csv": read_csv, ".parquet": read_parquet}
        if path.suffix.lower() not in readers:
            raise SpecError(f"expected a .csv or .parquet file, got {str(path)!r}")
        try:
            return readers[path.suffix.lower()](path)
        except (OSError, ValueError) as error:
            raise SpecError(f"cannot read the file {str(path)!r}: {error}") from None
    if isinstance(data, DataFrame):
        return data
    if callable(convert := getattr(data, "to_pandas", None)):
        return DataFrame(convert())
    raise SpecError(f"expected a path, or a pandas, polars or pyarrow table, got {shown(data)}")


def prepared(name: str, frame: DataFrame, target: str) -> PublicTable:
    """Convert a frame to numbers: drop incomplete rows and constant columns, and encode text as indicators."""
    from pandas import get_dummies, to_numeric

    if target not in frame.columns:
        raise SpecError.unknown_name("column", target, list(map(str, frame.columns)), f" of the table {name!r}")
    notes = []
    finite = frame.replace([np.inf, -np.inf], np.nan)
    whole = finite.dropna()
    if lost := len(frame) - len(whole):
        notes.append(f"{name}: {lost} rows with missing cells were left out.")
    try:
        y = to_numeric(whole[target]).to_numpy(float)
    except (TypeError, ValueError):
        raise SpecError(f"expected numbers in the target {target!r} of the table {name!r}, got text") from None
    regressors = whole.drop(columns=target)
    _check_columns(name, regressors)
    indicators = get_dummies(regressors, drop_first=True, dtype=float) if regressors.shape[1] else regressors
    wide = indicators.astype(float)
    moving = wide.loc[:, (wide != wide.iloc[0]).any()] if len(wide) else wide
    if constant := [str(column) for column in wide.columns if column not in set(moving.columns)]:
        notes.append(f"{name}: constant columns were left out: {', '.join(constant)}.")
    if len(y) < FEWEST_ROWS or moving.shape[1] == 0 or not y.std() > 0:
        raise SpecError(
            f"expected at least {FEWEST_ROWS} complete rows, a target that varies and a regressor that varies in the "
            f"table {name!r}, got {len(y)} rows and {moving.shape[1]} regressors that vary"
        )
    return PublicTable(name, moving.to_numpy(float), y, tuple(map(str, moving.columns)), tuple(notes))


def _check_columns(name: str, frame: DataFrame) -> None:
    """Reject a column that is neither numeric nor text with few levels, such as names or dates."""
    from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

    for column in frame.columns:
        values = frame[column]
        if is_datetime64_any_dtype(values) or (not is_numeric_dtype(values) and values.nunique() > MOST_LEVELS):
            raise SpecError(
                f"expected numbers, or text with at most {MOST_LEVELS} levels, in column {str(column)!r} of the table "
                f"{name!r}; leave the column out of the table"
            )
