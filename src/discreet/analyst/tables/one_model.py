"""The table of one fit: a row for each coefficient, with its error, test and confidence set beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.analyst.diagnostics.error_notes import (
    PENALISED_INTERVALS,
    PRIVACY_ONLY,
    PRIVACY_PART,
    SCORE_PAGE,
    SELECTION,
    reasons,
    without_sampling,
)
from discreet.analyst.inference.coefficient_noise import known_before
from discreet.analyst.summary.coefficient_table import estimates
from discreet.analyst.tables.cells import (
    WEAK,
    estimate_cell,
    model_cell,
    number_cell,
    p_cell,
    promise_note,
    ratio_cell,
    rows_cell,
    rows_note,
    set_cell,
)
from discreet.analyst.tables.grid import Grid, Row
from discreet.analyst.values.estimates import ByName, Interval, beside_set, bounded, unbounded
from discreet.analyst.values.not_estimable import known, reason_of

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit


def one_model(fit: Fit, level: float, digits: int) -> Grid:
    """Give the cells of one fit; with fewer columns where less is known of its errors."""
    heads, body = _coefficients(fit, level, digits)
    sets, why = fit.conf_int(level), reasons(fit, level)
    rest = ("",) * (len(heads) - 2)
    ends = fit.rsquared_conf_int(level)
    lines = [
        ("Rows", rows_cell(fit)),
        ("R²", ratio_cell(fit.rsquared, ends)),
        ("Adjusted R²", ratio_cell(fit.rsquared_adj, ends)),
        ("Residual sd", number_cell(fit._residual_sd, digits)),
    ]
    notes = [
        f"Estimated by {model_cell(fit)}." if not fit.fitted_inside else None,
        *(() if fit.interval_target == "none" else error_notes(fit)),
        WEAK if fit.estimable and any(map(unbounded, sets.values())) else None,
        selection_note(sets, level),
        *reason_notes(fit, why),
        *missing_statistics(fit, why),
        rows_note(fit),
        promise_note(fit.release),
    ]
    return Grid(
        title_of(fit),
        (heads,),
        tuple(body),
        tuple((*line, *rest) for line in lines),
        tuple(note for note in notes if note is not None),
    )


def title_of(fit: Fit) -> str:
    """Say what is regressed, and that it is not private where it is not."""
    mark = "" if fit.release.private else "NOT PRIVATE: "
    return f"{mark}{fit.target}: linear regression from a release"


def error_notes(fit: Fit) -> list[str]:
    """Say what standard errors, p-values and sets count, and of which coefficients they are."""
    return [
        f"{PRIVACY_ONLY if without_sampling(fit) else 'Standard errors include sampling and privacy noise.'} "
        f"{PRIVACY_PART}.",
        SCORE_PAGE,
        *([PENALISED_INTERVALS] if fit.penalised else []),
    ]


def selection_note(sets: ByName[Interval], level: float) -> str | None:
    """Say that intervals beside unbounded sets cover too little; nothing where all sets are of one kind."""
    if not (any(map(bounded, sets.values())) and any(map(unbounded, sets.values()))):
        return None
    return SELECTION.format(percent=100 * level)


def reason_notes(fit: Fit, why: Mapping[str, str]) -> list[str]:
    """Say why coefficients have no interval, one sentence for each reason."""
    grouped = {reason: [name for name, own in why.items() if own == reason] for reason in dict.fromkeys(why.values())}
    return [
        f"No interval: {reason}." if len(names) == len(fit.names) else f"No interval ({', '.join(names)}): {reason}."
        for reason, names in grouped.items()
    ]


def missing_statistics(fit: Fit, why: Mapping[str, str]) -> list[str]:
    """Say why the model has no R^2, residual spread or number of rows; no reason twice."""
    said, out = list(why.values()), []
    for what, value in (("R²", fit.rsquared), ("residual sd", fit._residual_sd), ("number of rows", fit.nobs)):
        reason = reason_of(value)
        if reason is not None and not any(reason in one for one in said):
            out.append(f"No {what}: {reason}.")
            said.append(reason)
    return out


def _coefficients(fit: Fit, level: float, digits: int) -> tuple[Row, list[Row]]:
    values, interval = estimates(fit), f"{100 * level:g}% interval"
    if known_before(fit.release.noise):
        own = fit.table_conf_int(level)
        body: list[Row] = [
            (
                name,
                estimate_cell(value, own[name], digits),
                number_cell(fit.privacy_sd[name], digits),
                set_cell(own[name], digits),
            )
            for name, value in values.items()
        ]
        return ("", "coef", "privacy sd", f"{interval}, this table"), body
    sets = fit.conf_int(level)
    if fit.interval_target == "none":
        return ("", "coef"), [(name, estimate_cell(value, sets[name], digits)) for name, value in values.items()]
    body = []
    for name, value in values.items():
        share = known(fit.privacy_share[name])
        body.append(
            (
                name,
                estimate_cell(value, sets[name], digits),
                number_cell(beside_set(fit.bse[name], sets[name]), digits),
                number_cell(beside_set(fit.tvalues[name], sets[name]), digits),
                p_cell(fit.pvalues[name]),
                set_cell(sets[name], digits),
                number_cell(fit.privacy_share[name], digits) if share is None else f"{share:.0%}",
            )
        )
    return ("", "coef", "std err", "t", "p", interval, "privacy"), body
