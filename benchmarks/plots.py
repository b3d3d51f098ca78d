"""Plots of a stored run, in the house style."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measuring import ROOT, Spread
from benchmarks.page import case_of, family, measurement
from discreet.analyst.plots.line_plots import Line, Words, line_figure
from discreet.analyst.plots.style import (
    COLOURS,
    LIGHT,
    SMALL,
    below_head,
    head,
    heading,
    house_style,
    place,
    quiet_axis,
    save_figure,
    text_width,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Run = Mapping[str, Any]
FOLDER = "docs/images"
_WIDTH, _STEP = 820.0, 26.0


def foot(run: Run) -> str:
    """Describe the source of the numbers."""
    known = run["environment"]
    return (
        f"discreet {known['versions']['.venv'].get('discreet', '')} ({known['commit']}), {run['date']}, "
        f"{known['processor']}, {known['cores']} cores, {run['profile']} run"
    )


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return Spread.of(values).median


def line(name: str, points: Sequence[tuple[float, Sequence[float]]]) -> Line | None:
    """Return a line through medians, or None with fewer than two points."""
    found = [(x, middle(values)) for x, values in points if values]
    if len(found) < 2:
        return None
    x, y = zip(*sorted(found), strict=True)
    return Line(name, np.array(x, dtype=float), np.array(y, dtype=float))


def drawn(lines: Sequence[Line | None], written: Words) -> Figure | None:
    """Draw lines on logarithmic axes, if there are any."""
    kept = [one for one in lines if one is not None]
    return line_figure(kept, written, log_y=True, markers=True) if kept else None


def rows(run: Run) -> Figure | None:
    """Plot CPU time by number of rows."""
    cases = [(count, case) for count, case in family(run, "rows")]
    large = case_of(run, "large")
    if large is not None:
        cases.append((int(re.findall(r"[\d,]+", large["title"])[0].replace(",", "")), large))
    subjects = {"ours": "discreet release", "read": "reading alone"}
    lines = [
        line(label, [(n, measurement(case, name)["cpu"]) for n, case in cases]) for name, label in subjects.items()
    ]
    title = "CPU seconds of a whole process, by rows"
    return drawn(lines, Words(title, ("Parquet, 20 columns and a target, one worker.",), "rows", foot(run)))


def columns(run: Run) -> Figure | None:
    """Plot CPU time per row by number of columns."""
    sizes = {count: int(re.findall(r"([\d,]+) rows", case["title"])[0].replace(",", ""))
             for count, case in family(run, "columns")}  # fmt: skip
    subjects = {"ours sums": "exact sums", "plain sums": "plain NumPy"}
    lines = [
        line(label, [(d, [1e6 * one / sizes[d] for one in measurement(case, name)["cpu"]])
                     for d, case in family(run, "columns")])
        for name, label in subjects.items()
    ]  # fmt: skip
    title = "CPU microseconds of a row, by columns"
    return drawn(lines, Words(title, ("Sums of all products, table in memory, one worker.",), "columns", foot(run)))


def levels(run: Run) -> Figure | None:
    """Plot CPU time by number of levels of a category."""
    case = case_of(run, "levels")
    if case is None:
        return None
    points: dict[str, list[tuple[float, Sequence[float]]]] = {"sums": [], "release": []}
    for one in case["measurements"]:
        name, part = one["name"].split()
        points[part].append((float(name.split("-")[1]), one["cpu"]))
    lines = [line("exact sums", points["sums"]), line("whole release", points["release"])]
    written = Words("CPU seconds by the levels of one category", (case["title"].split(": ")[1] + ", one worker.",),
                    "levels", foot(run))  # fmt: skip
    return drawn(lines, written)


def bars(title: str, lines: tuple[str, ...], panels: Mapping[str, Mapping[str, float | None]], run: Run) -> Figure:
    """Draw panels of bars from 1 on logarithmic axes. A name without a number is shown as a gap."""
    with house_style():
        from discreet.analyst.plots.style import new_figure

        names = list(next(iter(panels.values())))
        above = below_head(lines) + 30.0
        height = _STEP * len(names)
        figure = new_figure(_WIDTH, above + height + 70)
        head(figure, title, lines)
        left = 24 + max(text_width(name, SMALL) for name in names)
        width = (_WIDTH - left - 24) / len(panels)
        for index, (panel, values) in enumerate(panels.items()):
            axes = place(figure, left + index * width, above, width - 56, height)
            known = [value for value in values.values() if value is not None]
            axes.set_xscale("log")
            axes.set(xlim=(min(0.9, 0.8 * min(known, default=1.0)), max(1.2, 1.2 * max(known, default=1.0))))
            axes.set(ylim=(len(names) - 0.5, -0.5), yticks=[])
            _log_ticks(axes)
            axes.axvline(1.0, color=LIGHT.faint, linewidth=1.2)
            words(axes, 0.0, -0.5, panel, colour=LIGHT.ink, size=SMALL, x_of_axes=True, move=(0, 12))
            for row, (name, value) in enumerate(values.items()):
                if index == 0:
                    words(axes, 0.0, row, name, colour=LIGHT.ink, size=SMALL, across="right", x_of_axes=True,
                          move=(-10, 0))  # fmt: skip
                _bar(axes, row, value, colour=COLOURS[index])
        heading(figure, above + height + 42, foot(run))
        return figure


def _log_ticks(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axes.get_xlim()
    subs = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=8))
    axes.xaxis.set_minor_locator(NullLocator())
    quiet_axis(axes.xaxis)
    axes.set_axisbelow(True)


def _bar(axes: Axes, row: int, value: float | None, *, colour: str) -> None:
    if value is None:
        words(axes, 1.0, row, "gap", colour=LIGHT.faint, size=SMALL, move=(6, 0))
        return
    axes.plot((1.0, value), (row, row), color=colour, linewidth=11, solid_capstyle="butt")
    end = max(1.0, value)
    words(axes, end, row, f"{value:.3g}", colour=LIGHT.ink, size=SMALL, move=(6, 0))


def baselines(run: Run) -> Figure | None:
    """Plot the cost of baselines relative to ours."""
    case = case_of(run, "baselines")
    if case is None:
        return None
    names = {one["name"]: one["label"] for one in case["measurements"] if one["name"] != "ours"}
    found = {(one["top"], one["of"]): middle(one["values"]) for one in case["figures"] if one["values"]}
    panels = {
        shown: {label: found.get((name, of)) for name, label in names.items()}
        for of, shown in {"cpu": "CPU seconds over ours", "memory": "peak memory over ours"}.items()
    }
    lines = (case["title"].split(": ")[1] + ", one thread each. 1 is discreet release.",)
    return bars("Load and fit, others over discreet", lines, panels, run)


def mechanisms(run: Run) -> Figure | None:
    """Plot the cost of mechanisms relative to the default."""
    case = case_of(run, "mechanisms")
    if case is None:
        return None
    found = {one["top"].split()[0]: middle(one["values"]) if one["values"] else None for one in case["figures"]}
    lines = (case["title"].split(": ")[1] + ", one worker. 1 is gaussian.",)
    return bars("A release by each mechanism", lines, {"CPU seconds over gaussian": found}, run)


PLOTS = {"baselines": baselines, "rows": rows, "columns": columns, "levels": levels, "mechanisms": mechanisms}


def write(run: Run, root: Path = ROOT, suffix: str = ".svg") -> list[str]:
    """Write all plots and return their names."""
    written = []
    for name, draw in PLOTS.items():
        figure = draw(run)
        if figure is not None:
            path = root / FOLDER / f"bench-{name}{suffix}"
            save_figure(figure, path, force=True)
            written.append(path.name)
    return written
