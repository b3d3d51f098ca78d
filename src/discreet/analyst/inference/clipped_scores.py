"""Describe what a release by `staged` estimates, and how much its clipped scores add to the standard errors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.equations.noise import MappedNoise, product_covariance
from discreet.analyst.inference.score import ScoreInference
from discreet.releases.fields import released_count
from discreet.releases.reference_distribution import known
from discreet.releases.release import Release
from discreet.releases.staged_moments import bound_choice, estimated_line, score_variance
from discreet.releases.staged_rules import SLOPES, effective_mu

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


# -- warnings ----------------------------------------------------------------------------------------------------------
# What a release by `staged` shows about rows that its intervals do not allow for.

# with fewer rows times mu a tail with at least this slope is reported, with more only one at the largest slope
_FEW: Final = 800.0
_STEEP: Final = 1.2
# part of the squared lengths of rows that their weights may take away without a warning
_DISTANT: Final = 0.15


def long_tail(release: Release) -> str | None:
    """Describe a tail of the scores that is longer than intervals allow for, or return None."""
    part, count = release.staged, released_count(release)
    if part is None or count is None:
        return None
    choice, information = bound_choice(release, part), count.value * effective_mu(release.noise, release.design)
    if choice.clipped < 0.5 or choice.slope < (_STEEP if information < _FEW else SLOPES[1]):
        return None
    rows = max(math.ceil(choice.clipped), 1)
    return (
        "The scores, which are products of a residual with the columns of its row, have a long tail: by noisy counts "
        f"the standard deviation of their logarithm is {choice.slope:.2g} there, where intervals allow for at most "
        f"{SLOPES[1]:g}. About {rows} rows were shortened, and rows times mu is {information:,.0f}. If a few rows "
        "carry a slope, its intervals may cover too little, most of all where rows times mu is below "
        f"{_FEW:.0f}. Model the logarithm of the target, or declare tighter bounds of the target, which changes the "
        "estimated line openly. With more rows or a larger epsilon a smaller part of the rows is shortened."
    )


def distant_rows(release: Release) -> str | None:
    """Describe rows far from the middle whose weights take away much of the products, or return None."""
    part = release.staged
    if part is None or part.missing <= _DISTANT:
        return None
    return (
        "Rows far from the middle of the regressors have less weight in the products of this release: by noisy counts "
        f"the weights take away {part.missing:.0%} of the squared lengths. A few such rows may carry a slope, and "
        "standard errors allow for their weights only roughly. This concerns models with other features or another "
        "target most, and a curved relation in the full model. Declare tighter bounds of the regressors with long "
        "tails or take their logarithm."
    )
