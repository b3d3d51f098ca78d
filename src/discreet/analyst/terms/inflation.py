"""Variance inflation: how much larger a variance is because a column can be guessed from the others.

The sampling variance of a slope is s^2 H_jj with H the inverse of the Gram A. If the column were uncorrelated with all
others it would be s^2 / S_jj, where S_jj is its sum of squares around its mean (around 0 without an intercept), so that

    VIF_j = H_jj S_jj = 1 / (1 - R_j^2),

R_j^2 that of the column explained by the other ones. A is noisy: the number describes the *released* sums, on which the
error of the fit rests. Noise of standard deviation sigma in the entries moves S_jj by about sigma, so where
sigma is not far below S_jj the factor says little about the population behind the rows.
"""

from __future__ import annotations

import numpy as np

from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.residual import inverse_gram
from discreet.exact.arrays import FloatArray


def inflation_factors(equations: NormalEquations) -> FloatArray:
    """Give a factor of at least 1 for each slope of a model whose Gram is positive definite, shape (d,)."""
    A, H = equations.A, inverse_gram(equations, np.zeros(len(equations.A)))
    if equations.intercept:
        A, H = A[1:, 1:] - np.outer(A[0, 1:], A[0, 1:]) / A[0, 0], H[1:, 1:]
    if equations.taken:
        # of the columns in original units, each in steps of its own
        mixture = equations.mixture()
        back = np.linalg.inv(mixture)
        A, H = mixture @ A @ mixture.T, back.T @ H @ back
    out: FloatArray = H.diagonal() * A.diagonal()
    return out
