"""The picture of a plan."""

from __future__ import annotations

import pytest

from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.planning import plan

COLUMNS = {
    "x": (-1, 1), "b": bool, "g": ["u", "v", "w"], "hidden": {"bounds": [-1, 1], "release": False},
    "s": {"formula": "spline(hidden, 0, degree=2)"}, "y": (-2, 2),
}  # fmt: skip
DESIGN = Design("y", COLUMNS)


def test_a_picture_needs_matplotlib(monkeypatch):
    import sys

    from discreet.analyst.planning.plot import width_figure

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpecError, match="plots"):
        width_figure([plan(DESIGN, rows=1000, epsilon=1.0, delta=1e-6)])
