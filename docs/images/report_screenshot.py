"""Draw docs/images/report.png: the head, the coefficients and the chart of the report that `discreet demo` writes.

Run from the root of the repository, with Chromium installed: `.venv/bin/python docs/images/report_screenshot.py`.
The noise is drawn afresh, so the numbers differ from run to run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

PICTURE = Path(__file__).with_name("report.png")
SHOWN = "#coefficients, #forest"
STYLE = f"section:not({SHOWN}), nav, footer, .small {{ display: none }} main {{ padding-bottom: 0 }}"
WIDTH, HEIGHT, SCALE, MARGIN, COLOURS = 900, 1600, 1.5, 24, 48
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def photographed(page: Path, picture: Path) -> None:
    """Take a picture of a page with Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("install Chromium first")
    size = (f"--window-size={WIDTH},{HEIGHT}", f"--force-device-scale-factor={SCALE}")
    where = (f"--user-data-dir={page.parent / 'profile'}", f"--screenshot={picture}")
    subprocess.run([browser, *FLAGS, *size, *where, page.as_uri()], check=True, capture_output=True)


def cropped(picture: Path) -> Image.Image:
    """Cut the empty part off a picture, and store few colours."""
    whole = Image.open(picture).convert("RGB")
    empty = Image.new("RGB", whole.size, whole.getpixel((0, 0)))
    box = ImageChops.difference(whole, empty).getbbox() or (0, 0, *whole.size)
    bottom = min(box[3] + MARGIN, whole.height)
    return whole.crop((0, 0, whole.width, bottom)).quantize(COLOURS, dither=Image.Dither.NONE)


def main() -> None:
    """Run the demo, hide what the picture has no room for, and store the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "discreet", "demo", "-o", str(folder / "demo")], check=True)
        page = folder / "page.html"
        html = (folder / "demo" / "census.html").read_text()
        page.write_text(html.replace("</head>", f"<style>{STYLE}</style></head>"))
        photographed(page, folder / "whole.png")
        cropped(folder / "whole.png").save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
