"""What a picture of coefficients shows, as plain values: effects with what is known of their errors, panel by panel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from discreet.analyst.equations.units import declared_widths
from discreet.analyst.summary.coefficient_table import estimates
from discreet.analyst.values.confidence_sets import ConfidenceSet, SetKind
from discreet.analyst.values.not_estimable import known
from discreet.design.columns import Numeric
from discreet.errors import SpecError

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

Scale = Literal["range", "unit"]
_DRAWN_WIDTHS: Final = 1.1  # widths of the target's range that are drawn; beyond it lies only noise


@dataclass(frozen=True, slots=True)
class Effect:
    """One line of the picture, in the units of its panel.

    Attributes
    ----------
    estimate
        Missing where nothing can be said.
    low, high
        Ends of the confidence set, those of the gap for the kind `outside`.
    inner_low, inner_high
        Ends of the part of it that there would be without the noise of the release.
    table_low, table_high
        Ends of the interval for what would have been published of this very table without noise, where that is known.
    kind
        Of the confidence set; missing where there is none.
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
        What the axis counts.
    window
        Ends of what is drawn at most; beyond them lies only noise.
    zero
        Whether 0 is a place that the effects are held against.
    """

    label: str
    effects: tuple[Effect, ...]
    window: tuple[float, float]
    zero: bool = True


def checked_scale(scale: object) -> Scale:
    """Refuse what is no scale.

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
    """The window of effects that no more than this width of the target's range explains."""
    return -_DRAWN_WIDTHS * width, _DRAWN_WIDTHS * width


def target_bounds(fit: Fit) -> tuple[float, float]:
    """The declared range of the target."""
    target = fit.release.design.columns[fit.target]
    return target.bounds if isinstance(target, Numeric) else (0.0, 1.0)


def target_width(fit: Fit) -> float:
    """Width of the declared range of the target, which no effect exceeds but by noise."""
    low, high = target_bounds(fit)
    return high - low


def panels(fit: Fit, level: float, scale: Scale) -> tuple[Panel, ...]:
    """Give every coefficient over the declared range of its column, in one panel, or in its own unit, in several."""
    if scale == "range":
        effects = range_effects(fit, level)
        return (Panel(f"change of {fit.target}", effects, around_zero(target_width(fit))),) if effects else ()
    return tuple(_by_unit(fit, level))


def range_effects(fit: Fit, level: float) -> tuple[Effect, ...]:
    """Slopes times the width of the declared range, so that all of them are in units of the target."""
    slopes = _effects(fit, level, [width or 1.0 for width in _widths(fit)])
    return tuple(slopes[1:] if fit.model.intercept else slopes)


def _by_unit(fit: Fit, level: float) -> Iterator[Panel]:
    whole = target_width(fit)
    together: list[Effect] = []
    for effect, width in zip(_effects(fit, level, [1.0] * len(fit.names)), _widths(fit), strict=True):
        if fit.model.intercept and effect.name == fit.names[0]:
            # it is what the line says where every column is 0, which may be far from every row
            yield Panel(f"{fit.target} where every column is 0", (effect,), (-math.inf, math.inf))
        elif width is None:
            together.append(effect)
        else:
            yield Panel(f"change of {fit.target} for each unit of {effect.name}", (effect,), around_zero(whole / width))
    if together:
        yield Panel(f"difference in {fit.target}", tuple(together), around_zero(whole))


def _widths(fit: Fit) -> list[float | None]:
    """Declared width of the column of each coefficient; none for an intercept, and for what is at most 1 or 0."""
    return [None] * fit.model.intercept + declared_widths(fit.release.design, fit.features)


def _effects(fit: Fit, level: float, factors: list[float]) -> list[Effect]:
    values = [known(value) for value in estimates(fit).values()]
    sets = [known(one) for one in fit.conf_int(level).values()]
    tables = [known(one) for one in fit.table_conf_int(level).values()]
    shares = [known(one) or 0.0 for one in fit.privacy_share.values()]
    # where nothing is known of any error there are estimates alone; elsewhere no interval means no estimate
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
    """A product, or nothing where it is not finite."""
    product = math.inf if value is None else value * factor
    return product if math.isfinite(product) else None
