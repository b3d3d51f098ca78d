"""What diagnostics look at: the sums of one model, the size of their noise and their spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.analyst.equations.normal import NormalEquations, normal_equations
from discreet.analyst.equations.selection import SubModel
from discreet.analyst.solvers.penalised_gram import PenalisedGram, penalised_gram
from discreet.exact.arrays import FloatArray
from discreet.releases import Release

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the diagnostics look at.

    Attributes
    ----------
    release, model
        Which sums.
    fit
        The model that was read from them, if one was.
    """

    release: Release
    model: SubModel
    fit: Fit | None

    @cached_property
    def equations(self) -> NormalEquations:
        """Normal equations of the model."""
        return normal_equations(self.release, self.model)

    @cached_property
    def about(self) -> PenalisedGram:
        """Gram of the slopes, the quantile of its noise and its smallest eigenvalue."""
        return penalised_gram(self.equations, self.release.digest)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Coefficients that the Gram belongs to."""
        return tuple(
            name for name, inside in zip(self.model.names, self.about.penalised.tolist(), strict=True) if inside
        )

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the Gram, smallest first, and its eigenvectors as columns."""
        values, vectors = np.linalg.eigh(self.about.gram)
        return values, vectors
