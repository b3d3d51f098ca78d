"""Penalised slopes from a release: ridge, lasso and elastic net at one strength or at many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np

from discreet.analyst.solvers.lasso import minimise
from discreet.analyst.solvers.least_squares import Solution, solve_ridge
from discreet.analyst.solvers.penalties import LARGEST_STRENGTH
from discreet.analyst.solvers.repair import SlopeEquations
from discreet.analyst.values.not_estimable import NotEstimableError
from discreet.exact.arrays import FloatArray

_STRENGTHS: Final = 100
_WEAKEST: Final = 1e-3  # of the strongest
# further down where the first hundred shrink too much; the last is as good as no penalty in double precision
_FURTHER: Final = (1e-5, 1e-7, 1e-10)
_PER_DECADE: Final = 10
_RIDGE_RANGE: Final = 10  # times the largest eigenvalue: no slope keeps more than 1/11
_ROUNDING: Final = 1e-9  # of the largest entry: an eigenvalue below minus this is no rounding


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of the scaled columns at one strength.

    Attributes
    ----------
    strength, l1_share
        Of the penalty.
    values
        Shape (m,).
    ridge
        What the penalty puts on the diagonal of the Gram of the slopes: strength times rows times (1 - l1_share).
    repair
        What was added to it besides.
    """

    strength: float
    l1_share: float
    values: FloatArray
    ridge: float
    repair: float


def largest_useful_strength(problem: SlopeEquations, l1_share: float) -> float:
    """Give the strength beyond which nothing happens, from released quantities.

    With a share of L1 it is where the last slope becomes 0. A ridge makes no slope 0; there it is ten times the
    largest eigenvalue. Where every strength does the same, it is 1.
    """
    if len(problem.right) == 0:
        return 1.0
    if l1_share > 0:
        largest = float(np.abs(problem.right).max()) / l1_share
    else:
        largest = _RIDGE_RANGE * float(np.linalg.eigvalsh(problem.gram)[-1])
    return min(largest / problem.rows, LARGEST_STRENGTH) if largest > 0 else 1.0


def default_strengths(problem: SlopeEquations, l1_share: float) -> FloatArray:
    """Give 100 strengths, evenly spaced in logarithm, from the largest useful one down to a thousandth of it."""
    return largest_useful_strength(problem, l1_share) * np.geomspace(1.0, _WEAKEST, _STRENGTHS)


def weaker_strengths(strongest: float) -> Iterator[FloatArray]:
    """Yield what comes below the default strengths, a few decades at a time, down to 1e-10 of the strongest.

    >>> [(len(part), float(part[-1])) for part in weaker_strengths(1.0)]
    [(20, 1e-05), (20, 1e-07), (30, 1e-10)]
    """
    for above, below in pairwise((_WEAKEST, *_FURTHER)):
        count = round(_PER_DECADE * math.log10(above / below))
        yield strongest * np.geomspace(above, below, count + 1)[1:]


def penalised_slopes(
    problem: SlopeEquations, strengths: Sequence[float], l1_share: float, start: FloatArray | None = None
) -> list[Slopes]:
    """Minimise (1/2n) ||y - X theta||^2 + strength (l1_share ||theta||_1 + (1 - l1_share)/2 ||theta||^2).

    Parameters
    ----------
    problem
        Normal equations of the slopes.
    strengths
        In any order; each solution is the start of the next, so a sorted order is fast.
    l1_share
        From 0 to 1.
    start
        Where to begin, such as the slopes at a strength close to the first; 0 unless given.
    """
    ridges = [problem.rows * strength * (1 - l1_share) for strength in strengths]
    if l1_share > 0:
        limits = [problem.rows * strength * l1_share for strength in strengths]
        values = _with_l1(problem, ridges, limits, np.zeros(len(problem.right)) if start is None else start)
    else:
        values = _without_l1(problem, ridges)
    return [
        Slopes(strength, l1_share, theta, ridge, problem.repair(ridge))
        for strength, ridge, theta in zip(strengths, ridges, values, strict=True)
    ]


def _with_l1(
    problem: SlopeEquations, ridges: Sequence[float], limits: Sequence[float], theta: FloatArray
) -> Iterator[FloatArray]:
    floor = -_ROUNDING * float(np.abs(problem.gram).max(initial=0.0))
    for ridge, limit in zip(ridges, limits, strict=True):
        # with noise the repair prevents it
        if problem.smallest + ridge + problem.missing(ridge) < floor:
            raise NotEstimableError.at_strength(ridge)
        theta = minimise(problem.repaired(ridge), problem.right, np.full(len(theta), limit), theta)
        yield theta


def _without_l1(problem: SlopeEquations, ridges: Sequence[float]) -> Iterator[FloatArray]:
    eigenvalues, axes = np.linalg.eigh(problem.gram)
    rotated = axes.T @ problem.right
    for ridge in ridges:
        scales = eigenvalues + ridge + problem.missing(ridge)
        # exact columns may be combinations of each other; a direction that says nothing keeps the coefficient 0
        known = scales > _ROUNDING * scales.max(initial=0.0)
        yield axes @ np.divide(rotated, scales, out=np.zeros_like(rotated), where=known)


def with_intercept(problem: SlopeEquations, slopes: Slopes) -> Solution:
    """Give all coefficients of z; those without L1 are solved for anew, to the last digit."""
    equations = problem.equations
    A, b, unit = equations.integer_gram, equations.integer_b, equations.unit
    if slopes.l1_share == 0:
        return solve_ridge(A, b, problem.penalty_diagonal(slopes.ridge), unit=unit)
    exact = [Fraction(value) for value in slopes.values.tolist()]
    if equations.intercept:
        left = b[0] - sum(a * value for a, value in zip(A[0, 1:], exact, strict=True))
        exact.insert(0, left / (A[0, 0] + Fraction(problem.intercept_shift) * unit))
    return Solution(tuple(exact))
