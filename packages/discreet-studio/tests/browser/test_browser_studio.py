"""The whole way in a real Chromium: all screens, both themes and widths, by mouse, by keyboard and on paper."""

from __future__ import annotations

import re
import time
from pathlib import Path

from support.studio_tab import Tab

# every click from the start to a published page
SHORTEST = (
    "text=Use the census sample",
    "text=Continue to the design",
    "text=Save and continue",
    "text=Continue to the release",
    "text=Create the ledger",
    "#sure",
    "button:has-text('Spend epsilon')",
)
SHOTS = Path(__file__).parents[4] / ".studio-screenshots"


def test_the_whole_way(tab, axe):
    page = tab.page

    def look(name):
        tab.look(name, SHOTS, axe)

    look("1-table-empty")
    tab.click("text=Use the census sample")
    page.wait_for_selector("text=Whose presence is hidden?")
    look("1-table")
    tab.click("text=Continue to the design")
    tab.arrive("/design")
    look("2-design")
    tab.click("text=Add a derived column")
    page.wait_for_selector("#c4-formula")
    page.fill("#c4-formula", "lg(educ)")
    page.wait_for_selector("#c4-formula-live .error")
    page.fill("#c0-low", "10")
    tab.click("button:text-is('Save')")
    page.wait_for_selector("#all-problems")
    look("2-design-problems")
    page.fill("#c4-formula", "educ > 12")
    page.wait_for_selector("#c4-formula-live .fine")
    page.fill("#c0-low", "3")
    page.uncheck("[name=c4-included]")
    tab.click("text=Save and continue")
    tab.arrive("/plan")
    page.wait_for_selector("#expect ~ figure svg")
    look("4-plan")
    page.check("[value=accuracy]")
    page.fill("#width", "0.1")
    page.select_option("#coefficient", "educ")
    page.wait_for_selector("text=the smallest epsilon")
    time.sleep(0.7)
    page.wait_for_load_state("networkidle")
    tab.click("summary:has-text('Widths against')")
    page.wait_for_selector("h2:has-text('Other budgets') ~ details svg")
    tab.click("summary:has-text('Mechanisms side')")
    page.wait_for_selector("h2:has-text('Other budgets') ~ details table")
    tab.click("summary:has-text('The same as a plot, and')")
    page.wait_for_selector("#learn ~ details svg")
    look("4-plan-all")
    page.check("[value=epsilon]")
    tab.click("text=Preview the report")
    tab.arrive("/preview")
    tab.click("text=Make the preview")
    page.wait_for_selector("iframe.simulated")
    assert page.frame_locator("iframe").locator("strong:text-is('SIMULATED')").count() == 1
    look("5-preview")
    tab.click("text=Continue to the release")
    tab.arrive("/release")
    look("6-release-ledger")
    tab.click("text=Create the ledger")
    page.wait_for_selector("text=What it spends")
    look("6-release")
    tab.click("button:has-text('Spend epsilon')")
    page.wait_for_selector("#sure-error")
    look("6-release-refused")
    tab.click("#sure")
    tab.click("button:has-text('Spend epsilon')")
    tab.arrive("/release/done")
    assert page.frame_locator("iframe").locator("h1").inner_text() == "lweekinc"
    look("6-released")
    tab.click("text=Analyse it")
    page.wait_for_selector("text=Fit this model")
    page.fill("[name='x:educ']", "12")
    page.fill("[name='x:exper']", "20")
    page.fill("[name='x:exper25sq']", "25")
    tab.click("button:text-is('Predict and plot')")
    page.wait_for_selector("text=Predicted lweekinc")
    tab.click("button:text-is('Compare')")
    page.wait_for_selector("text=against")
    look("7-analyse")
    tab.go("/ledger")
    look("8-ledger")
    tab.go("/check")
    look("3-check-off")
    tab.click("text=Turn the check on")
    tab.click("text=Count now")
    page.wait_for_selector("text=rows that fit")
    look("3-check")


def test_a_first_time_curator_is_soon_done(tab, capsys):
    began = time.monotonic()
    page = tab.page
    for what in SHORTEST:
        tab.click(what)
    tab.arrive("/release/done")
    page.wait_for_selector("iframe")
    seconds = time.monotonic() - began
    with capsys.disabled():
        print(f"\nfrom start to published page: {tab.clicks} clicks, {seconds:.1f} s of the machine")
    assert tab.clicks == 7
    assert seconds < 60
    assert (tab.running.studio.folder.root / "lweekinc.html").exists()


def test_the_keyboard_is_enough(tab):
    page = tab.page
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.innerText || document.activeElement.id"))
        if "Use the census sample" in seen[-1]:
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Whose presence is hidden?")
    assert seen[0] == "Skip to the content"


def test_without_scripts(chromium, running):
    tab = Tab(chromium, running, theme="dark", width=400, script=False)
    for what in SHORTEST:
        tab.click(what)
    tab.page.wait_for_selector("text=Released: lweekinc")
    tab.close()


def test_help_is_beside_each_field_and_reached_by_the_keyboard(tab):
    page = tab.page
    tab.click("text=Use the census sample")
    tab.click("text=Continue to the design")
    page.wait_for_selector("#c1-low")
    page.focus("#c1-low")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert page.locator(":popover-open").get_attribute("id") == "about-bounds"
    page.keyboard.press("Escape")
    assert page.locator(":popover-open").count() == 0
    for screen in ("table", "design", "plan", "release", "analyse", "ledger"):
        tab.go(f"/{screen}")
        bare = page.evaluate("""
            [...document.querySelectorAll('input:not([type=hidden], [type=radio]), select, textarea')]
            .filter(one => !(one.getAttribute('aria-describedby') || '').split(' ').some(
                id => document.getElementById(id)?.textContent.trim()))
            .map(one => one.name)""")
        assert bare == [], screen


def test_pages_print(tab):
    tab.click("text=Use the census sample")
    tab.page.wait_for_selector("text=Whose presence")
    pages = {}
    for screen in ("table", "design", "check", "plan", "preview", "release", "analyse", "ledger"):
        tab.go(f"/{screen}")
        paper = tab.page.pdf(path=str(SHOTS / f"print-{screen}.pdf"), format="A4")
        pages[screen] = len(re.findall(rb"/Type\s*/Page[^s]", paper))
    assert pages["plan"] <= 3
    assert max(pages.values()) <= 3, pages
