"""Sentences about standard errors and confidence sets: what they hold, and why a coefficient has none."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from discreet.analyst.inference.coefficient_noise import known_before
from discreet.analyst.values.estimates import bounded, unbounded
from discreet.analyst.values.not_estimable import REMEDY, NotEstimable, known_values, missing_values
from discreet.releases.reference_law import DEFAULT_LEVEL

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.inferred import InferenceMixin

PRIVACY_PART: Final = "Column 'privacy': share of the variance due to privacy noise"
PENALISED_INTERVALS: Final = (
    "The intervals are for the penalised coefficients, which the same ridge would give without noise, not for those of "
    "least squares."
)
BRACKETS: Final = (
    "In brackets: the release does not bound these coefficients, so the number means little and has no standard error; "
    "read their sets instead."
)
SELECTION: Final = (
    "Intervals beside unbounded sets are a selection: they cover the true value in fewer than {percent:g}% of "
    "releases, and in far fewer where releases like this one rarely give an interval."
)
NOTHING_BOUNDED: Final = (
    f"The release bounds none of the coefficients. For predictions use discreet.fit(release, penalty={REMEDY!r}) "
    f"(--penalty {REMEDY})."
)
SCORE: Final = (
    "Column 't' is coef / std err. Column 'p' and the confidence sets come from the score test (score_z), which uses "
    "the variance under the hypothesis, so p need not match t."
)
PRIVACY_ONLY: Final = "The residual variance could not be estimated, so the standard errors include privacy noise only."
SCORE_PAGE: Final = (
    "p and the confidence sets come from the score test, which uses the variance under the hypothesis, not from "
    "estimate / std. error."
)
THIS_TABLE: Final = (
    "Column 'privacy sd': standard deviation of the noise that was added to the coefficient. The {percent:g}% "
    "intervals 'this table' are for the coefficients that the mechanism would have published for this table without "
    "noise, its penalty included; they include no sampling error and are not intervals for a population."
)


def error_notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Say what the standard errors hold, which coefficients have none and why, and whose intervals they are."""
    shares = known_values(fit.privacy_share)
    sets = fit.conf_int(level)
    # a set without an end is not made narrower by less noise in any proportion
    intervals = {name: share for name, share in shares.items() if bounded(sets[name])}
    out = []
    if intervals and any(fit.release.noise.sigma.values()):
        noisiest, worst = max(intervals.items(), key=itemgetter(1))
        factor = (1 - worst) ** 0.5
        narrower = f" Without that noise, the standard error of {noisiest} would be {factor:.3g} times as large."
        out.append(f"{PRIVACY_PART} (largest for {noisiest}: {worst:.0%}).{narrower if worst < 1 else ''}")
    out += set_notes(fit, level)
    what = "Not estimable"
    if known_before(fit.release.noise):
        out.append(THIS_TABLE.format(percent=100 * level))
        what = "Standard errors and tests are not estimable"
    out += _by_reason(what, {name: why.reason for name, why in missing_values(sets).items()})
    if shares and fit.penalised:
        out.append(PENALISED_INTERVALS)
    return out


def set_notes(fit: Fit, level: float = DEFAULT_LEVEL, score: str = SCORE) -> list[str]:
    """Say where p-values and confidence sets come from, what brackets mean and why sets are unbounded."""
    sets = known_values(fit.conf_int(level))
    weak = {name: ends for name, ends in sets.items() if not ends.bounded}
    out = [score] if len(weak) < len(sets) or (sets and fit.estimable) else []
    if without_sampling(fit):
        out.append(PRIVACY_ONLY)
    if weak and fit.estimable:
        out.append(BRACKETS)
    if 0 < len(weak) < len(sets):
        out.append(SELECTION.format(percent=100 * level))
    if weak and len(weak) == len(sets) and fit.estimable and not fit.penalised:
        out.append(NOTHING_BOUNDED)
    why = reasons(fit, level)
    for words, whole in (("Any value is possible", True), ("The set is unbounded", False)):
        names = [name for name, ends in weak.items() if (ends.kind == "everything") == whole]
        out += _by_reason(words, {name: why[name] for name in names})
    return out


def without_sampling(fit: Fit) -> bool:
    """Whether the standard errors leave out sampling, because the noise hides the residual variance."""
    parts = known_values(fit.sampling_sd)
    return bool(parts) and isinstance(fit.s2, NotEstimable) and not any(parts.values())


def _by_reason(words: str, why: Mapping[str, str]) -> list[str]:
    """One sentence for each reason, with the names that it is for."""
    return [
        f"{words} ({', '.join(name for name, own in why.items() if own == reason)}): {reason}."
        for reason in dict.fromkeys(why.values())
    ]


def reasons(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> dict[str, str]:
    """Why a coefficient has no interval, by name, for those whose set is unbounded or that have none."""
    sets = fit.conf_int(level).items()
    why = {name: ends.reason or "" for name, ends in sets if not bounded(ends)}
    more = fit._rows_needed(tuple(name for name, ends in sets if unbounded(ends)), level)
    return {name: f"{reason}; {more[name]}" if name in more else reason for name, reason in why.items()}
