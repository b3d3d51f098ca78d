"""The picture of a fit: the forest plot with a title, a key above the data, and what it was made from."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from discreet.analyst.diagnostics.error_notes import reasons
from discreet.analyst.pictures.effects import Panel, Scale, panels
from discreet.analyst.pictures.forest import MOST_LINES, forest, layout, most, wide_shape
from discreet.analyst.pictures.style import WRAPPED, below_head, head, heading, house_style, key_line, release_line
from discreet.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from discreet.analyst.fitted import Fit

EFFECTS: Final = {
    "range": "Change over the declared range of each column",
    "unit": "Coefficients in the units of their columns",
}


def coefficient_figure(fit: Fit, level: float, scale: Scale) -> Figure:
    """Draw the coefficients of a fit with their intervals.

    Parameters
    ----------
    fit
        With at least one coefficient on this scale.
    level
        Of the confidence sets.
    scale
        `range` for one panel in units of the target, `unit` for a panel for each unit.
    """
    with house_style("a picture of coefficients"):
        from discreet.analyst.pictures.figure import new_figure

        every = panels(fit, level, scale)
        if not every:
            raise SpecError('the model has no slope to plot; use the scale "unit" (--scale unit) for its intercept')
        drawn = most(every)
        shape = wide_shape([effect.name for panel in drawn for effect in panel.effects])
        lines = _lines(fit, level, scale, every)
        has_key = fit.interval_target != "none" or any(one.table_low is not None for p in every for one in p.effects)
        above = below_head([*lines, *(["key"] if has_key else [])]) + 8.0
        found = layout(drawn, shape, above=above, labels=True)
        figure = new_figure(shape.width, found.height + 22.0)
        head(figure, _title(fit), lines)
        if has_key:
            key_line(figure, below_head(lines), sampling=fit.interval_target != "none")
        forest(figure, drawn, shape, found, above=above, labels=True)
        more = "" if found.magnified is None else "; magnified: every interval, each drawn to the same width"
        heading(figure, found.height, release_line(fit.release) + more)
        return figure


def _title(fit: Fit) -> str:
    return fit.target if fit.release.private else f"NOT PRIVATE: {fit.target}"


def _lines(fit: Fit, level: float, scale: Scale, every: Sequence[Panel]) -> list[str]:
    """What stands under the title."""
    what = EFFECTS[scale] + (" (penalised)" if fit.penalised else "")
    table_known = any(one.table_low is not None for panel in every for one in panel.effects)
    if fit.interval_target != "none":
        what += f", with {100 * level:.4g}% confidence sets"
    elif table_known:
        what += f", with {100 * level:.4g}% intervals for this very table"
    lines = [what]
    if fit.interval_target == "none":
        why = next(iter(reasons(fit, level).values()))
        lines += textwrap.wrap(f"No {'other ' if table_known else ''}intervals: {why}", WRAPPED)
    size = sum(len(panel.effects) for panel in every)
    if size > MOST_LINES:
        lines.append(f"The {MOST_LINES} largest of {size:,} are shown")
    return lines
