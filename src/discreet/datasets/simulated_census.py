"""Simulate a census table: log weekly income on schooling, experience, sex and region."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.datasets.simulated import Draws, simulated
from discreet.datasets.tables import Dataset
from discreet.design.design import Design

ROWS: Final = 20_000
SEED: Final = 2020
COEFFICIENTS: Final = {
    "Intercept": 5.2,
    "educ": 0.09,
    "exper": 0.008,
    "exper25sq": -0.0006,
    "female": -0.2,
    "region[south]": -0.15,
    "region[east]": 0.1,
    "region[west]": 0.05,
}
_YEARS: Final = np.array([8.0, 10.0, 12.0, 14.0, 16.0, 18.0])
_SHARES: Final = (0.05, 0.10, 0.35, 0.20, 0.20, 0.10)
_REGIONS: Final = ("north", "south", "east", "west")
_SD: Final = 0.5

_REASONS: Final = {
    "lweekinc": f"in the model the mean is 5.19 to 7.15, and the noise is at most three times {_SD}",
    "educ": "years of schooling: 8 to 18 in the model",
    "exper": "years since leaving school, at age 6 plus schooling, until age 64 at most in the model",
    "exper25sq": "(exper - 25) squared, which is 0 to 625 if exper is 0 to 50",
    "female": "yes or no",
    "region": "the four regions of the model",
}
_NOTE: Final = (
    "Simulated. Schooling is 8, 10, 12, 14, 16 or 18 years with probabilities 5%, 10%, 35%, 20%, 20% and 10%. "
    "Experience is in whole years, uniform from 0 to 57 less schooling. Half of the people are female. The regions "
    "north, south, east and west have probabilities 30%, 30%, 20% and 20%. Apart from schooling and experience, all "
    "columns are independent. Log weekly income is linear in these columns, with known coefficients, plus independent "
    f"bell-shaped noise with standard deviation {_SD}, which ends at three standard deviations. No value lies outside "
    "the bounds."
)


def simulated_census(rows: int = ROWS, seed: int = SEED) -> Dataset:
    """Simulate a census table with known coefficients.

    Parameters
    ----------
    rows, seed : int
        Number of rows and random seed. The same seed gives the same rows.

    Returns
    -------
    Dataset
        Columns `lweekinc`, `educ`, `exper`, `exper25sq` = (exper - 25) squared, `female` and `region`.

    Examples
    --------
    >>> dataset = simulated_census(rows=10)
    >>> dataset.table.num_rows, dataset.coefficients["female"]
    (10, -0.2)
    """
    design = Design(
        target="lweekinc",
        columns={
            "lweekinc": (3.5, 9),
            "educ": (8, 18),
            "exper": (0, 50),
            "exper25sq": (0, 625),
            "female": bool,
            "region": list(_REGIONS),
        },
    )
    draw = Draws(rows, seed)
    educ = _YEARS[draw.codes(_SHARES)]
    exper = np.floor(draw.uniform() * (58 - educ))
    columns = {"educ": educ, "exper": exper, "exper25sq": (exper - 25) ** 2, "female": draw.share(0.5)}
    region = np.array(_REGIONS)[draw.codes((0.3, 0.3, 0.2, 0.2))]
    return simulated(
        draw,
        design,
        columns,
        {"region": region},
        COEFFICIENTS,
        _SD,
        name="simulated-census",
        title="log weekly income on schooling, experience, sex and region, simulated",
        reasons=_REASONS,
        note=_NOTE,
    )
