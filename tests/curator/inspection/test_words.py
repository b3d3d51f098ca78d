"""The sentences of a check: where, why, what to do; no cell and no bound that would fit."""

from __future__ import annotations

import datetime

import discreet
from discreet.curator.inspection import ADVICE, FEW, NONE, WARNING, above, below, cells, text

COLUMNS = {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}}


def test_a_table_that_fits_gets_no_advice() -> None:
    found = discreet.check({"y": [0.5, 0.25], "x": [0.1, 0.2]}, discreet.Design("y", COLUMNS))
    assert below(found) == []
    assert above(found) == [("Rows read", "2"), ("Rows that fit", "2 of 2 would be included in a release")]
    assert cells(found) == [["y", "error", "0", "0", "", "0", "0"], ["x", "drop", "0", "0", "", "0", "0"]]
    assert text(found).startswith(WARNING)


def test_places_reasons_and_advice() -> None:
    table = {"y": [7.25, None, 0.5, 0.5, 0.5, 0.5, 0.5], "x": [0.5, *["secret"] * 6]}
    found = discreet.check(table, discreet.Design("y", COLUMNS))
    assert below(found) == [
        "y: missing: 1, in row 1",
        "y: above the bounds, clipped: 1, in row 0",
        "x: not a finite number (text is never read as a number): 6, first in rows 1, 2, 3, 4, 5",
        "Rows of the table or file are counted from 0.",
        FEW,
        "A release would stop before any budget is spent: column 'y' has cells that are missing or not a finite "
        "number, "
        "and its rule for missing cells is error.",
        ADVICE,
    ]
    assert "secret" not in text(found)
    assert "7.25" not in text(found)


def test_the_advice_is_that_of_the_rules() -> None:
    assert "Fix spelling, units, separators and types." in ADVICE
    assert "Do not change a bound because of this table" in ADVICE


def test_levels_formulas_persons_and_files(tmp_path) -> None:
    columns = COLUMNS | {"yes": bool, "g": ["a", "b"], "twice": {"formula": "2 * x"}}
    design = discreet.Design("y", columns, unit={"id": "who", "max_rows": 1})
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("y,x,yes,g,who\n0,0,maybe,c,p\n0,,1,a,\n")
    found = discreet.check(str(tmp_path / "*.csv"), design)
    notes = below(found)
    assert (
        "yes: not true, false, 1 or 0 (declare any other two words as levels): 2, in lines 2 of 'a.csv', 2 of 'b.csv'"
        in notes
    )
    assert "g: none of the declared levels: 2, in lines 2 of 'a.csv', 2 of 'b.csv'" in notes
    assert any(note.startswith("twice: no value, because a cell that the formula uses is missing") for note in notes)
    assert "who: no valid id: 2, in lines 3 of 'a.csv', 3 of 'b.csv'" in notes
    assert "Lines are counted from 1, including the header, as in an editor." in notes
    assert above(found)[2] == ("Persons", "1; 0 of them have more than 1 rows that fit; rows left out by this cap: 0")
    assert [row[1] for row in cells(found)] == ["error", "drop", "error", "error", "formula", "error"]


def test_an_empty_table_that_would_stop_is_explained() -> None:
    found = discreet.check({"y": [], "x": []}, discreet.Design("y", COLUMNS))
    assert below(found) == ["A release would stop before any budget is spent: the table has no rows.", ADVICE]


def test_an_empty_table_and_a_column_of_fill_values_are_named() -> None:
    columns = {"y": {"bounds": (0, 1), "missing": "drop"}, "x": {"bounds": (0, 1), "missing": {"fill": 0}}}
    design = discreet.Design("y", columns)
    assert below(discreet.check({"y": [], "x": []}, design)) == [NONE]
    notes = below(discreet.check({"y": [0.5, 0.5, 0.5], "x": ["a", None, 1]}, design))
    assert "x: the fill value would replace more than half of the cells." in notes
    assert not any("fill value" in note for note in below(discreet.check({"y": [0.5, 0.5], "x": ["a", 1]}, design)))


def test_one_line_is_one_line_however_many_cells_it_has(tmp_path) -> None:
    from discreet.curator.inspection import Finding, _where
    from discreet.tables.source import Place

    assert _where(Finding(3, (Place(2, "line", "a.csv"),))) == "3, first in line 2 of 'a.csv'"
    assert _where(Finding(1, (Place(2, "line"),))) == "1, in line 2"
    assert _where(Finding(2, (Place(2, "row"), Place(4, "row")))) == "2, in rows 2, 4"


def test_a_cell_that_is_no_date_is_called_that() -> None:
    span = (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))
    design = discreet.Design("y", {"y": (0, 1), "day": {"bounds": span, "missing": "drop"}})
    found = discreet.check({"y": [0.5, 0.25], "day": ["2020-02-30", "2022-01-01"]}, design)
    assert below(found)[:2] == [
        "day: not a date, or text that is not written like 2019-01-31: 1, in row 0",
        "day: above the bounds, clipped: 1, in row 1",
    ]
    assert cells(found)[1] == ["day", "drop", "0", "1", "", "0", "1"]
