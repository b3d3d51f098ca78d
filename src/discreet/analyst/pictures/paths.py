"""The picture of a path: slopes against the strength of the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.analyst.pictures.lines import MOST_NAMES, Line, Words, line_figure
from discreet.analyst.pictures.style import release_line
from discreet.analyst.values.digits import axis_number
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.analyst.path import Path


def path_figure(path: Path, slopes: FloatArray, names: Sequence[str]) -> Figure:
    """Draw slopes of the scaled columns, shape (m, number of strengths), from the strongest penalty to the weakest."""
    lines = ["Slopes of columns scaled to [-1, 1]; the penalty becomes weaker to the right"]
    if len(names) > MOST_NAMES:
        lines.append(f"Named: the {MOST_NAMES} largest of {len(names):,} at the weakest penalty")
    chosen = None
    if path.chosen is not None:
        strength = float(path.strengths[path.chosen])
        chosen = (strength, f"chosen: {axis_number(float(f'{strength:.3g}'))}")
    return line_figure(
        [Line(name, path.strengths, values) for name, values in zip(names, slopes, strict=True)],
        Words(path.title, tuple(lines), "strength", release_line(path.release)),
        falling=True,
        mark=chosen,
    )
