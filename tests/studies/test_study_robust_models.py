"""Robust errors of models that were declared beside the full one: do their intervals cover? Run by make slow.

Errors spread more where `a` is large, and conditional means are linear, so that the truth of every model is known.
Rows and noise are seeded: a figure is the same in every run.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import discreet

RELEASES = int(os.environ.get("ROBUST_MODEL_RELEASES", "1000"))
ROWS = 40_000
DESIGN = discreet.Design("y", {"y": (-6, 8), "a": (0, 1), "b": (0, 1), "c": bool})
# b = 0.3 + 0.4 a + 0.3 u, u uniform, and c is true for 30%
TRUTHS = {
    "y ~ a + b + c": {"Intercept": 0.5, "a": 1.0, "b": 2.0, "c": -0.5},
    "y ~ a": {"Intercept": 0.5 + 2 * 0.45 - 0.15, "a": 1.8},
    "y ~ a + c": {"Intercept": 0.5 + 2 * 0.45, "a": 1.8, "c": -0.5},
}


def table(random: np.random.Generator) -> dict[str, np.ndarray]:
    a, c = random.random(ROWS), random.random(ROWS) < 0.3
    b = 0.3 + 0.4 * a + 0.3 * random.random(ROWS)
    error = (0.05 + 0.9 * a**2) * random.normal(size=ROWS)
    return {"a": a, "b": b, "c": c, "y": 0.5 + a + 2 * b - 0.5 * c + error}


def covered(fit: discreet.Fit, truth: dict[str, float]) -> list[bool]:
    return [ends.contains(truth[name]) for name, ends in fit.conf_int().items()]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_robust_intervals_of_declared_models_cover_between_93_and_a_half_and_97_and_a_half_percent(epsilon):
    """The mean over the coefficients of each model; plain intervals miss the slope of `a` in both."""
    random = np.random.default_rng(int(epsilon))
    models = list(TRUTHS)
    hits = {(model, kind): [] for model in models for kind in ("robust", "plain")}
    for seed in range(RELEASES):
        made = discreet.testing.seeded_release(
            table(random), DESIGN, seed=seed, epsilon=epsilon, delta=1e-6, moments="robust", robust_models=models[1:]
        )
        for model in models:
            fit = discreet.fit(made, model)
            hits[model, "plain"].append(covered(fit, TRUTHS[model]))
            hits[model, "robust"].append(covered(fit.robust(), TRUTHS[model]))
    figures = {case: 100 * np.mean(found, axis=0) for case, found in hits.items()}
    for (model, kind), shares in figures.items():
        print(f"epsilon {epsilon:g} {model:14} {kind:6} {np.round(shares, 1)} mean {shares.mean():.1f}", flush=True)
    for model in models:
        assert 93.5 <= figures[model, "robust"].mean() <= 97.5
        assert figures[model, "robust"].min() >= 92.5
    if epsilon == 8:
        assert figures["y ~ a", "plain"][1] < 93
