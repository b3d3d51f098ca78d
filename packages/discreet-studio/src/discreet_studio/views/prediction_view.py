"""Predict the target for a hypothetical row, as numbers and as a plot along one of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import discreet
from discreet_studio.advice import here
from discreet_studio.forms import Form
from discreet_studio.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

BANDS: Final = {"mean": "the mean of such people", "one": "one new person"}
_WORDS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Place:
    """A column that a prediction needs: typed text, options, a hint about allowed values, and the parsed cell."""

    name: str
    typed: str
    options: list[tuple[str, str]]
    hint: str
    cell: object
    error: str = ""


def places(fit: discreet.Fit, query: Form) -> list[Place]:
    """Return all columns that a prediction needs."""
    columns = fit.table_columns if fit.estimable else {}
    return [_place(name, column, query.get(f"x:{name}")) for name, column in columns.items()]


def _place(name: str, column: Any, typed: str) -> Place:  # noqa: ANN401  # one of the kinds of column
    if hasattr(column, "levels"):
        named = {str(level): level for level in column.levels}
        options = [("", "the reference level"), *((level, level) for level in named)]
        error = f"expected a declared level, got {typed!r}" if typed and typed not in named else ""
        return Place(name, typed, options, "", named.get(typed, typed), error)
    if not hasattr(column, "bounds"):
        options = [("", "no (default)"), ("yes", "yes"), ("no", "no")]
        error = f"expected yes or no, got {typed!r}" if typed and typed.lower() not in _WORDS else ""
        return Place(name, typed, options, "", _WORDS.get(typed.lower(), typed), error)
    hint = f"From {column.range_text.strip('[]').replace(', ', ' to ')}."
    if column.is_date:
        return Place(name, typed, [], hint, typed)
    cell = _number(typed)
    return Place(name, typed, [], hint, cell, f"expected a number, got {typed!r}" if typed and cell is typed else "")


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def predicted(fit: discreet.Fit, level: float, columns: list[Place]) -> tuple[float, object, object] | None:
    """Return the prediction for a row with its two intervals, or None unless every column is filled in."""
    if not all(column.typed for column in columns):
        return None
    rows = {column.name: [column.cell] for column in columns}
    prediction = fit.get_prediction(rows)
    mean, new = prediction.conf_int(level), prediction.conf_int(level, obs=True)
    return float(fit.predict(rows)[0]), mean[0], new[0]


def drawn(fit: discreet.Fit, level: float, columns: list[Place], query: Form, path: Path | None = None) -> Figure:
    """Plot predictions along one column, with the others as typed or in the middle of their bounds."""
    along = query.get("along")
    at = {column.name: column.cell for column in columns if column.typed and column.name != along}
    return fit.plot_prediction(along, path, at=at, obs=query.get("band") == "one", level=level)


def facts(space: Workspace, query: Form, fit: discreet.Fit, level: float, key: tuple[object, ...]) -> dict[str, Any]:
    """Return the values for the prediction part of the page."""
    columns = places(fit, query)
    shown: dict[str, Any] = {
        "row": columns, "bands": BANDS, "predicted": None, "prediction_error": "", "along_drawn": "",
    }  # fmt: skip
    try:
        if any(column.error for column in columns):
            return shown
        if any(column.typed for column in columns):
            shown["predicted"] = predicted(fit, level, columns)
        if query.get("along") and columns:
            label = f"Prediction of {fit.target} by {query.get('along')}"
            shown["along_drawn"] = space.remembered(
                "along", *key, query.get("along"), query.get("band"), [column.typed for column in columns],
                make=lambda: space.picture(lambda: drawn(fit, level, columns, query), label),
            )  # fmt: skip
    except discreet.DiscreetError as error:
        shown["prediction_error"] = here(error)
    return shown
