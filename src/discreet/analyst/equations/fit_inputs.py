"""What a fit was computed from, kept for all that is said about it later."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from discreet.analyst.equations.model_columns import SubModel
from discreet.analyst.equations.normal import NO_SQUARE, NormalEquations, Units
from discreet.analyst.values import NothingExcluded
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import NotEstimable

RobustType = Literal["HC0", "HC1"]

L1: Final = NotEstimable(
    "there are no intervals for a penalty on absolute values; "
    'use the penalty "none", "ridge" or "adaptive" (--penalty none)'
)
POSTERIOR: Final = NotEstimable(
    "there are no intervals for a posterior mean, which shrinks towards 0 by as much as the noise calls for; "
    'use the penalty "none", "ridge" or "adaptive" (--penalty none)'
)


@dataclass(frozen=True, eq=False)
class Line:
    """Solved coefficients, k of them.

    Attributes
    ----------
    scaled, original
        Of the scaled columns and in original units, shape (k,).
    constant, gains
        What a prediction adds up, in the units of the target: one gain for each released column of the features.
    """

    scaled: FloatArray
    original: FloatArray
    constant: float
    gains: FloatArray


@dataclass(frozen=True, eq=False)
class ErrorBasis:
    """What standard errors, intervals and tests are computed from.

    Attributes
    ----------
    equations
        Of the model, with the sum of squares of the target.
    exact
        Coefficients of z with all digits, shape (k,).
    penalty_diagonal
        What was added to the diagonal, shape (k,).
    meat
        For robust standard errors: the released middle of the sandwich, shape (k, k).
    meat_variance
        Variances of the noise in it, shape (k, k).
    ratio_square
        For a robust interval of R^2: the ratio of variances at which it was released, and the sum of squares.
    robust_type
        Of robust standard errors: `HC1` with the factor n / (n - k), `HC0` without.
    """

    equations: NormalEquations
    exact: tuple[Fraction, ...]
    penalty_diagonal: FloatArray
    meat: FloatArray | None = None
    meat_variance: FloatArray | None = None
    ratio_square: tuple[float, float] | None = None
    robust_type: RobustType = "HC1"


@dataclass(frozen=True, eq=False)
class FitInputs:
    """Model and units of a fit, and what its errors can be estimated from.

    Attributes
    ----------
    model
        Which target, features and intercept.
    units
        In which it was solved.
    penalised
        Whether a penalty was asked to shrink the coefficients towards 0.
    basis
        What the errors are computed from, or why nothing can be said of them.
    fitted_inside
        Whether the coefficients were published as they are, and not read from sums.
    """

    model: SubModel
    units: Units
    penalised: bool
    basis: ErrorBasis | NotEstimable
    fitted_inside: bool = False


def error_basis(
    equations: NormalEquations, exact: tuple[Fraction, ...] | NothingExcluded, penalty_diagonal: FloatArray | None
) -> ErrorBasis | NotEstimable:
    """Give what the errors of solved coefficients are computed from, or why there is nothing."""
    if penalty_diagonal is None:
        return L1
    if not equations.has_square:
        return NO_SQUARE
    return exact if isinstance(exact, NothingExcluded) else ErrorBasis(equations, exact, penalty_diagonal)
