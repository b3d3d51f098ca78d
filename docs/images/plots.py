"""Draw docs/images/coefficients.svg and prediction.svg, the figures of docs/how-to/plots.md.

Run from the root of the repository: `.venv/bin/python docs/images/plots.py`.
The noise is drawn afresh, so the numbers differ from run to run.
"""

from __future__ import annotations

from pathlib import Path

import discreet
from discreet import datasets

FOLDER = Path(__file__).parent


def main() -> None:
    """Make the release of the page and draw it."""
    trial = datasets.load("simulated-clinical", rows=20_000)
    fit = discreet.fit(discreet.release(trial.data, trial.design, epsilon=1.0, delta=1e-6))
    fit.plot(FOLDER / "coefficients.svg", force=True)
    fit.plot_prediction("age", FOLDER / "prediction.svg", at={"smoker": True, "arm": "high"}, force=True)


if __name__ == "__main__":
    main()
