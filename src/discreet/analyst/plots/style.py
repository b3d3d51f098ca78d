"""Style of plots, and functions that save them reproducibly."""

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
# The style of all plots, independent of the user's settings.

# the colour-blind safe palette of Okabe and Ito, without yellow, which is hard to see on white
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK, GREY = COLOURS
PALE: Final = "#B0B0B0"  # for data points behind fitted lines
# one dash pattern for each cycle through the colours
DASHES: Final = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
POINT: Final = 72.0  # dots per inch at which one point is one pixel; all sizes are in pixels
FONT: Final = 13.0
SMALL: Final = 11.5
PANELS: Final = 10.0
BAND: Final = 0.6  # opacity of a band
MARGIN: Final = 14.0
WRAPPED: Final = 116  # maximum letters in a line of small text
_LETTER: Final = 0.61  # width of an average letter, relative to the font size
_TITLE: Final = 72  # maximum letters in a title
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
def house_style(what: str = "a plot", extra: str = "plots", *, size: float = FONT) -> Iterator[None]:
    """Apply the library's style to plotting and saving.

    If matplotlib is missing, the error says that `what` needs the extra `extra`.
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
        # a font without the script of a name shows boxes in .png but text in .svg, so this is not an error
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
    """Draw axes only on the left and at the bottom, with thin grid lines, for figures with several panels."""
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
    """Write text at data coordinates with an offset in pixels. It is never parsed as mathematics."""
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
    """Write a line of text across the figure, `top` pixels below its top."""
    across, down = figure.get_size_inches() * POINT
    line = figure.text(
        MARGIN / across, 1 - top / down, text, color=LIGHT.ink if title else LIGHT.faint, fontsize=size,
        fontweight="bold" if title else "normal", ha="left", va="top",
    )  # fmt: skip
    line.set_parse_math(False)


def head(figure: Figure, title: str, lines: Sequence[str]) -> None:
    """Write the title and the lines below it. They end at `below_head(lines)`."""
    heading(figure, 12.0, shortened(title, _TITLE), size=FONT + 3, title=True)
    for index, line in enumerate(lines):
        heading(figure, below_head(lines[:index]), line)


def below_head(lines: Sequence[str]) -> float:
    """Return the distance in pixels from the top of a figure to the content below its title and these lines."""
    return 36.0 + 18.0 * len(lines)


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in pixels. East Asian letters have nearly double width.

    >>> text_width("abcd", 10.0) < text_width("東京都港", 10.0) / 1.5
    True
    """
    letters = sum(1.8 if unicodedata.east_asian_width(letter) in "WF" else 1.0 for letter in text)
    return letters * _LETTER * size


def shortened(text: str, letters: int) -> str:
    """Replace the middle of a text by an ellipsis if it is longer than `letters`.

    >>> shortened("abcdefghij", 7)
    'abc…hij'
    """
    text = escape_control(text)
    if len(text) <= letters:
        return text
    side = (letters - 1) // 2
    return f"{text[: letters - 1 - side]}{_CUT}{text[len(text) - side :]}"


def apart(wanted: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Return positions nearest to the wanted positions, in the same order, within limits and at least `step` apart.

    >>> apart([1.0, 1.0, 5.0], 1.0, 0.0, 10.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    # runs of overlapping positions move together, to the mean of their wanted positions
    runs: list[tuple[float, int]] = []
    for index in order:
        mean, size = wanted[index], 1
        while runs and runs[-1][0] + step * runs[-1][1] / 2 > mean - step * size / 2:
            before, count = runs.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        runs.append((mean, size))
    positions = [mean + step * (index - (size - 1) / 2) for mean, size in runs for index in range(size)]
    for index, here in enumerate(positions):
        positions[index] = max(here, positions[index - 1] + step if index else low)
    for index in reversed(range(len(positions))):
        positions[index] = min(positions[index], positions[index + 1] - step if index + 1 < len(positions) else high)
    return [position for _, position in sorted(zip(order, positions, strict=True))]


def key_line(figure: Figure, top: float, *, sampling: bool, upright: bool = True, palette: Palette = LIGHT) -> None:
    """Draw the legend on a line above the data. With `upright` the mark of an estimate is vertical."""
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
    """Format a budget, such as "epsilon 1, delta 1e-6"."""
    return f"epsilon {plain(epsilon)}" + (f", delta {plain(delta)}" if delta else "")


def release_line(release: Release) -> str:
    """Describe the guarantee of a figure's release."""
    guarantee = release.guarantee
    if guarantee is None:
        return "NOT PRIVATE: this release carries no privacy guarantee"
    return f"From a release with {budget_words(guarantee.epsilon, guarantee.delta)}"


# -- saving ------------------------------------------------------------------------------------------------------------
# Saving figures: the same figure always gives the same bytes, with text as text and without a date.

FORMATS: Final = (".svg", ".png", ".pdf")
_SHARP: Final = 2  # pixels of a .png per pixel of the figure
_WITHOUT_DATES: Final[dict[str, dict[str, None]]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Render a figure as svg, png or pdf. The same figure always gives the same bytes."""
    content = io.BytesIO()
    dpi = POINT if kind == "svg" else _SHARP * POINT
    with house_style():
        figure.savefig(content, format=kind, dpi=dpi, metadata=_WITHOUT_DATES[kind])
    return content.getvalue()


def checked_format(path: str | Path) -> str:
    """Return the format for a file name, or raise if it is not supported."""
    suffix = checked_path(path).suffix.lower()
    if suffix not in FORMATS:
        expected = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise SpecError(f"expected a file name ending in {expected}, got {str(path)!r}")
    return suffix[1:]


def checked_destination(path: str | Path | None, *, force: bool) -> None:
    """Raise before anything is drawn if the file cannot be written."""
    if path is not None:
        checked_format(path)
        check_output(path, force=force)


def save_figure(figure: Figure, path: str | Path, *, force: bool) -> None:
    """Write a figure in the format given by the file name."""
    kind = checked_format(path)
    write_bytes(path, figure_bytes(figure, kind), force=force)


def saved(figure: Figure, path: str | Path | None, *, force: bool) -> Figure:
    """Write the figure to `path` unless it is None, and return the figure."""
    if path is not None:
        save_figure(figure, path, force=force)
    return figure


# -- figure ------------------------------------------------------------------------------------------------------------
# A figure that notebooks display.


class Picture(Figure):
    """A figure without a window. Notebooks display it as SVG even without pyplot."""

    def _repr_svg_(self) -> str:
        return figure_bytes(self, "svg").decode()


def new_figure(width: float, height: float) -> Picture:
    """Create an empty figure with a size in pixels."""
    return Picture(figsize=(width / POINT, height / POINT), dpi=POINT)


# -- inline ------------------------------------------------------------------------------------------------------------
# Figures as SVG for pages that forbid inline styles: attributes replace styles, and variables replace colours.

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_FONTS: Final = "system-ui, sans-serif"
#: CSS variable for each colour of the palette
VARIABLES: Final = {
    LIGHT.paper: "var(--paper)",
    LIGHT.ink: "var(--ink)",
    LIGHT.faint: "var(--faint)",
    LIGHT.rule: "var(--rule)",
    LIGHT.sampling: "var(--sampling)",
    LIGHT.privacy: "var(--privacy)",
}
# style properties that have no SVG attribute, or that no page needs
_LEFT_OUT: Final = ("font-style", "font-variant", "font-stretch", "line-height")
_SHORT_FONT: Final = re.compile(r"(?:(?P<weight>bold|[1-9]00) )?(?P<size>[0-9.]+)px .*", re.DOTALL)


def page_svg(figure: Figure, label: str) -> str:
    """Convert a figure made by this package to an SVG element for a page with a strict content security policy.

    The element has no `style`, script, embedded fonts or external references. Its colours are CSS variables that the
    page must define: `var(--ink)`, `var(--paper)`, `var(--faint)`, `var(--rule)`, `var(--sampling)` and
    `var(--privacy)`.

    Parameters
    ----------
    figure
        A figure from `fit.plot()`, `plan.plot()` or another plotting method.
    label
        Text for screen readers.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> figure = discreet.cost(design, epsilon=1.0).plot()
    >>> text = discreet.page_svg(figure, "What an attacker could learn")
    >>> text.startswith("<svg"), "style" in text, "var(--ink)" in text
    (True, False, True)
    """
    if not hasattr(figure, "savefig"):
        raise SpecError(f"expected a figure, such as the result of fit.plot(), got {type(figure).__name__}")
    if not isinstance(label, str) or not label.strip():
        raise SpecError(f"label: expected a text that is not empty, got {shown(label)}")
    # safe to parse: this library wrote it
    root = ElementTree.fromstring(figure_bytes(figure, "svg"))
    prefix = f"p{hashlib.sha256(label.encode()).hexdigest()[:8]}-"
    _plain(root, prefix)
    size = root.get("viewBox", "0 0 1 1")
    root.attrib.clear()
    root.attrib.update({"class": "chart", "viewBox": size, "role": "img", "aria-label": label})
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _plain(parent: ElementTree.Element, prefix: str) -> None:
    """Recursively remove elements that the page forbids, and turn styles into attributes."""
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
    """Convert each declaration of a style to an attribute, and the shorthand `font` to several.

    >>> _styles("fill: #1b2430; font: 13px 'DejaVu Sans', sans-serif; text-anchor: end")
    [('fill', 'var(--ink)'), ('font-size', '13'), ('font-family', 'system-ui, sans-serif'), ('text-anchor', 'end')]
    """
    attributes: list[tuple[str, str]] = []
    for declared in style.split(";"):
        key, _, value = (part.strip() for part in declared.partition(":"))
        short = _SHORT_FONT.fullmatch(value) if key == "font" else None
        if short is not None:
            weight = [("font-weight", short["weight"])] if short["weight"] else []
            attributes += [("font-size", short["size"]), *weight, ("font-family", _FONTS)]
        elif key == "font-family":
            attributes.append((key, _FONTS))
        elif key and key not in _LEFT_OUT:
            attributes.append((key, VARIABLES.get(value, value)))
    return attributes
