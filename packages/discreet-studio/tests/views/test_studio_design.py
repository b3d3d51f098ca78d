"""All problems at once, beside their fields; nothing that was typed is lost."""

from __future__ import annotations

import re

import pytest

import discreet
from discreet_studio.draft import Draft
from support.studio_client import DESIGN, Browser, errors, hidden


@pytest.fixture
def browser(tmp_path):
    made = Browser(tmp_path)
    made.put_table()
    made.post("/table/read", {"file": "people.csv"})
    return made


def filled(browser, **changes):
    """The form as a person fills it in."""
    page = browser.get("/design").text
    names = ("version", "columns", "person", "max_rows")
    form = {name: hidden(page, name) for name in names} | {"target": "pay", "action": "save"}
    for index, (name, kind) in enumerate((("pay", "number"), ("age", "number"), ("region", "levels"))):
        form |= {
            f"c{index}-name": name,
            f"c{index}-included": "yes",
            f"c{index}-kind": kind,
            f"c{index}-missing": "error",
        }
    form |= {"c0-low": "0", "c0-high": "5000", "c1-low": "18", "c1-high": "90", "c2-levels": "north, south"}
    return {key: value for key, value in (form | changes).items() if value is not None}


def test_a_right_design_is_saved_and_leads_on(browser):
    assert browser.post("/design", filled(browser, action="next")).url.path == "/plan"
    assert browser.space.design() == DESIGN


def test_a_fresh_form_has_no_errors_and_a_saved_one_has_all(browser):
    assert errors(browser.get("/design").text) == []
    wrong = filled(browser, **{"c0-low": "9", "c0-high": "1", "c1-low": "", "c2-levels": "", "target": ""})
    answer = browser.post("/design", wrong)
    assert answer.status_code == 422
    assert len(errors(answer.text)) >= 4
    for field in ("c0-low", "c1-low", "c2-levels", "target"):
        tag = re.search(rf'<(input|select) id="{field}"[^>]*>', answer.text)[0]
        assert 'aria-invalid="true"' in tag
        assert f'aria-describedby="{field}-error' in tag
        assert f'id="{field}-error"' in answer.text
    assert 'value="9"' in answer.text
    assert browser.space.draft.columns[0].low == "9"


def test_a_formula_is_checked_while_it_is_typed(browser):
    form = filled(browser, columns="4", at="3")
    form |= {"c3-name": "square", "c3-included": "yes", "c3-kind": "formula"}
    before = browser.space.state.version
    for formula, found in (("age ** 2", "is fine"), ("lg(age)", "unknown function"), ("", "Write a formula")):
        answer = browser.post("/design/formula", form | {"c3-formula": formula})
        assert found in answer.text
    assert browser.space.state.version == before
    assert browser.post("/design/formula", form | {"at": "99"}).status_code == 400


def test_a_derived_column_is_added(browser):
    browser.post("/design", filled(browser))
    answer = browser.post("/design", filled(browser, action="add"))
    assert "derived1" in answer.text
    assert "Save to keep it" in answer.text
    # a complete design stays complete
    assert browser.space.design() == DESIGN
    old = filled(browser, columns="4")
    new = {"c3-name": "square", "c3-included": "yes", "c3-kind": "formula", "c3-formula": "age ** 2"}
    assert browser.post("/design", old | new).status_code == 200
    assert browser.space.draft.columns[3].formula == "age ** 2"
    # a page of before cannot go round the other tab's save
    assert browser.post("/design", old | {"action": "add"}).status_code == 409


def test_a_derived_column_is_removed(browser):
    new = {"c3-name": "square", "c3-included": "yes", "c3-kind": "formula", "c3-formula": "age ** 2"}
    browser.post("/design", filled(browser, columns="4") | new)
    page = browser.get("/design").text
    assert page.count('name="remove"') == 1
    form = filled(browser, columns="4") | new
    answer = browser.post("/design", form | {"remove": "3"})
    assert "The column square was removed" in answer.text
    assert hidden(answer.text, "columns") == "3"
    assert len(browser.space.draft.columns) == 4
    browser.post("/design", filled(browser))
    assert browser.space.design() == DESIGN
    # a column of the table is left out by its tick, and not removed
    browser.post("/design", filled(browser) | {"remove": "0"})
    assert browser.space.design() == DESIGN


def test_two_tabs_do_not_overwrite_each_other(browser):
    old = filled(browser)
    assert browser.post("/design", filled(browser, **{"c0-high": "6000"})).status_code == 200
    answer = browser.post("/design", old | {"c0-high": "7000"})
    assert answer.status_code == 409
    assert "another tab" in answer.text
    assert 'value="7000"' in answer.text
    assert browser.space.draft.columns[0].high == "6000"
    again = old | {"c0-high": "7000", "version": hidden(answer.text, "version")}
    assert browser.post("/design", again).status_code == 200
    assert browser.space.draft.columns[0].high == "7000"


def test_design_files(browser, tmp_path):
    form = filled(browser, **{"c1-reason": "adults"})
    answer = browser.post("/design", form | {"action": "file", "file": "mine.toml"})
    assert "mine.toml was written" in answer.text
    assert discreet.Design.load(tmp_path / "mine.toml") == DESIGN
    form["version"] = hidden(browser.get("/design").text, "version")
    again = browser.post("/design", form | {"action": "file", "file": "mine.toml"})
    assert "already exists" in errors(again.text)[0]
    browser.space.store.change(draft={})
    assert browser.post("/design/load", {"design": "mine.toml"}).status_code == 200
    assert browser.space.design() == DESIGN
    assert browser.space.draft.columns[1].reason == "adults"


@pytest.mark.parametrize("text", ["target = ", "target = 'y'\n[columns.y]\nbounds = [9, 1]\n", "\x00"])
def test_a_wrong_design_file_changes_nothing(browser, tmp_path, text):
    (tmp_path / "wrong.toml").write_text(text)
    before = browser.space.state.version
    answer = browser.post("/design/load", {"design": "wrong.toml"})
    assert answer.status_code == 422
    assert errors(answer.text)
    assert str(tmp_path) not in answer.text
    assert browser.space.state.version == before


def test_weights_and_neighbours(browser):
    changes = {"weights": "age", "weights_are": "sampling", "neighbours": "replace", "c1-low": "0", "c1-high": "3"}
    assert browser.post("/design", filled(browser, **changes)).status_code == 200
    design = browser.space.design()
    assert (design.weights, design.weights_are, design.unit.neighbours) == ("age", "sampling", "replace")
    wrong = browser.post("/design", filled(browser, weights="region"))
    assert 'id="weights-error"' in wrong.text


def test_what_the_form_has_no_field_for_is_kept(browser, tmp_path):
    design = discreet.Design(
        "pay",
        {
            "pay": {"bounds": (0, 5000), "missing_codes": [-9], "missing": "drop"},
            "age": {"bounds": (18, 90), "release": False},
            "region": {"levels": ["north", "south"], "reference": "south"},
            "square": {"formula": "age ** 2"},
        },
    )
    design.save(tmp_path / "kept.toml")
    browser.post("/design/load", {"design": "kept.toml"})
    form = filled(browser, **{"c0-missing": "drop", "c3-name": "square", "c3-included": "yes"})
    assert browser.post("/design", form | {"c3-kind": "formula", "c3-formula": "age ** 2"}).status_code == 200
    assert browser.space.design() == design


def test_without_a_table_there_is_no_design(tmp_path):
    assert Browser(tmp_path).get("/design").url.path == "/table"


def test_a_full_disk_keeps_what_was_typed_on_the_page(browser, monkeypatch):
    from discreet_studio.studio_folder import FieldError

    def full(**_):
        raise FieldError("", "no space left")

    form = filled(browser, **{"c0-high": "4321"})
    monkeypatch.setattr(browser.space.store, "change", full)
    answer = browser.post("/design", form)
    assert answer.status_code == 507
    assert "4321" in answer.text
    assert "no space left" in answer.text


def test_more_columns_than_the_screens_show_are_refused_from_a_file_a_form_and_a_kept_draft(browser):
    wide = discreet.Design("c0", {f"c{index}": (0, 1) for index in range(501)})
    (browser.folder / "wide.toml").write_text(wide.to_toml(), encoding="utf-8")
    before = browser.space.state.draft
    answer = browser.post("/design/load", {"design": "wide.toml"})
    assert answer.status_code == 422
    assert "expected at most 500 columns, got 501" in errors(answer.text)[0]
    for changes in ({"columns": "501"}, {"columns": "500", "action": "add"}):
        answer = browser.post("/design", filled(browser, **changes))
        assert answer.status_code == 400
        assert "use the command line, which has no such limit" in answer.text
    assert browser.space.state.draft == before
    browser.space.store.change(draft=Draft.of(wide, {}).to_dict())
    answer = browser.get("/design")
    assert answer.status_code == 400
    assert "expected at most 500 columns, got" in answer.text
