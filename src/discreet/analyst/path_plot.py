"""The picture of a path, and how pictures are saved."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.errors import SpecError, missing_extra
from discreet.exact.arrays import FloatArray
from discreet.files import checked_path, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMATS: Final = (".png", ".svg", ".pdf")
_NAMED_LINES: Final = 20  # a longer legend hides the picture


def path_figure(
    strengths: FloatArray, slopes: FloatArray, names: Sequence[str], best: int | None, title: str
) -> Figure:
    """Draw slopes, shape (m, number of strengths), against strengths on a logarithmic axis."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("plots", "matplotlib") from None
    # a figure of its own: pyplot would keep it, and choose a window
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for name, values in zip(names, slopes, strict=True):
        # matplotlib leaves labels that begin with an underscore out of a legend
        axes.plot(strengths, values, label=f" {name}" if name.startswith("_") else name)
    axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    if best is not None:
        axes.axvline(strengths[best], color="black", linestyle="--", label=f"chosen: {strengths[best]:.3g}")
    axes.set_xscale("log")
    axes.set_xlabel("strength")
    axes.set_ylabel("slope of the scaled column")
    texts = [axes.set_title(title)]
    if len(names) <= _NAMED_LINES:
        texts += axes.legend().get_texts()
    for text in texts:
        # names are names, not formulas in dollar signs
        text.set_parse_math(False)
    return figure


def save_figure(figure: Figure, path: str | Path, *, force: bool) -> None:
    """Write a figure in the format that its name ends in."""
    suffix = checked_path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise SpecError(f"the file name {str(path)!r} must end in {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}")
    content = io.BytesIO()
    figure.savefig(content, format=suffix[1:])
    write_bytes(path, content.getvalue(), force=force)
