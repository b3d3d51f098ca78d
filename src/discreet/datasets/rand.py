"""Visits to a doctor in the RAND Health Insurance Experiment: 20,190 person-years."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.datasets.bundled import optional_module, plain_table
from discreet.datasets.dataset import Dataset
from discreet.design.model import Design

_MANNING: Final = "Manning et al. 1987"
_REASONS: Final = {
    "lmdvis": "log(1 + visits to a doctor in a year); 4 is 54 visits, more than one a week",
    "lncoins": "log(1 + coinsurance rate in percent); a rate is 0 to 100, and log(101) is below 4.62",
    "idp": "whether the plan has a deductible for each person: yes or no",
    "lpi": f"log(max(1, yearly participation incentive in dollars)), paid to make up for what a family might lose; a "
    f"family paid at most 1,000 dollars a year ({_MANNING}), and 7 is 1,097 dollars",
    "fmde": "0 with a deductible for each person, otherwise log(max(1, maximum expenditure / coinsurance rate)); the "
    f"maximum is at most 1,000 dollars and the lowest rate above 0 is 25% ({_MANNING}), and log(4,000) is below 8.3",
    "physlm": "1 with a physical limitation, 0 without, in between where it was imputed",
    "disea": "number of chronic diseases; 40 is taken to be more than nearly anybody has",
    "hlthg": "whether the person calls the own health good: yes or no",
    "hlthf": "whether the person calls it fair: yes or no",
    "hlthp": "whether the person calls it poor: yes or no; three times no is excellent",
}
_NOTE: Final = (
    "RAND Health Insurance Experiment, 1974 to 1982: W. G. Manning, J. P. Newhouse, N. Duan, E. B. Keeler, A. "
    "Leibowitz and M. S. Marquis, Health Insurance and the Demand for Medical Care: Evidence from a Randomized "
    "Experiment, American Economic Review 77(3), 1987, 251-277. Table of A. C. Cameron and P. K. Trivedi, "
    "Microeconometrics: Methods and Applications, Cambridge University Press, 2005, as packed in the Python package "
    "'statsmodels' (public domain). A row is one person in one year and this copy does not say which rows are of "
    "one person, so a release of it hides a row and not a person."
)


def randhie() -> Dataset:
    """RAND Health Insurance Experiment: log(1 + visits to a doctor) on insurance plan and health.

    Returns
    -------
    Dataset
        Columns `lmdvis` = log(1 + mdvis), `lncoins`, `idp`, `lpi`, `fmde`, `physlm`, `disea`, `hlthg`, `hlthf` and
        `hlthp`.
    """
    design = Design(
        target="lmdvis",
        columns={
            "lmdvis": (0, 4),
            "lncoins": (0, 4.62),
            "idp": bool,
            "lpi": (0, 7),
            "fmde": (0, 8.3),
            "physlm": (0, 1),
            "disea": (0, 40),
            "hlthg": bool,
            "hlthf": bool,
            "hlthp": bool,
        },
    )
    frame = optional_module("statsmodels.datasets.randhie").load_pandas().data
    visits = frame["mdvis"].to_numpy(dtype=np.float64)
    return Dataset(
        name="randhie",
        title="log visits to a doctor on insurance plan and health",
        data=plain_table({**frame, "lmdvis": np.log1p(visits)}, design),
        design=design,
        reasons=_REASONS,
        note=_NOTE,
        simulated=False,
    )
