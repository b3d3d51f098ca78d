"""Parts of the page: each a function from the view to a fragment, rendered from a template of its name."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final

from discreet.pages import charts, text
from discreet.pages.libraries import check_libraries
from discreet.pages.view import ReportView

if TYPE_CHECKING:
    from jinja2 import Environment

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
        return text.escape_control(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=PackageLoader("discreet.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=text.number, plain=text.plain, share=text.share, p_value=text.p_value, percent=text.percent
    )
    made.filters.update(
        estimate=text.estimate, confidence_set=text.confidence_set, in_row=text.in_row, count=text.count
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
    shapes = charts.shapes(effects) if effects else ()
    return {
        # every name in a drawing was escaped when it was put there
        "drawings": [Markup(charts.chart(effects, width, shape)) for shape in shapes],
        "magnified": bool(effects) and charts.is_magnified(effects, width),
        "most": charts.MOST_LINES,
    }


def _facts(view: ReportView) -> object:
    from markupsafe import escape

    # escaped here, because the line ends of JSON are to stay; every hidden character is already written as an escape
    return escape(json.dumps(view.to_dict(), indent=1, ensure_ascii=True, allow_nan=False))
