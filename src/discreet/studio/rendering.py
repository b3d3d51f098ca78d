"""Templates that escape everything, and what every page has: navigation, the form token, work in progress."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from starlette.responses import HTMLResponse, RedirectResponse

from discreet.studio.advice import said
from discreet.studio.draft import Draft
from discreet.studio.workspace import Workspace

if TYPE_CHECKING:
    from jinja2 import Environment

SCREENS: Final = {
    "table": "Table", "design": "Design", "check": "Check", "plan": "Plan", "preview": "Preview",
    "release": "Release", "analyse": "Analyse", "ledger": "Ledger",
}  # fmt: skip


@cache
def environment() -> Environment:
    """Templates that fail on a name that is not there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("discreet.studio", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(pairs=pairs, place=place, f_secret=_secret)
    made.filters.update(plain=plain, here=said, number=number, share=share, count=lambda value: f"{value:,.0f}")
    return made


def render(space: Workspace, screen: str, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """A page with everything around it."""
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
    """A part of a page that is on the screen."""
    return HTMLResponse(environment().get_template(f"{template}.html.j2").render(**values))


def pairs(names: Sequence[str], blank: str = "") -> list[tuple[str, str]]:
    """Options of a choice, with words for none if there may be none.

    >>> pairs(["a"], "choose one")
    [('', 'choose one'), ('a', 'a')]
    """
    return [*([("", blank)] if blank else []), *((name, name) for name in names)]


def place(key: str, draft: Draft) -> str:
    """The field of a problem in words.

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
    """Go to a page after a change, so that a reload repeats nothing."""
    return RedirectResponse(path, 303)


def visible(text: str) -> str:
    r"""Text with every character that a page would hide or obey written as an escape.

    >>> visible("a\u202eb") == "a\\u202eb"
    True
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode() for one in text)


def number(value: float | None) -> str:
    """Four digits; a dash for none.

    >>> number(1234.5678), number(None), number(0.5)
    ('1,235', '–', '0.5')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def plain(value: float) -> str:
    """A declared number as it was declared.

    >>> plain(1e-6), plain(0.5)
    ('1e-6', '0.5')
    """
    return f"{value:.6g}".replace("e-0", "e-")


def share(value: float | None) -> str:
    """A share in percent.

    >>> share(0.1359), share(None)
    ('13.6%', '–')
    """
    return "–" if value is None else f"{100 * value:.1f}".removesuffix(".0") + "%"
