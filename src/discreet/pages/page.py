"""Render the HTML report: one file that fetches nothing and runs no script."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.analyst import model
from discreet.analyst.fitted import Fit
from discreet.analyst.plots.coefficient_plots import (
    MOST_LINES,
    NARROW,
    Effect,
    Panel,
    Shape,
    around_zero,
    forest,
    layout,
    line_name,
    most,
    wide_shape,
)
from discreet.analyst.plots.style import Palette, figure_bytes, house_style
from discreet.errors import SpecError, missing_extra
from discreet.files import check_suffix, write_bytes
from discreet.pages import view
from discreet.pages.view import ReportView, report_view
from discreet.releases.reference_law import DEFAULT_LEVEL
from discreet.releases.release import Release
from discreet.text import escape_control

if TYPE_CHECKING:
    from jinja2 import Environment

# -- charts ------------------------------------------------------------------------------------------------------------
# The forest plot as inline SVG: coloured by the page, without fonts, scripts or references to anything outside.
#
# Names never pass through the drawing library, whose output is searched for colours and identifiers: it draws numbered
# places, and the escaped names are put there afterwards.

# colours of the drawing that are placeholders for colours of the page
_COLOURS: Final = {
    "#000001": "var(--paper)",
    "#010101": "var(--ink)",
    "#050505": "var(--faint)",
    "#020202": "var(--rule)",
    "#030303": "var(--sampling)",
    "#040404": "var(--privacy)",
}
_FONTS: Final = "system-ui, sans-serif"


def chart_shapes(effects: Sequence[Effect]) -> tuple[Shape, Shape]:
    """Give the shape for wide pages and the one for narrow pages."""
    return wide_shape([effect.name for effect in effects]), NARROW


def is_magnified(effects: Sequence[Effect], target_width: float) -> bool:
    """Whether intervals are so thin in some drawing that it magnifies them."""
    panels = _panels(effects, target_width)
    return any(layout(panels, shape).magnified is not None for shape in chart_shapes(effects))


def chart(effects: Sequence[Effect], target_width: float, shape: Shape) -> str:
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
    with house_style("the report", "report"):
        from discreet.analyst.plots.style import new_figure

        panels = _panels(effects, target_width)
        found = layout(panels, shape)
        figure = new_figure(shape.width, found.height)
        figure.patch.set_visible(False)
        palette = Palette(*_COLOURS)
        forest(figure, panels, shape, found, palette=palette, shown=lambda position, _: f"name-{position}-")
        names = [line_name(effect, shape) for panel in panels for effect in panel.effects]
        return _inline(figure_bytes(figure, "svg").decode(), names, shape)


def _panels(effects: Sequence[Effect], target_width: float) -> tuple[Panel, ...]:
    return most([Panel("", tuple(effects), around_zero(target_width))])


def _inline(svg: str, names: Sequence[str], shape: Shape) -> str:
    """Cut the drawing down to what a page may hold."""
    body = svg[svg.index("<svg") :]
    size = re.search(r'viewBox="[^"]+"', body)
    head = f'<svg class="chart {shape.key}" {size[0] if size else ""} role="img" aria-label="Forest plot">'
    body = head + body[body.index(">") + 1 :]
    # the library's own style would rule the whole page
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<defs/>", "", body, flags=re.DOTALL)
    body = re.sub(r' id="([^"]+)"', "", body)
    # the library writes a font in one piece or in several
    body = re.sub(r"(font-family:|font: [^;\"]*?px) [^;\"]*", rf"\1 {_FONTS}", body)
    for sign, colour in _COLOURS.items():
        body = body.replace(sign, colour)
    body = re.sub(r">\s+<", "><", body)
    return re.sub(r"name-(\d+)-", lambda found: html.escape(names[int(found[1])]), body).strip()


# -- libraries ---------------------------------------------------------------------------------------------------------
# The libraries that pages need and a plain install does not bring.

_NEEDED: Final = ("jinja2", "markupsafe", "matplotlib.figure")


def check_libraries() -> None:
    """Refuse with the extra to install where a library is missing; nothing of a page is made before."""
    for module in _NEEDED:
        try:
            import_module(module)
        except ImportError as error:
            # what a library imports itself may be what is missing
            raise missing_extra("report", (error.name or module).partition(".")[0]) from None


# -- components --------------------------------------------------------------------------------------------------------
# Parts of the page: each a function from the view to a fragment, rendered from a template of its name.

#: name of each component, in the order of the page
COMPONENTS: Final = (
    "banner", "promise", "attacker", "coefficients", "forest", "trace", "diagnostics", "provenance", "usage", "facts",
)  # fmt: skip


@cache
def environment() -> Environment:
    """Templates that escape everything, show hidden characters and fail on a name that is not there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: object) -> object:
        """Make characters visible in everything that a template prints, but for fragments that are safe already."""
        return escape_control(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=PackageLoader("discreet.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=view.number, plain=view.plain, share=view.share, p_value=view.p_value, percent=view.percent
    )
    made.filters.update(
        estimate=view.estimate, confidence_set=view.confidence_set, in_row=view.in_row, count=view.count
    )
    return made


def component(name: str, view: ReportView) -> str:
    """Give one part of the page as a fragment; empty where the view has nothing for it.

    Parameters
    ----------
    name
        One of `COMPONENTS`.
    view
        What the page shows.
    """
    check_libraries()
    values: dict[str, object] = {"view": view}
    if name == "forest":
        values |= _drawings(view)
    if name == "facts":
        values["json"] = _facts(view)
    rendered = environment().get_template(f"{name}.html.j2").render(values)
    return rendered.strip()


def _drawings(view: ReportView) -> dict[str, object]:
    from markupsafe import Markup

    effects, width = view.effects, view.target_width
    shapes = chart_shapes(effects) if effects else ()
    return {
        # every name in a drawing was escaped when it was put there
        "drawings": [Markup(chart(effects, width, shape)) for shape in shapes],
        "magnified": bool(effects) and is_magnified(effects, width),
        "most": MOST_LINES,
    }


def _facts(view: ReportView) -> object:
    from markupsafe import escape

    # escaped here, because the line ends of JSON are to stay; every hidden character is already written as an escape
    return escape(json.dumps(view.to_dict(), indent=1, ensure_ascii=True, allow_nan=False))


# -- page --------------------------------------------------------------------------------------------------------------
# The page: one file that holds everything it shows, runs nothing and fetches nothing.

SUFFIXES: Final = (".html", ".htm")


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A report: one HTML page that needs nothing else, and the same facts as plain values.

    Attributes
    ----------
    view
        What the page shows.
    """

    view: ReportView

    @cached_property
    def html(self) -> str:
        """The whole page; needs the libraries of the extra `report`."""
        return render(self.view)

    def to_dict(self) -> dict[str, object]:
        """Give the facts of the page as plain values for JSON."""
        return self.view.to_dict()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page to a `.html` file; an existing file is left alone unless `force`."""
        check_suffix(path, *SUFFIXES, example="R.html")
        write_bytes(path, self.html.encode(), force=force)

    def __repr__(self) -> str:
        return f"<report of {len(self.view.coefficients)} coefficients; write it with .save('R.html')>"


def report(
    release: Release,
    fit: Fit | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    title: str | None = None,
    file: str | Path | None = None,
    simulated: bool = False,
) -> Page:
    """Put what a release promises and what a model of it says on one HTML page; like `fit` it costs nothing more.

    Parameters
    ----------
    release
        What a curator published.
    fit
        A model that was read from this release; `discreet.fit(release)` unless given. Where the release does not
        determine its coefficients, the page says so.
    level
        Of the confidence sets, at least 0.5 and below 1.
    title
        Of the page; the name of the target unless given.
    file
        The release file, whose name the page shows, without its folder.
    simulated
        Whether the release is of simulated rows; the page then says SIMULATED on top and in its title.

    Returns
    -------
    Page
        With `html`, `save` and `to_dict`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0] * 400, "y": [2.0, 4.0, 6.0] * 400}
    >>> release = discreet.release(table, design, epsilon=1.0, delta=1e-6)
    >>> page = discreet.report(release)
    >>> page
    <report of 2 coefficients; write it with .save('R.html')>
    >>> page.html.startswith("<!DOCTYPE html>"), page.to_dict()["private"]
    (True, True)
    >>> ridge = discreet.fit(release, penalty="ridge", strength=0.1)
    >>> discreet.report(release, ridge, level=0.9).to_dict()["level"]
    0.9
    """
    model.check_release(release, "report")
    if fit is not None and not isinstance(fit, Fit):
        raise SpecError(f"report needs a Fit of the release, got {type(fit).__name__}; make one with discreet.fit")
    chosen = model.fit(release) if fit is None else fit
    return Page(report_view(release, chosen, level=level, title=title, file=file, simulated=simulated))


def render(view: ReportView) -> str:
    """Give the whole page as HTML; the same view gives the same text.

    Parameters
    ----------
    view
        What the page shows.
    """
    check_libraries()
    from markupsafe import Markup

    # fragments come out of templates that escape
    parts = {name: Markup(component(name, view)) for name in COMPONENTS}
    return environment().get_template("page.html.j2").render(view=view, parts=parts)
