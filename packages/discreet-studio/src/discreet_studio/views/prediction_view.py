"""Predict a hypothetical row, as numbers and as a plot along one of its columns."""

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
    """A column that a prediction needs: the typed text, the options and the allowed values."""

    name: str
    typed: str
    options: list[tuple[str, str]]
    hint: str
    cell: object
    error: str = ""


def places(fit: discreet.Fit, query: Form) -> list[Place]:
    """Return every column that a prediction needs."""
    columns = fit.table_columns if fit.estimable else {}
    return [_place(name, column, query.get(f"x:{name}")) for name, column in columns.items()]


def _place(name: str, column: Any, typed: str) -> Place:  # noqa: ANN401  # one of the kinds of column
    if hasattr(column, "levels"):
        named = {str(level): level for level in column.levels}
        options = [("", "the reference"), *((one, one) for one in named)]
        error = f"there is no level {typed!r}" if typed and typed not in named else ""
        return Place(name, typed, options, "", named.get(typed, typed), error)
    if not hasattr(column, "bounds"):
        options = [("", "no, unless you choose"), ("yes", "yes"), ("no", "no")]
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


def predicted(fit: discreet.Fit, level: float, asked: list[Place]) -> tuple[float, object, object] | None:
    """Return the prediction of a row with its two intervals, or None unless every column is filled in."""
    if not all(one.typed for one in asked):
        return None
    rows = {one.name: [one.cell] for one in asked}
    found = fit.get_prediction(rows)
    mean, new = found.conf_int(level), found.conf_int(level, obs=True)
    return float(fit.predict(rows)[0]), mean[0], new[0]


def drawn(fit: discreet.Fit, level: float, asked: list[Place], query: Form, path: Path | None = None) -> Figure:
    """Plot predictions along one column, with the others as typed or in the middle of their bounds."""
    along = query.get("along")
    at = {one.name: one.cell for one in asked if one.typed and one.name != along}
    return fit.plot_prediction(along, path, at=at, obs=query.get("band") == "one", level=level)


def facts(space: Workspace, query: Form, fit: discreet.Fit, level: float, key: tuple[object, ...]) -> dict[str, Any]:
    """Return the values that the page shows."""
    asked = places(fit, query)
    shown: dict[str, Any] = {
        "row": asked, "bands": BANDS, "predicted": None, "prediction_error": "", "along_drawn": "",
    }  # fmt: skip
    try:
        if any(one.error for one in asked):
            return shown
        if any(one.typed for one in asked):
            shown["predicted"] = predicted(fit, level, asked)
        if query.get("along") and asked:
            label = f"Prediction of {fit.target} by {query.get('along')}"
            shown["along_drawn"] = space.remembered(
                "along", *key, query.get("along"), query.get("band"), [one.typed for one in asked],
                make=lambda: space.picture(lambda: drawn(fit, level, asked, query), label),
            )  # fmt: skip
    except discreet.DiscreetError as error:
        shown["prediction_error"] = here(error)
    return shown
