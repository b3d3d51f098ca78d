"""The picture of plans at several budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.analyst.planning.values import Plan
from discreet.errors import SpecError, missing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def width_figure(plans: Sequence[Plan]) -> Figure:
    """Expected widths of all coefficients over epsilon, as a picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("plots", "matplotlib") from None
    if not any(one.width for plan in plans for one in plan.coefficients):
        raise SpecError(f"there is no width to plot: {plans[0].coefficients[0].reason}; leave the plot out")
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for index, first in enumerate(plans[0].coefficients):
        known = [(plan.epsilon, width) for plan in plans if (width := plan.coefficients[index].width) is not None]
        if known:
            axes.plot(*zip(*known, strict=True), marker="o", label=f" {first.name}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel(f"expected width of the {100 * plans[0].level:g}% interval")
    for text in axes.legend().get_texts():
        text.set_parse_math(False)
    return figure
