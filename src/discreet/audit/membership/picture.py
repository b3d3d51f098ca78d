"""The picture of attacks on membership: rows found against false alarms, and the curves that promises allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.pictures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PANELS,
    VERMILION,
    budget_words,
    house_style,
    open_axes,
)
from discreet.audit.membership.curves import allowed_power, own_power
from discreet.audit.membership.result import Attack, MembershipResult
from discreet.audit.statistics.claims import Claim
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# colour, dash and width
_LOOKS: Final = {
    "least squares, NOT PRIVATE": (VERMILION, "-", 2.0),
    "epsilon and delta allow": (BLACK, "--", 1.4),
    "the mechanism's curve allows": (ORANGE, "-", 2.6),
    "worst row, measured": (BLUE, "-", 1.2),
    "typical row, measured": (GREEN, "-.", 1.4),
    "guessing": (GREY, ":", 1.2),
}
_PANEL: Final = 4.1  # inches
_ACROSS: Final = 2  # as wide as a page leaves room for
_RATES: Final = np.linspace(0, 1, 401)
_LABEL_X: Final = 0.39
_LABEL_STEP: Final = 0.064


def membership_picture(result: MembershipResult) -> Figure:
    """A panel for each budget, with both rows, what is allowed, and least squares without noise, NOT PRIVATE.

    Raises
    ------
    SpecError
        Where matplotlib is not installed; the extra `plots` brings it.
    """
    with house_style("the picture of an audit", size=PANELS):
        return _drawn(result)


def _drawn(result: MembershipResult) -> Figure:
    from matplotlib.figure import Figure

    budgets = list(dict.fromkeys(one.claim for one in result.attacks if one.claim is not None))
    across = min(max(len(budgets), 1), _ACROSS)
    down = max(-(-len(budgets) // across), 1)
    picture = Figure(figsize=(_PANEL * across, _PANEL * down + 0.4), layout="constrained")
    bare = [one for one in result.attacks if one.claim is None]
    panels = picture.subplots(down, across, squeeze=False).ravel().tolist()
    for axes, claim in zip(panels, budgets, strict=False):
        _panel(axes, claim, [one for one in result.attacks if one.claim == claim], bare)
    for axes in panels[len(budgets) :]:
        axes.set_axis_off()
    picture.suptitle(
        f"Who is in the table? {result.table}; measured with limits at {result.confidence:.0%} together", fontsize=10
    )
    return picture


def _panel(axes: Axes, claim: Claim, attacks: Sequence[Attack], bare: Sequence[Attack]) -> None:
    lines: dict[str, tuple[FloatArray, FloatArray]] = {}
    for one in bare[:1]:
        lines[one.published] = one.roc.false_alarms, one.roc.found
    lines["epsilon and delta allow"] = _RATES, allowed_power(_RATES, claim)
    if claim.mu is not None:
        lines["the mechanism's curve allows"] = _RATES, own_power(_RATES, claim)
    for one in attacks:
        name, roc = f"{one.row}, measured", one.roc
        lines[name] = _closed(roc.false_alarms), _closed(roc.found)
        # right for every threshold at once; between two thresholds the lower limit is too, as the curve is concave
        colour = _LOOKS[name][0]
        low = np.interp(_RATES, _closed(roc.false_alarms_high), _closed(roc.found_low))
        high = np.interp(_RATES, _closed(roc.false_alarms_low), _closed(roc.found_high))
        axes.fill_between(_RATES, low, high, color=colour, alpha=0.18, linewidth=0)
    lines["guessing"] = _RATES, _RATES
    for name, (x, y) in lines.items():
        colour, dash, width = _LOOKS[name]
        axes.plot(x, y, color=colour, linestyle=dash, linewidth=width, gid=name)
    _names(axes, list(lines))
    axes.set_title(budget_words(claim.epsilon, claim.delta), fontsize=10)
    axes.set_xlabel("false alarms: said to be there, and is not")
    axes.set_ylabel("found: said to be there, and is")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.03)
    open_axes(axes)


def _names(axes: Axes, names: Sequence[str]) -> None:
    """Names in the free corner below guessing, each in the colour of its line and beside a piece of it."""
    for place, name in enumerate(reversed(names)):
        colour, dash, width = _LOOKS[name]
        height = 0.03 + _LABEL_STEP * place
        axes.plot([_LABEL_X, _LABEL_X + 0.1], [height, height], color=colour, linestyle=dash, linewidth=width)
        axes.text(_LABEL_X + 0.12, height, name, color=colour, fontsize=7.5, va="center")


def _closed(values: FloatArray) -> FloatArray:
    """The points of a curve with both of its ends."""
    return np.concatenate([[0.0], values, [1.0]])
