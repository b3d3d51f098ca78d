"""The page: one file that holds everything it shows, runs nothing and fetches nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from discreet.analyst import model
from discreet.analyst.fitted import Fit
from discreet.errors import SpecError
from discreet.files import check_suffix, write_bytes
from discreet.pages.components import COMPONENTS, component, environment
from discreet.pages.libraries import check_libraries
from discreet.pages.view import ReportView, report_view
from discreet.releases import Release
from discreet.releases.reference_law import DEFAULT_LEVEL

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
