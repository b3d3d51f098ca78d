"""Convert the sums of a release by `staged` to sums of products of any of its columns, with their noise.

With y - centre = r + (1, z)'line, every column of a model is a linear combination of (1, z, r), so that its sums of
products and their noise follow from those of (1, z, r).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from discreet.analyst.equations.noise import MappedNoise
from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.releases.fields import StagedPart, released_count
from discreet.releases.release import Release
from discreet.releases.staged_rules import ALLOWANCE, ScoreBound, chosen_bound, released_gram, whitening_matrix


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
    size, unit = len(part.line), release.noise.unit
    unwhitened: FloatArray = np.asarray(np.linalg.inv(whitening_matrix(part)), dtype=np.float64)
    # every double is an integer over a power of two, so all sums are exact
    exact = np.vectorize(Fraction, otypes=[object])
    totals = _square([Fraction(int(total or 0), unit) for total in release.totals], size + 1)
    base = np.empty((size + 1, size + 1), dtype=object)
    base[:-1, :-1] = totals[:-1, :-1] * Fraction(part.radius**2 * (1 + part.missing))
    base[:-1, -1] = base[-1, :-1] = exact(unwhitened) @ (totals[:-1, -1] * Fraction(part.score_bound))
    base[-1, -1] = totals[-1, -1] * Fraction(part.residual_bound**2)
    mapping = np.eye(size + 1)
    mapping[-1, :-1] = part.line
    inner, inner_unit = _integers(base)
    line, line_unit = _integers(exact(np.array(part.line)))
    # only the target mixes columns: y - centre = r + (1, z)'line
    sums = inner * line_unit**2
    along = inner[:-1, :-1] @ line
    sums[:-1, -1] = sums[-1, :-1] = (along + inner[:-1, -1] * line_unit) * line_unit
    sums[-1, -1] += line @ (along + 2 * line_unit * inner[:-1, -1])
    choice = _choice(release, part)
    noise = _noise(release, part, unwhitened, choice.lost, mapping[list(positions)])
    return StagedSums(sums[np.ix_(positions, positions)], inner_unit * line_unit**2, noise, choice.sigma**2)


def _integers(matrix: BigIntArray) -> tuple[BigIntArray, int]:
    """Return fractions over powers of two as integers, and their common divisor."""
    divisor = max(cast("Fraction", value).denominator for value in matrix.flat)
    return np.vectorize(int, otypes=[object])(matrix * divisor), divisor


def _square(upper: Sequence[Fraction], size: int) -> BigIntArray:
    """Return the symmetric matrix of an upper triangle, row by row."""
    out = np.empty((size, size), dtype=object)
    rows, columns = np.triu_indices(size)
    out[rows, columns] = out[columns, rows] = upper
    return out


def _choice(release: Release, part: StagedPart) -> ScoreBound:
    """Return the bound of the scores and the tail model behind it."""
    count = released_count(release)
    return chosen_bound(part, release.design, release.noise, 0.0 if count is None else count.value)


def _noise(release: Release, part: StagedPart, unwhitened: FloatArray, lost: float, mapping: FloatArray) -> MappedNoise:
    """Return the noise of the sums of a model. Scores that were clipped add the variance that is allowed for them."""
    size, noise = len(part.line), release.noise
    values, axes = np.linalg.eigh(released_gram(part, noise, [int(total or 0) for total in release.totals]))
    positive = (axes * np.maximum(values, 0.0)) @ axes.T
    variance = (part.score_bound * noise.sd("cross")) ** 2 + ALLOWANCE * lost**2
    return MappedNoise(
        mapping=mapping,
        products=noise.entry_sd(size + 1)[:-1, :-1] * (part.radius**2 * (1 + part.missing)),
        scores=variance * (unwhitened @ unwhitened.T),
        square=part.residual_bound**2 * noise.sd("target_square"),
        weights=positive * (part.missing / math.sqrt(size)),
    )
