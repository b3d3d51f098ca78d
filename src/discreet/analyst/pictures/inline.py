"""A picture as SVG for a page that forbids styles: attributes in their place, and the colours of the page."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

from discreet.analyst.pictures.saving import figure_bytes
from discreet.analyst.pictures.style import LIGHT
from discreet.errors import SpecError, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_FONTS: Final = "system-ui, sans-serif"
#: the variable that a page sets for each colour of the house
VARIABLES: Final = {
    LIGHT.paper: "var(--paper)",
    LIGHT.ink: "var(--ink)",
    LIGHT.faint: "var(--faint)",
    LIGHT.rule: "var(--rule)",
    LIGHT.sampling: "var(--sampling)",
    LIGHT.privacy: "var(--privacy)",
}
# what only a style can say, and what no page needs
_LEFT_OUT: Final = ("font-style", "font-variant", "font-stretch", "line-height")
_SHORT_FONT: Final = re.compile(r"(?:(?P<weight>bold|[1-9]00) )?(?P<size>[0-9.]+)px .*", re.DOTALL)


def page_svg(figure: Figure, label: str) -> str:
    """Give a picture of this package as an SVG element that a page with a strict content policy can hold.

    It has no `style`, no script, no fonts of its own and no reference to anything outside. Its colours are those of
    the page: `var(--ink)`, `var(--paper)`, `var(--faint)`, `var(--rule)`, `var(--sampling)` and `var(--privacy)`.

    Parameters
    ----------
    figure
        As `fit.plot()`, `plan.plot()` and others give it.
    label
        What a reader who cannot see it is given.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> picture = discreet.cost(design, epsilon=1.0).plot()
    >>> text = discreet.page_svg(picture, "What an attacker could learn")
    >>> text.startswith("<svg"), "style" in text, "var(--ink)" in text
    (True, False, True)
    """
    if not hasattr(figure, "savefig"):
        raise SpecError(f"page_svg needs a figure, such as fit.plot() gives, got {type(figure).__name__}")
    if not isinstance(label, str) or not label.strip():
        raise SpecError(f"label: expected a text, got {shown(label)}")
    # our own drawing, written a moment ago
    root = ElementTree.fromstring(figure_bytes(figure, "svg"))
    prefix = f"p{hashlib.sha256(label.encode()).hexdigest()[:8]}-"
    _plain(root, prefix)
    size = root.get("viewBox", "0 0 1 1")
    root.attrib.clear()
    root.attrib.update({"class": "chart", "viewBox": size, "role": "img", "aria-label": label})
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _plain(parent: ElementTree.Element, prefix: str) -> None:
    """Drop what a page may not hold, and turn styles into attributes, all the way down."""
    for child in list(parent):
        name = child.tag.rpartition("}")[2]
        if name in ("metadata", "style", "title"):
            parent.remove(child)
            continue
        for key, value in _styles(child.attrib.pop("style", "")):
            child.set(key, value)
        if "id" in child.attrib:
            child.set("id", prefix + child.attrib["id"])
        target = child.attrib.pop(_LINK, None)
        if target is not None:
            child.set("href", f"#{prefix}{target.removeprefix('#')}")
        for key, value in child.attrib.items():
            child.set(key, re.sub(r"url\(#", f"url(#{prefix}", VARIABLES.get(value, value)))
        _plain(child, prefix)


def _styles(style: str) -> list[tuple[str, str]]:
    """Each declaration of a style as an attribute; a short `font` as its parts.

    >>> _styles("fill: #1b2430; font: 13px 'DejaVu Sans', sans-serif; text-anchor: end")
    [('fill', 'var(--ink)'), ('font-size', '13'), ('font-family', 'system-ui, sans-serif'), ('text-anchor', 'end')]
    """
    found: list[tuple[str, str]] = []
    for declared in style.split(";"):
        key, _, value = (part.strip() for part in declared.partition(":"))
        short = _SHORT_FONT.fullmatch(value) if key == "font" else None
        if short is not None:
            weight = [("font-weight", short["weight"])] if short["weight"] else []
            found += [("font-size", short["size"]), *weight, ("font-family", _FONTS)]
        elif key == "font-family":
            found.append((key, _FONTS))
        elif key and key not in _LEFT_OUT:
            found.append((key, VARIABLES.get(value, value)))
    return found
