"""Scores that tell two tables apart, learned from half of the draws: likelihood ratios of simple shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from discreet.exact.arrays import FloatArray

Score: TypeAlias = Callable[[FloatArray], FloatArray]

# in units of the upper quartile of the distance from the median
_FARTHEST: Final = 20.0


def learned_scores(one: FloatArray, other: FloatArray) -> dict[str, Score]:
    """Scores that are larger where the first table is likelier; none if all numbers are constant or not finite.

    Parameters
    ----------
    one, other
        Draws for the two tables, one in each row.
    """
    # a quarter of them, exactly: differences of the largest doubles would have no end
    both = np.concatenate([one, other]) / 4
    finite = np.where(np.isfinite(both).all(axis=0), both, 0.0)
    spread = np.ptp(finite, axis=0)
    varying = np.flatnonzero(spread > 0)
    if len(varying) == 0:
        return {}
    centre = np.median(both[:, varying], axis=0)
    scale = np.quantile(np.abs(both[:, varying] - centre), 0.75, axis=0)
    # more than half of the draws may be one value
    scale = np.where(scale > 0, scale, spread[varying])

    def standard(draws: FloatArray) -> FloatArray:
        """Numbers that vary, in units of their spread; far ones are drawn in, so that none decides by itself."""
        known: FloatArray = np.nan_to_num(draws[:, varying], nan=0.0) / 4
        return np.asarray(np.clip((known - centre) / scale, -_FARTHEST, _FARTHEST))

    a, b = standard(one), standard(other)
    learned = {"linear": _linear(a, b), "laplace": _laplace(a, b), "quadratic": _quadratic(a, b)}
    return {name: _composed(score, standard) for name, score in learned.items()}


def _composed(score: Score, before: Score) -> Score:
    return lambda draws: score(before(draws))


def _linear(one: FloatArray, other: FloatArray) -> Score:
    """The likelihood ratio of two normal laws with one covariance."""
    covariance = _covariance(np.concatenate([one - one.mean(axis=0), other - other.mean(axis=0)]))
    direction = np.linalg.solve(covariance, one.mean(axis=0) - other.mean(axis=0))
    return lambda draws: np.asarray(draws @ direction)


def _laplace(one: FloatArray, other: FloatArray) -> Score:
    """The likelihood ratio of independent Laplace laws."""
    here, there = np.median(one, axis=0), np.median(other, axis=0)
    scale = (np.abs(one - here).mean(axis=0) + np.abs(other - there).mean(axis=0)) / 2
    # 0 where each table has one value of its own
    scale = np.where(scale > 0, scale, 1.0)
    return lambda draws: ((np.abs(draws - there) - np.abs(draws - here)) / scale).sum(axis=1)


def _quadratic(one: FloatArray, other: FloatArray) -> Score:
    """The likelihood ratio of two normal laws, each with its own covariance."""

    def log_density(sample: FloatArray) -> Score:
        mean, covariance = sample.mean(axis=0), _covariance(sample - sample.mean(axis=0))
        inverse, size = np.linalg.inv(covariance), float(np.linalg.slogdet(covariance)[1])
        return lambda draws: -((((draws - mean) @ inverse) * (draws - mean)).sum(axis=1) + size) / 2

    here, there = log_density(one), log_density(other)
    return lambda draws: here(draws) - there(draws)


def _covariance(centred: FloatArray) -> FloatArray:
    """The covariance, with a little added so that it can be inverted where numbers repeat each other."""
    found: FloatArray = centred.T @ centred / len(centred)
    return found + np.eye(len(found)) * (1e-9 * float(np.trace(found)) / len(found) + 1e-12)
