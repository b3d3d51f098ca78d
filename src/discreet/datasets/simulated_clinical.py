"""Simulate a clinical trial: blood pressure after treatment on baseline pressure, covariates and treatment arm."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.datasets.simulated import Draws, simulated
from discreet.datasets.tables import Dataset
from discreet.design.design import Design

ROWS: Final = 5_000
SEED: Final = 1948
COEFFICIENTS: Final = {
    "Intercept": 20.0,
    "before": 0.7,
    "age": 0.2,
    "bmi": 0.5,
    "smoker": 4.0,
    "arm[low]": -5.0,
    "arm[high]": -12.0,
}
_ARMS: Final = ("placebo", "low", "high")
_SD: Final = 6

_REASONS: Final = {
    "after": "systolic blood pressure in mm Hg; in the model the mean is 89 to 186, and the noise is at most three "
    f"times {_SD}",
    "before": "systolic blood pressure before treatment: 100 to 180 by the protocol",
    "age": "years: adults from 18 to 80 by the protocol",
    "bmi": "body mass index in kg/m2: 16 to 40 by the protocol",
    "smoker": "yes or no",
    "arm": "the three arms of the trial",
}
_NOTE: Final = (
    "Simulated. Blood pressure before is bell-shaped with mean 140 and standard deviation 40/3. Age is in whole years, "
    "uniform from 18 to 80. The body mass index is bell-shaped with mean 28 and standard deviation 4. 25% smoke. The "
    "arms placebo, low dose and high dose have a third of the patients each. All columns are independent, and every "
    "bell shape ends at three standard deviations. Blood pressure after is linear in these columns, with known "
    f"coefficients, plus independent bell-shaped noise with standard deviation {_SD}. No value lies outside the bounds."
)


def simulated_clinical(rows: int = ROWS, seed: int = SEED) -> Dataset:
    """Simulate a clinical trial with known coefficients.

    Parameters
    ----------
    rows, seed : int
        Number of rows and random seed. The same seed gives the same rows.

    Returns
    -------
    Dataset
        Columns `after`, `before`, `age`, `bmi`, `smoker` and `arm`.

    Examples
    --------
    >>> simulated_clinical(rows=10).design.released
    ('1', 'before', 'age', 'bmi', 'smoker', 'arm[low]', 'arm[high]', 'after')
    """
    design = Design(
        target="after",
        columns={
            "after": (70, 205),
            "before": (100, 180),
            "age": (18, 80),
            "bmi": (16, 40),
            "smoker": bool,
            "arm": list(_ARMS),
        },
    )
    draw = Draws(rows, seed)
    columns = {
        "before": draw.bell(140, 40 / 3),
        "age": np.floor(18 + 63 * draw.uniform()),
        "bmi": draw.bell(28, 4),
        "smoker": draw.share(0.25),
    }
    arm = np.array(_ARMS)[draw.codes((1 / 3, 1 / 3, 1 / 3))]
    return simulated(
        draw,
        design,
        columns,
        {"arm": arm},
        COEFFICIENTS,
        _SD,
        name="simulated-clinical",
        title="blood pressure after treatment on blood pressure before, treatment arm and patient, simulated",
        reasons=_REASONS,
        note=_NOTE,
    )
