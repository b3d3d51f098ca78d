"""Two hundred columns on every screen, in both themes and widths."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import discreet

SHOTS = Path(__file__).parents[4] / ".studio-screenshots"
NAMES = ["y", *(f"x{number}" for number in range(199))]


def test_two_hundred_columns_on_every_screen(tab, axe):
    folder, page = tab.running.studio.folder.root, tab.page
    rows = np.random.default_rng(1).random((1000, len(NAMES)))
    np.savetxt(folder / "wide.csv", rows, delimiter=",", fmt="%.2f", header=",".join(NAMES), comments="")
    discreet.Design("y", dict.fromkeys(NAMES, (0, 1))).save(folder / "wide.toml")
    page.set_default_timeout(90_000)

    def look(name, judged=2, full=True):
        tab.look(f"200-{name}", SHOTS, axe, judged, full=full)

    tab.go("/table")
    tab.click("text=Open this table")
    page.wait_for_selector("text=Whose presence")
    look("1-table")
    tab.go("/design")
    tab.click("summary:has-text('Load a design file')")
    page.select_option("#design", "wide.toml")
    # of the processor, which other programs may use too
    began = time.process_time()
    tab.click("button:text-is('Load')")
    page.wait_for_selector("text=complete and saved")
    assert time.process_time() - began < 1.5
    # every column has the same fields, and axe takes seconds for so many
    look("2-design", judged=1, full=False)
    tab.go("/check")
    tab.click("text=Turn the check on")
    tab.click("text=Count now")
    page.wait_for_selector("text=rows that fit")
    look("3-check")
    tab.go("/plan")
    page.fill("#rows", "1000")
    tab.click("text=Show what to expect")
    page.wait_for_selector("text=Continue to the release")
    tab.click("summary:has-text('Assumptions')")
    tab.click("summary:has-text('Mechanism')")
    look("4-plan")
    tab.go("/preview")
    tab.click("text=Make the preview")
    page.wait_for_selector("iframe.simulated")
    look("5-preview")
    tab.go("/release")
    tab.click("text=Create the ledger")
    page.wait_for_selector("text=What it spends")
    look("6-release")
    tab.click("#sure")
    tab.click("button:has-text('Spend epsilon')")
    tab.arrive("/release/done")
    look("6-released")
    tab.click("text=Analyse it")
    page.wait_for_selector("text=Fit this model")
    look("7-analyse")
    page.fill("#only", "x0, x1")
    tab.click("text=Fit this model")
    page.wait_for_selector("h2:has-text('y on x0, x1')")
    tab.go("/ledger")
    look("8-ledger")
