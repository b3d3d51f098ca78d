"""Draw plots that work in print and for colour-blind readers: colours, dashes and markers, legend outside the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from discreet.analyst.plots.style import COLOURS, open_axes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (3, 3)), (0, (8, 2)))
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
PANEL: Final = (4.2, 3.2)  # inches


# Any: keywords of a plot have many types
def style(position: int) -> dict[str, Any]:
    """Return colour, dash and marker of the line at a position. The first 56 combinations are all different."""
    return {
        "color": COLOURS[position % len(COLOURS)],
        "linestyle": DASHES[(position + position // len(COLOURS)) % len(DASHES)],
        "marker": MARKERS[(position + 2 * (position // len(COLOURS))) % len(MARKERS)],
        "markersize": 4.5,
        "linewidth": 1.4,
    }


# Any: keywords of a plot have many types
def nested(look: dict[str, Any], layer: int, layers: int) -> dict[str, Any]:
    """Make earlier lines wider, so that a line stays visible under a later line that coincides with it.

    >>> [nested(style(0), layer, 3)["linewidth"] for layer in range(3)]
    [2.8, 2.0, 1.2]
    """
    behind = 1 - layer / max(layers - 1, 1)
    return {**look, "linewidth": round(1.2 + 1.6 * behind, 2), "markersize": round(3.5 + 4.0 * behind, 2)}


def panels(titles: Sequence[str], *, across: int = 3, size: tuple[float, float] = PANEL) -> tuple[Picture, list[Axes]]:
    """Create an empty figure with a titled panel for each name."""
    from matplotlib.figure import Figure as NewPicture

    across = min(across, len(titles))
    down = -(-len(titles) // across)
    picture = NewPicture(figsize=(size[0] * across, size[1] * down), layout="constrained")
    grid = picture.subplots(down, across, squeeze=False).ravel().tolist()
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(title, fontsize=10)
        open_axes(axes)
    for axes in grid[len(titles) :]:
        axes.set_axis_off()
    return picture, grid[: len(titles)]


def legend(picture: Picture, axes: Sequence[Axes], *, columns: int = 3) -> None:
    """Add one legend for all panels below them, so that it never covers data."""
    handles: dict[str, Artist] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    picture.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=columns,
        fontsize=8.5,
        frameon=False,
        handlelength=3.5,
    )


def plain_scales(axes: Axes, ticks: Sequence[float]) -> None:
    """Use logarithmic scales with plain numbers on both axes: the given ticks on x, a few per decade on y."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 4, 6, 8) if high < 10 * low else (1, 3)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:.3g}"))
        axis.set_minor_locator(NullLocator())


def lines(
    numbers: DataFrame,
    *,
    x: str = "epsilon",
    y: str = "value",
    panel: str = "panel",
    line: str = "line",
    order: Sequence[str],
    labels: Callable[[str], str] = str,
    x_label: str,
    y_label: str,
    log_x: bool = True,
    log_y: bool = False,
    centre: str = "mean",
    band: tuple[float, float] | None = None,
    across: int = 3,
) -> Picture:
    """Draw a panel for each data set, with a line for each method through the centre of its repetitions.

    `numbers` is a long table with a row for each repetition. `order` names the lines and fixes their styles in every
    figure; a line without numbers is omitted. `centre` is `mean` or `median`. `band` is a pair of quantiles to shade.
    """
    titles = list(dict.fromkeys(numbers[panel]))
    picture, grid = panels(titles, across=across)
    for axes, title in zip(grid, titles, strict=True):
        inside = numbers[numbers[panel] == title]
        for position, name in enumerate(order):
            of_line = inside[inside[line] == name]
            if of_line.empty:
                continue
            grouped = of_line.groupby(x)[y]
            middle = grouped.mean() if centre == "mean" else grouped.median()
            axes.plot(middle.index, middle.to_numpy(), label=labels(name), **style(position))
            if band is not None:
                axes.fill_between(
                    middle.index,
                    grouped.quantile(band[0]),
                    grouped.quantile(band[1]),
                    color=COLOURS[position % len(COLOURS)],
                    alpha=0.15,
                    linewidth=0,
                )
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
    legend(picture, grid)
    return picture
