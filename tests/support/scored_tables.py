"""Tables for scores and residuals."""

from __future__ import annotations

import numpy as np

COLUMNS = {"y": (0, 10), "x": (2, 6), "w": (-3, 1), "flag": bool}


def table(count=200, seed=0):
    random = np.random.default_rng(seed)
    x, w, flag = random.uniform(2, 6, count), random.uniform(-3, 1, count), random.random(count) < 0.5
    y = np.clip(1 + x + 0.5 * w + flag + random.normal(0, 0.4, count), 0, 10)
    return {"y": y.tolist(), "x": x.tolist(), "w": w.tolist(), "flag": flag.tolist()}
