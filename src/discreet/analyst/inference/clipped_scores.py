"""Describe what a release by `staged` estimates, and how much its clipped scores add to the standard errors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.analyst.equations.noise import MappedNoise, product_covariance
from discreet.analyst.inference.score import ScoreInference
from discreet.releases.fields import released_count
from discreet.releases.reference_distribution import known
from discreet.releases.staged_rules import ALLOWANCE, chosen_bound

if TYPE_CHECKING:
    from discreet.analyst.inferred import InferenceMixin


def clipped_scores_note(fit: InferenceMixin) -> str:
    """Describe the estimated line and the rows whose scores were shortened, in a fit of a release by `staged`."""
    release, part = fit.release, fit.release.staged
    if part is None:
        raise ValueError("expected a release by 'staged'")
    count = released_count(release)
    choice = chosen_bound(part, release.design, release.noise, 0.0 if count is None else count.value)
    estimated = "Ordinary least squares on the table clipped to its bounds"
    if choice.clipped == 0:
        return f"{estimated}. The score of no row was shortened."
    rows = max(math.ceil(choice.clipped), 1)
    shortened = f"at most about {rows:,} row{'s' if rows > 1 else ''} with the largest scores were shortened"
    score = known(fit._score)
    if score is None or not isinstance(score.entry_noise, MappedNoise):
        return f"{estimated}; {shortened}."
    allowed = ALLOWANCE * choice.lost**2
    share = allowed / ((part.score_bound * release.noise.sd("cross")) ** 2 + allowed)
    added = _added_to_errors(score, score.entry_noise, share)
    words = f"{math.ceil(100 * added)}%" if added > 0.005 else "less than 1%"
    return f"{estimated}; {shortened}, which adds {words} to the standard errors."


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
