"""A real Chromium for the studio: that of the system, driven by Playwright; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.studio_tab import COUNTS, Tab

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SHOTS = Path(__file__).parents[4] / ".studio-screenshots"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, or a word on why there is none."""
    if "STUDIO_BROWSER" not in os.environ:
        pytest.skip("tests in a browser are run by make test-browser")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed, so tests in a browser are skipped; on Debian: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    SHOTS.mkdir(exist_ok=True)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core."""
    package = pytest.importorskip("axe_playwright_python")
    return next(Path(package.__file__).parent.rglob("axe.min.js")).read_text()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Any]:
    """A studio in a folder of its own."""
    from discreet_studio.server import start

    made = start(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def tab(chromium: Any, running: Any) -> Iterator[Tab]:
    """A tab on it."""
    made = Tab(chromium, running)
    yield made
    made.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was looked at."""
    if COUNTS["states"]:
        said = [f"{what} {count}" for what, count in COUNTS.items()]
        terminalreporter.write_line(f"in the browser: {', '.join(said)}")
