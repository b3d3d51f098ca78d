"""What `refined` does with released numbers alone: a preconditioner from a noisy Gram, and shrinkage of the result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.exact.arrays import FloatArray

# no eigenvalue of the preconditioner is smaller than this part of the largest
_LEAST_PART: Final = 0.05
# prior scales in powers of two, and powers of the eigenvalues that priors are proportional to
_PRIOR_SCALES: Final = np.arange(-10.0, 6.01, 0.25)
_PRIOR_SHAPES: Final = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Preconditioner:
    """Eigenvalues of a noisy Gram, damped so that noise does not make steps long, and its eigenvectors.

    Attributes
    ----------
    values, vectors
        What a step divides by, none far below the largest, and the directions.
    sums
        Sums of squares of the rows along the directions: the eigenvalues before the small ones were raised.
    """

    values: FloatArray
    vectors: FloatArray
    sums: FloatArray

    @classmethod
    def of(cls, gram: FloatArray, sd: float, rate: float) -> Preconditioner:
        """From a noisy Gram whose diagonal has noise of a standard deviation, and the rest by sqrt(2) less.

        Off-diagonal entries are shrunk towards 0 and diagonal ones towards their mean by as much as they are noise;
        what noise is left is covered by its spectral edge, the whole of it for short steps and two thirds for full ones
        (a rate of 1): no step then goes farther than half as much again as what it aims at.
        """
        size = len(gram)
        diagonal = np.diag(gram).copy()
        mean = max(float(diagonal.mean()), 1e-9)
        off_part = diagonal_part = 1.0
        if size >= 3:
            off = gram[~np.eye(size, dtype=np.bool_)]
            off_part = _signal_part(float(np.mean(off * off)), sd**2 / 2)
            diagonal_part = _signal_part(float(diagonal.var()), sd**2)
        shrunk = off_part * gram
        np.fill_diagonal(shrunk, mean + diagonal_part * (diagonal - mean))
        edge = math.sqrt(2 * size * off_part) * sd + math.sqrt(2 * math.log(size) * diagonal_part) * sd
        values, vectors = np.linalg.eigh(shrunk)
        damped = np.maximum(values, 0.0) + (1 - rate / 3) * edge
        return cls(np.maximum(damped, max(_LEAST_PART * float(damped.max()), 1e-6 * sd)), vectors, damped)

    def step(self, score: FloatArray) -> FloatArray:
        """A score multiplied by the inverse."""
        out: FloatArray = self.vectors @ ((self.vectors.T @ score) / self.values)
        return out


def _signal_part(square: float, noise: float) -> float:
    """How much of a mean square is signal, where so much of it is expected to be noise."""
    signal = max(square - noise, 0.0)
    return signal / (signal + noise)


def shrunk(theta: FloatArray, basis: Preconditioner, sd: float, most: float) -> FloatArray:
    """Coefficients shrunk in the eigenbasis: posterior means under normal priors, weighed by how likely each is.

    Parameters
    ----------
    theta
        Coefficients with noise.
    basis
        In whose eigenbasis the noise of a coordinate has the standard deviation `sd` over its eigenvalue.
    sd
        Of the noise of a score.
    most
        No prior expects a larger sum of squared predictions: no model explains more of a target than there is.

    Examples
    --------
    >>> basis, theta = Preconditioner(np.ones(2), np.eye(2), np.ones(2)), np.array([1.0, 1.0])
    >>> strong, weak, bounded = (shrunk(theta, basis, *how) for how in [(1e-3, 9.0), (10.0, 9.0), (1.0, 0.01)])
    >>> bool(strong[0] > 0.99), bool(weak[0] < 0.2), bool(bounded[0] < 0.01)
    (True, True, True)
    """
    seen = basis.vectors.T @ theta
    noise = (sd / basis.values) ** 2
    size = float(np.mean(seen * seen))
    if size == 0.0:
        return theta
    relative = np.maximum(basis.values / basis.values.max(), 1e-6)
    priors = np.array([size * 2.0**scale * relative**shape for shape in _PRIOR_SHAPES for scale in _PRIOR_SCALES])
    priors *= np.minimum(1.0, most / (priors @ basis.sums))[:, None]
    marginal = priors + noise
    log_weights = -0.5 * np.sum(np.log(marginal) + seen * seen / marginal, axis=1)
    weights = np.exp(log_weights - log_weights.max())
    mean = (weights[:, None] * (priors / marginal)).sum(axis=0) / weights.sum() * seen
    out: FloatArray = basis.vectors @ mean
    return out
