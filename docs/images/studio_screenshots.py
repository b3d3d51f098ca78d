"""Draw docs/images/studio-*.png: four screens of the studio with the bundled census sample.

Run from the root of the repository after `make test-browser`: `.venv/bin/python docs/images/studio_screenshots.py`.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from discreet_studio.server import start

HERE = Path(__file__).parent
WIDTH, HEIGHT, COLOURS = 1180, 800, 160


def kept(page: Page, name: str) -> None:
    """Keep what the window shows, in few colours."""
    taken = Image.open(io.BytesIO(page.screenshot()))
    taken.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(HERE / f"studio-{name}.png", optimize=True)


def main() -> None:
    """Go through the screens and keep four of them."""
    with tempfile.TemporaryDirectory() as parent, sync_playwright() as driver:
        folder = Path(parent, "survey")
        folder.mkdir()
        running = start(folder)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(running.door.as_uri())
        page.wait_for_url("**/table")
        page.click("text=Use the census sample")
        page.click("text=Continue to the design")
        page.wait_for_selector("#c0")
        page.evaluate("document.getElementById('columns-head').scrollIntoView()")
        kept(page, "design")
        page.click("text=Save and continue")
        page.wait_for_selector("#expect ~ figure svg")
        kept(page, "plan")
        page.click("text=Continue to the release")
        page.click("text=Create the ledger")
        page.wait_for_selector("text=What it spends")
        kept(page, "release")
        page.check("#sure")
        page.click("button:has-text('Spend epsilon')")
        page.click("text=Analyse it")
        page.click("button:text-is('Predict and plot')")
        page.wait_for_selector("text=Prediction with 95% confidence sets")
        page.set_viewport_size({"width": WIDTH, "height": 3 * HEIGHT // 2})
        page.evaluate("document.getElementById('predict').scrollIntoView()")
        kept(page, "analyse")
        browser.close()
        running.stop()


if __name__ == "__main__":
    main()
