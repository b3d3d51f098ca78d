"""Simulate a census of household heads: yearly income on eight predictors."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.datasets.simulated import Draws, simulated
from discreet.datasets.tables import Dataset
from discreet.design.design import Design

ROWS: Final = 316_276  # household heads in the census extract of Dandekar et al. (2018)
SEED: Final = 2018
COEFFICIENTS: Final = {
    "Intercept": -23.0,
    "age": 0.15,
    "female": -7.0,
    "nonwhite": -3.0,
    "married": 4.0,
    "famsize": 0.5,
    "educ": 3.0,
    "employed": 12.0,
    "house": 2.0,
}
_YEARS: Final = np.array([8.0, 10.0, 12.0, 14.0, 16.0, 18.0])
_SHARES: Final = (0.08, 0.12, 0.35, 0.20, 0.17, 0.08)
_LARGEST: Final = 8  # people in a family
_SD: Final = 20

_REASONS: Final = {
    "income": "thousand dollars a year, negative after a loss; in the model the mean is -5.8 to 66.5, and the noise is "
    f"at most three times {_SD}",
    "age": "in the model, household heads are 18 to 90 years old",
    "female": "yes or no",
    "nonwhite": "yes or no",
    "married": "yes or no",
    "famsize": f"people in the family: 1 to {_LARGEST} in the model",
    "educ": "years of schooling: 8 to 18 in the model",
    "employed": "yes or no",
    "house": "lives in a single-family house: yes or no",
}
_NOTE: Final = (
    "Simulated, with the size and the attributes of the extract of the United States census of 2000 (IPUMS "
    "International) in A. Dandekar, D. Basu and S. Bressan, Differential Privacy for Regularised Linear Regression, "
    "Technical Report TRB6/18, National University of Singapore, 2018. No row and no proportion is taken from the "
    "census. Age is in whole years, uniform from 18 to 90. 30% are female and 20% nonwhite. 70% of men and 25% of "
    "women are married. A family has 1 person, 1 more if married, and 0 to 6 more with equal probabilities. Schooling "
    "is 8, 10, 12, 14, 16 or 18 years with probabilities 8%, 12%, 35%, 20%, 17% and 8%. 80% are employed below age 65 "
    "and 15% from age 65. 80% of the married and 50% of the others live in a single-family house. Income is linear in "
    f"these columns, with known coefficients, plus independent bell-shaped noise with standard deviation {_SD}. No "
    "value lies outside the bounds."
)


def simulated_ipums(rows: int = ROWS, seed: int = SEED) -> Dataset:
    """Simulate a census table of household heads with known coefficients.

    Parameters
    ----------
    rows, seed : int
        Number of rows and random seed. The same seed gives the same rows.

    Returns
    -------
    Dataset
        Columns `income`, `age`, `female`, `nonwhite`, `married`, `famsize`, `educ`, `employed` and `house`.

    Examples
    --------
    >>> simulated_ipums(rows=10).design.regressors
    ('age', 'female', 'nonwhite', 'married', 'famsize', 'educ', 'employed', 'house')
    """
    design = Design(
        target="income",
        columns={
            "income": (-70, 130),
            "age": (18, 90),
            "female": bool,
            "nonwhite": bool,
            "married": bool,
            "famsize": (1, _LARGEST),
            "educ": (8, 18),
            "employed": bool,
            "house": bool,
        },
    )
    draw = Draws(rows, seed)
    age = np.floor(18 + 73 * draw.uniform())
    female, nonwhite = draw.share(0.3), draw.share(0.2)
    married = draw.uniform() < np.where(female, 0.25, 0.7)
    columns = {
        "age": age,
        "female": female,
        "nonwhite": nonwhite,
        "married": married,
        "famsize": 1 + married + np.floor(7 * draw.uniform()),
        "educ": _YEARS[draw.codes(_SHARES)],
        "employed": draw.uniform() < np.where(age < 65, 0.8, 0.15),
        "house": draw.uniform() < np.where(married, 0.8, 0.5),
    }
    return simulated(
        draw,
        design,
        columns,
        {},
        COEFFICIENTS,
        _SD,
        name="simulated-ipums",
        title="yearly income of household heads on eight predictors, simulated",
        reasons=_REASONS,
        note=_NOTE,
    )
