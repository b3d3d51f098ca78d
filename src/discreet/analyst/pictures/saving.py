"""How a picture becomes a file: the same figure gives the same bytes, with text as text and without a date."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.analyst.pictures.style import POINT, house_style
from discreet.errors import SpecError
from discreet.files import check_output, checked_path, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS: Final = (".svg", ".png", ".pdf")
_SHARP: Final = 2  # pixels of a .png for each pixel of the picture
_WITHOUT_DATES: Final[dict[str, dict[str, None]]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Give a figure as svg, png or pdf; the same figure gives the same bytes."""
    content = io.BytesIO()
    dpi = POINT if kind == "svg" else _SHARP * POINT
    with house_style():
        figure.savefig(content, format=kind, dpi=dpi, metadata=_WITHOUT_DATES[kind])
    return content.getvalue()


def checked_format(path: str | Path) -> str:
    """Give the format that a file name ends in.

    >>> checked_format("slopes.PDF")
    'pdf'
    """
    suffix = checked_path(path).suffix.lower()
    if suffix not in FORMATS:
        raise SpecError(f"the file name {str(path)!r} must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return suffix[1:]


def checked_destination(path: str | Path | None, *, force: bool) -> None:
    """Refuse a name or a place that cannot be written, before anything is drawn."""
    if path is not None:
        checked_format(path)
        check_output(path, force=force)


def save_figure(figure: Figure, path: str | Path, *, force: bool) -> None:
    """Write a figure in the format that its name ends in."""
    kind = checked_format(path)
    write_bytes(path, figure_bytes(figure, kind), force=force)


def saved(figure: Figure, path: str | Path | None, *, force: bool) -> Figure:
    """Give the figure, which is written as well if there is a path."""
    if path is not None:
        save_figure(figure, path, force=force)
    return figure
