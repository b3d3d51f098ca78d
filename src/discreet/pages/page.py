"""The page: one file that holds everything it shows, runs nothing and fetches nothing."""

from __future__ import annotations

from discreet.pages.components import COMPONENTS, component, environment
from discreet.pages.libraries import check_libraries
from discreet.pages.view import ReportView


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
