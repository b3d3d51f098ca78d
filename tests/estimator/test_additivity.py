"""M(A + B) = M(A) + M(B) for every container that the estimator takes: no cell changes how another is read.

The exact sums of a table are those of its rows, one by one. So ordinary rows A with an odd row B among them, wherever B
is, must have the sums of A plus those of B alone; and both must be the sums that `discreet.release` makes of the rows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.design.design import Design
from discreet.estimator import PrivateLinearRegression
from discreet.testing.not_private import exact_release
from support.containers import FLAT_LISTS, TYPED, X_OF_OBJECTS, Y_OF_OBJECTS, matrix_of
from support.odd_cells import ODD_CELLS

# some of them no float32 can hold, so that a column read with another type would have other sums
ROWS = [(0.25, 0.75), (0.1, np.float64(0.3)), (np.float32(0.7), 0), (1, 0.625)]
TARGET = [0.5, np.float32(0.2), 1, 0.9]
RULES = {"drop": "drop", "fill": {"fill": 0.375}}
EACH_RULE = ["drop", pytest.param("fill", marks=pytest.mark.slow)]
# pandas itself refuses some cells in these, before the estimator sees them
PICKY = ("list of series", "pandas categories", "pandas index")


class Stopped(Exception):  # noqa: N818  # it is no error
    """Carries the exact sums out of a fit before a model is solved from them."""


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    def stop(table, design, **_options):
        raise Stopped(exact_release(table, design).totals)

    monkeypatch.setattr("discreet.estimator.regression.release", stop)


def estimator(missing="error", **changes) -> PrivateLinearRegression:
    # a penalty is tried out before rows are read, and the default takes most of the time of a fit
    good = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 1), "target_bounds": (0, 1), "penalty": "none"}
    return PrivateLinearRegression(**{**good, "missing": missing, **changes})


def sums(X, y, missing, **changes) -> tuple[int, ...]:
    """Exact sums of what `fit` releases; any other error than the end of the reading gets out."""
    try:
        estimator(missing, **changes).fit(X, y)
    except Stopped as stopped:
        return stopped.args[0]
    raise AssertionError("nothing was released")


def released(rows, y, missing) -> tuple[int, ...]:
    """Exact sums of the same rows given to `discreet.release` as lists by name."""
    declared = {"bounds": (0, 1), "missing": missing}
    first, second = zip(*rows, strict=True)
    table = {"a": list(first), "b": list(second), "y": list(y)}
    return exact_release(table, Design("y", {"a": declared, "b": declared, "y": declared})).totals


def added(left, right) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(left, right, strict=True))


def with_one(entries, index, one):
    return [*entries[:index], one, *entries[index:]]


def odd_cells(kind, made, ordinary):
    """The odd cells that a container can hold."""
    found = {}
    for name, odd in ODD_CELLS.items():
        try:
            for index in (0, 2, 4):
                made(with_one(ordinary, index, odd))
            made([odd])
        except Exception:
            assert kind in PICKY, (kind, name)
        else:
            found[name] = odd
    assert len(found) >= 30
    return found


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("rule", EACH_RULE)
@pytest.mark.parametrize("kind", X_OF_OBJECTS)
def test_a_cell_of_x_is_read_as_a_release_reads_it_and_changes_no_other(kind, rule):
    missing, made = RULES[rule], X_OF_OBJECTS[kind]
    ordinary = sums(made(ROWS), TARGET, missing)
    assert ordinary == released(ROWS, TARGET, missing)
    for name, odd in odd_cells(kind, lambda cells: made([(cell, cell) for cell in cells]), TARGET).items():
        for row, indices in (((odd, 0.8), (0, 4)), ((0.8, odd), (2,))):
            one = sums(made([row]), [0.4], missing)
            assert one == released([row], [0.4], missing), name
            for index in indices:
                together = sums(made(with_one(ROWS, index, row)), with_one(TARGET, index, 0.4), missing)
                assert together == added(ordinary, one), (name, index)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("rule", EACH_RULE)
@pytest.mark.parametrize("kind", Y_OF_OBJECTS)
def test_a_cell_of_y_is_read_as_a_release_reads_it_and_changes_no_other(kind, rule):
    missing, made = RULES[rule], Y_OF_OBJECTS[kind]
    ordinary = sums(ROWS, made(TARGET), missing)
    assert ordinary == released(ROWS, TARGET, missing)
    for name, odd in odd_cells(kind, made, TARGET).items():
        is_row = kind in FLAT_LISTS and type(odd) is list and len(odd) == 1
        one = sums([(0.3, 0.8)], made([odd]), missing)
        assert one == released([(0.3, 0.8)], [odd[0] if is_row else odd], missing), name
        for index in (0, 2, 4):
            together = sums(with_one(ROWS, index, (0.3, 0.8)), made(with_one(TARGET, index, odd)), missing)
            assert together == added(ordinary, one), (name, index)


# what columns with a type of their own may hold besides ordinary numbers
TYPED_ROWS = [(0.25, 0.75), (0.1, 0.3), (0.7, 0.0), (1.0, 0.625)]
ODD_VALUES = [None, float("nan"), float("inf"), float("-inf"), 1.7e308, -1e-320, 5.0, 0.1]


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore:overflow encountered")  # by the maker of the column, at 1.7e308 as a float32
@pytest.mark.parametrize("rule", EACH_RULE)
@pytest.mark.parametrize("kind", TYPED)
def test_a_cell_of_a_typed_column_changes_no_other(kind, rule):
    missing, made = RULES[rule], TYPED[kind]
    targets = [0.5, 0.2, 1.0, 0.9]
    X = matrix_of(kind, TYPED_ROWS)
    ordinary = sums(X, made(targets), missing)
    if "32" not in kind:
        assert ordinary == released(TYPED_ROWS, targets, missing)
    for odd in ODD_VALUES:
        if kind == "arrow decimals" and odd == 1.7e308:
            continue
        for row, y in (((odd, 0.8), 0.4), ((0.3, 0.8), odd)):
            one = sums(matrix_of(kind, [row]), made([y]), missing)
            if "32" not in kind and kind != "arrow decimals":
                assert one == released([row], [y], missing)
            for index in (0, 2, 4):
                together = sums(
                    matrix_of(kind, with_one(TYPED_ROWS, index, row)), made(with_one(targets, index, y)), missing
                )
                assert together == added(ordinary, one), (odd, index)


LEVELS = ["p", "q", "r"]
NAMED_ROWS = {"g": ["p", "q", None, "r"], "flag": [True, False, True, None], "v": [0.25, 0.1, 0.75, 0.5]}
TEXT_COLUMNS = {
    "pandas text": lambda table: pd.DataFrame(table).astype({"g": "string", "flag": "boolean"}),
    "pandas objects": lambda table: pd.DataFrame(table, dtype=object),
    "pandas categories": lambda table: pd.DataFrame(table, dtype=object).astype({"g": "category", "flag": "category"}),
    "polars": lambda table: pl.DataFrame(table, schema={"g": pl.String, "flag": pl.Boolean, "v": pl.Float64}),
    "polars categories": lambda table: pl.DataFrame(
        table, schema={"g": pl.Categorical, "flag": pl.Boolean, "v": pl.Float64}
    ),
    "arrow": lambda table: arrow_table(table, pa.string()),
    "arrow views": lambda table: arrow_table(table, pa.string_view()),
    "arrow dictionary": lambda table: arrow_table(table, pa.dictionary(pa.int8(), pa.large_string())),
    "record batch": lambda table: arrow_table(table, pa.string()).to_batches()[0],
}


def arrow_table(table, text) -> pa.Table:
    return pa.table(table, schema=pa.schema({"g": text, "flag": pa.bool_(), "v": pa.float64()}))


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("rule", EACH_RULE)
@pytest.mark.parametrize("kind", TEXT_COLUMNS)
def test_levels_and_booleans_of_named_tables_are_read_cell_by_cell(kind, rule):
    made = TEXT_COLUMNS[kind]
    missing = {
        name: "drop" if rule == "drop" else {"fill": value}
        for name, value in {"g": "q", "flag": True, "v": 0.5}.items()
    }
    declared = {"g": {"levels": LEVELS}, "flag": {"dtype": "bool"}, "v": {"bounds": (0, 1)}}
    bounds = {name: declared[name] | {"missing": missing[name]} for name in declared}

    def read(table, y):
        return sums(made(table), y, RULES[rule], bounds=bounds)

    def by_release(table, y):
        target = {"bounds": (0, 1), "missing": RULES[rule]}
        return exact_release({**table, "y": y}, Design("y", {**bounds, "y": target})).totals

    targets = [0.5, 0.2, 1.0, 0.9]
    ordinary = read(NAMED_ROWS, targets)
    assert ordinary == by_release(NAMED_ROWS, targets)
    odd_rows = [{"g": level} for level in ("z", "", "P", None, "q", "1", "true")] + [
        {"flag": None},
        {"v": float("nan")},
    ]
    if "objects" in kind:
        odd_rows += [
            {column: cell} for name, cell in ODD_CELLS.items() for column in NAMED_ROWS if name != "evil object"
        ]
    for change in odd_rows:
        row = {"g": "q", "flag": False, "v": 0.3} | change
        one = read({name: [cell] for name, cell in row.items()}, [0.4])
        assert one == by_release({name: [cell] for name, cell in row.items()}, [0.4])
        for index in (0, 4):
            table = {name: with_one(cells, index, row[name]) for name, cells in NAMED_ROWS.items()}
            assert read(table, with_one(targets, index, 0.4)) == added(ordinary, one), (change, index)
