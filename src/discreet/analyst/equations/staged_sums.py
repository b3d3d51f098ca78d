"""Convert the sums of a release by `staged` to sums of products of any of its columns, with their noise.

With y - centre = r + (1, z)'line, every column of a model is a linear combination of (1, z, r), so that its sums of
products and their noise follow from those of (1, z, r).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.analyst.equations.noise import MappedNoise
from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.releases.fields import StagedPart, released_count
from discreet.releases.release import Release
from discreet.releases.staged_moments import (
    bound_choice,
    column_sums,
    residual_mapping,
    score_variance,
    unwhitening,
)
from discreet.releases.staged_rules import LEAST_ROWS, released_gram

# standard deviations of noise by which the squared residuals are lowered before they are compared
_SURE_SDS: Final = 2.0


@dataclass(frozen=True, eq=False)
class StagedSums:
    """Sums of products of (1, features, target) of a model.

    Attributes
    ----------
    whole, unit
        The sums as integers, and their divisor.
    noise
        Noise of the sums.
    prior_variance
        Rough residual variance of the declared target, from the norms of the scores.
    """

    whole: BigIntArray
    unit: int
    noise: MappedNoise
    prior_variance: float


def staged_sums(release: Release, part: StagedPart, positions: Sequence[int]) -> StagedSums:
    """Return the sums of the columns at these positions of (1, x, y), from released numbers only."""
    sums, unit = column_sums(release, part, part.missing)
    noise = _noise(release, part, residual_mapping(part)[list(positions)])
    return StagedSums(sums[np.ix_(positions, positions)], unit, noise, _prior_variance(release, part))


def _prior_variance(release: Release, part: StagedPart) -> float:
    """Return the residual variance by the norms of most scores, or by the squared residuals if that is surely larger.

    A few large residuals are not in the quantile of the norms.
    """
    count, noise = released_count(release), release.noise
    rows = max(LEAST_ROWS, 0.0 if count is None else count.value)
    squares = int(release.totals[-1] or 0) / noise.unit - _SURE_SDS * noise.sd("target_square")
    return max(bound_choice(release, part).sigma ** 2, squares * part.residual_bound**2 / rows)


def _noise(release: Release, part: StagedPart, mapping: FloatArray) -> MappedNoise:
    """Return the noise of the sums of a model. Scores that were clipped add the variance that is allowed for them."""
    size, noise, unwhitened = len(part.line), release.noise, unwhitening(part)
    values, axes = np.linalg.eigh(released_gram(part, noise, [int(total or 0) for total in release.totals]))
    positive = (axes * np.maximum(values, 0.0)) @ axes.T
    return MappedNoise(
        mapping=mapping,
        products=noise.entry_sd(size + 1)[:-1, :-1] * (part.radius**2 * (1 + part.missing)),
        scores=score_variance(release, part) * (unwhitened @ unwhitened.T),
        square=part.residual_bound**2 * noise.sd("target_square"),
        weights=positive * (part.missing / math.sqrt(size)),
    )
