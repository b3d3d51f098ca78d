"""Set the style of plots and save them reproducibly."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from xml.etree import ElementTree

from matplotlib.figure import Figure

from discreet.errors import MissingDependencyError, SpecError, shown
from discreet.files import check_output, checked_path, write_bytes
from discreet.number_text import axis_number, plain
from discreet.text import escape_control

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    from discreet.releases.release import Release

# -- style -------------------------------------------------------------------------------------------------------------
# The style of all plots: colours, fonts, axes and labels, independent of the user's settings.

# the colour-blind safe palette of Okabe and Ito, without yellow, which is hard to see on white
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK, GREY = COLOURS
PALE: Final = "#B0B0B0"  # for rows behind the lines computed from them
# a dash pattern for each cycle through the colours
DASHES: Final = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
POINT: Final = 72.0  # a point is a pixel of a page: sizes below are in pixels
FONT: Final = 13.0
SMALL: Final = 11.5
PANELS: Final = 10.0
BAND: Final = 0.6  # opacity of a band
MARGIN: Final = 14.0
WRAPPED: Final = 116  # letters of a small line
_LETTER: Final = 0.61  # width of an average letter, relative to the font size
_TITLE: Final = 72  # letters of a title
_CUT: Final = "…"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by purpose."""

    paper: str
    ink: str
    faint: str
    rule: str
    sampling: str
    privacy: str


#: colours of the page on a white background
LIGHT: Final = Palette("#ffffff", "#1b2430", "#5b6675", "#dde1e7", "#2868b0", "#e2a33b")


@contextmanager
def house_style(what: str = "a picture", extra: str = "plots", *, size: float = FONT) -> Iterator[None]:
    """Apply the library's style to plotting and saving, independent of the user's settings.

    `what` and `extra` name the feature and the extra that installs the plotting library, for the error if it is
    missing.
    """
    try:
        import matplotlib as mpl
        import matplotlib.figure
    except ImportError:
        raise MissingDependencyError(extra, "matplotlib", what) from None
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rc("svg", fonttype="none", hashsalt="discreet")
        mpl.rc("pdf", fonttype=42)
        mpl.rc("axes", unicode_minus=False)
        mpl.rc("font", size=size)
        # a font without the script of a name shows boxes in .png and text in .svg, which is not an error
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def place(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add empty axes at a position in pixels from the upper left corner."""
    across, down = figure.get_size_inches() * POINT
    axes = figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))
    axes.patch.set_visible(False)
    axes.spines[:].set_visible(False)
    return axes


def quiet_axis(axis: Axis, palette: Palette = LIGHT, *, grid: bool = True) -> None:
    """Style ticks as grey numbers without marks, with thin grid lines if requested."""
    axis.set_major_formatter(lambda value, _: axis_number(value))
    axis.set_tick_params(tick1On=False, tick2On=False, labelcolor=palette.faint, pad=6, labelsize=SMALL)
    if grid:
        axis.grid(visible=True, color=palette.rule, linewidth=1)


def open_axes(axes: Axes, *, grid: Literal["both", "x", "y"] = "both") -> None:
    """Draw axes on the left and at the bottom only, with thin grid lines, for figures with several panels."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis=grid, alpha=0.25, linewidth=0.6)


def words(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    *,
    colour: str,
    size: float = FONT,
    across: str = "left",
    weight: str = "normal",
    move: tuple[float, float] = (0.0, 0.0),
    x_of_axes: bool = False,
) -> Text:
    """Write literal text, never parsed as mathematics, at data coordinates with an offset in pixels."""
    note = axes.annotate(
        text,
        xy=(x, y),
        xycoords=("axes fraction" if x_of_axes else "data", "data"),
        xytext=move,
        textcoords="offset points",
        ha=across,
        va="center",
        color=colour,
        fontsize=size,
        fontweight=weight,
        annotation_clip=False,
    )
    note.set_parse_math(False)
    return note


def heading(figure: Figure, top: float, text: str, *, size: float = SMALL, title: bool = False) -> None:
    """Write a line across the figure, `top` pixels below its top."""
    across, down = figure.get_size_inches() * POINT
    line = figure.text(
        MARGIN / across, 1 - top / down, text, color=LIGHT.ink if title else LIGHT.faint, fontsize=size,
        fontweight="bold" if title else "normal", ha="left", va="top",
    )  # fmt: skip
    line.set_parse_math(False)


def head(figure: Figure, title: str, lines: Sequence[str]) -> None:
    """Write the title and the lines below it; `below_head` returns where they end."""
    heading(figure, 12.0, shortened(title, _TITLE), size=FONT + 3, title=True)
    for index, line in enumerate(lines):
        heading(figure, below_head(lines[:index]), line)


def below_head(lines: Sequence[str]) -> float:
    """Return the pixels from the top of a figure to the content below its title and these lines."""
    return 36.0 + 18.0 * len(lines)


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in pixels; East Asian letters have double width.

    >>> text_width("abcd", 10.0) < text_width("東京都港", 10.0) / 1.5
    True
    """
    letters = sum(1.8 if unicodedata.east_asian_width(letter) in "WF" else 1.0 for letter in text)
    return letters * _LETTER * size


def shortened(text: str, letters: int) -> str:
    """Shorten a text in its middle if it is too long.

    >>> shortened("abcdefghij", 7)
    'abc…hij'
    """
    text = escape_control(text)
    if len(text) <= letters:
        return text
    side = (letters - 1) // 2
    return f"{text[: letters - 1 - side]}{_CUT}{text[len(text) - side :]}"


def apart(wanted: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Return positions from low to high, nearest to the wanted ones, in order and at least a step apart.

    >>> apart([1.0, 1.0, 5.0], 1.0, 0.0, 10.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda one: wanted[one])
    # runs of overlapping neighbours move together, to the mean of their wanted positions
    runs: list[tuple[float, int]] = []
    for one in order:
        mean, size = wanted[one], 1
        while runs and runs[-1][0] + step * runs[-1][1] / 2 > mean - step * size / 2:
            before, count = runs.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        runs.append((mean, size))
    found = [mean + step * (index - (size - 1) / 2) for mean, size in runs for index in range(size)]
    for index, here in enumerate(found):
        found[index] = max(here, found[index - 1] + step if index else low)
    for index in reversed(range(len(found))):
        found[index] = min(found[index], found[index + 1] - step if index + 1 < len(found) else high)
    return [place for _, place in sorted(zip(order, found, strict=True))]


def key_line(figure: Figure, top: float, *, sampling: bool, upright: bool = True, palette: Palette = LIGHT) -> None:
    """Draw the legend on a separate line above the data; `upright` is the direction of the estimate marks."""
    across, _ = figure.get_size_inches() * POINT
    axes = place(figure, MARGIN, top - 1, across - MARGIN, 16)
    axes.set(xlim=(0.0, across - MARGIN), ylim=(-8.0, 8.0), xticks=[], yticks=[])
    parts = [("estimate", palette.ink, 2.6), ("sampling error", palette.sampling, 9.0)]
    at = 2.0
    for name, colour, thick in [*parts[: 2 if sampling else 1], ("added by privacy noise", palette.privacy, 5.0)]:
        short = upright and name == "estimate"
        ends = ((at, at), (-7.0, 7.0)) if short else ((at, at + 22), (0.0, 0.0))
        much = 1.0 if upright or name == "estimate" else BAND
        axes.plot(*ends, color=colour, alpha=much, linewidth=thick, solid_capstyle="butt", clip_on=False)
        at += 7 if short else 29
        words(axes, at, 0.0, name, colour=palette.faint, size=SMALL)
        at += text_width(name, SMALL) + 22


def budget_words(epsilon: float, delta: float) -> str:
    """Format a budget.

    >>> budget_words(1.0, 1e-6), budget_words(0.5, 0.0)
    ('epsilon 1, delta 1e-6', 'epsilon 0.5')
    """
    return f"epsilon {plain(epsilon)}" + (f", delta {plain(delta)}" if delta else "")


def release_line(release: Release) -> str:
    """Describe the guarantee of a figure's release, or state that there is none."""
    promise = release.guarantee
    if promise is None:
        return "NOT PRIVATE: this release carries no guarantee"
    return f"From a release with {budget_words(promise.epsilon, promise.delta)}"


# -- saving ------------------------------------------------------------------------------------------------------------
# Saving figures: the same figure gives the same bytes, with text as text and without a date.

FORMATS: Final = (".svg", ".png", ".pdf")
_SHARP: Final = 2  # pixels of a .png for each pixel of the figure
_WITHOUT_DATES: Final[dict[str, dict[str, None]]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Render a figure as svg, png or pdf; the same figure gives the same bytes."""
    content = io.BytesIO()
    dpi = POINT if kind == "svg" else _SHARP * POINT
    with house_style():
        figure.savefig(content, format=kind, dpi=dpi, metadata=_WITHOUT_DATES[kind])
    return content.getvalue()


def checked_format(path: str | Path) -> str:
    """Return the format of a file name.

    >>> checked_format("slopes.PDF")
    'pdf'
    """
    suffix = checked_path(path).suffix.lower()
    if suffix not in FORMATS:
        raise SpecError(f"the file name {str(path)!r} must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return suffix[1:]


def checked_destination(path: str | Path | None, *, force: bool) -> None:
    """Refuse a name or a folder that cannot be written, before anything is drawn."""
    if path is not None:
        checked_format(path)
        check_output(path, force=force)


def save_figure(figure: Figure, path: str | Path, *, force: bool) -> None:
    """Write a figure in the format of the file name."""
    kind = checked_format(path)
    write_bytes(path, figure_bytes(figure, kind), force=force)


def saved(figure: Figure, path: str | Path | None, *, force: bool) -> Figure:
    """Return the figure, and write it to a file if there is a path."""
    if path is not None:
        save_figure(figure, path, force=force)
    return figure


# -- figure ------------------------------------------------------------------------------------------------------------
# A figure that notebooks display; it needs the plotting library, so it is imported with the first plot.


class Picture(Figure):
    """A figure without a window, which notebooks display as SVG even without pyplot."""

    def _repr_svg_(self) -> str:
        return figure_bytes(self, "svg").decode()


def new_figure(width: float, height: float) -> Picture:
    """Create an empty figure of a size in pixels."""
    return Picture(figsize=(width / POINT, height / POINT), dpi=POINT)


# -- inline ------------------------------------------------------------------------------------------------------------
# A figure as SVG for a page that forbids styles: attributes instead, and the colours of the page.

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_FONTS: Final = "system-ui, sans-serif"
#: the page's variable for each colour of the style
VARIABLES: Final = {
    LIGHT.paper: "var(--paper)",
    LIGHT.ink: "var(--ink)",
    LIGHT.faint: "var(--faint)",
    LIGHT.rule: "var(--rule)",
    LIGHT.sampling: "var(--sampling)",
    LIGHT.privacy: "var(--privacy)",
}
# attributes that need a style, or that no page needs
_LEFT_OUT: Final = ("font-style", "font-variant", "font-stretch", "line-height")
_SHORT_FONT: Final = re.compile(r"(?:(?P<weight>bold|[1-9]00) )?(?P<size>[0-9.]+)px .*", re.DOTALL)


def page_svg(figure: Figure, label: str) -> str:
    """Convert a figure of this package to an SVG element for a page with a strict content security policy.

    It has no `style`, no script, no embedded fonts and no external references. Its colours are those of the page:
    `var(--ink)`, `var(--paper)`, `var(--faint)`, `var(--rule)`, `var(--sampling)` and `var(--privacy)`.

    Parameters
    ----------
    figure
        A figure from `fit.plot()`, `plan.plot()` and others.
    label
        Text for screen readers.

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
    # our own drawing, written just before
    root = ElementTree.fromstring(figure_bytes(figure, "svg"))
    prefix = f"p{hashlib.sha256(label.encode()).hexdigest()[:8]}-"
    _plain(root, prefix)
    size = root.get("viewBox", "0 0 1 1")
    root.attrib.clear()
    root.attrib.update({"class": "chart", "viewBox": size, "role": "img", "aria-label": label})
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _plain(parent: ElementTree.Element, prefix: str) -> None:
    """Remove elements that a page may not contain and turn styles into attributes, recursively."""
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
    """Convert each declaration of a style to an attribute, and a short `font` to its parts.

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
