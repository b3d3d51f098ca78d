"""Comma-separated values that no spreadsheet runs."""

from __future__ import annotations

import csv
import io

import pytest

from discreet.analyst.tables.formats import Grid, csv_table, csv_text, safe_cell


@pytest.mark.parametrize("text", ["=1+2", "+1+2", "-1+2", "@SUM(A1)", "  =x", "-x", "+", "-1.5 to 2"])
def test_what_would_begin_a_formula_stands_behind_a_quote(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1.5", "+2", "-1e-05", "-inf", "inf", ".5", "age", "a=b", ""])
def test_numbers_and_plain_names_stay_as_they_are(text):
    assert safe_cell(text) == text


def test_control_characters_are_made_visible():
    assert safe_cell("\t=x") == r"\t=x"
    assert safe_cell("a\r\nb") == r"a\r\nb"


def test_a_reader_gets_the_cells_back():
    rows = [("name", "value"), ('a,"b"', "-1.5")]
    assert list(csv.reader(io.StringIO(csv_text(rows)))) == [list(row) for row in rows]


def test_a_table_begins_with_the_names_of_its_columns_and_ends_with_its_notes():
    grid = Grid("t", (("", "(1)"),), (("=a", "1"),), (("Rows", "9"),), ("NOT PRIVATE.",))
    assert csv_table(grid).splitlines() == [",(1)", "'=a,1", "Rows,9", "NOT PRIVATE.,"]
