"""Losses with bounded scores: their shape, their falling thresholds, and the bits of a score."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.irls import RobustLoss, graduated


@pytest.mark.no_cover
@pytest.mark.parametrize("power", [1.0, 1.25, 1.999, 2.0])
@pytest.mark.parametrize("threshold", [1e-4, 0.1, 2.0])
def test_scores_never_fall_have_slope_at_most_one_and_stay_bounded(power, threshold):
    loss = RobustLoss(power, threshold)
    r = np.unique(np.r_[np.linspace(-4, 4, 4001), np.geomspace(1e-6, 10, 2000), 2.0, threshold, 0.0, -threshold])
    psi = loss.bound * loss.score(r)
    rises = np.diff(psi)
    assert (rises >= -1e-12).all()
    assert (rises <= np.diff(r) + 1e-12).all()
    assert np.abs(loss.score(r)).max() <= 1.0
    assert np.abs(loss.score(np.array([5.0, -1e6]))).tolist() == pytest.approx([1.0, 1.0], rel=1e-12)
    inside = np.abs(r) <= min(threshold, 2.0)
    assert psi[inside] == pytest.approx(r[inside], rel=1e-12)
    weight = loss.root(r) ** 2
    assert (weight * r) == pytest.approx(psi, rel=1e-12)
    assert (loss.root(np.array([0.0, 1e-300])) == 1.0).all()
    assert (np.diff(loss.root(np.sort(np.abs(r)))) <= 1e-15).all()


def test_the_bits_of_a_score_do_not_depend_on_its_place():
    rng = np.random.default_rng(5)
    r = rng.normal(size=257) * 10.0 ** rng.integers(-3, 3, 257)
    for power in (1.0, 1.37):
        loss = RobustLoss(power, 0.2)
        for function in (loss.score, loss.root):
            together = function(r)
            alone = np.concatenate([function(r[k : k + 1]) for k in range(257)])
            apart = function(np.repeat(r, 3)[::3])
            assert (together == alone).all()
            assert (together == apart).all()


@pytest.mark.parametrize("threshold", [1e-4, 0.1, 1.0, 2.0])
@pytest.mark.parametrize("iterations", [1, 2, 3, 15, 100])
def test_thresholds_fall_from_the_root_to_the_one_asked_for_within_the_first_third(threshold, iterations):
    losses = graduated(RobustLoss(1.5, threshold), iterations)
    thresholds = [loss.threshold for loss in losses]
    assert len(losses) == iterations
    assert all(loss.power == 1.5 for loss in losses)
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[iterations // 3 :] == [threshold] * (iterations - iterations // 3)
    assert thresholds[0] == (max(threshold**0.5, threshold) if iterations >= 3 else threshold)


def test_the_first_step_reaches_coefficients_that_the_last_threshold_would_not():
    """At first a residual counts as it is up to the root of the threshold, and with a threshold above 1 up to that."""
    residual = np.linspace(-0.5, 0.5, 9)
    first, *_, last = graduated(RobustLoss(1.0, 0.25), 15)
    assert (first.bound * first.score(residual) == residual).all()
    assert (last.bound * last.score(residual) == np.clip(residual, -0.25, 0.25)).all()
    assert graduated(RobustLoss(1.0, 2.0), 15) == [RobustLoss(1.0, 2.0)] * 15
