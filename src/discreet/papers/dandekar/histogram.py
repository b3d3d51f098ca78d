"""The rival of the report's Figure 5: a perturbed histogram (Lei 2011), and least squares on its cells.

The report calls it DPME, differentially private M-estimators. It cuts the box of predictors and target into cells, adds
Laplace noise to every count and fits the centres of the cells, weighted by their noisy counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import log, prod, sqrt

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.papers.dandekar.objectives import Quadratic
from discreet.papers.dandekar.regressions import closed_form

EXCHANGED = 2.0  # counts that change by one when a row is exchanged for another
_DRAWS = 200  # of unit noise, for the quantile of its norm


def bins_by_rate(rows: int, dimension: int) -> int:
    """Intervals along a number, by the width (sqrt(log n) / n)^(2 / (2 + dimension)) of Lei's rate.

    >>> bins_by_rate(253_020, 5), bins_by_rate(49_116, 5)
    (24, 15)
    """
    return int((rows / sqrt(log(rows))) ** (2 / (2 + dimension)))


class Cells:
    """A grid over [-1, 1]^p, target last: which cell a row is in, and products of the centres of all cells."""

    def __init__(self, bins: int, levels: Sequence[int]) -> None:
        """Cut each column into `bins` intervals, or into as many levels as it has; 0 levels is a number."""
        self.levels = tuple(levels)
        self.sizes = tuple(own or bins for own in self.levels)
        axes = [
            np.linspace(-1, 1, size) if own else -1 + (2 * np.arange(size) + 1) / size
            for own, size in zip(self.levels, self.sizes, strict=True)
        ]
        self.centres = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        self._first, self._second = np.triu_indices(len(axes))
        self._products = self.centres[:, self._first] * self.centres[:, self._second]

    def __len__(self) -> int:
        return prod(self.sizes)

    def counts(self, columns: FloatArray) -> FloatArray:
        """Rows in each cell."""
        position = (columns + 1) / 2
        steps = [
            np.rint(position[:, j] * (size - 1)) if own else np.floor(position[:, j] * size)
            for j, (own, size) in enumerate(zip(self.levels, self.sizes, strict=True))
        ]
        inside = [np.clip(step, 0, size - 1).astype(np.intp) for step, size in zip(steps, self.sizes, strict=True)]
        return np.bincount(np.ravel_multi_index(inside, self.sizes), minlength=len(self)).astype(float)

    def loss(self, weights: FloatArray) -> Quadratic:
        """Squared loss over the centres with weights of shape (..., cells)."""
        sums = weights @ self._products
        p = len(self.sizes)
        gram = np.zeros((*sums.shape[:-1], p, p))
        gram[..., self._first, self._second] = sums
        gram[..., self._second, self._first] = sums
        return Quadratic(gram[..., :-1, :-1], gram[..., :-1, -1])

    @cached_property
    def noise_norm(self) -> float:
        """95% quantile of the spectral norm of the noise of the matrix where counts have noise of scale 1."""
        drawn = self.loss(np.random.default_rng(1).laplace(size=(_DRAWS, len(self)))).Q
        return float(np.quantile(np.abs(np.linalg.eigvalsh(drawn)).max(axis=-1), 0.95))


def as_written(counts: FloatArray, cells: Cells, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Coefficients from a histogram whose negative counts are set to 0, NOT PRIVATE: the noise comes from NumPy.

    Claimed and true epsilon agree if the ranges of the columns are public; the report reads them off the rows.
    Counts at 0 or above make the loss convex, and every empty cell gains mass: slopes shrink towards 0.
    """
    noisy = counts + rng.laplace(scale=EXCHANGED / epsilon, size=counts.shape)
    return closed_form(cells.loss(np.maximum(noisy, 0.0)))


def corrected(counts: FloatArray, cells: Cells, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Coefficients from a histogram whose negative counts are kept, with a ridge shift of the size of the noise.

    With noise from the system's generator and public bounds it would be epsilon-differentially private when a row is
    exchanged: here it is NOT PRIVATE.
    """
    noisy = counts + rng.laplace(scale=EXCHANGED / epsilon, size=counts.shape)
    loss = cells.loss(noisy)
    lift = np.maximum(0.0, EXCHANGED / epsilon * cells.noise_norm - loss.smallest)
    return closed_form(loss, lift)
