"""The table of several fits: a column for each, and below every estimate its error, interval or p-value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from discreet.analyst.diagnostics.error_notes import PENALISED_INTERVALS, reasons, without_sampling
from discreet.analyst.inference.coefficient_noise import known_before
from discreet.analyst.summary.coefficient_table import estimates
from discreet.analyst.tables.cells import (
    WEAK,
    errors_cell,
    estimate_cell,
    model_cell,
    number_cell,
    p_cell,
    promise_note,
    ratio_cell,
    rows_cell,
    rows_note,
    set_cell,
    stars_of,
)
from discreet.analyst.tables.grid import EMPTY, Grid, Row
from discreet.analyst.tables.one_model import missing_statistics, reason_notes, selection_note
from discreet.analyst.values.estimates import Interval, beside_set, unbounded
from discreet.analyst.values.not_estimable import NotEstimable

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

Below = Literal["errors", "intervals", "pvalues", "none"]
BELOW: Final[tuple[Below, ...]] = get_args(Below)

_UNDER: Final = {
    "errors": "In parentheses: standard errors, of sampling and privacy noise together.",
    "intervals": "Below each estimate: {percent:g}% confidence interval.",
    "pvalues": "In parentheses: p-values of the score test.",
    "none": "",
}
_PRIVACY_ONLY: Final = (
    "Where the residual variance of a model could not be estimated, its standard errors include privacy noise only."
)
_NOISE_ALONE: Final = (
    "In braces: standard deviation of the privacy noise alone, which includes no sampling error; there are no standard "
    "errors."
)
_ADDS_UP: Final = "The models are from different releases; if these are about the same people, what they spend adds up."


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table of several models is laid out; see `discreet.table`."""

    names: tuple[str, ...]
    level: float
    below: Below
    stars: tuple[float, ...]
    digits: int
    coefficients: tuple[str, ...]
    labels: Mapping[str, str]
    title: str


def several_models(fits: Sequence[Fit], layout: Layout) -> Grid:
    """Give the cells of several fits side by side."""
    body: list[Row] = []
    columns = [_column(fit, layout) for fit in fits]
    for name in layout.coefficients:
        label = layout.labels.get(name, name)
        body.append((label, *(column.get(name, ("", ""))[0] for column in columns)))
        if layout.below != "none":
            body.append(("", *(column.get(name, ("", ""))[1] for column in columns)))
    private = all(fit.release.private for fit in fits)
    return Grid(
        layout.title if private else f"NOT PRIVATE: {layout.title}",
        (("", *layout.names), ("Target", *(fit.target for fit in fits))),
        tuple(body),
        _statistics(fits, layout.level),
        tuple(_notes(fits, layout)),
    )


def _column(fit: Fit, layout: Layout) -> dict[str, tuple[str, str]]:
    """Estimate and what stands below it, by coefficient."""
    sets = fit.conf_int(layout.level)
    out = {}
    for name, value in estimates(fit).items():
        stars = stars_of(fit.pvalues[name], layout.stars)
        out[name] = estimate_cell(value, sets[name], layout.digits) + stars, _under(fit, name, sets[name], layout)
    return out


def _under(fit: Fit, name: str, ends: Interval, layout: Layout) -> str:
    digits = layout.digits
    if known_before(fit.release.noise):
        return f"{{{number_cell(fit.privacy_sd[name], digits)}}}"
    if isinstance(ends, NotEstimable):
        return ""
    match layout.below:
        case "errors":
            return _in_parentheses(number_cell(beside_set(fit.bse[name], ends), digits))
        case "intervals":
            return set_cell(ends, digits)
        case _:
            return _in_parentheses(p_cell(fit.pvalues[name]))


def _in_parentheses(cell: str) -> str:
    return cell if cell == EMPTY else f"({cell})"


def _statistics(fits: Sequence[Fit], level: float) -> tuple[Row, ...]:
    ends = [fit.rsquared_conf_int(level) for fit in fits]
    lines: dict[str, list[str]] = {
        "Rows": [rows_cell(fit) for fit in fits],
        "R²": [ratio_cell(fit.rsquared, one) for fit, one in zip(fits, ends, strict=True)],
        "Adjusted R²": [ratio_cell(fit.rsquared_adj, one) for fit, one in zip(fits, ends, strict=True)],
        "Estimated by": [model_cell(fit) for fit in fits],
        "Standard errors": [errors_cell(fit) for fit in fits],
    }
    return tuple((what, *cells) for what, cells in lines.items())


def _notes(fits: Sequence[Fit], layout: Layout) -> list[str]:
    noise_alone = [known_before(fit.release.noise) for fit in fits]
    notes = [_UNDER[layout.below].format(percent=100 * layout.level)]
    if any(noise_alone) and layout.below != "none":
        notes.append(_NOISE_ALONE)
    if layout.below == "errors" and any(map(without_sampling, fits)):
        notes.append(_PRIVACY_ONLY)
    if layout.stars:
        meant = [f"{'*' * (place + 1)} p < {one:g}" for place, one in enumerate(layout.stars)]
        notes.append(f"{', '.join(meant)}.")
    shown = [fit.conf_int(layout.level) for fit in fits if fit.estimable]
    if any(unbounded(ends) for sets in shown for name, ends in sets.items() if name in layout.coefficients):
        notes.append(WEAK)
    selected = [selection_note(fit.conf_int(layout.level), layout.level) for fit in fits]
    whys = [reasons(fit, layout.level) for fit in fits]
    about = list(zip(fits, whys, strict=True))
    for sentences in (
        [[] if note is None else [note] for note in selected],
        [[PENALISED_INTERVALS] if fit.penalised and fit.interval_target != "none" else [] for fit in fits],
        [reason_notes(fit, why) for fit, why in about],
        [missing_statistics(fit, why) for fit, why in about],
        [[note] if (note := rows_note(fit)) is not None else [] for fit in fits],
        [[promise_note(fit.release)] for fit in fits],
    ):
        notes += _by_column(sentences, layout.names)
    if len({fit.release.digest for fit in fits}) > 1:
        notes.append(_ADDS_UP)
    return list(filter(None, notes))


def _by_column(sentences: Sequence[Sequence[str]], names: Sequence[str]) -> list[str]:
    """Say each sentence once, with the columns that it is about where it is not about all of them."""
    columns: dict[str, list[str]] = {}
    for own, name in zip(sentences, names, strict=True):
        for sentence in own:
            columns.setdefault(sentence, []).append(name)
    return [sentence if len(of) == len(names) else f"{', '.join(of)}: {sentence}" for sentence, of in columns.items()]
