"""The forest plot: a line for each effect, its interval split into what rows and what privacy bring.

It is the one drawing of coefficients: `Fit.plot`, `discreet plot` and the report all show it. Where an interval is too
thin to be seen, a second column shows every interval again, each magnified to the same width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from discreet.analyst.pictures.effects import Effect, Panel
from discreet.analyst.pictures.style import (
    FONT,
    LIGHT,
    SMALL,
    Palette,
    place,
    quiet_axis,
    shortened,
    text_width,
    words,
)
from discreet.analyst.values.confidence_sets import set_words
from discreet.analyst.values.digits import axis_number, decimals_for, fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES: Final = 200  # a taller picture is read by nobody, and some programs do not open it
_THIN: Final = 24.0  # pixels below which the parts of an interval cannot be seen
_SAMPLING: Final = 9.0  # pixels that the part of sampling is thick
_PRIVACY: Final = 5.0  # and the part of privacy, so that both are known without their colours
_LINE: Final = 2.0  # where it is all there is
_MARK: Final = 2.6
_ARROW: Final = (9.0, 5.5)  # pixels that the head of an arrow is long, and half of it high
_TICKS: Final = 26.0  # pixels below a panel for its numbers
_LABEL: Final = 20.0  # and for what they count
_EDGE: Final = 14.0  # room for an arrow on both sides of a panel
_BESIDE: Final = 20.0  # between a name and its line, with room for an arrow
_BETWEEN: Final = 14.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a drawing in CSS pixels at its full width.

    Attributes
    ----------
    beside
        Whether names are beside their lines rather than above them.
    letters
        How much of a name is shown.
    magnified
        How wide the column of magnified intervals is.
    """

    key: str
    width: float
    row: float
    font: float
    beside: bool
    letters: int
    magnified: float


WIDE: Final = Shape("wide", 820, 30, 14, beside=True, letters=34, magnified=110)
#: for names that are too long to be beside their lines
TALL: Final = Shape("wide", 820, 48, 14, beside=False, letters=78, magnified=110)
NARROW: Final = Shape("narrow", 340, 46, 13, beside=False, letters=28, magnified=70)
_SHRUNK: Final = 0.8  # of a line where there are many
MANY: Final = 30  # lines from which the numbers of an axis are above it too


def wide_shape(names: Sequence[str]) -> Shape:
    """Give the wide shape in which these names can be read."""
    return WIDE if all(len(name) <= WIDE.letters for name in names) else TALL


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the columns of a drawing begin and how wide they are, and the height of all of it, in pixels."""

    left: float
    plot: float
    magnified: float | None
    row: float
    height: float


def most(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """Give the panels with no more lines than a picture has room for: those of the largest estimates, in their order.

    An estimate counts as a share of what its panel shows at most.
    """
    every = [(number, effect) for number, panel in enumerate(panels) for effect in panel.effects]
    if len(every) <= MOST_LINES:
        return tuple(panels)
    size = sorted(every, key=lambda one: -abs(one[1].estimate or 0.0) / abs(panels[one[0]].window[1]))
    kept = {id(effect) for _, effect in size[:MOST_LINES]}
    chosen = groupby((one for one in every if id(one[1]) in kept), key=lambda one: one[0])
    return tuple(replace(panels[number], effects=tuple(effect for _, effect in group)) for number, group in chosen)


def layout(panels: Sequence[Panel], shape: Shape, *, above: float = 0.0, labels: bool = False) -> Layout:
    """Find the places of a drawing with this room above it."""
    effects = [effect for panel in panels for effect in panel.effects]
    left, right = _EDGE, _EDGE
    if shape.beside:
        names = max(text_width(line_name(effect, shape), shape.font) for effect in effects)
        left += min(names, 0.4 * shape.width) + _BESIDE
        right += max(text_width(interval_words(effect), SMALL) for effect in effects) + _EDGE
    row = shape.row * (_SHRUNK if len(effects) > MANY and shape.beside else 1.0)
    plot, magnified = shape.width - left - right, None
    if any(_is_thin(effect, panel, plot) for panel in panels for effect in panel.effects):
        plot -= shape.magnified + _BETWEEN + _EDGE
        magnified = left + plot + _BETWEEN + _EDGE
    below = _TICKS + (_LABEL if labels else 0.0)
    tops = sum(len(panel.effects) > MANY for panel in panels)
    height = above + row * len(effects) + below * len(panels) + _TICKS * tops + 4
    return Layout(left, plot, magnified, row, height)


def _is_thin(effect: Effect, panel: Panel, width: float) -> bool:
    if effect.estimate is None or _whole(effect) is None:
        return False
    low, high = limits(panel)
    ends = _whole(effect)
    return ends is not None and (ends[1] - ends[0]) / (high - low) * width < _THIN


def _whole(effect: Effect) -> tuple[float, float] | None:
    """Both ends of an interval of any width; nothing for other sets."""
    low, high = _ends(effect)
    if low is None or high is None or effect.kind not in (None, "interval") or not low < high:
        return None
    return low, high


def limits(panel: Panel) -> tuple[float, float]:
    """Ends of the axis of a panel: all that is drawn, as far as its window, and 0 where that counts."""
    drawn = [value for e in panel.effects for value in (e.estimate, *_ends(e)) if value is not None]
    drawn += [0.0] if panel.zero else []
    first, last = panel.window
    low, high = max(min(drawn, default=first), first), min(max(drawn, default=last), last)
    if not low < high:
        middle = (last - first) / 4 if math.isfinite(last - first) else abs(low) or 0.5
        low, high = low - middle, low + middle
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def line_name(effect: Effect, shape: Shape) -> str:
    """Give as much of a name as the line has room for, beside it or above it with the interval at its end."""
    letters = shape.letters
    if not shape.beside:
        room = shape.width - 3 * _EDGE - text_width(interval_words(effect), SMALL)
        letters = min(letters, int(room / text_width("a", shape.font)))
    return shortened(effect.name, letters)


def interval_words(effect: Effect) -> str:
    """Give what is written at the end of a line: the set, to the digits that its width leaves, or the estimate.

    >>> interval_words(Effect("age", 57_110.0, 54_612.0, 59_645.0, 56_000.0, 58_000.0, kind="interval"))
    '54,612 to 59,645'
    >>> interval_words(Effect("age", 0.5, 0.25, None, None, None, kind="above"))
    'at least 0.2500'
    >>> interval_words(Effect("age", None, None, None, None, None))
    'not estimable'
    """
    low, high = _ends(effect)
    known = [end for end in (low, high) if end is not None]
    if not known:
        if effect.estimate is None:
            return "any value" if effect.kind == "everything" else "not estimable"
        return axis_number(float(f"{effect.estimate:.4g}"))
    spread = abs(known[-1] - known[0]) if len(known) > 1 and known[0] != known[-1] else abs(known[0]) or 1.0
    decimals = decimals_for(spread / 4)
    texts = ["" if end is None else fixed(end, decimals) for end in (low, high)]
    return set_words(effect.kind or "interval", texts[0], texts[1])


def forest(
    figure: Figure,
    panels: Sequence[Panel],
    shape: Shape,
    found: Layout,
    *,
    palette: Palette = LIGHT,
    above: float = 0.0,
    labels: bool = False,
    shown: Callable[[int, str], str] = lambda _, name: name,
) -> None:
    """Draw panels of effects into a figure.

    Parameters
    ----------
    figure
        As wide as the shape and as high as the layout.
    panels, shape, found
        What to draw, and where; `found` is their layout.
    palette
        Colours.
    above
        Pixels left free at the top.
    labels
        Whether each panel says what its axis counts.
    shown
        What is written for the name at a position; a page puts its own text there afterwards.
    """
    top, position = above, 0
    for panel in panels:
        height = found.row * len(panel.effects)
        top += _TICKS if len(panel.effects) > MANY else 0.0
        axes = place(figure, found.left, top, found.plot, height)
        axes.set_xlim(*limits(panel))
        axes.set_ylim(len(panel.effects) - 0.5, -0.5)
        _frame(axes, panel, shape, found, palette)
        beside = None
        if found.magnified is not None:
            beside = place(figure, found.magnified, top, shape.magnified, height)
            beside.set(xlim=(-1.0, 1.0), ylim=(len(panel.effects) - 0.5, -0.5), xticks=[], yticks=[])
            words(beside, 0.5, len(panel.effects) - 0.5, "magnified", colour=palette.faint, size=SMALL,
                  across="center", move=(0.0, -_TICKS / 2), x_of_axes=True)  # fmt: skip
        line = _Line(axes, beside, shape, found, palette)
        for index, effect in enumerate(panel.effects):
            line.draw(effect, index, shown(position, line_name(effect, shape)))
            position += 1
        top += height + _TICKS
        if labels:
            text = shortened(panel.label, int(found.plot / (0.5 * SMALL)))
            words(axes, 0.0, len(panel.effects) - 0.5, text, colour=palette.faint, size=SMALL,
                  move=(0.0, -_TICKS - 4), x_of_axes=True)  # fmt: skip
            top += _LABEL


def _frame(axes: Axes, panel: Panel, shape: Shape, found: Layout, palette: Palette) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_yticks([])
    low, high = axes.get_xlim()
    widest = max(text_width(axis_number(float(f"{end:.2g}")), SMALL) for end in (low, high))
    count = max(2, min(6, int(found.plot / (widest + 24))))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=count, steps=[1, 2, 2.5, 5, 10]))
    quiet_axis(axes.xaxis, palette, grid=False)
    axes.tick_params(axis="x", labeltop=len(panel.effects) > MANY)
    lines = range(len(panel.effects))
    for x in axes.get_xticks():
        if low <= x <= high:
            zero = panel.zero and x == 0
            # a line through a name would strike it out
            spans = [(-0.5, len(lines) - 0.5)] if shape.beside else [(line - 0.04, line + 0.5) for line in lines]
            for span in spans:
                axes.plot((x, x), span, color=palette.faint if zero else palette.rule, linewidth=1.4 if zero else 1.0,
                          clip_on=False)  # fmt: skip


def _ends(effect: Effect) -> tuple[float | None, float | None]:
    """Ends of what is drawn: the set, or the interval for this very table where nothing else is known."""
    return (effect.table_low, effect.table_high) if effect.low is effect.high is None else (effect.low, effect.high)


def _pieces(effect: Effect) -> list[tuple[float, float]]:
    """What is drawn as bars: an interval, both sides of a gap, a half line or a line; nothing where there is no set."""
    low, high = _ends(effect)
    if effect.kind == "outside" and low is not None and high is not None:
        return [(-math.inf, low), (high, math.inf)]
    if low is None and high is None and effect.kind != "everything":
        return []
    return [(-math.inf if low is None else low, math.inf if high is None else high)]


@dataclass(frozen=True, slots=True)
class _Line:
    """One effect after another, each on its line of a panel."""

    axes: Axes
    beside: Axes | None
    shape: Shape
    found: Layout
    palette: Palette

    def draw(self, effect: Effect, index: int, name: str) -> None:
        """Draw name, interval and estimate, and write the interval at the end of the line."""
        shape, palette = self.shape, self.palette
        # with names above their lines both share the height
        y = index + (0.0 if shape.beside else 0.2)
        at = index if shape.beside else index - 0.24
        move = (-_BESIDE, 0.0) if shape.beside else (0.0, 0.0)
        words(self.axes, 0.0, at, name, colour=palette.ink, size=shape.font, move=move, x_of_axes=True,
              across="right" if shape.beside else "left")  # fmt: skip
        last = self.axes if self.beside is None else self.beside
        move = (_EDGE, 0.0) if shape.beside else (0.0, 0.0)
        words(last, 1.0, at, interval_words(effect), colour=palette.faint, size=SMALL, move=move, x_of_axes=True,
              across="left" if shape.beside else "right")  # fmt: skip
        self._to_scale(effect, y)
        self._magnified(effect, y)

    def _to_scale(self, effect: Effect, y: float) -> None:
        left, right = self.axes.get_xlim()
        pieces = _pieces(effect)
        thick = _LINE if effect.kind == "everything" else _PRIVACY
        for low, high in pieces:
            self._bar(self.axes, (max(low, left), min(high, right)), y, self.palette.privacy, thick)
        if effect.inner_low is not None and effect.inner_high is not None:
            ends = (max(effect.inner_low, left), min(effect.inner_high, right))
            self._bar(self.axes, ends, y, self.palette.sampling, _SAMPLING)
        for low, high in pieces:
            self._beyond(low, left, y, -1)
            self._beyond(high, right, y, 1)
        if effect.estimate is not None and left <= effect.estimate <= right:
            self._mark(self.axes, effect.estimate, y, weak=effect.kind not in (None, "interval"))

    def _magnified(self, effect: Effect, y: float) -> None:
        ends = _whole(effect)
        if self.beside is None or effect.estimate is None or ends is None:
            return
        middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
        self._bar(self.beside, (-1.0, 1.0), y, self.palette.privacy, _PRIVACY)
        if effect.inner_low is not None and effect.inner_high is not None:
            inner = ((effect.inner_low - middle) / half, (effect.inner_high - middle) / half)
            self._bar(self.beside, inner, y, self.palette.sampling, _SAMPLING)
        self._mark(self.beside, (effect.estimate - middle) / half, y, weak=False)

    def _bar(self, axes: Axes, ends: tuple[float, float], y: float, colour: str, thick: float) -> None:
        if ends[0] < ends[1]:
            axes.plot(ends, (y, y), color=colour, linewidth=thick, solid_capstyle="butt", clip_on=False)

    def _mark(self, axes: Axes, x: float, y: float, *, weak: bool) -> None:
        half = 9.0 / self.found.row
        colour = self.palette.faint if weak else self.palette.ink
        axes.plot((x, x), (y - half, y + half), color=colour, linewidth=_MARK, solid_capstyle="butt", clip_on=False)

    def _beyond(self, end: float, edge: float, y: float, side: int) -> None:
        """An arrow where a set has no end on this side, dots where its end lies outside the picture."""
        if (end - edge) * side <= 0:
            return
        left, right = self.axes.get_xlim()
        if math.isfinite(end):
            words(self.axes, edge, y, "…", colour=self.palette.ink, size=FONT, across="center", move=(side * 7.0, 0.0),
                  weight="bold")  # fmt: skip
            return
        pixel = (right - left) / self.found.plot
        tip, high = edge + side * _ARROW[0] * pixel, _ARROW[1] / self.found.row
        head = ((edge, edge, tip), (y - high, y + high, y))
        self.axes.fill(*head, color=self.palette.privacy, linewidth=0, clip_on=False)
