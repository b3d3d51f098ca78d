"""A release of three regressors for comparisons."""

from __future__ import annotations

import numpy as np

from discreet.design.model import Design
from support.made_releases import made

DESIGN = Design("y", {"y": (-4, 4), "a": (-1, 1), "b": (-1, 1), "c": (-1, 1)})


def release(count=500, sigma=0.5, seed=0, together=0.0):
    random = np.random.default_rng(seed)
    A = random.uniform(-1, 1, (count, 3))
    A[:, 1] = together * A[:, 0] + (1 - together) * A[:, 1]
    y = np.clip(A[:, 0] + 0.5 * A[:, 1] + random.normal(0, 0.3, count), -4, 4)
    rows = {"y": y.tolist(), **{name: A[:, j].tolist() for j, name in enumerate("abc")}}
    return made(DESIGN, rows, sigma=sigma, seed=seed).release
