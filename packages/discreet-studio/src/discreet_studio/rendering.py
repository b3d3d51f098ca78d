"""Render templates with escaping, and the parts that all pages share: navigation, form token, running job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from starlette.responses import HTMLResponse, RedirectResponse

from discreet.number_text import count, plain, share
from discreet_studio.advice import here
from discreet_studio.draft import Draft
from discreet_studio.workspace import Workspace

if TYPE_CHECKING:
    from jinja2 import Environment

SCREENS: Final = {
    "table": "Table", "design": "Design", "check": "Check", "plan": "Plan", "preview": "Preview",
    "release": "Release", "analyse": "Analyse", "ledger": "Ledger",
}  # fmt: skip


@cache
def environment() -> Environment:
    """Return the template environment, which fails on undefined names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(
        loader=PackageLoader("discreet_studio", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(pairs=pairs, place=place, f_secret=_secret)
    templates.filters.update(plain=plain, here=here, number=number, share=share, count=count)
    return templates


def render(space: Workspace, screen: str, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Render a page with the parts that all pages share."""
    shared = {
        "screen": screen,
        "screens": SCREENS,
        "csrf": space.keys.csrf,
        "state": space.state,
        "running": space.jobs.running,
        "errors": {},
        "folder": space.folder.root.name,
    }
    return HTMLResponse(environment().get_template(f"{template}.html.j2").render(shared | values), status)


def part(template: str, **values: object) -> HTMLResponse:
    """Render a part of a page."""
    return HTMLResponse(environment().get_template(f"{template}.html.j2").render(**values))


def pairs(names: Sequence[str], blank: str = "") -> list[tuple[str, str]]:
    """Return the options of a select field, preceded by a blank option if it has a label.

    >>> pairs(["a"], "choose one")
    [('', 'choose one'), ('a', 'a')]
    """
    return [*([("", blank)] if blank else []), *((name, name) for name in names)]


def place(key: str, draft: Draft) -> str:
    """Return a name for people of the form field that has a problem.

    >>> place("c0-low", Draft.blank([("age", None)])), place("target", Draft())
    ('age', 'target')
    """
    column, _, field = key.partition("-")
    if field and column[1:].isdigit() and int(column[1:]) < len(draft.columns):
        return draft.columns[int(column[1:])].name or "new column"
    return key.replace("_", " ")


def _secret(csrf: str) -> object:
    from markupsafe import Markup

    return Markup('<input type="hidden" name="csrf" value="{}">').format(csrf)


def see_other(path: str) -> RedirectResponse:
    """Redirect to a page after a change, so that reloading it repeats nothing."""
    return RedirectResponse(path, 303)


def visible(text: str) -> str:
    r"""Escape every character that a browser would hide or interpret.

    >>> visible("a\u202eb") == "a\\u202eb"
    True
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def number(value: float | None) -> str:
    """Format a number to four significant digits, or None as a dash.

    >>> number(1234.5678), number(None), number(0.5)
    ('1,235', '–', '0.5')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
