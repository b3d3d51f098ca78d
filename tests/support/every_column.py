"""A release with every kind of column."""

from __future__ import annotations

from discreet import Release
from discreet.design.columns import Fill, Numeric
from discreet.design.design import Design
from discreet.testing.not_private import seeded_release
from support.report_cases import table


def mixed() -> Release:
    """A release with every kind of column."""
    design = Design(
        "y",
        {
            "y": (0, 1),
            "a": Numeric((0, 1), Fill(0.5)),
            "b": {"dtype": "bool", "missing": "drop"},
            "g": {"levels": ["u", "v", "w"]},
            "square": {"formula": "a ** 2"},
            "curve": {"formula": "spline(a, 0.5)"},
            "above": {"formula": "a >= 0.5"},
            "part": {"formula": "cut(a, 0.3)"},
            "h": {"bounds": [0, 4], "release": False},
            "twice": {"formula": "h * 2"},
        },
        radius=3.0,
    )
    rows = 300
    columns: dict[str, list[object]] = {**table(("y", "a"), rows)}
    columns["b"] = [index % 2 == 0 for index in range(rows)]
    columns["g"] = ["uvw"[index % 3] for index in range(rows)]
    columns["h"] = [float(index % 5) for index in range(rows)]
    return seeded_release(columns, design, seed=1, epsilon=5.0, delta=1e-6)
