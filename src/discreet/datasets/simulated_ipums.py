"""A simulated census of heads of households: yearly income on eight predictors."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.datasets.simulated import Draws, simulated
from discreet.datasets.tables import Dataset
from discreet.design.design import Design

ROWS: Final = 316_276  # heads of households in the extract of the census of 2000 by Dandekar et al. (2018)
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
    "income": "thousand dollars a year, negative after a loss; by the model the mean is -5.8 to 66.5, and the noise is "
    f"at most three times {_SD}",
    "age": "by the model heads of households from 18 to 90",
    "female": "yes or no",
    "nonwhite": "yes or no",
    "married": "yes or no",
    "famsize": f"people in the family: by the model 1 to {_LARGEST}",
    "educ": "by the model 8 to 18 years of schooling",
    "employed": "yes or no",
    "house": "lives in a house of one family: yes or no",
}
_NOTE: Final = (
    "Simulated, with the size and the attributes of the extract of the United States census of 2000 (IPUMS "
    "International) in A. Dandekar, D. Basu and S. Bressan, Differential Privacy for Regularised Linear Regression, "
    "Technical Report TRB6/18, National University of Singapore, 2018. No row and no share is taken from the census. "
    "Age is in integer years, uniform from 18 to 90; 30% are female and 20% nonwhite; 70% of men and 25% of women are "
    "married; a family has 1 person, 1 more if married, and up to 6 more, each number with the same probability; "
    "schooling is 8, 10, 12, 14, 16 or 18 years with shares 8%, 12%, 35%, 20%, 17% and 8%; 80% are employed below 65 "
    "and 15% from 65 on; 80% of the married and 50% of the others live in a house of one family. Income is linear in "
    f"them, with the known coefficients, plus independent bell-shaped noise of standard deviation {_SD}: no value lies "
    "outside the bounds."
)


def simulated_ipums(rows: int = ROWS, seed: int = SEED) -> Dataset:
    """Simulate heads of households with known coefficients.

    Parameters
    ----------
    rows, seed : int
        The same seed gives the same rows.

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
        title="yearly income of heads of households on eight predictors, simulated",
        reasons=_REASONS,
        note=_NOTE,
    )
