"""Draws of simulated tables."""

from __future__ import annotations

import numpy as np

from discreet.datasets.simulated import Draws

DRAWN = 100_000


def test_draws_have_the_stated_moments_and_ends() -> None:
    draw = Draws(DRAWN, seed=6)
    bell = draw.bell(10, 2)
    six_errors = 6 / np.sqrt(DRAWN)
    assert abs(bell.mean() - 10) < 2 * six_errors
    assert abs(bell.std() / 2 - 1) < six_errors
    assert np.abs(bell - 10).max() <= 6
    assert abs(draw.share(0.2).mean() - 0.2) < six_errors
    codes = draw.codes((0.5, 0.3, 0.2))
    np.testing.assert_allclose(np.bincount(codes) / DRAWN, [0.5, 0.3, 0.2], atol=six_errors)
