r"""The middle of the sandwich of weighted least squares, for errors of one variance.

With rows that have weights w from their regressors alone, the score is the sum of w^2 z eta, and its covariance is
s^2 times M = sum of w^4 z z', not of A = sum of w^2 z z'. Weights are at most 1, so that M is between 0 and A in every
direction, while noise may put the released M~ outside. It is brought back there: in units of A~ its eigenvalues are cut
to [0, 1].
"""

from __future__ import annotations

import numpy as np

from discreet.analyst.equations.normal import NormalEquations
from discreet.exact.arrays import FloatArray


def weighted_middle(equations: NormalEquations, gram: FloatArray) -> FloatArray:
    """Give M of the regressors z, shape (k, k).

    Parameters
    ----------
    equations
        With sums in which each weight stands four times.
    gram
        Positive definite, shape (k, k).
    """
    fourth = equations.fourth
    if fourth is None:
        return gram
    if not equations.intercept:
        moved = np.column_stack([equations.shift[:-1], np.eye(len(gram))])
        fourth = moved @ fourth @ moved.T
    root = np.linalg.cholesky(gram)
    inverse = np.linalg.inv(root)
    values, axes = np.linalg.eigh(inverse @ fourth @ inverse.T)
    sides = root @ axes
    out: FloatArray = (sides * np.clip(values, 0.0, 1.0)) @ sides.T
    return out
