"""The forest plot as inline SVG: coloured by the page, without fonts, scripts or references to anything outside.

Names never pass through the drawing library, which would read some of them as formulas: it draws numbered places, and
the escaped names are put there afterwards.
"""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from discreet.pages.libraries import check_libraries
from discreet.pages.text import escape_control, shortened
from discreet.pages.view import Effect

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# colours of the drawing that are placeholders for colours of the page
_COLOURS: Final = {
    "#010101": "var(--ink)",
    "#020202": "var(--rule)",
    "#030303": "var(--sampling)",
    "#040404": "var(--privacy)",
    "#050505": "var(--faint)",
}
_INK, _RULE, _SAMPLING, _PRIVACY, _FAINT = _COLOURS
_DRAWN_WIDTHS: Final = 1.1  # widths of the target's range that are drawn; beyond it lies only noise
_CUT: Final = "…"
_LETTER: Final = 0.56  # of the font size, for a letter of middling width


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a drawing in CSS pixels at its full width.

    Attributes
    ----------
    beside
        Whether names are beside their lines rather than above them.
    letters
        How much of a name is shown.
    """

    key: str
    width: int
    row: int
    font: int
    beside: bool
    letters: int


WIDE: Final = Shape("wide", 820, 30, 14, beside=True, letters=34)
NARROW: Final = Shape("narrow", 340, 46, 13, beside=False, letters=40)


def forest(effects: Sequence[Effect], target_width: float, shape: Shape) -> str:
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
    check_libraries()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    height = shape.row * len(effects) + 34
    with mpl.rc_context():
        # the reader's own settings must not show, or the same release would give another page
        mpl.rcdefaults()
        mpl.rc("svg", fonttype="none", hashsalt=shape.key)
        mpl.rc("axes", unicode_minus=False)
        mpl.rc("font", size=shape.font)
        figure = Figure(figsize=(shape.width / 72, height / 72), dpi=72)
        figure.patch.set_visible(False)
        letters = max(min(len(effect.name), shape.letters) for effect in effects)
        left = min(letters * _LETTER * shape.font + 18, shape.width * 0.4) if shape.beside else 12.0
        axes = figure.add_axes((left / shape.width, 30 / height, 1 - (left + 26) / shape.width, 1 - 34 / height))
        _frame(axes, effects, target_width)
        for index, effect in enumerate(effects):
            _interval(axes, effect, len(effects) - 1 - index - (0.0 if shape.beside else 0.2), shape)
        for index in range(len(effects)):
            _label(axes, index, len(effects) - 1 - index, shape)
        content = io.BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _inline(content.getvalue().decode(), effects, shape)


def _frame(axes: Axes, effects: Sequence[Effect], target_width: float) -> None:
    limit = _DRAWN_WIDTHS * target_width
    drawn = [value for e in effects for value in (e.estimate, *_ends(e)) if value is not None]
    low, high = max(min([*drawn, 0.0]), -limit), min(max([*drawn, 0.0]), limit)
    if low == high:
        low, high = -target_width / 2, target_width / 2
    margin = 0.04 * (high - low)
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(-0.6, len(effects) - 0.4)
    axes.patch.set_visible(False)
    axes.spines[:].set_visible(False)
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.tick_params(axis="x", length=0, labelcolor=_FAINT, pad=6)
    # a clip path would be a reference
    axes.grid(visible=True, axis="x", color=_RULE, linewidth=1, clip_on=False)
    axes.axvline(0.0, color=_FAINT, linewidth=1.4, clip_on=False)


def _ends(effect: Effect) -> tuple[float | None, float | None]:
    """Ends of what is drawn: the set, or the interval for this very table where nothing else is known."""
    return (effect.table_low, effect.table_high) if effect.low is effect.high is None else (effect.low, effect.high)


def _pieces(effect: Effect) -> list[tuple[float, float]]:
    """What is drawn as bars: an interval, both sides of a gap or a half line; nothing where nothing is known."""
    low, high = _ends(effect)
    if effect.kind == "outside" and low is not None and high is not None:
        return [(-math.inf, low), (high, math.inf)]
    if low is None and high is None:
        return []
    return [(-math.inf if low is None else low, math.inf if high is None else high)]


def _interval(axes: Axes, effect: Effect, y: float, shape: Shape) -> None:
    left, right = axes.get_xlim()

    def bar(low: float, high: float, colour: str, width: float) -> None:
        ends = (min(max(low, left), right), min(max(high, left), right))
        axes.plot(ends, (y, y), color=colour, linewidth=width, solid_capstyle="butt", clip_on=False)

    if effect.estimate is None:
        words = " any value" if effect.kind == "everything" else " not estimable"
        axes.text(0.0, y, words, color=_FAINT, fontsize=shape.font, va="center", fontstyle="italic")
        return
    pieces = _pieces(effect)
    for low, high in pieces:
        bar(low, high, _PRIVACY, 9)
    if effect.inner_low is not None and effect.inner_high is not None:
        bar(effect.inner_low, effect.inner_high, _SAMPLING, 9)
    # a set that goes on beyond the picture says so
    for end, beyond, sign in (
        (left, [low for low, _ in pieces if low < left], "<"),
        (right, [high for _, high in pieces if high > right], ">"),
    ):
        if beyond:
            # an end that is only outside the picture is not one that there is not
            sign = sign if any(map(math.isinf, beyond)) else _CUT
            axes.text(end, y, sign, color=_INK, fontsize=shape.font, va="center", ha="center", fontweight="bold")
    if left <= effect.estimate <= right:
        colour = _INK if effect.kind in (None, "interval") else _FAINT
        axes.plot((effect.estimate,) * 2, (y - 0.22, y + 0.22), color=colour, linewidth=2.4, clip_on=False)


def _label(axes: Axes, index: int, y: float, shape: Shape) -> None:
    height = y if shape.beside else y + 0.22
    where = (-10.0, 0.0) if shape.beside else (0.0, 0.0)
    axes.annotate(
        f"name-{index}-",
        xy=(0.0, height),
        xycoords=("axes fraction", "data"),
        xytext=where,
        textcoords="offset points",
        ha="right" if shape.beside else "left",
        va="center",
        color=_INK,
        fontsize=shape.font,
        annotation_clip=False,
    )


def _inline(svg: str, effects: Sequence[Effect], shape: Shape) -> str:
    """Cut the drawing down to what a page may hold."""
    body = svg[svg.index("<svg") :]
    size = re.search(r'viewBox="[^"]+"', body)
    head = f'<svg class="chart {shape.key}" {size[0] if size else ""} role="img" aria-label="Forest plot">'
    body = head + body[body.index(">") + 1 :]
    # the library's own style would rule the whole page
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href")
    used = set(re.findall(r'href="#([^"]+)"', body))
    body = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", body)
    body = re.sub(r"font: ([^;\"]*?)(\d+)px [^;\"]*", r"font: \1\2px system-ui, sans-serif", body)
    for sign, colour in _COLOURS.items():
        body = body.replace(sign, colour)
    body = re.sub(r">\s+<", "><", body)
    return re.sub(
        r"name-(\d+)-",
        lambda found: html.escape(escape_control(shortened(effects[int(found[1])].name, shape.letters))),
        body,
    ).strip()
