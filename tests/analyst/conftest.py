"""Variances of noise and releases of one small table that tests of several rooms share."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.design.design import Design
from discreet.releases import BLOCKS
from support import scored_tables
from support.fitted_tables import COLUMNS, PROMISE, table
from support.made_releases import made


@pytest.fixture
def variance():
    random = np.random.default_rng(5)
    half = random.uniform(0.1, 2, (5, 5))
    return half + half.T


@pytest.fixture
def source():
    """The table and the release of its exact sums."""
    return made(Design("y", COLUMNS), table())


@pytest.fixture
def private():
    """A release of the table with noise and a promise."""
    return made(Design("y", COLUMNS), table(), sigma=0.5, guarantee=PROMISE).release


@pytest.fixture(scope="session")
def noisy():
    """A release with other noise in each of its blocks."""
    sigma = {block: 0.1 + 0.07 * index for index, block in enumerate(BLOCKS)}
    return made(Design("y", scored_tables.COLUMNS), scored_tables.table(), sigma=sigma, seed=3).release
