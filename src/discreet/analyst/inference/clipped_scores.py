"""Describe what a release by `staged` estimates, and how much its clipped scores add to the standard errors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.analyst.equations.noise import MappedNoise, product_covariance
from discreet.analyst.inference.score import ScoreInference
from discreet.releases.reference_distribution import known
from discreet.releases.staged_moments import estimated_line, score_variance

if TYPE_CHECKING:
    from discreet.analyst.inferred import InferenceMixin


def clipped_scores_note(fit: InferenceMixin) -> str | None:
    """Describe the estimated line and the rows whose scores were shortened; None unless the release is by `staged`."""
    release, part = fit.release, fit.release.staged
    if part is None:
        return None
    estimated, rows = estimated_line(release, part)
    score = known(fit._score)
    if rows == 0 or score is None or not isinstance(score.entry_noise, MappedNoise):
        return f"{estimated}."
    share = 1 - (part.score_bound * release.noise.sd("cross")) ** 2 / score_variance(release, part)
    added = _added_to_errors(score, score.entry_noise, share)
    words = f"{math.ceil(100 * added)}%" if added > 0.005 else "less than 1%"
    return f"{estimated}, which adds {words} to the standard errors."


def _added_to_errors(score: ScoreInference, noise: MappedNoise, share: float) -> float:
    """Return the largest part by which the allowance for clipped scores raises a standard error.

    `share` is its part in the variance of the noise of the scores.
    """
    none = np.zeros_like(noise.products)
    allowance = replace(noise, products=none, square=0.0, weights=none, scores=share * noise.scores)
    gains = score.inverse @ score.noise_map
    added = np.diag(gains @ product_covariance(allowance, score.contrast) @ gains.T)
    total = np.diag(score.covariance)
    parts = np.divide(added, total, out=np.zeros_like(total), where=total > 0)
    return float(1 / math.sqrt(1 - min(max(float(parts.max()), 0.0), 0.99)) - 1)
