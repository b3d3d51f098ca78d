"""X and y taken apart into columns, cell by cell, and what is refused by its form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import DataError, SpecError
from discreet.tables.frames import _only_cell, _row, matrix_columns, table_names, target_column

ROWS = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
COLUMNS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
NAMED = {"a": COLUMNS[0], "b": COLUMNS[1]}
KINDS = {
    "list": ROWS,
    "tuple of tuples": tuple(map(tuple, ROWS)),
    "array": np.array(ROWS),
    "array of objects": np.array(ROWS, object),
    "list of arrays": [np.array(row) for row in ROWS],
    "buffer": memoryview(np.array(ROWS)),
    "pandas": pd.DataFrame(NAMED),
    "polars": pl.DataFrame(NAMED),
    "pyarrow": pa.table(NAMED),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_container_has_the_same_columns(kind):
    found = matrix_columns(KINDS[kind])
    assert [[float(str(cell)) for cell in column] for column in found] == COLUMNS


def test_names_are_those_of_tables_whose_columns_are_not_only_numbered():
    assert [table_names(KINDS[kind]) for kind in ("pandas", "polars", "pyarrow")] == [["a", "b"]] * 3
    assert table_names(pd.DataFrame(ROWS)) == table_names(np.array(ROWS)) == table_names(ROWS) == []


def test_a_cell_of_a_list_changes_no_other():
    odd = object()
    found = matrix_columns([[1, 4.0], [odd, 5.0], ["3", 6.0]])
    assert found == [[1, odd, "3"], [4.0, 5.0, 6.0]]
    # NumPy would have made text of every cell
    assert np.array([[1, 4.0], ["3", 6.0]])[0, 1] == "4.0"


def test_a_list_without_rows_has_as_many_columns_as_are_known():
    assert matrix_columns([], width=3) == [[], [], []]
    with pytest.raises(SpecError, match="Expected 2D array, got 1D array instead, a list"):
        matrix_columns([])


@pytest.mark.parametrize("row", [[0.3], [0.1, 0.2, 0.3], "ab", None, 0.5, np.zeros((2, 2))], ids=str)
def test_a_row_of_another_length_is_refused_by_its_position(row):
    with pytest.raises(DataError, match=r"^X\[2\] must be a list with as many cells as X\[0\]"):
        matrix_columns([[0.1, 0.2], [0.3, 0.4], row])


@pytest.mark.parametrize(
    ("target", "two_dimensions"),
    [
        (COLUMNS[0], False),
        ([[cell] for cell in COLUMNS[0]], False),
        (np.array(COLUMNS[0]), False),
        (pd.Series(COLUMNS[0]), False),
        (np.array(COLUMNS[0])[:, np.newaxis], True),
        (pd.DataFrame({"y": COLUMNS[0]}), True),
        (pl.DataFrame({"y": COLUMNS[0]}), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_target_is_one_column_and_says_whether_it_had_two_dimensions(target, two_dimensions):
    column, found = target_column(target)
    assert [float(cell) for cell in column] == COLUMNS[0]
    assert found == two_dimensions


@pytest.mark.parametrize("target", [np.array(ROWS), pd.DataFrame(NAMED), np.array(0.5), "text"], ids=str)
def test_more_or_less_than_one_target_is_refused(target):
    with pytest.raises(SpecError, match="pass a single target, with one number for each row"):
        target_column(target)


def test_complex_arrays_are_refused_by_their_type():
    for call in (matrix_columns, target_column):
        with pytest.raises(SpecError, match="Complex data not supported") as caught:
            call(np.array([[12.5j]]))
        assert "12.5" not in str(caught.value)


class Interrupted(list):
    """A row in which the user presses Ctrl-C."""

    def __iter__(self):
        raise KeyboardInterrupt

    def __len__(self):
        raise KeyboardInterrupt


def test_an_interrupt_while_a_row_or_an_entry_is_read_is_the_user_s():
    for read in (_row, _only_cell):
        with pytest.raises(KeyboardInterrupt):
            read(Interrupted([1.0]))
    # any other end is that of the cell
    assert _row(Ending([1.0])) is None
    ending = Ending([1.0])
    assert _only_cell(ending) is ending


class Ending(list):
    """A row that would end the program."""

    def __iter__(self):
        raise SystemExit

    def __len__(self):
        raise SystemExit


def test_a_target_of_two_columns_of_one_name_is_refused_as_two_columns():
    twice = pa.Table.from_arrays([pa.array([0.5])] * 2, names=["y", "y"])
    for table in (twice, twice.to_batches()[0]):
        with pytest.raises(SpecError, match="y must have 1 column, got 2 columns"):
            target_column(table)
