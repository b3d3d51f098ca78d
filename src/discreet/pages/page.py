"""The HTML report: one file that loads nothing and runs no script."""

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
from discreet.errors import MissingDependencyError, OptionError
from discreet.files import check_suffix, write_bytes
from discreet.number_text import count, number, p_value, percent, plain, share
from discreet.pages.view import ReportView, confidence_set, estimate, in_row, report_view
from discreet.releases.reference_distribution import DEFAULT_LEVEL
from discreet.releases.release import Release
from discreet.text import escape_control
from discreet.wording import Call

if TYPE_CHECKING:
    from jinja2 import Environment

# -- charts ------------------------------------------------------------------------------------------------------------
# The forest plot is inline SVG in the colours of the page, without fonts, scripts or external references.
#
# Names never pass through matplotlib, because its output is searched for colours and identifiers. It draws numbered
# placeholders, which are then replaced by the escaped names.

# placeholder colours of the plot, and the colours of the page
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
    """Return the shapes for wide and for narrow pages."""
    return wide_shape([effect.name for effect in effects]), NARROW


def is_magnified(effects: Sequence[Effect], target_width: float) -> bool:
    """Return whether a plot magnifies its intervals because they are too narrow to see."""
    panels = _panels(effects, target_width)
    return any(layout(panels, shape).magnified is not None for shape in chart_shapes(effects))


def chart(effects: Sequence[Effect], target_width: float, shape: Shape) -> str:
    """Draw the forest plot as SVG. Effects must be in units of the target. The same effects give the same text."""
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
    """Reduce an SVG to the elements and attributes that the page may contain."""
    body = svg[svg.index("<svg") :]
    size = re.search(r'viewBox="[^"]+"', body)
    head = f'<svg class="chart {shape.key}" {size[0] if size else ""} role="img" aria-label="Forest plot">'
    body = head + body[body.index(">") + 1 :]
    # matplotlib's styles would apply to the whole page
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<defs/>", "", body, flags=re.DOTALL)
    body = re.sub(r' id="([^"]+)"', "", body)
    # depending on its version, matplotlib writes fonts as one property or several
    body = re.sub(r"(font-family:|font: [^;\"]*?px) [^;\"]*", rf"\1 {_FONTS}", body)
    for sign, colour in _COLOURS.items():
        body = body.replace(sign, colour)
    body = re.sub(r">\s+<", "><", body)
    return re.sub(r"name-(\d+)-", lambda match: html.escape(names[int(match[1])]), body).strip()


# -- libraries ---------------------------------------------------------------------------------------------------------
# Optional libraries that the report needs.

_NEEDED: Final = ("jinja2", "markupsafe", "matplotlib.figure")


def check_libraries() -> None:
    """Raise if a library that the report needs is not installed."""
    for module in _NEEDED:
        try:
            import_module(module)
        except ImportError as error:
            # the missing module may be a dependency of the library
            raise MissingDependencyError("report", (error.name or module).partition(".")[0]) from None


# -- components --------------------------------------------------------------------------------------------------------
# Sections of the page, each rendered from the template of the same name.

#: name of each component, in the order of the page
COMPONENTS: Final = (
    "banner", "promise", "attacker", "coefficients", "forest", "trace", "diagnostics", "provenance", "usage", "facts",
)  # fmt: skip


@cache
def environment() -> Environment:
    """Return the template environment. It escapes everything, shows hidden characters and fails on undefined names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: object) -> object:
        """Show hidden characters, except in fragments that are already safe."""
        return escape_control(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    templates = Environment(
        loader=PackageLoader("discreet.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        {function.__name__: function for function in (number, plain, share, p_value, percent, count)}
    )
    templates.filters.update(estimate=estimate, confidence_set=confidence_set, in_row=in_row)
    return templates


def component(name: str, view: ReportView) -> str:
    """Render one of `COMPONENTS` as an HTML fragment. It may be empty."""
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
        # names in the plots are already escaped
        "drawings": [Markup(chart(effects, width, shape)) for shape in shapes],
        "magnified": bool(effects) and is_magnified(effects, width),
        "most": MOST_LINES,
    }


def _facts(view: ReportView) -> object:
    from markupsafe import escape

    # escape here to keep line ends; JSON already escapes hidden characters
    return escape(json.dumps(view.to_dict(), indent=1, ensure_ascii=True, allow_nan=False))


# -- page --------------------------------------------------------------------------------------------------------------

SUFFIXES: Final = (".html", ".htm")


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A report as one self-contained HTML page, and its content as plain values.

    Attributes
    ----------
    view
        The content of the page.
    """

    view: ReportView

    @cached_property
    def html(self) -> str:
        """The HTML page. Needs the extra `report`."""
        return render(self.view)

    def to_dict(self) -> dict[str, object]:
        """Return the content of the page as plain values for JSON."""
        return self.view.to_dict()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Save the page to a `.html` file. An existing file is replaced only with `force`."""
        check_suffix(path, *SUFFIXES, example="R.html")
        write_bytes(path, self.html.encode(), force=force)

    def __repr__(self) -> str:
        return f"<report of {len(self.view.coefficients)} coefficients; save it with .save('R.html')>"


def report(
    release: Release,
    fit: Fit | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    title: str | None = None,
    file: str | Path | None = None,
    simulated: bool = False,
) -> Page:
    """Create an HTML report of a release and a model, at no additional privacy cost.

    Parameters
    ----------
    release
        A published release.
    fit
        A model of this release. The default is `discreet.fit(release)`.
    level
        Confidence level of the sets, at least 0.5 and below 1.
    title
        Title of the page. The default is the name of the target.
    file
        Path of the release file. The page shows its name without the folder.
    simulated
        Whether the rows were simulated. The page is then marked SIMULATED.

    Returns
    -------
    Page
        The report, with `html`, `save` and `to_dict`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0] * 400, "y": [2.0, 4.0, 6.0] * 400}
    >>> release = discreet.release(table, design, epsilon=1.0, delta=1e-6)
    >>> page = discreet.report(release)
    >>> page
    <report of 2 coefficients; save it with .save('R.html')>
    >>> page.html.startswith("<!DOCTYPE html>"), page.to_dict()["private"]
    (True, True)
    >>> ridge = discreet.fit(release, penalty="ridge", strength=0.1)
    >>> discreet.report(release, ridge, level=0.9).to_dict()["level"]
    0.9
    """
    model.check_release(release, "report")
    if fit is not None and not isinstance(fit, Fit):
        raise OptionError(
            f"report: expected a Fit, got {type(fit).__name__}", option="fit", remedy=Call("discreet.fit", "make a Fit")
        )
    chosen = model.fit(release) if fit is None else fit
    return Page(report_view(release, chosen, level=level, title=title, file=file, simulated=simulated))


def render(view: ReportView) -> str:
    """Render the page as HTML. The same view gives the same text."""
    check_libraries()
    from markupsafe import Markup

    # the templates escape their values
    parts = {name: Markup(component(name, view)) for name in COMPONENTS}
    return environment().get_template("page.html.j2").render(view=view, parts=parts)
