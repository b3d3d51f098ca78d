"""Numbers with other signs: read as a person would, each by itself, and strictly."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.errors import DataError
from discreet.tables.cells import MARK_NUMBER
from discreet.tables.csv import TextCells

GERMAN, FRENCH, SWISS, PLAIN = TextCells(",", "."), TextCells(",", "\u202f"), TextCells(".", "'"), TextCells()
AMERICAN, NO_GROUPS = TextCells(".", ","), TextCells(",")


def numbers(cells: TextCells, *texts: str | None) -> list[float | None]:
    return cells.numbers(pa.chunked_array([pa.array(texts, pa.string())])).to_pylist()


@pytest.mark.parametrize(
    ("cells", "text", "value"),
    [
        (GERMAN, "1.234,5", 1234.5), (GERMAN, "1234,5", 1234.5), (GERMAN, "-1.234.567", -1234567.0),
        (GERMAN, "+,5", 0.5), (GERMAN, "1,", 1.0), (GERMAN, "1,5e-3", 0.0015), (GERMAN, "0,1", 0.1),
        (FRENCH, "12\u202f345,6", 12345.6), (SWISS, "1'000'000.25", 1000000.25), (AMERICAN, "1,234.5", 1234.5),
        (NO_GROUPS, "1,5", 1.5),
        # what is not written by the rule is no number: no sign is skipped, no group is guessed
        (GERMAN, "1.5", None), (GERMAN, "1.23,4", None), (GERMAN, "1.2345", None), (GERMAN, "1234.567", None),
        (GERMAN, ".123", None), (GERMAN, "1..234", None), (GERMAN, "1,234,5", None), (GERMAN, "1,2.345", None),
        (GERMAN, " 1", None), (GERMAN, "1\n", None), (GERMAN, "", None), (GERMAN, ",", None), (GERMAN, "nan", None),
        (GERMAN, "inf", None), (GERMAN, "１", None), (NO_GROUPS, "1.5", None), (NO_GROUPS, "1.234,5", None),
        (AMERICAN, "12,34", None), (SWISS, "1’000", None), (FRENCH, "12 345", None),
    ],
)  # fmt: skip
def test_a_number_is_written_by_the_rule_or_is_none(cells: TextCells, text: str, value: float | None) -> None:
    assert numbers(cells, text) == [value]
    # whatever stands beside it
    assert numbers(cells, "x", text, "1.5", None, "9,9")[1] == value


@pytest.mark.no_cover
@given(st.lists(st.one_of(st.text("+-.,'0123456789eE ", max_size=10), st.floats(-1e9, 1e9).map("{:,.3f}".format))))
def test_a_cell_is_read_alike_alone_and_among_others(texts: list[str]) -> None:
    for cells in (GERMAN, SWISS, AMERICAN, NO_GROUPS):
        assert numbers(cells, *texts) == [numbers(cells, text)[0] for text in texts]


@given(st.floats(-1e12, 1e12), st.integers(0, 6))
def test_grouped_numbers_are_what_python_makes_of_them_without_groups(value: float, digits: int) -> None:
    text = f"{value:,.{digits}f}"
    expected = float(text.replace(",", ""))
    swapped = text.translate(str.maketrans(",.", ".,"))
    for cells, written in ((AMERICAN, text), (GERMAN, swapped), (SWISS, text.replace(",", "'"))):
        (found,) = numbers(cells, written)
        assert found == expected
        assert math.copysign(1, found) == math.copysign(1, expected)


@pytest.mark.parametrize(
    ("text", "value"), [("1,0", True), ("0,0", False), ("TRUE", True), ("1", True), ("1.0", None), ("2", None)]
)
def test_truth_is_a_word_or_a_number_by_the_rule(text: str, value: bool | None) -> None:
    column = pa.chunked_array([pa.array([text, "0"])])
    assert GERMAN.typed("yes", Boolean(missing="drop"), column).to_pylist() == [value, False]


def test_levels_that_are_integers_are_numbers_and_those_of_text_are_left_alone() -> None:
    column = pa.chunked_array([pa.array(["1.000", "1000"])])
    assert GERMAN.typed("n", Categorical((1000, 2)), column).to_pylist() == [1000.0, 1000.0]
    assert GERMAN.typed("g", Categorical(("1.000", "b")), column).to_pylist() == ["1.000", "1000"]


def test_a_refusal_shows_how_a_number_is_written_and_no_cell() -> None:
    column = pa.chunked_array([pa.array(["918273.5"])])
    for cells, like in ((GERMAN, "-1.234,5"), (NO_GROUPS, "-12,5 or 1e3")):
        with pytest.raises(
            DataError, match=f"'x' has a cell that is not a finite number written like {like},"
        ) as caught:
            cells.typed("x", Numeric((0, 1)), column)
        assert "918273" not in str(caught.value)
        assert "--decimal" not in str(caught.value)
    words = pa.chunked_array([pa.array(["1,5"])])
    with pytest.raises(DataError, match=r"if numbers are written like 1\.234,5, set decimal and thousands$"):
        PLAIN.typed("x", Numeric((0, 1)), words)


def test_marks_stand_for_cells_that_are_written_and_no_numbers() -> None:
    column = pa.chunked_array([pa.array(["1,5", "1.5", None, "nan"])])
    first, second, third, fourth = GERMAN.typed("x", Numeric((0, 1), missing="mark"), column).to_pylist()
    assert (first, second, third) == (1.5, MARK_NUMBER, None)
    assert math.isnan(fourth)
