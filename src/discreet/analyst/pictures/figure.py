"""A figure that a notebook shows by itself; it needs the library that draws, so it is imported with a picture."""

from __future__ import annotations

from matplotlib.figure import Figure

from discreet.analyst.pictures.saving import figure_bytes
from discreet.analyst.pictures.style import POINT


class Picture(Figure):
    """A figure without a window, which a notebook shows as SVG even where pyplot was never imported."""

    def _repr_svg_(self) -> str:
        return figure_bytes(self, "svg").decode()


def new_figure(width: float, height: float) -> Picture:
    """Give an empty figure of a size in pixels."""
    return Picture(figsize=(width / POINT, height / POINT), dpi=POINT)
