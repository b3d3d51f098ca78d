"""What each figure of the thesis compares, and the cells of its runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from discreet.papers.figure import Cell, Row, Run
from discreet.papers.kalaja.experiment import HONKELA, PRIVATE, SATURATING, WRITTEN, Line, Plan, cross_validated
from discreet.papers.kalaja.preprocessing import Recipe
from discreet.papers.tables import has, published_results

TABLES: Final = ("airfoil", "elevators", "energy", "housing", "protein", "bike")
PACKED: Final = ("housing", "concrete")  # what a package holds where no folder is given
REPEATS: Final = 10
# rounds of a quick run; lines of the library, clipping on both sides and a reader's method have only the first
QUICK: Final = {"kalaja-4.1": 10, "kalaja-4.2": 10}
QUICK_ELSE: Final = 3
PRIVATE_LINE: Final = "discreet ssp, private statistics"
CLIPS: Final = (1.0, 1.3, 1.6, 2.0)
TRAINING_ONLY: Final = "adassp_clip_1.3, training only"
NOT_CENTRED: Final = ", y not centred"

_GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_ADAPTIVE = (*_GRID, 3.0)
_ROW = Recipe("row", "all")
_ROW_Y = Recipe("row-y", "all")
_MAX_ALL = Recipe("max", "all")
_MAX = Recipe("max", "training")
_OURS = Line(PRIVATE_LINE, PRIVATE)


def _three(suffix: str, recipe: Recipe, panel: str = "") -> tuple[Line, ...]:
    """Trivial, non-private and Algorithm 3 under one recipe, named as in the thesis."""
    return tuple(
        Line(f"{name}{suffix}", method, recipe, panel)
        for name, method in (("trivial", "trivial"), ("nonprivate", "ridge"), ("adassp", "adassp_fixed"))
    )


def _intercepts(panel: str, *, centred: bool) -> tuple[Line, ...]:
    plain = replace(_MAX, centred=centred)
    with_ones = _three("_intercept", replace(plain, intercept=True), panel)[1:]
    return *_three("", plain, panel), *with_ones, replace(_OURS, panel=panel, recipe=plain)


def _clips(*, clip_test: bool) -> tuple[Line, ...]:
    cut = replace(_MAX, clip_test=clip_test)
    by_points = tuple(Line(f"adassp_clip_{clip}", "adassp_fixed", replace(cut, clip=clip)) for clip in CLIPS)
    # 4.8 has one line of 4.7 to compare with
    beside = (Line(TRAINING_ONLY, "adassp_fixed", replace(_MAX, clip=1.3)),) if clip_test else ()
    return *_three("", _MAX), *by_points, *beside, Line("adassp_clip_both_sides", HONKELA, cut), _OURS


PLANS: Final = {
    "kalaja-4.1": Plan(
        (
            Line("trivial", "trivial", _ROW),
            Line("ridge", "ridge", _ROW),
            Line("SSP, paper", "ssp_paper", _ROW),
            Line("SSP, as coded", "ssp_coded", _ROW),
            Line("SSP, symmetric", "ssp_symmetric", _ROW),
            Line("OPS", "ops", _ROW),
            Line("AdaOPS", "adaops", _ROW),
            Line("objective perturbation", "objective", _ROW),
            Line("discreet ssp", "ssp", _ROW),
        ),
        (*_GRID, 5.0, 10.0),
        _ROW,
    ),
    "kalaja-4.2": Plan(
        (
            Line("trivial", "trivial", _ROW),
            Line("ridge", "ridge", _ROW),
            Line("AdaSSP, Algorithm 2", "adassp_printed", _ROW),
            Line("AdaSSP, as coded", "adassp_coded", _ROW),
            Line("AdaSSP, Algorithm 3", "adassp_fixed", _ROW),
            Line("discreet ssp", "ssp", _ROW),
            Line("discreet adassp", "adassp", _ROW),
            Line("discreet gaussian", "gaussian", _ROW),
        ),
        (*_ADAPTIVE, 5.0, 10.0),
        _ROW,
    ),
    "kalaja-4.3": Plan((*_three("_row", _ROW), *_three("_max", _MAX_ALL), _OURS), _ADAPTIVE, _ROW),
    "kalaja-4.4": Plan((*_three("", _ROW), *_three("_y_included", _ROW_Y), _OURS), _ADAPTIVE, _ROW),
    "kalaja-4.5": Plan(
        (
            *_three("_before", _MAX_ALL),
            *_three("_after_cv", _MAX),
            Line("adassp_analyst", "adassp_fixed", replace(_MAX, statistics="analyst")),
            _OURS,
        ),
        _ADAPTIVE,
        _MAX,
    ),
    "kalaja-4.6": Plan((*_intercepts("", centred=True), *_intercepts(NOT_CENTRED, centred=False)), _ADAPTIVE, _MAX),
    "kalaja-4.7": Plan(_clips(clip_test=False), _ADAPTIVE, _MAX),
    "kalaja-4.8": Plan(_clips(clip_test=True), _ADAPTIVE, _MAX),
}
# published lines beside ours: method in the file, and the line that reproduces it
PUBLISHED: Final = {
    "kalaja-4.1": {
        "SSP": "SSP, as coded",
        "OPS": "OPS",
        "AdaOPS": "AdaOPS",
        "ObjPert": "objective perturbation",
    },
    "kalaja-4.2": {"AdaSSP": "AdaSSP, Algorithm 2"},
}


def published_line(method: str) -> str:
    """Name of the crosses for a method of Wang (2018)."""
    return f"published {method}"


def tables_of(figure: str, run: Run) -> tuple[str, ...]:
    """Tables that a run of a figure has."""
    found = tuple(name for name in TABLES if has(name, run.data)) if run.data is not None else PACKED
    return (*found, SATURATING) if figure in ("kalaja-4.7", "kalaja-4.8") else found


def cells_of(figure: str, run: Run) -> list[Cell]:
    """A cell for each table and repetition, and one for the published values."""
    folder = None if run.data is None else str(run.data)
    rounds = QUICK.get(figure, QUICK_ELSE) if run.quick else REPEATS
    cells = []
    for repeat in range(rounds):
        whole = repeat == 0 or not run.quick
        shared = {"figure": figure, "folder": folder, "repeat": repeat, "whole": whole, "method": run.method}
        cells += [
            Cell(f"{table} {repeat}{'' if whole else ', as written'}", one_round, {**shared, "table": table})
            for table in tables_of(figure, run)
        ]
    if figure in PUBLISHED and published_results(run.data) is not None:
        cells.append(Cell("published", published_rows, {"figure": figure, "folder": folder}))
    return cells


def one_round(
    *, seed: int, figure: str, table: str, folder: str | None, repeat: int, whole: bool, method: str | None
) -> list[Row]:
    """One round of ten-fold cross-validation on one table: all lines, or those as written, which cost little."""
    plan = PLANS[figure] if whole else as_written(PLANS[figure])
    return cross_validated(
        seed=seed, plan=plan, table=table, folder=folder, repeat=repeat, method=method if whole else None
    )


def as_written(plan: Plan) -> Plan:
    """The lines of a plan that need sums only."""
    return replace(plan, lines=tuple(line for line in plan.lines if line.method in WRITTEN))


def published_rows(*, seed: int, figure: str, folder: str) -> list[Row]:
    """The errors that Wang (2018) published for the methods of a figure; `sd` is over the folds."""
    found = published_results(Path(folder))
    if found is None:
        return []
    wanted = found[found["method"].isin(PUBLISHED[figure]) & found["dataset"].isin(TABLES)]
    return [
        {
            "panel": str(row.dataset),
            "line": published_line(str(row.method)),
            "epsilon": float(row.epsilon),
            "repeat": 0,
            "value": float(row.error),
            "sd": float(row.std),
        }
        for row in wanted.itertuples()
    ]


def not_run(figure: str, run: Run) -> list[str]:
    """What a run of a figure leaves out."""
    missing = [f"{name}: no {name}.parquet in the folder of --data" for name in TABLES if not has(name, run.data)]
    if run.data is None:
        missing.append("concrete takes the place of no table of the thesis; it is here because a package holds it")
    if figure in PUBLISHED and published_results(run.data) is None:
        missing.append("crosses: no wang2018_results.csv in the folder of --data")
    return [*missing, "buzz (583,250 x 77), the fourth table of the thesis, is not run"]
