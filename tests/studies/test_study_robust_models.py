"""Robust errors of models that were declared beside the full one: do their intervals cover? Run by make slow.

Errors spread more where `a` is large, and conditional means are linear, so that the truth of every model is known.
Rows and noise are seeded: a figure is the same in every run.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import discreet
from discreet.options import RobustErrors

RELEASES = int(os.environ.get("ROBUST_MODEL_RELEASES", "1000"))
DESIGN = discreet.Design("y", {"y": (-6, 8), "a": (0, 1), "b": (0, 1), "c": bool})
# b = 0.3 + 0.4 a + 0.3 u, u uniform, and c is true for 30%
TRUTHS = {
    "y ~ a + b + c": {"Intercept": 0.5, "a": 1.0, "b": 2.0, "c": -0.5},
    "y ~ a": {"Intercept": 0.5 + 2 * 0.45 - 0.15, "a": 1.8},
    "y ~ a + c": {"Intercept": 0.5 + 2 * 0.45, "a": 1.8, "c": -0.5},
}


def table(rows: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    a, c = random.random(rows), random.random(rows) < 0.3
    b = 0.3 + 0.4 * a + 0.3 * random.random(rows)
    error = (0.05 + 0.9 * a**2) * random.normal(size=rows)
    return {"a": a, "b": b, "c": c, "y": 0.5 + a + 2 * b - 0.5 * c + error}


def covered(fit: discreet.Fit, truth: dict[str, float]) -> list[bool]:
    return [ends.contains(truth[name]) for name, ends in fit.conf_int().items()]


def figures(rows: int, epsilon: float, seed: int) -> dict[tuple[str, str], np.ndarray]:
    """Coverage in percent of every coefficient of each model, by robust and by plain 95% intervals."""
    random = np.random.default_rng(seed)
    models = list(TRUTHS)
    hits = {(model, kind): [] for model in models for kind in ("robust", "plain")}
    for seed in range(RELEASES):
        made = discreet.testing.seeded_release(
            table(rows, random), DESIGN, seed=seed, epsilon=epsilon, delta=1e-6, robust=RobustErrors(models=models[1:])
        )
        for model in models:
            fit = discreet.fit(made, model)
            hits[model, "plain"].append(covered(fit, TRUTHS[model]))
            hits[model, "robust"].append(covered(fit.robust(), TRUTHS[model]))
    shares = {case: 100 * np.mean(found, axis=0) for case, found in hits.items()}
    for (model, kind), found in shares.items():
        print(f"n {rows:,} epsilon {epsilon:g} {model:14} {kind:6} {np.round(found, 1)} mean {found.mean():.1f}")
    return shares


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_every_robust_interval_of_declared_models_covers_in_93_and_a_half_to_97_and_a_half_percent(epsilon):
    """Of 40,000 rows, for the full model and two others; at epsilon 8 plain intervals miss the slope of `a`."""
    found = figures(40_000, epsilon, int(epsilon))
    for model in TRUTHS:
        assert 93.5 <= found[model, "robust"].min() <= found[model, "robust"].max() <= 97.5
    if epsilon == 8:
        assert max(found[model, "plain"][1] for model in list(TRUTHS)[1:]) < 93.5


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_with_fewer_rows_the_mean_over_coefficients_is_in_the_same_range(epsilon):
    """Of 10,000 rows: where noise hides how far variances differ, errors allow for it, and single ones cover more."""
    found = figures(10_000, epsilon, int(epsilon))
    for model in TRUTHS:
        assert 93.5 <= found[model, "robust"].mean() <= 97.5
        assert found[model, "robust"].min() >= 93.5
