"""The tables of the report: white wine and a census, with stand-ins for the census that anybody can have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.datasets import load
from discreet.design.columns import Numeric
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.papers.tables import has, regression_table

if TYPE_CHECKING:
    from pandas import DataFrame

WINE: Final = "wine_white"
EXTRACT: Final = "ipums"
STAND_INS: Final = ("cpssw8", "simulated-ipums")
TITLES: Final = {
    WINE: "white wine",
    EXTRACT: "census extract (IPUMS)",
    "cpssw8": "CPSSW8, stand-in for the census",
    "simulated-ipums": "simulated-ipums, stand-in for the census",
}
# round numbers around what the columns can be, quality on its scale of 0 to 10; our choice, taken as public
WINE_BOUNDS: Final = (
    (3, 15), (0, 1.2), (0, 1.8), (0, 70), (0, 0.4), (0, 300), (0, 450), (0.98, 1.04), (2.5, 4), (0.2, 1.2), (8, 15),
    (0, 10),
)  # fmt: skip
# age, sex, race, marital status, family size, education, employment, type of household, income; codes as numbers
EXTRACT_BOUNDS: Final = {
    "age": (0, 100),
    "sex": (1, 2),
    "race": (10, 99),
    "marst": (0, 9),
    "famsize": (1, 30),
    "edattain": (0, 9),
    "empstat": (0, 9),
    "hhtype": (0, 99),
    "inctot": (-20_000, 1_000_000),
}
_NO_INCOME: Final = 9_999_998  # codes from here on say that income is unknown
FOUR: Final = {
    "cpssw8": ("age", "education", "gender", "region"),
    "simulated-ipums": ("age", "female", "nonwhite", "educ"),
    EXTRACT: ("age", "sex", "race", "edattain"),
}
# levels of the four and of the target; 0 for a number
LEVELS: Final = {
    "cpssw8": (0, 0, 2, 4, 0),
    "simulated-ipums": (0, 2, 2, 0, 0),
    EXTRACT: (0, 2, 0, 0, 0),
}


@dataclass(frozen=True)
class Scaled:
    """A table in [-1, 1], once as the report scales it and once by public bounds.

    Attributes
    ----------
    X, y
        By the smallest and largest value in the rows, as written: NOT PRIVATE.
    X_public, y_public
        Clipped to public bounds and scaled by them.
    offset, factor
        A prediction p of `y_public` is offset + factor p in the units of `y`.
    """

    X: FloatArray
    y: FloatArray
    X_public: FloatArray
    y_public: FloatArray
    offset: float
    factor: float


def scaled(columns: FloatArray, bounds: FloatArray) -> Scaled:
    """Scale columns, target last, by their own range and by public bounds.

    >>> both = scaled(np.array([[0.0, 1.0], [4.0, 3.0]]), np.array([[0.0, 8.0], [1.0, 5.0]]))
    >>> both.X.ravel().tolist(), both.X_public.ravel().tolist(), both.offset, both.factor
    ([-1.0, 1.0], [-1.0, 0.0], 1.0, 2.0)
    """
    low, high = columns.min(axis=0), columns.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    observed = (columns - middle) / half
    centre, width = bounds.mean(axis=1), np.diff(bounds, axis=1)[:, 0] / 2
    public = (np.clip(columns, *bounds.T) - centre) / width
    return Scaled(
        observed[:, :-1],
        observed[:, -1],
        public[:, :-1],
        public[:, -1],
        float((centre[-1] - middle[-1]) / half[-1]),
        float(width[-1] / half[-1]),
    )


def census_tables(folder: Path | None) -> tuple[str, ...]:
    """Census tables of a run: the stand-ins, and the extract if the folder has it."""
    return (*STAND_INS, *((EXTRACT,) if extract_path(folder) else ()))


def wine_tables(folder: Path | None) -> tuple[str, ...]:
    """White wine, if the folder has it."""
    return (WINE,) if has(WINE, folder) else ()


def extract_path(folder: Path | None) -> Path | None:
    """Where a user keeps an own extract: `ipums.parquet` or `ipums.csv` in the folder."""
    ends = ("parquet", "csv") if folder is not None else ()
    return next((path for end in ends if (path := Path(folder or ".") / f"{EXTRACT}.{end}").is_file()), None)


@lru_cache(maxsize=4)
def report_table(name: str, folder: Path | None, *, four: bool = False) -> Scaled:
    """A table of the report by name; with `four`, the four predictors of its Figure 5 only."""
    if name == WINE:
        x, y = regression_table(WINE, folder)
        return scaled(np.column_stack([x, y]), np.array(WINE_BOUNDS, dtype=float))
    names, columns, bounds = _extract(folder) if name == EXTRACT else _stand_in(name)
    kept = [names.index(one) for one in (FOUR[name] if four else names[:-1])] + [-1]
    return scaled(columns[:, kept], bounds[kept])


def _stand_in(name: str) -> tuple[list[str], FloatArray, FloatArray]:
    """Names, columns and bounds of a data set, target last, with levels as numbers 0, 1, ... as in the report."""
    dataset = load(name)
    order = [*dataset.design.regressors, dataset.design.target]
    columns, bounds = [], []
    for one in order:
        declared = dataset.design.columns[one]
        cells = dataset.table[one]
        if isinstance(declared, Numeric):
            columns.append(cells.to_numpy())
            bounds.append(declared.bounds)
        else:
            levels = getattr(declared, "levels", (False, True))
            codes = {level: code for code, level in enumerate(levels)}
            columns.append(np.array([codes[cell] for cell in cells.to_pylist()], dtype=float))
            bounds.append((0.0, len(levels) - 1.0))
    return order, np.column_stack(columns), np.array(bounds, dtype=float)


def _extract(folder: Path | None) -> tuple[list[str], FloatArray, FloatArray]:
    path = extract_path(folder)
    if path is None:
        raise SpecError(f"expected {EXTRACT}.parquet or {EXTRACT}.csv in the folder of --data, got neither")
    import pandas

    frame: DataFrame = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path)
    frame.columns = frame.columns.str.lower()
    missing = sorted(set(EXTRACT_BOUNDS) - set(frame.columns))
    if missing:
        raise SpecError(f"{path.name} lacks {', '.join(missing)}; expected {', '.join(EXTRACT_BOUNDS)}")
    kept = frame[list(EXTRACT_BOUNDS)].dropna()
    kept = kept[kept["inctot"] < _NO_INCOME]
    return list(EXTRACT_BOUNDS), kept.to_numpy(float), np.array(list(EXTRACT_BOUNDS.values()), dtype=float)
