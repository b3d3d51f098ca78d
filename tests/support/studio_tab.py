"""A tab of a real browser on a running studio: it counts clicks and axe's findings, and keeps pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

import discreet
from discreet_studio.server import Running
from support.studio_client import DESIGN, small_table

PATIENCE = 30_000
LOOKS = (("light", 1280), ("dark", 400), ("light", 400), ("dark", 1280))
COUNTS = {"clicks": 0, "states": 0, "judged by axe": 0, "violations": 0, "refusals": 0}


class Tab:
    """One tab with the session of a studio."""

    def __init__(
        self, chromium: Any, running: Running, *, theme: str = "light", width: int = 1280, script: bool = True
    ) -> None:
        self.running = running
        viewport = {"width": width, "height": 900}
        self.context = chromium.new_context(color_scheme=theme, viewport=viewport, java_script_enabled=script)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.width, self.clicks = width, 0
        self.page.goto(running.door.as_uri())
        self.page.wait_for_url("**/table")

    def click(self, what: str) -> None:
        """Click, and count it."""
        self.clicks += 1
        COUNTS["clicks"] += 1
        self.page.click(what)

    def go(self, path: str) -> None:
        """Type an address."""
        self.page.goto(self.running.address + path)
        self.page.wait_for_selector("header.top")

    def arrive(self, path: str) -> None:
        """Wait until an address is there."""
        self.page.wait_for_url(re.compile(re.escape(self.running.address + path)))
        self.page.wait_for_load_state()

    def look(self, name: str, folder: Path, axe: str, judged: int = len(LOOKS), *, full: bool = True) -> None:
        """Keep pictures in both themes and widths; nothing may be wider than the window, and axe judges the first."""
        for index, (theme, width) in enumerate(LOOKS):
            self.page.emulate_media(color_scheme=theme)
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.screenshot(path=str(folder / f"{name}-{theme}-{width}.png"), full_page=full)
            COUNTS["states"] += 1
            wide, window = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            assert wide <= window, name
            if index < judged:
                self.judge(name, axe)
        self.page.set_viewport_size({"width": self.width, "height": 900})

    def judge(self, name: str, axe: str) -> None:
        """Let axe look for what keeps people from using the page."""
        self.page.evaluate(axe)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        COUNTS["judged by axe"] += 1
        COUNTS["violations"] += len(found)
        wrong = [f"{one['id']}: {node['html'][:150]}" for one in found for node in one["nodes"][:3]]
        assert not wrong, f"{name}: {wrong}"

    def close(self) -> None:
        """Close the tab; the console must have been silent, but for answers that were refused on purpose."""
        self.context.close()
        assert [one for one in self.said if "Failed to load resource" not in one] == []


def ready(tab: Tab, rows: int = 400) -> None:
    """A tab that is ready to confirm a release of a table of its own."""
    folder = tab.running.studio.folder.root
    table = small_table(400)
    pa.csv.write_csv(pa.concat_tables([table] * max(1, rows // 400)), folder / "people.csv")
    DESIGN.save(folder / "people.toml")
    page = tab.page
    tab.go("/table")
    page.select_option("#file", "people.csv")
    tab.click("text=Open this table")
    page.wait_for_selector("text=Whose presence")
    tab.go("/design")
    tab.click("summary:has-text('Load a design file')")
    page.select_option("#design", "people.toml")
    tab.click("button:text-is('Load')")
    page.wait_for_selector("text=complete and saved")
    tab.go("/plan")
    page.fill("#rows", str(rows))
    tab.click("text=Show what to expect")
    page.wait_for_selector("text=Continue to the release")
    tab.go("/release")
    tab.click("text=Create the ledger")
    page.wait_for_selector("text=What it spends")
    page.check("#sure")


def spent(tab: Tab) -> int:
    """How many releases the ledger has recorded."""
    books = discreet.Ledger(tab.running.studio.folder.root / "ledger.db")
    return books.statuses()[0].requests
