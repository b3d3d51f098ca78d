"""Rows of numbers and panels of lines for the figures of the class notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet_papers.drawing import legend, nested, panels, style
from discreet_papers.figure import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame


class Panel(NamedTuple):
    """A panel: title, axis labels, which axes are logarithmic, and whether its numbers are squares."""

    title: str
    x_label: str
    y_label: str
    log: str = ""
    squares: bool = False


def drawn(
    numbers: DataFrame,
    layout: Sequence[Panel],
    labels: Mapping[str, str],
    *,
    columns: int = 2,
    across: int | None = None,
) -> Picture:
    """Draw panels of lines through the mean of the repetitions, or its square root if the numbers are squares.

    Earlier lines are wider, so that lines that coincide are all visible.
    """
    picture, grid = panels([panel.title for panel in layout], across=across or len(layout))
    for axes, panel in zip(grid, layout, strict=True):
        inside = numbers[numbers["panel"] == panel.title]
        here = set(inside["line"])
        shown = [(position, name) for position, name in enumerate(labels) if name in here]
        for layer, (position, name) in enumerate(shown):
            middle = inside[inside["line"] == name].groupby("x")["value"].mean()
            values = np.sqrt(middle) if panel.squares else middle
            axes.plot(middle.index, values, label=labels[name], **nested(style(position), layer, len(shown)))
        axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
        axes.set_xscale("log" if "x" in panel.log else "linear")
        axes.set_yscale("log" if "y" in panel.log else "linear")
    width, height = picture.get_size_inches()
    # keep the legend out of the panels
    picture.set_size_inches(width, height + 0.22 * -(-len(labels) // columns))
    legend(picture, grid, columns=columns)
    return picture


def mean_of(numbers: DataFrame, panel: str, line: str, x: float) -> float | None:
    """Return the mean of a line at one point of a panel, or None if there are no numbers."""
    values = numbers[(numbers["panel"] == panel) & (numbers["line"] == line) & (numbers["x"] == x)]["value"]
    return None if values.empty else float(values.mean())


def row(panel: str, line: str, x: float, value: float, repeat: int = 0) -> Row:
    """Return one number of a figure as a row."""
    return {"panel": panel, "line": line, "x": float(x), "repeat": repeat, "value": float(value)}
