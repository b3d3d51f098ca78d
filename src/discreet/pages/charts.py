"""The forest plot as inline SVG: coloured by the page, without fonts, scripts or references to anything outside.

Names never pass through the drawing library, whose output is searched for colours and identifiers: it draws numbered
places, and the escaped names are put there afterwards.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from discreet.analyst.pictures.effects import Effect, Panel, around_zero
from discreet.analyst.pictures.forest import MOST_LINES as MOST_LINES
from discreet.analyst.pictures.forest import NARROW, Shape, forest, layout, line_name, most, wide_shape
from discreet.analyst.pictures.saving import figure_bytes
from discreet.analyst.pictures.style import Palette, house_style

# colours of the drawing that are placeholders for colours of the page
_COLOURS: Final = {
    "#000001": "var(--paper)",
    "#010101": "var(--ink)",
    "#050505": "var(--faint)",
    "#020202": "var(--rule)",
    "#030303": "var(--sampling)",
    "#040404": "var(--privacy)",
}
_FONTS: Final = "system-ui, sans-serif"


def shapes(effects: Sequence[Effect]) -> tuple[Shape, Shape]:
    """Give the shape for wide pages and the one for narrow pages."""
    return wide_shape([effect.name for effect in effects]), NARROW


def is_magnified(effects: Sequence[Effect], target_width: float) -> bool:
    """Whether intervals are so thin in some drawing that it magnifies them."""
    panels = _panels(effects, target_width)
    return any(layout(panels, shape).magnified is not None for shape in shapes(effects))


def chart(effects: Sequence[Effect], target_width: float, shape: Shape) -> str:
    """Draw estimates with their intervals, split into what rows and what privacy bring; the same text every time.

    Parameters
    ----------
    effects
        In units of the target.
    target_width
        Of the target's declared range.
    shape
        For wide or for narrow pages.
    """
    with house_style("the report", "report"):
        from discreet.analyst.pictures.figure import new_figure

        panels = _panels(effects, target_width)
        found = layout(panels, shape)
        figure = new_figure(shape.width, found.height)
        figure.patch.set_visible(False)
        palette = Palette(*_COLOURS)
        forest(figure, panels, shape, found, palette=palette, shown=lambda position, _: f"name-{position}-")
        names = [line_name(effect, shape) for panel in panels for effect in panel.effects]
        return _inline(figure_bytes(figure, "svg").decode(), names, shape)


def _panels(effects: Sequence[Effect], target_width: float) -> tuple[Panel, ...]:
    return most([Panel("", tuple(effects), around_zero(target_width))])


def _inline(svg: str, names: Sequence[str], shape: Shape) -> str:
    """Cut the drawing down to what a page may hold."""
    body = svg[svg.index("<svg") :]
    size = re.search(r'viewBox="[^"]+"', body)
    head = f'<svg class="chart {shape.key}" {size[0] if size else ""} role="img" aria-label="Forest plot">'
    body = head + body[body.index(">") + 1 :]
    # the library's own style would rule the whole page
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<defs/>", "", body, flags=re.DOTALL)
    body = re.sub(r' id="([^"]+)"', "", body)
    # the library writes a font in one piece or in several
    body = re.sub(r"(font-family:|font: [^;\"]*?px) [^;\"]*", rf"\1 {_FONTS}", body)
    for sign, colour in _COLOURS.items():
        body = body.replace(sign, colour)
    body = re.sub(r">\s+<", "><", body)
    return re.sub(r"name-(\d+)-", lambda found: html.escape(names[int(found[1])]), body).strip()
