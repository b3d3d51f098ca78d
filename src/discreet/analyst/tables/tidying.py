"""A fit in the columns of R's broom: `tidy` has a row for each coefficient, `glance` one for the model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.analyst.diagnostics.error_notes import reasons
from discreet.analyst.inference.coefficient_noise import known_before
from discreet.analyst.summary.coefficient_table import estimates
from discreet.analyst.tables.cells import promise_note
from discreet.analyst.tables.records import Cell, Records
from discreet.analyst.values.estimates import Interval, beside_set
from discreet.analyst.values.not_estimable import NotEstimable, known, reason_of

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit


def tidied(fit: Fit, level: float) -> Records:
    """Give a record for each coefficient."""
    sets, why = fit.conf_int(level), reasons(fit, level)
    own = fit.table_conf_int(level) if known_before(fit.release.noise) else None
    rows: list[dict[str, Cell]] = []
    for name, value in estimates(fit).items():
        low, high = ends_of(sets[name])
        row: dict[str, Cell] = {
            "term": name,
            "estimate": known(value),
            "std.error": known(beside_set(fit.bse[name], sets[name])),
            "statistic": known(fit.score_z[name]),
            "p.value": known(fit.pvalues[name]),
            "conf.low": low,
            "conf.high": high,
            "conf.set": set_words_of(sets[name]),
            "privacy.sd": known(beside_set(fit.privacy_sd[name], sets[name])),
        }
        if own is not None:
            row["table.low"], row["table.high"] = ends_of(own[name])
        rows.append(row | {"private": fit.release.private, "reason": why.get(name)})
    return Records(f"Coefficients of {fit.target}, {100 * level:g}% sets", tuple(rows), (promise_note(fit.release),))


def set_words_of(ends: Interval) -> str | None:
    """Say what kind a set is, in words where it is not an interval."""
    if isinstance(ends, NotEstimable):
        return None
    return ends.kind if ends.bounded else str(ends)


def ends_of(ends: Interval) -> tuple[float | None, float | None]:
    """Give the ends of the smallest interval that holds a set; none where there is no set.

    The outside of a gap has none: read as the ends of an interval, those of the gap would exclude what is possible.

    >>> from discreet.analyst.values.confidence_sets import ConfidenceSet
    >>> ends_of(ConfidenceSet("outside", -2.0, -1.0)), ends_of(ConfidenceSet("above", 1.0))
    ((-inf, inf), (1.0, inf))
    """
    if isinstance(ends, NotEstimable):
        return None, None
    return (-math.inf, math.inf) if ends.kind == "outside" else (ends.lower, ends.upper)


def glanced(fit: Fit) -> Records:
    """Give one record of the model as a whole."""
    guarantee = fit.release.guarantee
    slopes = len(fit.model.slopes)
    given = (fit.rsquared, fit._residual_sd, fit.nobs, fit.fvalue if slopes else None)
    row: dict[str, Cell] = {
        "r.squared": known(fit.rsquared),
        "adj.r.squared": known(fit.rsquared_adj),
        "sigma": known(fit._residual_sd),
        "statistic": known(fit.fvalue),
        "p.value": known(fit.f_pvalue),
        "df": float(slopes),
        "logLik": known(fit.llf),
        "AIC": known(fit.aic),
        "BIC": known(fit.bic),
        "df.residual": known(fit.df_resid),
        "nobs": known(fit.nobs),
        "nobs.sd": None if known(fit.nobs) is None else fit.nobs_sd,
        "epsilon": None if guarantee is None else guarantee.epsilon,
        "delta": None if guarantee is None else guarantee.delta,
        "neighbours": None if guarantee is None else guarantee.neighbours,
        "mechanism": fit.release.mechanism,
        "private": fit.release.private,
        "reason": "; ".join(dict.fromkeys(filter(None, map(reason_of, given)))) or None,
    }
    return Records(f"Model of {fit.target}", (row,), (promise_note(fit.release),))
