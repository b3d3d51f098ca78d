"""Stored fragments of every component of every case, and how they are compared."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.pages.components import COMPONENTS, component
from support.report_cases import CASES

FOLDER = Path(__file__).parents[1] / "pages" / "snapshots"
PAIRS = [(case, name) for case in CASES for name in COMPONENTS]


def path(case: str, name: str) -> Path:
    return FOLDER / f"{name}.{case}.html"


def fragment(case: str, name: str) -> str:
    """A component as it is stored: coordinates to whole pixels, which are the drawing library's to choose."""
    text = component(name, CASES[case])
    if name == "forest":
        text = re.sub(r"-?\d+\.\d+", lambda found: str(round(float(found[0]))), text)
        # names of shapes are digests of their coordinates
        text = re.sub(r"m[0-9a-f]{10}", "shape", text)
        text = text.replace("><", ">\n<")
    return text + "\n"
