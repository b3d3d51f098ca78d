"""Inputs of a fit that its standard errors, tests and tables need."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from discreet.analyst.equations.normal import NO_SQUARE, NormalEquations, Units
from discreet.analyst.values import NothingExcluded
from discreet.design.model_columns import SubModel
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import NotEstimable

RobustType = Literal["HC0", "HC1"]

L1: Final = NotEstimable("an L1 penalty has no intervals; fit with the penalty 'none', 'ridge' or 'adaptive'")
POSTERIOR: Final = NotEstimable(
    "a posterior mean has no intervals, because the noise determines how far it shrinks towards 0; "
    "fit with the penalty 'none', 'ridge' or 'adaptive'"
)


@dataclass(frozen=True, eq=False)
class Line:
    """The k coefficients of a fitted model, and the terms of its predictions."""

    scaled: FloatArray  # coefficients of the scaled columns, shape (k,)
    original: FloatArray  # coefficients in original units, shape (k,)
    # terms of a prediction in units of the target, with one gain per released column of the features
    constant: float
    gains: FloatArray


@dataclass(frozen=True, eq=False)
class ErrorBasis:
    """Inputs of standard errors, intervals and tests."""

    equations: NormalEquations  # must have the sum of squares of the target
    exact: tuple[Fraction, ...]  # exact scaled coefficients, shape (k,)
    penalty_diagonal: FloatArray  # added by the penalty to the diagonal of the Gram, shape (k,)
    meat: FloatArray | None = None  # for robust errors: the released middle of the sandwich, shape (k, k)
    # variances of independent noise E, shape (m, m): the noise of `meat` is U E U' with U = `meat_mapping`
    meat_variance: FloatArray | None = None
    meat_mapping: FloatArray | None = None  # U, shape (k, m), or None for the identity
    # noisy sum of squared residuals of the line of `meat`, or None if that line is the model's own
    meat_line_square: float | None = None
    # for a robust interval of R^2: the variance ratio rho and the noisy sum of squares released for it
    ratio_square: tuple[float, float] | None = None
    robust_type: RobustType = "HC1"  # `HC1` with the factor n / (n - k), `HC0` without it


@dataclass(frozen=True, eq=False)
class FitInputs:
    """Model and units of a fit, and the inputs of its standard errors."""

    model: SubModel
    units: Units
    penalised: bool  # whether the requested penalty shrinks the coefficients towards 0
    basis: ErrorBasis | NotEstimable  # inputs of the errors, or why these cannot be estimated
    fitted_inside: bool = False  # whether the mechanism published these coefficients, instead of sums


def error_basis(
    equations: NormalEquations, exact: tuple[Fraction, ...] | NothingExcluded, penalty_diagonal: FloatArray | None
) -> ErrorBasis | NotEstimable:
    """Return the inputs of the standard errors, or the reason why there are none."""
    if penalty_diagonal is None:
        return L1
    if not equations.has_square:
        return NO_SQUARE
    return exact if isinstance(exact, NothingExcluded) else ErrorBasis(equations, exact, penalty_diagonal)
