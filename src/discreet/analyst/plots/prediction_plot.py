"""Plots of predictions along one column, with the other columns held fixed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.notes import reasons
from discreet.analyst.plots.coefficient_plots import Effect, Panel, forest, layout, target_bounds, wide_shape
from discreet.analyst.plots.style import (
    BAND,
    LIGHT,
    SMALL,
    WRAPPED,
    below_head,
    head,
    heading,
    house_style,
    key_line,
    place,
    quiet_axis,
    release_line,
    shortened,
    text_width,
    words,
)
from discreet.design.columns import Base, Boolean, Cell, Numeric
from discreet.design.dates import date_text, day_of_text
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.number_text import axis_number, percent
from discreet.privacy.checks import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.analyst.fitted import Fit
    from discreet.analyst.prediction import PredictionSets

_POINTS: Final = 101
_BEYOND: Final = 0.1  # the plot extends at most this fraction of the target's range beyond either end
_WIDTH, _HEIGHT = 820.0, 360.0


@dataclass(frozen=True, eq=False)
class PredictedLine:
    """Predictions along one column."""

    column: str
    values: tuple[Cell, ...]  # in the column's declared range or levels; dates are ISO 8601 text
    at: Mapping[str, Cell]  # values of all other columns that the model needs
    level: float
    obs: bool  # whether the sets are for a new observation instead of the mean
    # predictions, their confidence sets, and the fraction of each variance that is privacy noise (0 without a set)
    mean: FloatArray
    sets: PredictionSets
    privacy_share: FloatArray

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        sets = [self.sets[index] for index in range(len(self.values))]
        return {
            "column": self.column,
            "at": dict(self.at),
            "level": self.level,
            "obs": self.obs,
            "points": [
                {"value": value, "mean": mean, "conf_int": None if ends is None else ends.to_dict(), "reason": reason}
                for value, mean, ends, reason in zip(
                    self.values, self.mean.tolist(), sets, self.sets.reasons, strict=True
                )
            ],
        }


def predicted_line(
    fit: Fit, column: object, at: Mapping[str, object] | None, level: float, *, obs: bool
) -> PredictedLine:
    """Predict along one column, with other columns as in `at`, or else at their midpoint, false or reference level."""
    columns = fit.table_columns
    if not isinstance(column, str) or column not in columns:
        if not columns:
            raise SpecError("the model has no features, so its prediction is constant; add features to plot it")
        raise SpecError.unknown_name("column", column, columns)
    held = _held(columns, column, {} if at is None else at)
    values = _values(columns[column])
    frame = {name: [held[name]] * len(values) for name in held} | {column: list(values)}
    prediction = fit.get_prediction(frame)
    share = prediction.privacy_share(obs=obs).filled(0.0)
    sets = prediction.conf_int(level, obs=obs)
    return PredictedLine(column, values, held, level, obs, fit.predict(frame), sets, share)


def _held(columns: Mapping[str, Base], column: str, at: object) -> dict[str, Cell]:
    if not isinstance(at, Mapping):
        raise SpecError(f"at: expected a mapping from columns to values, such as {{'age': 40}}, got {shown(at)}")
    others = [name for name in columns if name != column]
    for name in at:
        if name == column:
            raise SpecError(f"at: expected columns other than {name!r}, which is on the horizontal axis; leave it out")
        if name not in others:
            raise SpecError.unknown_name("column", name, others, " in at")
    return {name: _stated(name, columns[name], at[name]) if name in at else _middle(columns[name]) for name in others}


def _middle(column: Base) -> Cell:
    if isinstance(column, Numeric):
        return date_text(column.mid) if column.is_date else column.mid
    if isinstance(column, Boolean):
        return False
    return column.levels[0] if column.reference is None else column.reference


def _stated(name: str, column: Base, value: object) -> Cell:
    """Return the value given for a column, or raise if the declaration does not allow it."""
    if isinstance(column, Numeric):
        low, high = column.bounds
        if column.is_date:
            day = day_of_text(value.isoformat() if isinstance(value, date) else value if isinstance(value, str) else "")
            if day is not None and low <= day <= high:
                return date_text(day)
            ends = f"{column.value_text(low)} to {column.value_text(high)}"
            raise SpecError(f"at: expected a date from {ends} for {name!r}, got {shown(value)}")
        if is_number(value) and low <= value <= high:
            return float(value)
        raise SpecError(f"at: expected a number from {low:g} to {high:g} for {name!r}, got {shown(value)}")
    if isinstance(column, Boolean):
        if isinstance(value, bool | np.bool_) or (is_number(value) and value in (0, 1)):
            return bool(value)
        raise SpecError(f"at: expected true or false for {name!r}, got {shown(value)}")
    for level in column.levels:
        if type(value) is type(level) and value == level:
            return level
    raise SpecError.unknown_name("level", value, map(str, column.levels), f" of {name!r} in at")


def _values(column: Base) -> tuple[Cell, ...]:
    if isinstance(column, Numeric):
        points = np.linspace(*column.bounds, _POINTS)
        return tuple(map(date_text, np.unique(points.round()))) if column.is_date else tuple(points.tolist())
    return (False, True) if isinstance(column, Boolean) else column.levels


def prediction_figure(fit: Fit, line: PredictedLine) -> Figure:
    """Plot a line with a band for a numeric column, or an interval for each level otherwise."""
    with house_style("a plot of predictions"):
        return _of_numbers(fit, line) if _is_number(fit, line) else _of_levels(fit, line)


def _is_number(fit: Fit, line: PredictedLine) -> bool:
    return isinstance(fit.table_columns[line.column], Numeric)


def _of_levels(fit: Fit, line: PredictedLine) -> Figure:
    from discreet.analyst.plots.style import new_figure

    effects = tuple(_effect(line, index) for index in range(len(line.values)))
    panel = Panel(f"predicted {fit.target}", effects, _window(fit), zero=False)
    shape = wide_shape([effect.name for effect in effects])
    above = _above(fit, line)
    found = layout([panel], shape, above=above, labels=True)
    figure = new_figure(shape.width, found.height + 22)
    _head(figure, fit, line)
    forest(figure, [panel], shape, found, above=above, labels=True)
    heading(figure, found.height, release_line(fit.release))
    return figure


def _effect(line: PredictedLine, index: int) -> Effect:
    name, mean, ends = _cell(line.values[index]), float(line.mean[index]), line.sets[index]
    if ends is None:
        return Effect(name, mean, None, None, None, None)
    low, high = (end if math.isfinite(end) else None for end in (ends.lower, ends.upper))
    if low is None or high is None or ends.kind != "interval":
        return Effect(name, None if ends.kind == "everything" else mean, low, high, None, None, kind=ends.kind)
    part = math.sqrt(1 - line.privacy_share[index])
    return Effect(name, mean, low, high, mean + (low - mean) * part, mean + (high - mean) * part, kind="interval")


def _window(fit: Fit) -> tuple[float, float]:
    low, high = target_bounds(fit)
    more = _BEYOND * (high - low)
    return low - more, high + more


def _of_numbers(fit: Fit, line: PredictedLine) -> Figure:
    from discreet.analyst.plots.style import new_figure

    above = _above(fit, line)
    figure = new_figure(_WIDTH, above + _HEIGHT + 76)
    _head(figure, fit, line)
    x = np.array([day_of_text(value) if isinstance(value, str) else value for value in line.values], dtype=np.float64)
    low, high = _drawn(fit, line)
    left = 24 + max(text_width(axis_number(float(f"{end:.3g}")), SMALL) for end in (low, high))
    axes = place(figure, left, above, _WIDTH - left - 24, _HEIGHT)
    axes.set(xlim=(x[0], x[-1]), ylim=(low, high))
    axes.locator_params(axis="both", nbins=6)
    for axis in (axes.xaxis, axes.yaxis):
        quiet_axis(axis)
    if isinstance(line.values[0], str):
        axes.locator_params(axis="x", integer=True)
        axes.xaxis.set_major_formatter(lambda day, _: date_text(day))
    axes.set_axisbelow(True)
    _bands(axes, line, x)
    axes.plot(x, line.mean, color=LIGHT.ink, linewidth=2.2)
    words(axes, 0.0, low, shortened(line.column, 60), colour=LIGHT.faint, size=SMALL, move=(0, -34), x_of_axes=True)
    heading(figure, above + _HEIGHT + 52, release_line(fit.release))
    return figure


def _drawn(fit: Fit, line: PredictedLine) -> tuple[float, float]:
    """Return the ends of the target's axis."""
    bounded = line.sets.kind == "interval"
    values = np.concatenate([line.mean, line.sets.lower.data[bounded], line.sets.upper.data[bounded]])
    first, last = _window(fit)
    low, high = max(float(values.min()), first), min(float(values.max()), last)
    if not low < high or not np.isin(line.sets.kind, ("interval", "")).all():
        low, high = min(low, target_bounds(fit)[0]), max(high, target_bounds(fit)[1])
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _bands(axes: Axes, line: PredictedLine, x: FloatArray) -> None:
    """Draw the confidence set at every value, with an arrow where it is unbounded."""
    bottom, top = axes.get_ylim()
    kind = line.sets.kind
    lower, upper = (np.clip(ends.filled(0.0), bottom, top) for ends in (line.sets.lower, line.sets.upper))
    no_lower, no_upper = np.isin(kind, ("outside", "below", "everything")), np.isin(kind, ("above", "everything"))
    low, high = np.where(no_lower, bottom, lower), np.where(no_upper, top, np.where(kind == "outside", lower, upper))
    axes.fill_between(x, low, high, where=kind != "", color=LIGHT.privacy, alpha=BAND, linewidth=0)
    axes.fill_between(x, upper, top, where=kind == "outside", color=LIGHT.privacy, alpha=BAND, linewidth=0)
    part = np.sqrt(1 - line.privacy_share)
    raw = [np.where(kind == "interval", ends.filled(0.0), line.mean) for ends in (line.sets.lower, line.sets.upper)]
    inner_low, inner_high = (np.clip(line.mean + (ends - line.mean) * part, bottom, top) for ends in raw)
    for colour, much in ((LIGHT.paper, 1.0), (LIGHT.sampling, BAND)):
        bounded = kind == "interval"
        axes.fill_between(x, inner_low, inner_high, where=bounded, color=colour, alpha=much, linewidth=0)
    for edge, side, open_ended in ((top, 1, no_upper | (kind == "outside")), (bottom, -1, no_lower)):
        for start, end in _runs(open_ended):
            _arrow(axes, float(x[start] + x[end]) / 2, edge, side)


def _runs(chosen: np.typing.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last index of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [(int(start), int(end) - 1) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _arrow(axes: Axes, x: float, edge: float, side: int) -> None:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    wide, high = 8 * (right - left) / (_WIDTH - 100), 14 * (top - bottom) / _HEIGHT
    axes.fill((x - wide, x + wide, x), (edge - side * high, edge - side * high, edge), color=LIGHT.ink, linewidth=0)


def _head(figure: Figure, fit: Fit, line: PredictedLine) -> None:
    mark = "" if fit.release.private else "NOT PRIVATE: "
    lines = _lines(fit, line)
    head(figure, f"{mark}{fit.target} by {line.column}", lines)
    if (line.sets.kind != "").any():
        key_line(figure, below_head(lines), sampling=True, upright=not _is_number(fit, line))


def _above(fit: Fit, line: PredictedLine) -> float:
    return below_head([*_lines(fit, line), *(["key"] if (line.sets.kind != "").any() else [])]) + 10.0


def _lines(fit: Fit, line: PredictedLine) -> list[str]:
    """Return the lines below the title: what is plotted, and the values of the other columns."""
    what = "a new observation" if line.obs else "the mean"
    lines = [f"Prediction with {percent(line.level)} confidence sets for {what}"]
    if not (line.sets.kind != "").any():
        why = next(iter(reasons(fit, line.level).values()), next(filter(None, line.sets.reasons), ""))
        lines = ["Prediction", *textwrap.wrap(f"No intervals: {why}", WRAPPED)]
    if line.at:
        others = ", ".join(f"{shortened(name, 30)} = {_cell(value)}" for name, value in line.at.items())
        lines += textwrap.wrap(f"With {others}", WRAPPED, max_lines=3, placeholder=" …")
    return lines


def _cell(value: Cell) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return axis_number(value) if isinstance(value, float) else shortened(str(value), 30)
