"""A release of three regressors for comparisons, and a fit with an interaction."""

from __future__ import annotations

import numpy as np
import pandas as pd

import discreet
from discreet.design.design import Design
from discreet.testing.not_private import exact_release
from support.made_releases import made

DESIGN = Design("y", {"y": (-4, 4), "a": (-1, 1), "b": (-1, 1), "c": (-1, 1)})


def release(count=500, sigma=0.5, seed=0, together=0.0):
    random = np.random.default_rng(seed)
    A = random.uniform(-1, 1, (count, 3))
    A[:, 1] = together * A[:, 0] + (1 - together) * A[:, 1]
    y = np.clip(A[:, 0] + 0.5 * A[:, 1] + random.normal(0, 0.3, count), -4, 4)
    rows = {"y": y.tolist(), **{name: A[:, j].tolist() for j, name in enumerate("abc")}}
    return made(DESIGN, rows, sigma=sigma, seed=seed).release


def with_interactions() -> tuple[discreet.Fit, pd.DataFrame]:
    """A fit without noise whose number is far from 0, and its columns in original units, indicators too."""
    rng = np.random.default_rng(4)
    age, region = rng.uniform(30, 90, 900), rng.choice(["north", "south", "east"], 900)
    frame = pd.DataFrame(
        {"age": age, "region[south]": region == "south", "region[east]": region == "east"}, dtype=float
    )
    for level in ("south", "east"):
        frame[f"ar[{level}]"] = age * frame[f"region[{level}]"]
    income = 5 + 0.1 * age + 2 * frame["region[south]"] - 0.05 * frame["ar[east]"] + rng.normal(size=900)
    levels = ["north", "south", "east"]
    columns = {"income": (-10, 40), "age": (30, 90), "region": levels, "ar": {"formula": "age:region"}}
    design = Design("income", columns)
    table = {"age": age, "region": region, "income": income}
    return discreet.fit(exact_release(table, design, grid_bits=26)), frame.assign(income=income)
