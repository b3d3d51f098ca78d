"""Exact distributions of discrete noise, written down independently of the package."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def discrete_laplace(scale: float, furthest: int) -> tuple[np.ndarray, np.ndarray]:
    z = np.arange(-furthest, furthest + 1)
    r = math.exp(-1 / scale)
    return z, r ** np.abs(z) * (1 - r) / (1 + r)


def squared_error_distribution(mean: Fraction, n: int, epsilon: float, cells: int) -> np.ndarray:
    t = np.arange(cells + 1) / cells
    powers = -(n * epsilon / 2) * (float(mean) - t) ** 2
    return powers - np.log(np.exp(powers).sum())


def absolute_error_distribution(total: int, furthest: int, scale: float) -> np.ndarray:
    powers = -np.abs(total - np.arange(-furthest, furthest + 1)) / scale
    return powers - np.log(np.exp(powers).sum())
