"""Fits that pictures are tried on, and what is written in a figure."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

import discreet
from discreet.analyst.plots.style import figure_bytes
from discreet.testing.not_private import seeded_release
from support.report_cases import promised

NAMES = ("age", "hours")


@functools.cache
def release(
    rows: int = 2000, epsilon: float = 4.0, names: Sequence[str] = NAMES, seed: int = 1, mechanism: str = "gaussian"
) -> discreet.Release:
    """A release of income on numbers from 0 to 10, a boolean and levels, with fixed noise."""
    random = np.random.default_rng(0)
    columns: dict[str, object] = {name: random.uniform(0, 10, rows) for name in names}
    member, region = random.random(rows) < 0.5, random.integers(0, 3, rows)
    income = 20 + sum((-1) ** i * columns[name] for i, name in enumerate(names)) / len(names) + 4 * member
    columns |= {
        "member": member,
        "region": [("north", "south", "west")[one] for one in region],
        "income": np.clip(income + 2 * (region == 1) + random.normal(0, 2, rows), 0, 60),
    }
    design = discreet.Design(
        "income",
        {**dict.fromkeys(names, (0, 10)), "member": bool, "region": ["north", "south", "west"], "income": (0, 60)},
    )
    made = seeded_release(columns, design, seed=seed, epsilon=epsilon, delta=1e-6, mechanism=mechanism)
    return promised(made) if mechanism == "gaussian" else made


@functools.cache
def weak() -> discreet.Fit:
    """A fit some of whose sets are intervals and some are not."""
    for seed in range(60):
        model = discreet.fit(release(330, 1.0, ("age",), seed))
        if model.estimable and len({ends.kind for ends in model.conf_int().values()}) > 2:
            return model
    raise AssertionError("no seed leaves sets of several kinds")


def nothing() -> discreet.Fit:
    """A fit whose sums do not determine its coefficients."""
    return next(model for seed in range(60) if not (model := discreet.fit(release(60, 0.2, NAMES, seed))).estimable)


def texts(figure: Figure) -> list[str]:
    """All that is written in a figure, as its SVG has it."""
    return re.findall(r">([^<>\n]+)</text>", figure_bytes(figure, "svg").decode())
