"""A release of two rows."""

from __future__ import annotations

import discreet
from discreet.releases import Release


def a_release(**options) -> Release:
    design = discreet.Design("y", {"x": (0, 1), "b": bool, "g": ["u", "v", "w"], "y": (0, 10)}, **options)
    table = {"x": [0.1, 0.9], "b": [True, False], "g": ["u", "w"], "y": [3.0, 4.0]}
    return discreet.release(table, design, epsilon=1.0, delta=1e-6)
