"""Cells that come as Python objects: one of them never changes how another is read."""

from __future__ import annotations

import collections
import signal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.design.columns import Boolean, Categorical, Identifier, Numeric
from discreet.errors import SpecError
from discreet.tables import cells
from discreet.tables import frames as matrices
from discreet.tables.arrow import declared_array
from discreet.tables.cells import MARK_NUMBER, MARK_TEXT, cell_array
from discreet.tables.frames import frame_batches, matrix_columns, target_column
from discreet.testing.not_private import exact_release
from support.odd_cells import ODD_CELLS

COLUMNS = {
    "number": Numeric((-10, 10)),
    "truth": Boolean(),
    "text levels": Categorical(("a", "b")),
    "whole levels": Categorical((0, 1, 2)),
}
ORDINARY = [0.25, 1, np.float16(0.9), Decimal("0.250003814697265625"), "a", True, None, np.int8(2), np.longdouble(0.1)]


def read(column, cells, container):
    table = {"x": container(cells)}
    batches = list(frame_batches(table, {"x": column}, 1000))
    return np.concatenate([declared_array("x", column, batch.column("x")) for batch in batches])


def objects(cells):
    out = np.empty(len(cells), dtype=object)
    for index, cell in enumerate(cells):
        out[index] = cell
    return out


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "deque": collections.deque,
    "objects": objects,
    "series": lambda cells: pd.Series(objects(cells), dtype=object),
    "index": lambda cells: pd.Index(objects(cells), dtype=object),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_no_cell_changes_how_another_is_read(kind, container):
    column = COLUMNS[kind]
    alone = read(column, ORDINARY, container)
    for cell in ODD_CELLS.values():
        for index in (0, 4, len(ORDINARY)):
            together = read(column, [*ORDINARY[:index], cell, *ORDINARY[index:]], container)
            np.testing.assert_array_equal(np.delete(together, index), alone, strict=True)


def test_numbers_of_every_kind_are_read_by_their_value():
    cells = [1, 0.5, np.float16(0.5), Decimal("0.5"), Fraction(1, 4), True, np.bool_(False), np.uint8(7)]
    assert read(Numeric((0, 9)), cells, list).tolist() == [1.0, 0.5, 0.5, 0.5, 0.25, 1.0, 0.0, 7.0]


def test_what_is_no_number_is_missing():
    odd = ["0.5", b"1", None, pd.NA, 1j, [1], 2**2000, Decimal("sNaN"), np.timedelta64(1, "s"), ODD_CELLS["evil float"]]
    assert np.isnan(read(Numeric((0, 9)), odd, objects)).all()


def test_levels_match_text_with_text_and_numbers_with_numbers():
    assert cell_array(COLUMNS["text levels"], ["a", "z", 1, None, "\ud800"]).to_pylist() == ["a", "z", None, None, None]
    np.testing.assert_array_equal(
        read(COLUMNS["whole levels"], [0, 2.0, 1.5, "1", True], list), [0, 2, np.nan, np.nan, np.nan]
    )


def test_ids_are_text_or_whole_numbers():
    names = cell_array(Identifier(), ["p1", 7, np.int64(8), 2**70, 1.5, True, None]).to_pylist()
    assert names == ["p1", "7", "8", str(2**70), None, None, None]
    decimals = ["7", "7.00", "1e3", "7.5", "1e999999999", "-1e-999999", "NaN", "sNaN", "Infinity"]
    names = cell_array(Identifier(), map(Decimal, decimals)).to_pylist()
    assert names == ["7", "7", "1000", None, None, None, None, None, None]


def test_a_category_of_pandas_is_read_cell_by_cell():
    series = pd.Series(["a", "b", None], dtype="category")
    np.testing.assert_array_equal(read(COLUMNS["text levels"], series, lambda cells: cells), [0, 1, np.nan])


def test_columns_of_polars_keep_the_type_of_their_maker():
    import polars as pl

    column = Numeric((0, 2.0**64))
    for last in (3, 2**63 + 5):
        values = read(column, pl.Series([1, 2, last], dtype=pl.UInt64), lambda cells: cells)
        assert values.tolist() == [1.0, 2.0, float(last)]


def test_text_that_is_no_text_is_missing_in_arrays_as_in_lists():
    values = np.array(["a", "b\ud800", "b"])
    np.testing.assert_array_equal(read(COLUMNS["text levels"], values, lambda cells: cells), [0, np.nan, 1])


class Interrupted(float):
    def __float__(self) -> float:
        raise KeyboardInterrupt


def test_an_interrupt_is_no_matter_of_a_cell():
    with pytest.raises(KeyboardInterrupt):
        read(COLUMNS["number"], [0.5, Interrupted(0.5)], list)


@pytest.mark.parametrize("name", ["quitting float", "closing integer", "ending float"])
def test_a_cell_does_not_end_the_program(name):
    rows, design = {"x": [0.5, ODD_CELLS[name]], "y": [0.5, 0.5]}, ["x", "y"]
    declared = discreet.Design("y", {name: {"bounds": (0, 1), "missing": "drop"} for name in design})
    assert exact_release(rows, declared).moments[0, 0] == 1
    assert cell_array(Identifier(), ["p", ODD_CELLS[name]]).to_pylist() == ["p", None]


class Own(float):
    """A number of somebody's own making, in whose code a handler runs as it would anywhere."""


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="a system without such signals")
@pytest.mark.parametrize(("cell", "ends"), [(1, True), (np.float32(0.5), True), (Own(0.5), False)])
def test_a_handler_of_signals_ends_the_program_unless_the_cell_might_have(cell, ends, monkeypatch):
    def ended(number, frame) -> None:
        raise SystemExit(7)

    def reader(given) -> float:
        signal.raise_signal(signal.SIGUSR1)
        return float(given)

    monkeypatch.setattr(cells, "_number", reader)
    before = signal.signal(signal.SIGUSR1, ended)
    try:
        if ends:
            with pytest.raises(SystemExit):
                cell_array(COLUMNS["number"], [cell])
        else:
            assert cell_array(COLUMNS["number"], [cell]).to_pylist() == [None]
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("call", [lambda: matrix_columns([[0.5], [0.5]]), lambda: target_column([[0.5], [0.5]])])
def test_an_end_of_the_program_is_no_matter_of_a_plain_row(call, monkeypatch):
    def ended(*given) -> bool:
        raise SystemExit(7)

    monkeypatch.setattr(matrices, "issubclass", ended, raising=False)
    with pytest.raises(SystemExit):
        call()


def test_marks_stand_for_cells_of_another_kind_and_null_for_missing_ones():
    absent = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.ma.masked]
    for column, mark in (
        (Numeric((0, 1), missing="mark"), MARK_NUMBER),
        (Categorical((1, 2), missing="mark"), MARK_NUMBER),
        (Categorical(("a", "b"), missing="mark"), MARK_TEXT),
    ):
        cells = cell_array(column, [*absent, [1], b"a", 10**400 if mark == MARK_NUMBER else 5])
        found = cells.is_null(nan_is_null=mark == MARK_NUMBER).to_pylist()
        assert found == [True] * len(absent) + [False] * 3
        assert cells.to_pylist()[len(absent) :] == [mark] * 3


def test_no_level_can_be_the_mark():
    with pytest.raises(SpecError, match="invisible characters"):
        Categorical(("a", MARK_TEXT))
