"""How much ridge the noise calls for: the corrected adaptive rule, from released quantities only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.analyst.normal_equations import NormalEquations
from discreet.analyst.penalised_gram import penalised_gram


@dataclass(frozen=True, eq=False)
class AdaptiveRidge:
    """The ridge, the noise quantile and the smallest eigenvalue behind it, and which coefficients it pulls to 0."""

    ridge: float
    noise_norm: float
    smallest: float
    penalised: npt.NDArray[np.bool_]


def adaptive_ridge(equations: NormalEquations, digest: str) -> AdaptiveRidge:
    """Smallest ridge that keeps the noise in the Gram below half of what it is added to.

    With q the 95 % quantile of the operator norm of the noise in the penalised Gram and l its smallest noisy
    eigenvalue, l - q is a lower bound for the true one, and ridge = max(0, 2q - max(0, l - q))
    [Wang 2018, with the eigenvalue read off the release instead of bought]. Should l fall below -q, which noise of this
    law hardly ever does, the ridge grows to q - l, so that what is solved is always positive definite.

    An intercept is not penalised, unless there are no rows to speak of: see `penalised_gram`.
    """
    about = penalised_gram(equations, digest)
    q, smallest = about.noise_norm, about.smallest
    ridge = max(0.0, 2 * q - max(0.0, smallest - q))
    if q > 0:
        ridge = max(ridge, q - smallest)
    return AdaptiveRidge(ridge, q, smallest, about.penalised)
