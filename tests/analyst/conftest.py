"""Variances of noise that tests of scores and covariances share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def variance():
    random = np.random.default_rng(5)
    half = random.uniform(0.1, 2, (5, 5))
    return half + half.T
