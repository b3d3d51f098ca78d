"""What a fit was computed from, kept for all that is said about it later."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.analyst.normal_equations import NormalEquations
from discreet.analyst.selection import SubModel
from discreet.releases import FloatArray


@dataclass(frozen=True, eq=False)
class FitInputs:
    """Equations, exact solution and penalty of a fit.

    Attributes
    ----------
    model
        Which target, features and intercept.
    equations
        Of the model.
    exact
        Coefficients of z with all digits, shape (k,).
    pulls
        What was added to the diagonal, shape (k,); none for a penalty on absolute values.
    penalised
        Whether anything was asked to pull the coefficients towards 0.
    meat
        For robust standard errors: the released middle of the sandwich, shape (k, k).
    """

    model: SubModel
    equations: NormalEquations
    exact: tuple[Fraction, ...]
    pulls: FloatArray | None
    penalised: bool
    meat: FloatArray | None = None
