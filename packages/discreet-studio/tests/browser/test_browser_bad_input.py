"""Bad input on every form: said beside its field, what was typed is kept, nothing is spent."""

from __future__ import annotations

import logging

import discreet
from support.studio_client import DESIGN, small_table
from support.studio_tab import COUNTS, ready, spent

OPEN = "summary:has-text('{}')"
# screen, what is opened first, what is typed, the button, and where it is said
PLAN = [
    ({"#epsilon": "-1"}, "#epsilon-error"), ({"#epsilon": "50"}, "#epsilon-error"), ({"#rows": "many"}, "#rows-error"),
    ({"#rows": "0"}, "#rows-error"), ({"#delta": "2"}, "#delta-error"), ({"#level": "100"}, "#level-error"),
    ({"#rsquared": "2"}, "#rsquared-error"), ({"#spread": "wide"}, "#spread-error"),
    ({"#correlation": "-3"}, "#correlation-error"), ({"#mean1": "old"}, "#mean1-error"),
    ({"#share2": "north=half"}, "#share2-error"),
]  # fmt: skip
DECLARE = [
    ({"#dataset": " "}, "#dataset-error"), ({"#budget_epsilon": "lots"}, "#budget_epsilon-error"),
    ({"#budget_epsilon": "99"}, "#budget_epsilon-error"), ({"#budget_delta": "7"}, "#budget_delta-error"),
    ({"#ledger_file": "../books.db"}, "#ledger_file-error"), ({"#ledger_file": "books.txt"}, "#ledger_file-error"),
]  # fmt: skip
GOOD = {"#dataset": "other", "#budget_epsilon": "1", "#budget_delta": "1e-6", "#ledger_file": "ledger.db"}


def said(tab, where, fields):
    """It is said beside the field, the field points to it, and what was typed is still there."""
    page = tab.page
    message = page.wait_for_selector(where)
    assert message.inner_text().strip(), where
    assert "Traceback" not in page.content()
    for field, typed in fields.items():
        if where.replace("-error", "") == field:
            assert page.locator(field).get_attribute("aria-invalid") == "true", where
            assert where[1:] in page.get_attribute(field, "aria-describedby")
            assert page.input_value(field).strip() == typed.strip()
    COUNTS["refusals"] += 1


def attempt(tab, screen, opened, fields, button, where):
    page = tab.page
    tab.go(screen)
    for summary in opened:
        if not page.locator(f"details:has(> {OPEN.format(summary)})").first.evaluate("one => one.open"):
            page.click(OPEN.format(summary))
    for field, value in fields.items():
        page.fill(field, value)
    page.click(button)
    said(tab, where, fields)


def test_bad_input_on_every_form(tab, caplog):
    caplog.set_level(logging.INFO)
    page, folder = tab.page, tab.running.studio.folder.root
    (folder / "broken.csv").write_bytes(b"\xff\xfe,\x00\n")
    (folder / "broken.toml").write_text("target = ")
    page.reload()
    page.select_option("#file", "broken.csv")
    page.click("text=Open this table")
    said(tab, "#file-error", {})
    ready(tab)
    tab.go("/table")
    page.check("[value=person]")
    page.click("text=Continue to the design")
    said(tab, "#person-error", {})
    page.check("[value=person]")
    page.select_option("#person", "age")
    page.fill("#max_rows", "0")
    page.click("text=Continue to the design")
    said(tab, "#max_rows-error", {})
    for fields, where in (({"#c1-low": "ninety"}, "#c1-low-error"), ({"#c1-high": "1"}, "#c1-low-error")):
        attempt(tab, "/design", [], fields, "button:text-is('Save')", where)
    page.fill("#c1-low", "18")
    page.fill("#c1-high", "90")
    page.click("button:text-is('Save')")
    page.wait_for_selector("text=complete and saved")
    attempt(tab, "/design", ["Save as"], {"#file": "../x.toml"}, "text=Save the file", "#file-error")
    attempt(tab, "/design", ["Save as"], {"#file": "people.toml"}, "text=Save the file", "#file-error")
    attempt(tab, "/design", ["More about"], {"#radius": "-2"}, "button:text-is('Save')", "#radius-error")
    page.fill("#radius", "")
    page.click("button:text-is('Save')")
    page.wait_for_selector("text=complete and saved")
    tab.go("/design")
    page.click(OPEN.format("Load a design file"))
    page.select_option("#design", "broken.toml")
    page.click("button:text-is('Load')")
    said(tab, "#design-error", {})
    kept = dict(tab.running.studio.space.state.plan)
    for fields, where in PLAN:
        attempt(tab, "/plan", ["Assumptions"], fields, "text=Show what to expect", where)
        tab.running.studio.space.store.change(plan=kept)
    tab.go("/plan")
    page.check("[value=accuracy]")
    page.fill("#width", "-1")
    page.click("text=Show what to expect")
    said(tab, "#small ~ * [role=alert]", {})
    tab.running.studio.space.store.change(plan=kept)
    for fields, where in DECLARE:
        attempt(tab, "/ledger", ["Declare another"], GOOD | fields, "text=Declare the data set", where)
    for fields, where in (
        ({"#grant_epsilon": "x", "#reason": "more"}, "#grant_epsilon-error"),
        ({"#grant_epsilon": "0.1", "#reason": "more"}, "#grant_epsilon-error"),
        ({"#grant_epsilon": "5", "#reason": ""}, "#reason-error"),
    ):
        attempt(tab, "/ledger", ["Raise the budget"], fields, "text=Raise it", where)
    for fields, where in (
        ({"#name": "../x"}, "#name-error"),
        ({"#name": "people"}, "#name-error"),
        ({}, "#sure-error"),
    ):
        tab.go("/release")
        if "sure" not in where:
            page.check("#sure")
        for field, value in fields.items():
            page.fill(field, value)
        page.click("button:has-text('Spend epsilon')")
        said(tab, where, fields)
    (folder / "people.csv").rename(folder / "gone.csv")
    page.check("#sure")
    page.fill("#name", "fresh")
    page.click("button:has-text('Spend epsilon')")
    said(tab, "[role=alert]", {})
    for content in (b"", b"{}", b"\xff"):
        tab.go("/analyse")
        file = {"name": "r.json", "mimeType": "application/json", "buffer": content}
        page.set_input_files("#release", file if content else [])
        page.click("text=Open it")
        said(tab, "#release-error", {})
    discreet.release(small_table(), DESIGN, epsilon=5.0, delta=1e-6).save(folder / "pay.release.json")
    here = "/analyse?file=pay.release.json"
    attempt(tab, here, [], {"#level": "3"}, "text=Fit this model", "#level-error")
    tab.go(here)
    page.select_option("#penalty", "ridge")
    page.fill("#strength", "strong")
    page.click("text=Fit this model")
    said(tab, "#strength-error", {})
    tab.go(here)
    for name in ("age", "region"):
        page.uncheck(f"[name=feature][value={name}]")
    page.click("text=Fit this model")
    said(tab, "#feature-error", {})
    attempt(tab, here, [], {"#x0": "old"}, "text=Predict and plot", "#x0-error")
    attempt(tab, here, [], {"#models": "nobody"}, "button:text-is('Compare')", "#compare ~ form .error")
    assert spent(tab) == 0
    assert [one for one in caplog.records if one.name.startswith("discreet")] == []
