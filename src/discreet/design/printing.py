"""A design in one line, and its columns as a table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.text import html_table

if TYPE_CHECKING:
    from discreet.design.model import Design


def short_design(design: Design) -> str:
    """Name target, regressors and unit.

    >>> from discreet.design.model import Design
    >>> short_design(Design("y", {"y": (0, 1), "x": (0, 1)}))
    '<Design of y on x: 2 columns, unit one row (add-remove)>'
    """
    regressors = ", ".join(design.regressors)
    return f"<Design of {design.target} on {regressors}: {len(design.columns)} columns, unit {design.unit.words}>"


def design_html(design: Design) -> str:
    """Give the declared columns as a table."""
    roles = dict.fromkeys(design.regressors, "feature") | {design.target: "target"}
    if design.weights is not None:
        roles[design.weights] = f"weights ({design.weights_are})"
    rows = [
        [name, roles.get(name, "in formulas only"), _declared(column.to_dict())]
        for name, column in design.columns.items()
    ]
    radius = [] if design.radius is None else [f"Scaled regressors of a row are shrunk to a ball of {design.radius:g}."]
    notes = [f"Privacy unit: {design.unit.words}.", *radius]
    return html_table(f"Design of {design.target}", ["column", "role", "declared"], rows, notes)


def _declared(entry: dict[str, object]) -> str:
    """Say a declaration as the design file has it."""
    return ", ".join(f"{key} = {value}" for key, value in entry.items())
