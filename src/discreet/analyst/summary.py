"""A fit in plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

CLIPPED: Final = "Values outside the declared bounds were clipped, so the coefficients describe the clipped rows."
SHRUNK: Final = (
    "Rows outside the declared radius were shrunk to it, so the coefficients describe the shrunk rows; "
    "predictions take rows as they are."
)
PENALISED: Final = (
    "Penalised coefficients: pulled towards 0 on purpose, for prediction; they do not estimate those of least squares."
)
REPAIRED: Final = (
    "Repaired: the noise left the sums of products too close to indefinite, so {shift:.6g} was added to their "
    "diagonal; take fewer features, more rows or a larger epsilon to do without."
)
_WIDTH: Final = 88


def notes(fit: Fit) -> list[str]:
    """Say what a reader of the coefficients must know about the rows behind them and about the penalty."""
    out = [CLIPPED] if fit.release.design.radius is None else [CLIPPED, SHRUNK]
    if fit.penalised:
        out.append(PENALISED)
    if fit.repair > 0:
        out.append(REPAIRED.format(shift=fit.repair))
    return out


def row_count(fit: Fit) -> str:
    """Give the number of rows as far as it may be told.

    A noisy count is shown to whole rows, never as if it were exact.
    """
    count = f"{round(fit.nobs):,}"
    if fit.nobs_sd > 0:
        return f"about {count} (noisy count)"
    return count if fit.release.units_public is None else f"{count} (public)"


def penalty_line(fit: Fit) -> str:
    """Name the penalty and the ridge it came to."""
    if not fit.penalised:
        return "none (ordinary least squares)"
    strength = "" if fit.strength is None else f", strength {fit.strength:g}"
    chosen = " (by criterion)" if fit.selected else ""
    ratio = "" if fit.l1_ratio is None else f", l1_ratio {fit.l1_ratio:g}"
    return f"{fit.penalty}{strength}{chosen}{ratio}, ridge {fit.ridge:.6g} on the scaled columns"


def summary_text(fit: Fit) -> str:
    """Write the table that `Fit.summary` gives."""
    guarantee = fit.release.guarantee
    lines = [
        "Linear regression from a release" + ("" if guarantee is not None else " -- NOT PRIVATE"),
        f"Target:   {fit.target}",
        f"Rows:     {row_count(fit)}",
        *textwrap.wrap(f"Penalty:  {penalty_line(fit)}", _WIDTH, subsequent_indent=" " * 10),
        "-" * _WIDTH,
        *fit.params.lines(),
        "-" * _WIDTH,
    ]
    promise = "NOT PRIVATE: this release carries no privacy guarantee." if guarantee is None else guarantee.sentence()
    for paragraph in (promise, *notes(fit), "Standard errors are not part of this version's table."):
        lines += textwrap.wrap(paragraph, _WIDTH)
    return "\n".join(lines) + "\n"
