"""Gradient descent with an adaptive clip: shares, sensitivities of a step, and the quantile it follows."""

import math

import numpy as np
import pytest

from discreet.privacy import mu_from
from discreet_papers.baselines.gradient_descent import AdaptiveClipping, followed

GIVEN = {"epsilon": 1.0, "delta": 1e-6, "bounds": [(-1.0, 1.0)] * 2, "target_bounds": (-1.0, 1.0)}


def test_the_pieces_spend_mu_and_no_more():
    method = AdaptiveClipping(**GIVEN, steps=70)
    count, below, gradient = method.noise()
    # a row moves the count by 1, each count below the clip by 1/2, each gradient by one clip
    total = 1 / count**2 + 70 * 0.25 / below**2 + 70 / gradient**2
    assert math.sqrt(total) == pytest.approx(mu_from(1.0, 1e-6), rel=1e-9)


def test_the_clip_follows_a_quantile():
    norms = np.random.default_rng(1).lognormal(size=10_000)
    clip = 0.1
    for _ in range(400):
        clip = followed(clip, float(np.mean(norms <= clip)), target=0.7)
    assert clip == pytest.approx(float(np.quantile(norms, 0.7)), rel=0.01)
    assert followed(1.0, 5.0) == followed(1.0, 1.0), "noise cannot push the share beyond 0 and 1"


def test_it_learns_and_a_fixed_clip_stays():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (5_000, 2))
    y = 0.5 * x[:, 0] - 0.3 * x[:, 1]
    for clip in (None, 0.1):
        model = AdaptiveClipping(**(GIVEN | {"epsilon": 3.0}), seed=1, fixed_clip=clip).fit(x, y)
        assert np.mean((model.predict(x) - y) ** 2) < 0.05 * y.var()
    tiny = AdaptiveClipping(**GIVEN, seed=1, fixed_clip=1e-6).fit(x, y)
    assert np.abs(tiny.theta).max() < 1e-2, "with such a clip nothing is learned"


def test_a_row_moves_a_step_by_at_most_the_clip():
    """The released sums of one step on neighbouring tables, noise taken out by equal seeds."""
    rng = np.random.default_rng(3)
    a = rng.standard_normal((50, 3))
    a /= np.linalg.norm(a, axis=1)[:, None]
    v = rng.uniform(-1, 1, 50)
    method = AdaptiveClipping(**GIVEN, steps=1, fixed_clip=0.05)
    noise = [method.coefficients(a[:rows], v[:rows], np.random.default_rng(9)) for rows in (50, 49)]
    count_sd = method.noise()[0]
    n = [max(rows + count_sd * np.random.default_rng(9).standard_normal(), 1.0) for rows in (50, 49)]
    assert np.linalg.norm(noise[0] * n[0] - noise[1] * n[1]) <= 0.05 + 1e-9
