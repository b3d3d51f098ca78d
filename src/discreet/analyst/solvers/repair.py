"""Convex repair: normal equations of the slopes whose smallest eigenvalue is no smaller than their noise.

Noise can make sums of products indefinite, and then no penalised model has a minimum. Where the smallest eigenvalue
lies below the 95% quantile of the noise's norm, the diagonal is shifted until it reaches it. Anything less, such as a
tiny floor under the eigenvalues, would divide by noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.penalised_gram import penalised_gram
from discreet.analyst.values.not_estimable import NotEstimableError
from discreet.exact.arrays import FloatArray


def shift_above_noise(noise_norm: float, smallest: float, ridge: float) -> float:
    """What is missing on the diagonal for the smallest eigenvalue to reach the quantile of the noise.

    >>> shift_above_noise(3.0, -1.0, 0.5), shift_above_noise(3.0, 3.0, 0.0), shift_above_noise(3.0, 1.0, 5.0)
    (3.5, 0.0, 0.0)

    Without noise nothing is missing: a negative eigenvalue is then rounding.

    >>> shift_above_noise(0.0, -1e-17, 0.0)
    0.0
    """
    return max(0.0, noise_norm - smallest - ridge) if noise_norm > 0 else 0.0


@dataclass(frozen=True, eq=False)
class SlopeEquations:
    """Normal equations of the slopes alone, m of them, and what has to be added to their diagonal.

    Attributes
    ----------
    equations
        Of the whole model.
    gram, right
        Intercept partialled out, shapes (m, m) and (m,).
    noise_norm, smallest
        95% quantile of the norm of the noise, and the smallest eigenvalue that is held against it.
    intercept_shift
        What was added to the diagonal before the intercept was partialled out; 0 unless the table is too small to be
        counted. It is part of `gram` already.
    """

    equations: NormalEquations
    gram: FloatArray
    right: FloatArray
    noise_norm: float
    smallest: float
    intercept_shift: float

    @property
    def rows(self) -> float:
        """Number of rows that a strength is multiplied by: noisy or public, at least 1."""
        return max(self.equations.nobs, 1.0)

    def missing(self, ridge: float) -> float:
        """What a ridge of this size still leaves missing on the diagonal of `gram`."""
        return shift_above_noise(self.noise_norm, self.smallest, ridge)

    def repair(self, ridge: float) -> float:
        """All that is added to the diagonal besides a ridge of this size."""
        return self.intercept_shift + self.missing(ridge)

    def repaired(self, ridge: float) -> FloatArray:
        """Gram of the slopes with the ridge and the repair on its diagonal, shape (m, m)."""
        gram = self.gram.copy()
        gram.flat[:: len(gram) + 1] += ridge + self.missing(ridge)
        return gram

    def penalty_diagonal(self, ridge: float) -> FloatArray:
        """What is added to the diagonal of the Gram of all k coefficients, shape (k,)."""
        penalty_diagonal = np.full(len(self.equations.A), ridge + self.repair(ridge))
        if self.equations.intercept:
            penalty_diagonal[0] = self.intercept_shift
        return penalty_diagonal


def slope_equations(equations: NormalEquations, digest: str) -> SlopeEquations:
    """Set up the normal equations of the slopes and their repair, from released quantities only.

    The shift is on the slopes, and the ridge that is asked for counts towards it. In a table too small to be counted
    it is on the intercept as well, which no penalty shrinks, so that there the ridge does not count.
    """
    about = penalised_gram(equations, digest)
    if not (equations.intercept and about.penalised[0]):
        return SlopeEquations(equations, about.gram, about.right, about.noise_norm, about.smallest, 0.0)
    shift = shift_above_noise(about.noise_norm, about.smallest, 0.0)
    whole = about.gram + shift * np.eye(len(about.gram))
    count = whole[0, 0]
    if count <= 0:
        raise NotEstimableError.at_strength(shift)
    gram = whole[1:, 1:] - np.outer(whole[1:, 0], whole[0, 1:]) / count
    right = about.right[1:] - whole[1:, 0] * about.right[0] / count
    # a Schur complement has no smaller eigenvalue than the matrix it comes from
    return SlopeEquations(equations, gram, right, about.noise_norm, about.smallest + shift, shift)
