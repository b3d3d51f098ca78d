"""A sampler with the bias that OpenDP had before 0.14.2 (https://github.com/opendp/opendp/issues/2638)."""

from __future__ import annotations

import numpy as np


def biased_draws(family: str, scale: float, how_many: int) -> list[int]:
    """Draw seeded variates; those whose size is 2 modulo 3 are 1.18 times too frequent.

    The figure is that of 800,000 draws of OpenDP 0.14.1, Gaussian at scale 2 and Laplace at scale 3.
    """
    z = np.arange(-40 * int(scale), 40 * int(scale) + 1)
    weights = np.exp(-(z**2) / (2 * scale**2) if family == "gaussian" else -np.abs(z) / scale)
    weights[np.abs(z) % 3 == 2] *= 1.18
    drawn: list[int] = np.random.default_rng(1).choice(z, how_many, p=weights / weights.sum()).tolist()
    return drawn
