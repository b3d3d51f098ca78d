"""The directives `mechanism-table` and `mechanism-picture`, generated from the registry of mechanisms."""

from __future__ import annotations

import io
import math
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib import rc_context
from matplotlib.figure import Figure
from sphinx.application import Sphinx

from discreet.accounting.settings import checked_settings
from discreet.cli.mechanisms import FIGURES, HEADERS, cells
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.registry import TableRow, mechanism_named, mechanism_table, predicted_error
from discreet.privacy.budget import PrivacyBudget

SIZE = 5
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "discreet", "font.size": 11}
LINES = ("-", "--", ":", "-.")
SOURCES = ("mechanism", "source", "rows in", "rows per person", "needs", "status", "references")


class MechanismTable(Directive):
    """A table with a row for each mechanism: its noise, or its source."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        names, shown, below = {
            "costs": (HEADERS, cells, [nodes.paragraph(text=f"d = 5, d = 20: {FIGURES}.", classes=["caption"])]),
            "sources": (SOURCES, _sources, []),
        }[self.arguments[0]]
        table = nodes.table(classes=["mechanisms"])
        group = nodes.tgroup(cols=len(names))
        table += group
        group += [nodes.colspec(colwidth=1) for _ in names]
        head, body = nodes.thead(), nodes.tbody()
        group += [head, body]
        head += _row([nodes.paragraph(text=name) for name in names])
        for row in mechanism_table():
            link = nodes.paragraph()
            link += nodes.reference("", "", nodes.literal(text=row.name), refuri=f"{row.name}.html", internal=True)
            body += _row([link, *(nodes.paragraph(text=text) for text in shown(row)[1:])])
        return [table, *below]


def _sources(row: TableRow) -> tuple[str, ...]:
    needs = "; ".join(row.needs) or "bounds and levels"
    persons = "several" if row.persons else "one"
    return (row.name, row.document, row.domain, persons, needs, row.status, "; ".join(row.references))


def _row(cells: list[nodes.Node]) -> nodes.row:
    row = nodes.row()
    row += [nodes.entry("", cell) for cell in cells]
    return row


class MechanismPicture(Directive):
    """A plot of noise against epsilon, compared with the Gaussian release if both publish moments."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the plot as inline SVG."""
        name = self.arguments[0]
        lines = _lines(name)
        if mechanism_named(name).kind == "moments" and name != "gaussian":
            lines |= {f"gaussian: {label}": line for label, line in _lines("gaussian").items()}
        caption = f"Standard deviation of the noise in scaled units against epsilon, {SIZE} numeric columns in a box."
        return [nodes.raw("", _svg(lines, caption), format="html"), nodes.paragraph(text=caption, classes=["caption"])]


def _lines(name: str) -> dict[str, list[tuple[float, float]]]:
    mechanism = mechanism_named(name)
    design = Design("y", {**{f"x{j}": (-1, 1) for j in range(SIZE)}, "y": (-1, 1)})
    settings = checked_settings(name, mechanism.info.settings, None)
    delta = 0.0 if mechanism.info.notion == "pure" else 1e-6
    lines: dict[str, list[tuple[float, float]]] = {}
    for epsilon in EPSILONS:
        try:
            distribution = mechanism.noise_model(design, RowDomain.of(design), PrivacyBudget(epsilon, delta), settings)
        except SpecError:
            continue
        if mechanism.kind == "moments":
            points = {
                "one normal equation": math.sqrt(predicted_error(distribution, SIZE + 2)),
                "X'y": distribution.sd("cross"),
            }
        else:
            points = {statistic.replace("_", " "): distribution.sd(statistic) for statistic in distribution.sigma}
        for label, sd in points.items():
            lines.setdefault(label, []).append((epsilon, sd))
    return lines


def _svg(lines: dict[str, list[tuple[float, float]]], caption: str) -> str:
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.4), layout="constrained")
        axes = figure.subplots()
        for place, (label, points) in enumerate(lines.items()):
            axes.loglog(
                *zip(*points, strict=True), LINES[place % len(LINES)], marker="o", ms=4, label=label, color=f"C{place}"
            )
        axes.set_xlabel("epsilon")
        axes.set_ylabel("noise sd")
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        return inline_svg(figure, caption)


def inline_svg(figure: Figure, caption: str) -> str:
    """Return a figure as inline SVG, as wide as the text, in its colour, with the caption as its label."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = drawn.getvalue()[drawn.getvalue().index("<svg") :]
    # black is the colour of the text, light or dark
    svg = svg.replace("#000000", "currentColor")
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1 width="100%" style="max-width:40rem"', svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{caption}"', 1)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("mechanism-table", MechanismTable)
    app.add_directive("mechanism-picture", MechanismPicture)
    return {"parallel_read_safe": True}
