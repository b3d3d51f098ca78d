"""A small table that its columns explain well."""

from __future__ import annotations

import numpy as np

from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee

COLUMNS = {"y": (0, 10), "x": (2, 6), "g": ["p", "q", "r"], "flag": bool}
PROMISE = Guarantee(1.0, 1e-6, PrivacyUnit(), ("the bounds are public",))


def table(count=60, seed=0):
    random = np.random.default_rng(seed)
    x, flag = random.uniform(2, 6, count), random.random(count) < 0.5
    return {
        "y": np.clip(1 + x + flag + random.normal(0, 0.3, count), 0, 10).tolist(),
        "x": x.tolist(),
        "g": random.choice(["p", "q", "r"], count).tolist(),
        "flag": flag.tolist(),
    }
