"""Releases with residuals, for robust standard errors: of rows with unequal variances, and of persons."""

from __future__ import annotations

import warnings

import numpy as np

import discreet
from discreet.design.design import Design
from discreet.errors import PrivacyNotice

DESIGN = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-4, 4)})
BETA = np.array([0.3, 1.0, -0.5])
PERSONS = Design("y", {"x": (-1, 1), "y": (-3, 3)}, unit={"id": "person", "max_rows": 3})


def table_of(rows, rng):
    x, z = rng.uniform(-1, 1, (2, rows))
    errors = rng.normal(size=rows) * (0.1 + 1.2 * x**2)
    return {"x": x, "z": z, "y": BETA[0] + BETA[1] * x + BETA[2] * z + errors}


def released(table, epsilon, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        return discreet.release(
            table,
            DESIGN,
            epsilon=epsilon,
            delta=1e-6,
            mechanism="gaussian",
            robust=discreet.RobustErrors(**options),
            allow_weak_privacy=True,
        )


def visits(people, rng):
    """Three rows of each person, whose errors share a part."""
    person = np.repeat(np.arange(people), 3)
    x = np.repeat(rng.uniform(-1, 1, people), 3) * 0.9 + rng.uniform(-0.1, 0.1, people * 3)
    y = 0.5 * x + np.repeat(rng.normal(0, 0.4, people), 3) + rng.normal(0, 0.1, people * 3)
    return {"person": person, "x": x, "y": y}


def released_persons(table, epsilon=1e8, robust=True, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        return discreet.release(
            table,
            PERSONS,
            epsilon=epsilon,
            delta=1e-6,
            robust=discreet.RobustErrors(**options) if robust else False,
            allow_weak_privacy=True,
        )
