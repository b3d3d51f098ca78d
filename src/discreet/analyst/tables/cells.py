"""Numbers of a fit as the cells of a table: a number that is not there is a word, a weak one is in brackets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from discreet.analyst.tables.grid import EMPTY
from discreet.analyst.values.confidence_sets import set_words
from discreet.analyst.values.estimates import Interval, Number, rough, unbounded
from discreet.analyst.values.not_estimable import NotEstimable, known

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.releases import Release

MISSING: Final = "not estimable"
WEAK: Final = (
    "In brackets: the release does not bound the number at this level, so it has no standard error; read its "
    "confidence set instead."
)
_WIDEST: Final = 9  # digits before the point of a number that is written without an exponent
_SMALLEST: Final = -4  # power of ten of the smallest such number


def figure(value: float, digits: int) -> str:
    """Give a number to at least so many significant digits, without an exponent where it can be read without.

    >>> figure(12345.678, 4), figure(-0.0012345, 4), figure(0.0, 4), figure(9.99996, 4), figure(3e-7, 2)
    ('12346', '-0.001234', '0', '10.00', '3.0e-07')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    power = math.floor(math.log10(abs(rounded)))
    if not _SMALLEST <= power < _WIDEST:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - power, 0)}f}"


def estimate_cell(value: Number, ends: Interval, digits: int) -> str:
    """Give an estimate; in brackets and to two digits where the release does not bound it."""
    if isinstance(value, NotEstimable):
        return MISSING
    return f"[{rough(value)}]" if unbounded(ends) else figure(value, digits)


def number_cell(value: Number, digits: int) -> str:
    """Give a number, or a dash."""
    return EMPTY if isinstance(value, NotEstimable) else figure(value, digits)


def set_cell(ends: Interval, digits: int) -> str:
    """Give a confidence set in words.

    >>> from discreet.analyst.values.confidence_sets import ConfidenceSet
    >>> set_cell(ConfidenceSet("interval", -0.5, 1.25), 3), set_cell(ConfidenceSet("everything"), 3)
    ('-0.500 to 1.25', 'any value')
    """
    if isinstance(ends, NotEstimable):
        return MISSING
    low, high = (figure(end, digits) if math.isfinite(end) else "" for end in (ends.lower, ends.upper))
    return set_words(ends.kind, low, high)


def p_cell(value: Number) -> str:
    """Give a p-value to three digits after the point.

    >>> p_cell(0.04), p_cell(1e-5)
    ('0.040', '<0.001')
    """
    if isinstance(value, NotEstimable):
        return EMPTY
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def stars_of(value: Number, thresholds: Sequence[float]) -> str:
    """Give a star for every threshold that a p-value is below; none where there is no p-value.

    >>> stars_of(0.004, (0.05, 0.01, 0.001))
    '**'
    """
    return "" if isinstance(value, NotEstimable) else "*" * sum(value < one for one in thresholds)


def rows_cell(fit: Fit) -> str:
    """Give the number of rows: a noisy one as about so many."""
    rows = known(fit.nobs)
    if rows is None:
        return "not released"
    return f"about {round(rows)}" if fit.nobs_sd > 0 else str(round(rows))


def ratio_cell(value: Number, ends: Interval) -> str:
    """Give an R^2 to three digits after the point; in brackets where the release excludes no value of it."""
    if isinstance(value, NotEstimable):
        return EMPTY
    weak = known(ends) is not None and ends.reason
    return f"[{value:.2g}]" if weak else f"{value:.3f}"


def errors_cell(fit: Fit) -> str:
    """Name the kind of standard errors; nothing where the fit has none."""
    if fit.interval_target == "none" or isinstance(fit._inputs.basis, NotEstimable):
        return EMPTY
    if not fit.is_robust:
        return "plain"
    return "HC1" if fit.release.design.unit.id is None else "by person"


def model_cell(fit: Fit) -> str:
    """Name what was minimised, in a few words."""
    if fit.fitted_inside:
        return f"by {fit.release.mechanism}"
    if not fit.penalised:
        return "weighted least squares" if fit.release.weighted else "least squares"
    return fit.penalty if fit.strength is None else f"{fit.penalty} {fit.strength:.3g}"


def promise_note(release: Release) -> str:
    """Say in one line who is hidden, how well, and by which mechanism."""
    guarantee = release.guarantee
    if guarantee is None:
        return f"NOT PRIVATE: the release carries no privacy guarantee (mechanism {release.mechanism})."
    return (
        f"Differentially private: epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}; unit: "
        f"{guarantee.unit.words}; mechanism {release.mechanism}."
    )


def rows_note(fit: Fit) -> str | None:
    """Say how noisy the number of rows is; nothing where it has no noise."""
    if known(fit.nobs) is None or not fit.nobs_sd > 0:
        return None
    return f"The number of rows is noisy, with standard deviation {fit.nobs_sd:.3g}."
