"""A design with every kind of column to plan for, its budget, and the coefficients of a plan by name."""

from __future__ import annotations

import discreet
from discreet.analyst.planning.expected import Plan, PlannedCoefficient
from support.planned_cells import SHARES

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
COLUMNS = {
    "y": (-10, 10), "a": (0, 100), "b": (0, 200), "t": bool, "u": bool, "g": list(SHARES),
    "h": {"bounds": [0, 200], "release": False},
    "a2": {"formula": "a ** 2"}, "curve": {"formula": "spline(h, 80)"},
}  # fmt: skip
DESIGN = discreet.Design("y", COLUMNS)


def by_name(made: Plan) -> dict[str, PlannedCoefficient]:
    return {one.name: one for one in made.coefficients}
