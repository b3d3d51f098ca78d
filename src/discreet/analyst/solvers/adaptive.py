"""How much ridge the noise calls for: the corrected adaptive rule, from released quantities only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.equations.noise_norm import MISS
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.equations.selection import SubModel
from discreet.analyst.solvers.penalised_gram import penalised_gram
from discreet.releases import Release

EIGENVALUE: Final = "smallest_eigenvalue"  # as the mechanism that sells it names it
_Z: Final = NormalDist().inv_cdf(float(1 - MISS))


@dataclass(frozen=True, eq=False)
class AdaptiveRidge:
    """The ridge and what is behind it, and which coefficients it shrinks to 0.

    Attributes
    ----------
    ridge
        What is added to the diagonal.
    noise_norm
        95% quantile of the operator norm of the noise in the penalised Gram.
    smallest
        Smallest eigenvalue of the noisy Gram.
    at_least
        Lower bound for the smallest eigenvalue of the Gram without noise.
    penalised
        Which coefficients.
    """

    ridge: float
    noise_norm: float
    smallest: float
    at_least: float
    penalised: npt.NDArray[np.bool_]


def adaptive_ridge(equations: NormalEquations, digest: str, released: float = -math.inf) -> AdaptiveRidge:
    """Smallest ridge that keeps the noise in the Gram below half of what it is added to.

    With q the 95% quantile of the operator norm of the noise in the penalised Gram and l its smallest noisy
    eigenvalue, l - q is a lower bound for the true one wherever the noise is below q, which the rule supposes anyway.
    Where an eigenvalue was released, its own lower bound counts if it is larger. With the larger of both, m,
    ridge = max(0, 2q - max(0, m)) [Wang 2018]. Should l fall below -q, which noise of this law hardly ever does,
    the ridge grows to q - l, so that what is solved is always positive definite.

    An intercept is not penalised, unless there are no rows to speak of: see `penalised_gram`.

    Parameters
    ----------
    equations, digest
        As for `penalised_gram`.
    released
        What `released_bound` gives.
    """
    about = penalised_gram(equations, digest)
    q, smallest = about.noise_norm, about.smallest
    at_least = max(smallest - q, released)
    ridge = max(0.0, 2 * q - max(0.0, at_least))
    if q > 0:
        ridge = max(ridge, q - smallest)
    return AdaptiveRidge(ridge, q, smallest, at_least, about.penalised)


def released_bound(release: Release, model: SubModel) -> float:
    """Lower bound at 95% for the smallest eigenvalue of a model's penalised Gram, from a released eigenvalue.

    The release gives that of M, the Gram of (1, x), or of x where no model of it can have an intercept. Every Gram that
    is penalised is C M C' with C = (v, I) on the features of the model, v minus their means or what moves them to
    the origin, or a part of M itself. Such a C never shortens: |C'a| >= |a|. So none of them has a smaller eigenvalue
    than M.

    Returns
    -------
    float
        Minus infinity where none was released, or where the model has the design's target among its features, which
        is not in M.
    """
    if EIGENVALUE not in release.scalars or release.design.target in model.features:
        return -math.inf
    value = release.scalars[EIGENVALUE] / release.noise.unit
    return float(value - _Z * release.noise.sd(EIGENVALUE))
