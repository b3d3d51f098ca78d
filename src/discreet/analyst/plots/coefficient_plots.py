"""Forest plots of coefficients."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, get_args

from discreet.analyst.confidence_sets import ConfidenceSet, SetKind, set_words
from discreet.analyst.equations.normal import declared_widths
from discreet.analyst.notes import reasons
from discreet.analyst.plots.style import (
    FONT,
    LIGHT,
    SMALL,
    WRAPPED,
    Palette,
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
from discreet.analyst.summary import estimates
from discreet.design.columns import Numeric
from discreet.errors import ModelError, SpecError
from discreet.number_text import axis_number, decimals_for, fixed, percent
from discreet.releases.reference_distribution import known
from discreet.wording import SetOption

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.analyst.fitted import Fit

# -- effects -----------------------------------------------------------------------------------------------------------
# The content of a coefficient plot: effects with their uncertainty, grouped in panels.

Scale = Literal["range", "unit"]
_DRAWN_WIDTHS: Final = 1.1  # plotted multiple of the target's range; values beyond it are only noise


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of a coefficient plot, in the units of its panel."""

    name: str
    estimate: float | None  # None if not estimable
    # ends of the confidence set, or of the gap for the kind `outside`
    low: float | None
    high: float | None
    # ends of the interval that would remain without privacy noise
    inner_low: float | None
    inner_high: float | None
    # ends of the interval for the result without noise on the same table, if known
    table_low: float | None = None
    table_high: float | None = None
    kind: SetKind | None = None  # of the confidence set, or None without one


@dataclass(frozen=True, slots=True)
class Panel:
    """Effects that share an axis."""

    label: str  # of the axis
    effects: tuple[Effect, ...]
    window: tuple[float, float]  # largest plotted range; values beyond it are only noise
    zero: bool = True  # whether 0 is a reference value


def checked_scale(scale: object) -> Scale:
    """Return the name of the scale, or raise if it is unknown."""
    allowed: tuple[Scale, ...] = get_args(Scale)
    for name in allowed:
        if isinstance(scale, str) and scale == name:
            return name
    raise SpecError.unknown_name("scale", scale, get_args(Scale))


def around_zero(width: float) -> tuple[float, float]:
    """Return the plotted range of effects, given the width of the target's declared range."""
    return -_DRAWN_WIDTHS * width, _DRAWN_WIDTHS * width


def target_bounds(fit: Fit) -> tuple[float, float]:
    """Return the declared range of the target."""
    target = fit.release.design.columns[fit.target]
    return target.bounds if isinstance(target, Numeric) else (0.0, 1.0)


def target_width(fit: Fit) -> float:
    """Return the width of the target's declared range. Effects exceed it only because of noise."""
    low, high = target_bounds(fit)
    return high - low


def panels(fit: Fit, level: float, scale: Scale) -> tuple[Panel, ...]:
    """Return one panel of effects over declared ranges, or several panels of coefficients by unit."""
    if scale == "range":
        effects = range_effects(fit, level)
        return (Panel(f"change of {fit.target}", effects, around_zero(target_width(fit))),) if effects else ()
    return tuple(_by_unit(fit, level))


def range_effects(fit: Fit, level: float) -> tuple[Effect, ...]:
    """Return each slope times the declared width of its column, all in units of the target."""
    slopes = _effects(fit, level, [width or 1.0 for width in _widths(fit)])
    return tuple(slopes[1:] if fit.model.intercept else slopes)


def _by_unit(fit: Fit, level: float) -> Iterator[Panel]:
    whole = target_width(fit)
    together: list[Effect] = []
    for effect, width in zip(_effects(fit, level, [1.0] * len(fit.names)), _widths(fit), strict=True):
        if fit.model.intercept and effect.name == fit.names[0]:
            # the intercept is the prediction if every column is 0, which may be far from every row
            yield Panel(f"{fit.target} where every column is 0", (effect,), (-math.inf, math.inf))
        elif width is None:
            together.append(effect)
        else:
            yield Panel(f"change of {fit.target} for each unit of {effect.name}", (effect,), around_zero(whole / width))
    if together:
        yield Panel(f"difference in {fit.target}", tuple(together), around_zero(whole))


def _widths(fit: Fit) -> list[float | None]:
    """Return the declared width of each coefficient's column, or None for an intercept and for indicators."""
    return [None] * fit.model.intercept + declared_widths(fit.release.design, fit.features)


def _effects(fit: Fit, level: float, factors: list[float]) -> list[Effect]:
    values = [known(value) for value in estimates(fit).values()]
    sets = [known(value) for value in fit.conf_int(level).values()]
    tables = [known(value) for value in fit.table_conf_int(level).values()]
    shares = [known(value) or 0.0 for value in fit.privacy_share.values()]
    # without any known error the plot shows estimates only; otherwise no interval means no estimate
    alone = fit.interval_target == "none"
    return [
        _effect(name, value, ends, table if alone else None, share, factor, alone=alone)
        for name, value, ends, table, share, factor in zip(
            fit.names, values, sets, tables, shares, factors, strict=True
        )
    ]


def _effect(
    name: str,
    value: float | None,
    ends: ConfidenceSet | None,
    table: ConfidenceSet | None,
    privacy_share: float,
    factor: float,
    *,
    alone: bool,
) -> Effect:
    estimate = _times(value, factor)
    low, high = (None, None) if ends is None else (_times(ends.lower, factor), _times(ends.upper, factor))
    kind = None if ends is None else ends.kind
    if estimate is None or low is None or high is None or kind != "interval":
        first, last = (None, None) if table is None or estimate is None else (table.lower, table.upper)
        shown = estimate if alone or kind not in (None, "interval", "everything") else None
        kind = "everything" if kind == "interval" else kind
        return Effect(name, shown, low, high, None, None, _times(first, factor), _times(last, factor), kind)
    share = math.sqrt(1 - privacy_share)
    inner = (estimate + (low - estimate) * share, estimate + (high - estimate) * share)
    return Effect(name, estimate, low, high, *inner, kind=kind)


def _times(value: float | None, factor: float) -> float | None:
    """Multiply, or return None if the result is not finite."""
    product = math.inf if value is None else value * factor
    return product if math.isfinite(product) else None


# -- forest ------------------------------------------------------------------------------------------------------------
# The forest plot: one line for each effect, with its interval split into sampling error and privacy noise.
#
# `Fit.plot`, `discreet plot` and the report use it. If an interval is too thin to see, a second column shows every
# interval magnified to the same width.

MOST_LINES: Final = 200  # taller figures are unreadable, and some programs cannot open them
_THIN: Final = 24.0  # width in pixels below which the parts of an interval cannot be seen
_SAMPLING: Final = 9.0  # thickness of the sampling part in pixels
_PRIVACY: Final = 5.0  # thickness of the privacy part; it differs, so that colour is not needed to tell them apart
_LINE: Final = 2.0  # thickness if the set is the whole line
_MARK: Final = 2.6
_ARROW: Final = (9.0, 5.5)  # length and half height of an arrowhead in pixels
_TICKS: Final = 26.0  # pixels below a panel for its tick labels
_LABEL: Final = 20.0  # pixels for the axis label
_EDGE: Final = 14.0  # pixels for an arrow on both sides of a panel
_BESIDE: Final = 20.0  # pixels between a name and its line, with space for an arrow
_BETWEEN: Final = 14.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a figure in CSS pixels at full width."""

    key: str
    width: float
    row: float
    font: float
    beside: bool  # whether names are next to their lines instead of above them
    letters: int  # maximum length of a name
    magnified: float  # width of the column of magnified intervals


WIDE: Final = Shape("wide", 820, 30, 14, beside=True, letters=34, magnified=110)
#: for names too long to fit next to their lines
TALL: Final = Shape("wide", 820, 48, 14, beside=False, letters=78, magnified=110)
NARROW: Final = Shape("narrow", 340, 46, 13, beside=False, letters=28, magnified=70)
_SHRUNK: Final = 0.8  # factor of the row height if there are many rows
MANY: Final = 30  # with more lines, the tick labels are repeated above the axis


def wide_shape(names: Sequence[str]) -> Shape:
    """Return the shape of full width in which these names fit."""
    return WIDE if all(len(name) <= WIDE.letters for name in names) else TALL


@dataclass(frozen=True, slots=True)
class Layout:
    """Column positions and widths of a figure, and its total height, in pixels."""

    left: float
    plot: float
    magnified: float | None
    row: float
    height: float


def most(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """Keep as many effects as fit in a figure, preferring estimates that are large relative to their panel's window."""
    every = [(number, effect) for number, panel in enumerate(panels) for effect in panel.effects]
    if len(every) <= MOST_LINES:
        return tuple(panels)
    size = sorted(every, key=lambda item: -abs(item[1].estimate or 0.0) / abs(panels[item[0]].window[1]))
    kept = {id(effect) for _, effect in size[:MOST_LINES]}
    chosen = groupby((item for item in every if id(item[1]) in kept), key=lambda item: item[0])
    return tuple(replace(panels[number], effects=tuple(effect for _, effect in group)) for number, group in chosen)


def layout(panels: Sequence[Panel], shape: Shape, *, above: float = 0.0, labels: bool = False) -> Layout:
    """Compute the layout of a figure, leaving `above` pixels free at the top."""
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
    """Return both ends of an interval, or None for other sets."""
    low, high = _ends(effect)
    if low is None or high is None or effect.kind not in (None, "interval") or not low < high:
        return None
    return low, high


def limits(panel: Panel) -> tuple[float, float]:
    """Return the ends of a panel's axis, within its window."""
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
    """Shorten a name to fit next to its line, or above it."""
    letters = shape.letters
    if not shape.beside:
        room = shape.width - 3 * _EDGE - text_width(interval_words(effect), SMALL)
        letters = min(letters, int(room / text_width("a", shape.font)))
    return shortened(effect.name, letters)


def interval_words(effect: Effect) -> str:
    """Format the text at the end of a line: the confidence set, or the estimate if there is none.

    >>> interval_words(Effect("age", 57_110.0, 54_612.0, 59_645.0, 56_000.0, 58_000.0, kind="interval"))
    '54,612 to 59,645'
    >>> interval_words(Effect("age", 0.5, 0.25, None, None, None, kind="above"))
    'at least 0.2500'
    >>> interval_words(Effect("age", None, None, None, None, None))
    'not estimable'
    """
    low, high = _ends(effect)
    finite = [end for end in (low, high) if end is not None]
    if not finite:
        if effect.estimate is None:
            return "any value" if effect.kind == "everything" else "not estimable"
        return axis_number(float(f"{effect.estimate:.4g}"))
    spread = abs(finite[-1] - finite[0]) if len(finite) > 1 and finite[0] != finite[-1] else abs(finite[0]) or 1.0
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
    """Draw panels of effects into a figure that has the width of `shape` and the height of `found`.

    `above` pixels stay free at the top. With `labels` each panel has an axis label. `shown` returns the text for the
    name at an index, such as a placeholder that a page replaces later.
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
            # grid lines must not cross the names
            spans = [(-0.5, len(lines) - 0.5)] if shape.beside else [(line - 0.04, line + 0.5) for line in lines]
            for span in spans:
                axes.plot((x, x), span, color=palette.faint if zero else palette.rule, linewidth=1.4 if zero else 1.0,
                          clip_on=False)  # fmt: skip


def _ends(effect: Effect) -> tuple[float | None, float | None]:
    """Return the ends of the confidence set or, without one, of the interval for this table's own coefficients."""
    return (effect.table_low, effect.table_high) if effect.low is effect.high is None else (effect.low, effect.high)


def _pieces(effect: Effect) -> list[tuple[float, float]]:
    """Return the bars to draw, one for each part of the set."""
    low, high = _ends(effect)
    if effect.kind == "outside" and low is not None and high is not None:
        return [(-math.inf, low), (high, math.inf)]
    if low is None and high is None and effect.kind != "everything":
        return []
    return [(-math.inf if low is None else low, math.inf if high is None else high)]


@dataclass(frozen=True, slots=True)
class _Line:
    """Axes of a panel, in which each line shows one effect."""

    axes: Axes
    beside: Axes | None
    shape: Shape
    found: Layout
    palette: Palette

    def draw(self, effect: Effect, index: int, name: str) -> None:
        """Draw the name, the interval and the estimate, and write the interval at the end of the line."""
        shape, palette = self.shape, self.palette
        # a name above its line shares the row height with it
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
        """Draw an arrow if the set is unbounded on this side, or dots if it ends outside the figure."""
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


# -- coefficients ------------------------------------------------------------------------------------------------------
# The coefficient figure: title, legend, forest plot and source.

EFFECTS: Final = {
    "range": "Change over the declared range of each column",
    "unit": "Coefficients in the units of their columns",
}


def coefficient_figure(fit: Fit, level: float, scale: Scale) -> Figure:
    """Plot the coefficients of a fit with their confidence sets.

    The scale `range` gives one panel in units of the target, and `unit` one panel for each unit.
    """
    with house_style("a plot of coefficients"):
        from discreet.analyst.plots.style import new_figure

        every = panels(fit, level, scale)
        if not every:
            raise ModelError(
                "the model has only an intercept and no slope to plot",
                option="scale",
                remedy=SetOption("scale", "unit"),
            )
        drawn = most(every)
        shape = wide_shape([effect.name for panel in drawn for effect in panel.effects])
        lines = _lines(fit, level, scale, every)
        has_key = fit.interval_target != "none" or any(
            effect.table_low is not None for panel in every for effect in panel.effects
        )
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
    """Return the lines below the title."""
    what = EFFECTS[scale] + (" (penalised)" if fit.penalised else "")
    table_known = any(effect.table_low is not None for panel in every for effect in panel.effects)
    if fit.interval_target != "none":
        what += f", with {percent(level)} confidence sets"
    elif table_known:
        what += f", with {percent(level)} intervals for this table"
    lines = [what]
    if fit.interval_target == "none":
        why = next(iter(reasons(fit, level).values()))
        lines += textwrap.wrap(f"No {'other ' if table_known else ''}intervals: {why}", WRAPPED)
    size = sum(len(panel.effects) for panel in every)
    if size > MOST_LINES:
        lines.append(f"The {MOST_LINES} largest of {size:,} are shown")
    return lines
