"""Plot coefficients as a forest plot."""

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
# The content of a coefficient plot as plain values: effects with their uncertainty, panel by panel.

Scale = Literal["range", "unit"]
_DRAWN_WIDTHS: Final = 1.1  # multiple of the target's range that is plotted; values beyond it are only noise


@dataclass(frozen=True, slots=True)
class Effect:
    """One line of the plot, in the units of its panel.

    Attributes
    ----------
    estimate
        None if not estimable.
    low, high
        Ends of the confidence set, or of the gap for the kind `outside`.
    inner_low, inner_high
        Ends of the part that would remain without the noise of the release.
    table_low, table_high
        Ends of the interval for the result without noise on the same table, if known.
    kind
        Kind of the confidence set; None without one.
    """

    name: str
    estimate: float | None
    low: float | None
    high: float | None
    inner_low: float | None
    inner_high: float | None
    table_low: float | None = None
    table_high: float | None = None
    kind: SetKind | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Effects that share an axis.

    Attributes
    ----------
    label
        Label of the axis.
    window
        Largest range that is plotted; values beyond it are only noise.
    zero
        Whether 0 is a reference value of the effects.
    """

    label: str
    effects: tuple[Effect, ...]
    window: tuple[float, float]
    zero: bool = True


def checked_scale(scale: object) -> Scale:
    """Refuse an unknown scale.

    >>> checked_scale("ranges")
    Traceback (most recent call last):
        ...
    discreet.errors.SpecError: unknown scale 'ranges'; allowed: range, unit. Did you mean 'range'?
    """
    for one in get_args(Scale):
        if isinstance(scale, str) and scale == one:
            found: Scale = one
            return found
    raise SpecError.unknown_name("scale", scale, get_args(Scale))


def around_zero(width: float) -> tuple[float, float]:
    """Return the window of effects for a target range of this width."""
    return -_DRAWN_WIDTHS * width, _DRAWN_WIDTHS * width


def target_bounds(fit: Fit) -> tuple[float, float]:
    """Return the declared range of the target."""
    target = fit.release.design.columns[fit.target]
    return target.bounds if isinstance(target, Numeric) else (0.0, 1.0)


def target_width(fit: Fit) -> float:
    """Return the width of the target's declared range, which effects exceed only because of noise."""
    low, high = target_bounds(fit)
    return high - low


def panels(fit: Fit, level: float, scale: Scale) -> tuple[Panel, ...]:
    """Return all coefficients, over the declared ranges of their columns in one panel, or by unit in several."""
    if scale == "range":
        effects = range_effects(fit, level)
        return (Panel(f"change of {fit.target}", effects, around_zero(target_width(fit))),) if effects else ()
    return tuple(_by_unit(fit, level))


def range_effects(fit: Fit, level: float) -> tuple[Effect, ...]:
    """Return slopes times the width of the declared range, so that all are in units of the target."""
    slopes = _effects(fit, level, [width or 1.0 for width in _widths(fit)])
    return tuple(slopes[1:] if fit.model.intercept else slopes)


def _by_unit(fit: Fit, level: float) -> Iterator[Panel]:
    whole = target_width(fit)
    together: list[Effect] = []
    for effect, width in zip(_effects(fit, level, [1.0] * len(fit.names)), _widths(fit), strict=True):
        if fit.model.intercept and effect.name == fit.names[0]:
            # it is the prediction where every column is 0, which may be far from every row
            yield Panel(f"{fit.target} where every column is 0", (effect,), (-math.inf, math.inf))
        elif width is None:
            together.append(effect)
        else:
            yield Panel(f"change of {fit.target} for each unit of {effect.name}", (effect,), around_zero(whole / width))
    if together:
        yield Panel(f"difference in {fit.target}", tuple(together), around_zero(whole))


def _widths(fit: Fit) -> list[float | None]:
    """Return the declared width of each coefficient's column; None for an intercept and for indicators."""
    return [None] * fit.model.intercept + declared_widths(fit.release.design, fit.features)


def _effects(fit: Fit, level: float, factors: list[float]) -> list[Effect]:
    values = [known(value) for value in estimates(fit).values()]
    sets = [known(one) for one in fit.conf_int(level).values()]
    tables = [known(one) for one in fit.table_conf_int(level).values()]
    shares = [known(one) or 0.0 for one in fit.privacy_share.values()]
    # if no error is known, there are only estimates; otherwise no interval means no estimate
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
    """Multiply, or return None if the product is not finite."""
    product = math.inf if value is None else value * factor
    return product if math.isfinite(product) else None


# -- forest ------------------------------------------------------------------------------------------------------------
# The forest plot: a line for each effect, its interval split into the parts of sampling and of privacy.
#
# `Fit.plot`, `discreet plot` and the report share this plot of coefficients. If an interval is too thin to be seen, a
# second column shows every interval again, each magnified to the same width.

MOST_LINES: Final = 200  # taller figures are unreadable, and some programs cannot open them
_THIN: Final = 24.0  # pixels below which the parts of an interval cannot be seen
_SAMPLING: Final = 9.0  # thickness of the sampling part in pixels
_PRIVACY: Final = 5.0  # and of the privacy part, so that both are distinguishable without colours
_LINE: Final = 2.0  # if there is no other part
_MARK: Final = 2.6
_ARROW: Final = (9.0, 5.5)  # length of an arrowhead in pixels, and half its height
_TICKS: Final = 26.0  # pixels below a panel for its tick labels
_LABEL: Final = 20.0  # and for the axis label
_EDGE: Final = 14.0  # space for an arrow on both sides of a panel
_BESIDE: Final = 20.0  # between a name and its line, with space for an arrow
_BETWEEN: Final = 14.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a figure in CSS pixels at full width.

    Attributes
    ----------
    beside
        Whether names are next to their lines rather than above them.
    letters
        Maximum number of letters of a name.
    magnified
        Width of the column of magnified intervals.
    """

    key: str
    width: float
    row: float
    font: float
    beside: bool
    letters: int
    magnified: float


WIDE: Final = Shape("wide", 820, 30, 14, beside=True, letters=34, magnified=110)
#: for names that are too long to fit next to their lines
TALL: Final = Shape("wide", 820, 48, 14, beside=False, letters=78, magnified=110)
NARROW: Final = Shape("narrow", 340, 46, 13, beside=False, letters=28, magnified=70)
_SHRUNK: Final = 0.8  # height of a line if there are many
MANY: Final = 30  # number of lines from which the tick labels are repeated above the axis


def wide_shape(names: Sequence[str]) -> Shape:
    """Return the wide shape in which these names are readable."""
    return WIDE if all(len(name) <= WIDE.letters for name in names) else TALL


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions and widths of the columns of a figure, and its total height, in pixels."""

    left: float
    plot: float
    magnified: float | None
    row: float
    height: float


def most(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """Limit the panels to the lines that fit in a figure: those with the largest estimates, in their order.

    Estimates are compared relative to the window of their panel.
    """
    every = [(number, effect) for number, panel in enumerate(panels) for effect in panel.effects]
    if len(every) <= MOST_LINES:
        return tuple(panels)
    size = sorted(every, key=lambda one: -abs(one[1].estimate or 0.0) / abs(panels[one[0]].window[1]))
    kept = {id(effect) for _, effect in size[:MOST_LINES]}
    chosen = groupby((one for one in every if id(one[1]) in kept), key=lambda one: one[0])
    return tuple(replace(panels[number], effects=tuple(effect for _, effect in group)) for number, group in chosen)


def layout(panels: Sequence[Panel], shape: Shape, *, above: float = 0.0, labels: bool = False) -> Layout:
    """Compute the layout of a figure with this space at the top."""
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
    """Return both ends of an interval; None for other sets."""
    low, high = _ends(effect)
    if low is None or high is None or effect.kind not in (None, "interval") or not low < high:
        return None
    return low, high


def limits(panel: Panel) -> tuple[float, float]:
    """Return the ends of a panel's axis: everything plotted within its window, and 0 if it is a reference value."""
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
    """Shorten a name to the space next to its line, or above it before the interval."""
    letters = shape.letters
    if not shape.beside:
        room = shape.width - 3 * _EDGE - text_width(interval_words(effect), SMALL)
        letters = min(letters, int(room / text_width("a", shape.font)))
    return shortened(effect.name, letters)


def interval_words(effect: Effect) -> str:
    """Format the text at the end of a line: the set, with digits according to its width, or the estimate.

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
        Effects, sizes and layout.
    palette
        Colours.
    above
        Pixels left free at the top.
    labels
        Whether each panel has an axis label.
    shown
        Text for the name at an index; a page replaces it later.
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
    """Return the ends of the plotted set, or of the interval for the same table if no set is known."""
    return (effect.table_low, effect.table_high) if effect.low is effect.high is None else (effect.low, effect.high)


def _pieces(effect: Effect) -> list[tuple[float, float]]:
    """Return the bars to draw: an interval, both sides of a gap, a half-line or a line; none without a set."""
    low, high = _ends(effect)
    if effect.kind == "outside" and low is not None and high is not None:
        return [(-math.inf, low), (high, math.inf)]
    if low is None and high is None and effect.kind != "everything":
        return []
    return [(-math.inf if low is None else low, math.inf if high is None else high)]


@dataclass(frozen=True, slots=True)
class _Line:
    """Drawing of effects, each on its line of a panel."""

    axes: Axes
    beside: Axes | None
    shape: Shape
    found: Layout
    palette: Palette

    def draw(self, effect: Effect, index: int, name: str) -> None:
        """Draw name, interval and estimate, and write the interval at the end of the line."""
        shape, palette = self.shape, self.palette
        # names above their lines share the height with them
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
        """Draw an arrow if a set is unbounded on this side, or dots if its end is outside the figure."""
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
# The figure of a fit: the forest plot with a title, a legend above the data, and its source.

EFFECTS: Final = {
    "range": "Change over the declared range of each column",
    "unit": "Coefficients in the units of their columns",
}


def coefficient_figure(fit: Fit, level: float, scale: Scale) -> Figure:
    """Plot the coefficients of a fit with their intervals.

    Parameters
    ----------
    fit
        Has at least one coefficient on this scale.
    level
        Level of the confidence sets.
    scale
        `range` for one panel in units of the target, `unit` for one panel per unit.
    """
    with house_style("a picture of coefficients"):
        from discreet.analyst.plots.style import new_figure

        every = panels(fit, level, scale)
        if not every:
            raise ModelError(
                "the model has no slope to plot, only an intercept", option="scale", remedy=SetOption("scale", "unit")
            )
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
    """Return the lines below the title."""
    what = EFFECTS[scale] + (" (penalised)" if fit.penalised else "")
    table_known = any(one.table_low is not None for panel in every for one in panel.effects)
    if fit.interval_target != "none":
        what += f", with {percent(level)} confidence sets"
    elif table_known:
        what += f", with {percent(level)} intervals for this very table"
    lines = [what]
    if fit.interval_target == "none":
        why = next(iter(reasons(fit, level).values()))
        lines += textwrap.wrap(f"No {'other ' if table_known else ''}intervals: {why}", WRAPPED)
    size = sum(len(panel.effects) for panel in every)
    if size > MOST_LINES:
        lines.append(f"The {MOST_LINES} largest of {size:,} are shown")
    return lines
