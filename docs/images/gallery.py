"""Draw the figures of docs/gallery: docs/images/earnings.svg, doctors.svg and census.svg.

Run from the root of the repository: `.venv/bin/python docs/images/gallery.py`.
The noise is drawn afresh, so the numbers differ from run to run.
"""

from __future__ import annotations

from pathlib import Path

import discreet
from discreet import datasets

FOLDER = Path(__file__).parent
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def main() -> None:
    """Make the releases of the pages and draw them."""
    workers = datasets.load("cpssw8")
    columns = {**workers.design.columns, "gap": {"formula": "education:gender"}}
    release = discreet.release(workers.data, discreet.Design("earnings", columns), **BUDGET)
    model = discreet.fit(release, "earnings ~ age + education + gender + region")
    model.plot(FOLDER / "earnings.svg", force=True)

    years = datasets.load("randhie")
    model = discreet.fit(discreet.release(years.data, years.design, **BUDGET))
    model.plot_prediction("lncoins", FOLDER / "doctors.svg", force=True)

    bend = {"formula": "(exper - 25) ** 2"}
    columns = {"lweekinc": (3, 9), "educ": (0, 20), "exper": (0, 50), "bend": bend}
    census = datasets.load("census2000")
    model = discreet.fit(discreet.release(census.data, discreet.Design("lweekinc", columns), **BUDGET))
    model.plot_prediction("exper", FOLDER / "census.svg", force=True)


if __name__ == "__main__":
    main()
