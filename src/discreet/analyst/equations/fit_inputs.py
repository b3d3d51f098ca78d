"""Store what a fit was computed from, for its errors, tests and tables."""

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
    """Solved coefficients, k of them.

    Attributes
    ----------
    scaled, original
        Coefficients of the scaled columns, and in original units, shape (k,).
    constant, gains
        Terms of a prediction in units of the target, with one gain per released column of the features.
    """

    scaled: FloatArray
    original: FloatArray
    constant: float
    gains: FloatArray


@dataclass(frozen=True, eq=False)
class ErrorBasis:
    """Inputs of standard errors, intervals and tests.

    Attributes
    ----------
    equations
        Normal equations of the model, with the sum of squares of the target.
    exact
        Exact coefficients of z, shape (k,).
    penalty_diagonal
        What the penalty added to the diagonal, shape (k,).
    meat
        For robust standard errors: the released middle of the sandwich, shape (k, k).
    meat_variance
        Variances of the noise in `meat`, shape (k, k).
    ratio_square
        For a robust interval of R^2: the ratio of variances at which it was released, and the sum of squares.
    robust_type
        `HC1` with the factor n / (n - k), `HC0` without it.
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
    """Model and units of a fit, and the inputs of its errors.

    Attributes
    ----------
    penalised
        Whether the requested penalty shrinks the coefficients towards 0.
    basis
        Inputs of the errors, or why they cannot be estimated.
    fitted_inside
        Whether the mechanism published these coefficients, instead of sums.
    """

    model: SubModel
    units: Units
    penalised: bool
    basis: ErrorBasis | NotEstimable
    fitted_inside: bool = False


def error_basis(
    equations: NormalEquations, exact: tuple[Fraction, ...] | NothingExcluded, penalty_diagonal: FloatArray | None
) -> ErrorBasis | NotEstimable:
    """Return the inputs of the errors of solved coefficients, or why there are none."""
    if penalty_diagonal is None:
        return L1
    if not equations.has_square:
        return NO_SQUARE
    return exact if isinstance(exact, NothingExcluded) else ErrorBasis(equations, exact, penalty_diagonal)
