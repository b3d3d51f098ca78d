"""The form and the design say the same; every problem has a field."""

from __future__ import annotations

from datetime import date

import pytest

import discreet
from discreet_studio.draft import ColumnDraft, Draft, levels_of, reasons_in, typed
from discreet_studio.forms import Form

EVERYTHING = discreet.Design(
    "y",
    {
        "y": (0, 100.5),
        "x": {"bounds": (0, 5), "missing": {"fill": 2.5}},
        "b": {"dtype": "bool", "missing": "drop"},
        "g": {"levels": ["a", "b"], "reference": "b"},
        "code": {"levels": [1, 2]},
        "day": (date(2019, 1, 1), date(2020, 1, 1)),
        "square": {"formula": "x ** 2"},
        "hidden": {"bounds": (0, 1), "release": False},
        "uses": {"formula": "hidden * x"},
        "income": {"bounds": "private", "within": (0, 1000)},
        "w": (0, 3),
    },
    unit={"id": "person", "max_rows": 3},
    radius=1.5,
    weights="w",
)


def test_a_design_goes_through_the_form_unchanged():
    draft = Draft.of(EVERYTHING, {"x": "law"})
    assert draft.design() == EVERYTHING
    assert Draft.from_dict(draft.to_dict()).design() == EVERYTHING
    assert draft.problems() == {}
    assert next(one.reason for one in draft.columns if one.name == "x") == "law"


def test_a_design_file_has_the_reasons_and_loads_back():
    draft = Draft.of(EVERYTHING, {"x": 'law "2" \n and more', "y": "protocol"})
    text = draft.toml()
    assert discreet.Design.from_toml(text) == EVERYTHING
    assert reasons_in(text) == {"x": 'law "2" and more', "y": "protocol"}


def test_all_problems_are_beside_their_fields():
    columns = [
        ColumnDraft("y", low="9", high="1"), ColumnDraft("x"), ColumnDraft("g", kind="levels"),
        ColumnDraft("f", kind="formula", formula="nothing + 1"),
        ColumnDraft("m", low="0", high="1", missing="fill", fill="?"),
    ]  # fmt: skip
    found = Draft(target="", columns=columns, person="y", max_rows="0").problems()
    assert {"c0-low", "c1-low", "c2-levels", "c3-formula", "c4-missing", "target", "person", "max_rows"} <= set(found)
    assert "reversed" in found["c0-low"]


def test_two_columns_of_one_name_are_seen():
    twice = Draft(target="y", columns=[ColumnDraft("y", low="0", high="1"), ColumnDraft("y", kind="boolean")])
    assert "two columns" in twice.problems()["c1-name"]


def test_columns_that_are_not_ticked_are_not_declared():
    draft = Draft.blank([("y", "number"), ("x", "boolean"), ("t", "text"), ("d", "date"), ("u", None)])
    assert [one.kind for one in draft.columns] == ["number", "boolean", "levels", "date", "number"]
    draft.columns[2].included = False
    assert list(draft.declarations()["columns"]) == ["y", "x", "d", "u"]


@pytest.mark.parametrize("count", ["", "x", "-1", "99999999", "1e3", "٣"])
def test_a_form_with_a_strange_number_of_columns(count):
    assert len(typed(Form([("columns", count)])).columns) <= 2000


def test_levels_and_bounds_as_people_write_them():
    assert levels_of(" a,b ,\n c") == ["a", "b", "c"]
    assert levels_of("") == []
    assert levels_of("1, x") == ["1", "x"]
    assert ColumnDraft("x", low="200 000", high="1,000,000").declaration() == {"bounds": [200000, 1000000]}
    assert ColumnDraft("x", low="0.5", high="low").declaration() == {"bounds": [0.5, "low"]}


def test_what_was_kept_is_read_with_care():
    kept = {"target": 7, "intercept": False, "columns": [3, {"name": 5}, {"name": "a", "low": [], "high": "9"}]}
    made = Draft.from_dict(kept)
    assert (made.target, made.intercept) == ("", False)
    assert [(one.name, one.low, one.high) for one in made.columns] == [("a", "", "9")]
    assert Draft.from_dict({"columns": 5}).columns == []


def test_levels_that_are_digits_stay_text():
    design = discreet.Design(
        "y", {"y": (0, 1), "code": ["01", "2"], "number": {"levels": [1, 2]}, "place": ["a, b", "c"]}
    )
    draft = Draft.of(design, {})
    assert [one.levels for one in draft.columns[1:]] == ['"01", "2"', "1, 2", '"a, b", "c"']
    assert draft.design() == design
