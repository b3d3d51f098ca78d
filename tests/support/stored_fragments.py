"""Stored fragments of every component of every case, and how they are compared."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.pages.page import COMPONENTS, component
from support.report_cases import CASES

FOLDER = Path(__file__).parents[1] / "pages" / "snapshots"
# facts are the view as JSON, which is compared with the view itself
SHOWN = tuple(name for name in COMPONENTS if name != "facts")
PAIRS = [(case, name) for case in CASES for name in SHOWN]
EMPTY = "nothing at all"
# which case's fragment is stored for others that have none of their own: of a component, case by case
SAME: dict[str, dict[str, tuple[str, ...]]] = {
    "banner": {EMPTY: ("plain", "shrunk", "lasso", "persons", "inside", "added", "weak", "nothing")},
    "promise": {"plain": ("shrunk", "lasso", "inside", "weak", "nothing"), EMPTY: ("bare",)},
    "attacker": {"plain": ("shrunk", "weak", "nothing"), EMPTY: ("bare",)},
    "forest": {"plain": ("persons", "shrunk"), EMPTY: ("bare",)},
    "trace": {EMPTY: ("plain", "shrunk", "lasso", "persons", "bare", "added", "weak", "nothing")},
    "diagnostics": {"plain": ("shrunk", "lasso", "bare", "inside", "added", "weak", "nothing")},
    "provenance": {"plain": ("shrunk", "lasso", "bare", "weak", "nothing"), "inside": ("added",)},
    "usage": {"plain": ("shrunk", "lasso", "persons", "bare", "weak", "nothing"), "inside": ("added",)},
}
# words in which a fragment differs from the one that is stored for it: what is there, and what is new
OTHER_WORDS = {("shrunk", "forest"): ("range of each column, with", "range of each column (penalised), with")}


def home(case: str, name: str) -> str:
    """The case under which the fragment is stored, or `EMPTY`."""
    shared = SAME.get(name, {})
    return next((stored for stored, cases in shared.items() if case in cases), case)


def path(case: str, name: str) -> Path:
    return FOLDER / f"{name}.{case}.html"


#: files that are stored, as case and component
STORED = [(case, name) for case, name in PAIRS if home(case, name) == case]


def stored(case: str, name: str) -> str:
    """What the component of a case has to be."""
    where = home(case, name)
    text = "\n" if where == EMPTY else path(where, name).read_text(encoding="utf-8")
    old, new = OTHER_WORDS.get((case, name), ("", ""))
    return text.replace(old, new, 1)


def fragment(case: str, name: str) -> str:
    """A component as it is stored: coordinates to whole pixels, which are the drawing library's to choose."""
    text = component(name, CASES[case])
    if name == "forest":
        text = re.sub(r"-?\d+\.\d+", lambda found: str(round(float(found[0]))), text)
        # names of shapes are digests of their coordinates
        text = re.sub(r"m[0-9a-f]{10}", "shape", text)
        text = text.replace("><", ">\n<")
    return text + "\n"
