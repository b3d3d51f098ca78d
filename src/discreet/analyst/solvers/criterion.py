"""Choose the penalty strength that predicts best, from the release alone.

Let theta be any estimate computed from the noisy sums A~ = A + E, b~ = b + e of y = X theta* + eta, where eta has
variance s^2 in each row. Its expected in-sample prediction error, for new responses at the same rows, is
Err = n s^2 + ||X (theta - theta*)||^2. The noisy residual sum RSS~ = c~ - 2 b~'theta + theta'A~ theta is too small for
two reasons: theta follows eta, and theta follows E and e. Expanding the square gives, exactly,

    E Err = E RSS~ + 2 E[(X'eta + e)'theta] - E[theta'E theta].

The privacy noise is Gaussian and eta is assumed to be, so Stein's identity turns each product into a derivative. Let
H = d theta / d b~ be the inverse of the penalised Gram on the nonzero coefficients. A change of the sums by db and dE
moves theta by H (db - dE theta), and so

    E Err = E[RSS~ + 2 s^2 tr(H A) + 2 tr(H V(theta))],

where V(theta) is the covariance of the privacy noise e - E theta in the score, for fixed theta. The first correction is
Mallows' Cp with its degrees of freedom: the number of nonzero coefficients for the lasso, a trace for a ridge. The
second is the same correction for the privacy noise. A and s^2 are replaced by A~ and an estimate. The dependence of the
repair and the number of rows on the noise is neglected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.analyst.equations.noise import product_covariance
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.adaptive import SlopeEquations
from discreet.analyst.solvers.penalised import Slopes, default_strengths, penalised_slopes, weaker_strengths
from discreet.errors import ModelError
from discreet.exact.arrays import FloatArray

_ROUNDING: Final = 1e-12  # relative to the largest value; one row in a billion changes more than this
_JITTER: Final = 1e-13  # relative to the largest diagonal entry, for columns that are exact combinations of others


@dataclass(frozen=True, slots=True)
class Optimism:
    """Residual sum of an estimate, and the terms of its optimism."""

    residual: float  # RSS~, not per row; may be negative
    freedom: float  # tr(H A~), the degrees of freedom, including the intercept
    privacy: float  # tr(H V(theta))


def check_criterion(equations: NormalEquations) -> None:
    """Raise if the release lacks the sum of squares of the target."""
    if not equations.has_square:
        raise ModelError(
            "choosing a strength by the criterion needs the sum of squares of the target, which this release does not "
            "have",
            code="missing-sums",
            option="strength",
            remedy="pass the strength as a number",
        )


def criterion_values(problem: SlopeEquations, solutions: Sequence[Slopes]) -> FloatArray:
    """Estimate the expected squared prediction error per row of the scaled target, shape (m,)."""
    check_criterion(problem.equations)
    s2 = residual_variance(problem)
    terms = [optimism(problem, slopes) for slopes in solutions]
    return np.array([term.residual + 2 * s2 * term.freedom + 2 * term.privacy for term in terms]) / problem.rows


def chosen_path(problem: SlopeEquations, l1_share: float) -> tuple[list[Slopes], FloatArray]:
    """Return the slopes at the candidate strengths, from strong to weak, and the criterion values.

    As long as the weakest strength is the best, weaker strengths are added until the penalty is negligible.
    """
    along = penalised_slopes(problem, default_strengths(problem, l1_share).tolist(), l1_share)
    values = criterion_values(problem, along)
    for strengths in weaker_strengths(along[0].strength):
        if best_of(values) < len(values) - 1:
            break
        weaker = penalised_slopes(problem, strengths.tolist(), l1_share, along[-1].values)
        values = np.concatenate([values, criterion_values(problem, weaker)])
        along += weaker
    return along, values


def best_of(values: FloatArray) -> int:
    """Return the index of the minimum. Ties within rounding go to the strongest penalty.

    Ties are common: if the repair is larger than the ridge, every ridge gives the same slopes, and a very weak penalty
    does not change the last digits.

    >>> best_of(np.array([2.0, 1.0 + 1e-15, 1.0]))
    1
    """
    return int(np.flatnonzero(values <= values.min() + _ROUNDING * np.abs(values).max())[0])


def residual_variance(problem: SlopeEquations) -> float:
    """Estimate the residual variance of the scaled target from least squares, repaired if necessary.

    s^2 = (RSS~ + tr(H V)) / (n - tr(H A)). At the minimum the residual sum is corrected once instead of twice, because
    the distance of the estimate from the truth cancels half of the correction. The result is clipped to be at least 0
    and at most the largest square that the declared bounds allow.
    """
    (free,) = penalised_slopes(problem, [0.0], 0.0)
    terms = optimism(problem, free)
    largest = (1 + abs(float(problem.equations.shift[-1]))) ** 2
    left = max(problem.rows - terms.freedom, 1.0)
    return float(np.clip((terms.residual + terms.privacy) / left, 0.0, largest))


def optimism(problem: SlopeEquations, slopes: Slopes) -> Optimism:
    """Compute the residual sum of an estimate and the traces that correct it."""
    equations = problem.equations
    A, b = equations.A, equations.b
    theta = slopes.values
    if equations.intercept:
        free = (b[0] - A[0, 1:] @ theta) / (A[0, 0] + problem.intercept_shift)
        theta = np.concatenate([[free], theta])
        active = np.flatnonzero(np.concatenate([[True], slopes.values != 0]))
        noise_map = np.eye(len(b) + 1)
    else:
        active = np.flatnonzero(theta)
        # move the sums of (1, features, target) to the origin of the original units
        noise_map = np.column_stack([equations.shift, np.eye(len(b) + 1)])
    gram = A[np.ix_(active, active)]
    jitter = _JITTER * float(gram.diagonal().max(initial=0.0))
    H = np.linalg.inv(gram + np.diag(problem.penalty_diagonal(slopes.ridge)[active] + jitter))
    residual = equations.c - 2 * float(b @ theta) + float(theta @ A @ theta)
    active_map = noise_map[:-1][active]
    contrast = noise_map.T @ np.append(-theta, 1.0)
    return Optimism(
        residual=residual,
        freedom=float(np.clip((H * gram).sum(), 0.0, len(active))),
        privacy=float(((active_map.T @ H @ active_map) * product_covariance(equations.noise, contrast)).sum()),
    )
