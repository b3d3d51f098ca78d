"""Ridge, lasso and elastic-net coefficients at one or many strengths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.solvers.adaptive import SlopeEquations
from discreet.analyst.solvers.least_squares import Solution, solve_ridge
from discreet.errors import OptionError, shown
from discreet.exact.arrays import FloatArray
from discreet.wording import LeaveOut, Message, SetOption

# -- penalties ---------------------------------------------------------------------------------------------------------
# The requested penalty and its checks.

Penalty = Literal["none", "ridge", "lasso", "elastic-net", "adaptive", "bayes"]
PENALTIES: Final[tuple[Penalty, ...]] = get_args(Penalty)
WITH_STRENGTH: Final[tuple[Penalty, ...]] = ("ridge", "lasso", "elastic-net")
Criterion = Literal["criterion"]
LARGEST_STRENGTH: Final = 1e100


@dataclass(frozen=True, slots=True)
class PenaltySpec:
    """A requested penalty.

    The strength is a positive number, `criterion` to choose it from the release, or None if the penalty has none. Only
    `elastic-net` has an `l1_ratio`.
    """

    penalty: Penalty
    strength: float | Criterion | None
    l1_ratio: float | None

    @property
    def l1_share(self) -> float:
        """Weight of the L1 norm in the penalty: 0 is ridge, 1 is lasso."""
        if self.l1_ratio is not None:
            return self.l1_ratio
        return 1.0 if self.penalty == "lasso" else 0.0


def checked_spec(penalty: object, strength: object, l1_ratio: object) -> PenaltySpec:
    """Check a penalty, its strength and its L1 ratio together.

    >>> checked_spec("lasso", 1, None)
    PenaltySpec(penalty='lasso', strength=1.0, l1_ratio=None)
    """
    name = checked_name(penalty, PENALTIES)
    ratio = checked_ratio(name, l1_ratio)
    if name in WITH_STRENGTH:
        chosen = isinstance(strength, str) and strength == "criterion"
        return PenaltySpec(name, "criterion" if chosen else checked_strength(name, strength), ratio)
    if strength is not None:
        raise OptionError(
            f"got strength {shown(strength)} with penalty {name!r}, but only {', '.join(WITH_STRENGTH)} use a strength",
            code="strength-not-used",
            option="strength",
            given=strength,
            remedy=LeaveOut("strength"),
        )
    return PenaltySpec(name, None, ratio)


def checked_name(penalty: object, allowed: tuple[Penalty, ...]) -> Penalty:
    """Return the name of the penalty, or raise if it is not allowed."""
    for name in allowed:
        if isinstance(penalty, str) and name == penalty:
            return name
    raise OptionError.unknown_name("penalty", penalty, allowed, option="penalty")


def checked_ratio(penalty: Penalty, l1_ratio: object) -> float | None:
    """Return the L1 ratio, which must be from 0 to 1 for `elastic-net` and None otherwise."""
    if penalty != "elastic-net":
        if l1_ratio is not None:
            raise OptionError(
                f"got l1_ratio {shown(l1_ratio)} with penalty {shown(penalty)}, but only 'elastic-net' has an l1_ratio",
                code="l1-ratio-not-used",
                option="l1_ratio",
                given=l1_ratio,
                remedy=LeaveOut("l1_ratio"),
            )
        return None
    value = _number(l1_ratio)
    if value is None or not 0 <= value <= 1:
        raise OptionError(
            option="l1_ratio",
            given=l1_ratio,
            allowed="a number from 0 (ridge) to 1 (lasso)",
            remedy=SetOption("l1_ratio", 0.5),
        )
    return value


def checked_strength(penalty: Penalty, strength: object) -> float:
    """Return the strength, which must be a positive number."""
    value = _number(strength)
    if value is None:
        allowed = "a positive number, or 'criterion' to choose one from the release"
        if strength is None:
            raise OptionError(
                f"the penalty {shown(penalty)} needs a strength: {allowed}",
                code="strength-required",
                option="strength",
                allowed=allowed,
                remedy=(SetOption("strength", 0.1), SetOption("strength", "criterion")),
            )
        raise OptionError(option="strength", given=strength, allowed=allowed)
    # above the limit every slope is 0 anyway, and strength times rows would overflow
    if not 0 < value <= LARGEST_STRENGTH:
        raise OptionError(
            option="strength",
            given=strength,
            allowed=f"a number above 0 and at most {LARGEST_STRENGTH:g}",
            remedy=Message("for no shrinkage, ", SetOption("penalty", "none")),
        )
    return value


def path_strength(strength: object) -> float:
    """Return a strength of a path, which must be a positive number."""
    value = _number(strength)
    if value is None or not 0 < value <= LARGEST_STRENGTH:
        raise OptionError(
            option="strengths", given=strength, allowed=f"numbers above 0 and at most {LARGEST_STRENGTH:g}"
        )
    return value


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


# -- lasso -------------------------------------------------------------------------------------------------------------
# Least squares with an L1 penalty from a Gram: coordinate descent that jumps to the minimum of the current face.
#
# Coordinate descent decreases the objective from any start and identifies the coefficients that are 0. Given these and
# the signs of the others, one linear system gives the rest. So each round guesses zeros and signs, as in the
# primal-dual active set method [Hintermueller, Ito & Kunisch 2002], and accepts the solution if the objective
# decreases. Otherwise the round is a sweep over the coefficients that are nonzero or violate the conditions. There are
# finitely many guesses and none is accepted twice, so the method converges like coordinate descent. Along a path it
# seldom needs a sweep.

_TOLERANCE: Final = 1e-12  # relative to the terms of the gradient; the objective is then far closer than 1e-10
_JITTER: Final = 1e-13  # relative to the largest diagonal entry, so that collinear columns do not divide by 0
_ROUNDS: Final = 10_000  # a handful is usual


def minimise(A: FloatArray, b: FloatArray, weights: FloatArray, start: FloatArray) -> FloatArray:
    """Minimise (1/2) theta'A theta - b'theta + weights'|theta| for a positive semidefinite A.

    With g = b - A theta the minimiser has g_j = weights_j sign(theta_j) if theta_j is nonzero, and |g_j| <= weights_j
    otherwise. Iterations end when these conditions hold to 1e-12 of the terms in g, when rounding prevents any descent,
    or after 10,000 rounds. A good `start` is the solution of a neighbouring problem.

    >>> minimise(np.diag([4.0, 2.0]), np.array([8.0, 1.0]), np.full(2, 2.0), np.zeros(2))
    array([1.5, 0. ])
    """
    theta = start.copy()
    if len(b) == 0:
        return theta
    g = b - A @ theta
    value = _value(b, g, weights, theta)
    largest, size = float(np.abs(b).max()), float(np.abs(A).max())
    jitter = _JITTER * (float(A.diagonal().max()) or largest)
    curvature = np.maximum(A.diagonal(), jitter)
    for _ in range(_ROUNDS):
        steps, beyond = _beyond(g, weights, theta, curvature)
        if np.abs(beyond).max() <= _TOLERANCE * (largest + size * np.abs(theta).sum()):
            break
        lower = _guessed(A, b, weights, steps, jitter)
        g = b - A @ lower
        reached = _value(b, g, weights, lower)
        if not reached < value:
            active = np.flatnonzero((theta != 0) | (beyond != 0))
            lower = _swept(A, b - A @ theta, weights, theta, active, curvature)
            g = b - A @ lower
            reached = _value(b, g, weights, lower)
            if not reached < value:
                # rounding hides any descent, but another face may satisfy the conditions much better
                last = _settled(A, b, weights, steps, jitter)
                _, left = _beyond(b - A @ last, weights, last, curvature)
                return last if np.abs(left).max() < np.abs(beyond).max() else theta
        theta, value = lower, reached
    return theta


def _beyond(
    g: FloatArray, weights: FloatArray, theta: FloatArray, curvature: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the steps of single coordinates, and the amounts by which g violates the conditions of the minimum.

    Soft-thresholding a step at its weight and dividing by the curvature gives the minimum along that coordinate.
    """
    steps = theta * curvature + g
    return steps, g - np.minimum(np.maximum(steps, -weights), weights)


def _value(b: FloatArray, g: FloatArray, weights: FloatArray, theta: FloatArray) -> float:
    """Compute the objective from g = b - A theta, which saves a product with A."""
    return float(weights @ np.abs(theta) - (b + g) @ theta / 2)


def _guessed(A: FloatArray, b: FloatArray, weights: FloatArray, steps: FloatArray, jitter: float) -> FloatArray:
    """Solve for the coefficients whose single-coordinate steps are nonzero, assuming the signs of these steps."""
    active = np.flatnonzero(np.abs(steps) > weights)
    face = A.take(active, axis=0).take(active, axis=1)
    face.flat[:: len(active) + 1] += jitter
    guess = np.zeros(len(b))
    guess[active] = np.linalg.solve(face, b[active] - weights[active] * np.sign(steps[active]))
    return guess


def _settled(A: FloatArray, b: FloatArray, weights: FloatArray, steps: FloatArray, jitter: float) -> FloatArray:
    """Repeat `_guessed` without the coefficients whose solutions contradict their assumed signs, until none does."""
    while True:
        guess = _guessed(A, b, weights, steps, jitter)
        contradicting = guess * steps < 0
        if not contradicting.any():
            return guess
        steps = np.where(contradicting, 0.0, steps)


def _swept(
    A: FloatArray,
    g: FloatArray,
    weights: FloatArray,
    theta: FloatArray,
    active: npt.NDArray[np.intp],
    curvature: FloatArray,
) -> FloatArray:
    """Minimise over each active coordinate one after another, updating g."""
    rows = A.take(active, axis=0).take(active, axis=1)
    left = g[active]
    # Python floats are several times faster here than NumPy scalars
    values, limits, curvatures = theta[active].tolist(), weights[active].tolist(), curvature[active].tolist()
    for j, row in enumerate(rows):
        old, limit = values[j], limits[j]
        step = float(left[j]) + curvatures[j] * old
        new = (max(step - limit, 0.0) + min(step + limit, 0.0)) / curvatures[j]
        if new != old:
            left -= (new - old) * row
            values[j] = new
    out = theta.copy()
    out[active] = values
    return out


# -- penalised ---------------------------------------------------------------------------------------------------------
# Penalised slopes from a release: ridge, lasso and elastic net at one or many strengths.

_STRENGTHS: Final = 100
_WEAKEST: Final = 1e-3  # relative to the strongest
# ends of the additional weaker strengths; the last is negligible in double precision
_WEAKER: Final = (1e-5, 1e-7, 1e-10)
_PER_DECADE: Final = 10
_RIDGE_RANGE: Final = 10  # multiple of the largest eigenvalue, at which every slope shrinks to at most 1/11
_ROUNDING: Final = 1e-9  # relative to the largest entry; an eigenvalue below minus this is not rounding error


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of the scaled columns at one strength."""

    strength: float
    l1_share: float
    values: FloatArray  # shape (m,)
    ridge: float  # added by the penalty to the diagonal of the Gram: strength * rows * (1 - l1_share)
    repair: float  # added to the diagonal in addition to `ridge`


def largest_useful_strength(problem: SlopeEquations, l1_share: float) -> float:
    """Return the strength above which the solution hardly changes.

    With an L1 term this is the strength at which the last slope becomes 0. A ridge makes no slope 0, so ten times the
    largest eigenvalue is used. If the strength has no effect, the result is 1.
    """
    if len(problem.right) == 0:
        return 1.0
    if l1_share > 0:
        largest = float(np.abs(problem.right).max()) / l1_share
    else:
        largest = _RIDGE_RANGE * float(np.linalg.eigvalsh(problem.gram)[-1])
    return min(largest / problem.rows, LARGEST_STRENGTH) if largest > 0 else 1.0


def default_strengths(problem: SlopeEquations, l1_share: float) -> FloatArray:
    """Return 100 strengths, logarithmically spaced from the largest useful one to a thousandth of it."""
    return largest_useful_strength(problem, l1_share) * np.geomspace(1.0, _WEAKEST, _STRENGTHS)


def weaker_strengths(strongest: float) -> Iterator[FloatArray]:
    """Yield strengths below the default strengths in batches, down to 1e-10 of the strongest.

    >>> [(len(part), float(part[-1])) for part in weaker_strengths(1.0)]
    [(20, 1e-05), (20, 1e-07), (30, 1e-10)]
    """
    for above, below in pairwise((_WEAKEST, *_WEAKER)):
        count = round(_PER_DECADE * math.log10(above / below))
        yield strongest * np.geomspace(above, below, count + 1)[1:]


def penalised_slopes(
    problem: SlopeEquations, strengths: Sequence[float], l1_share: float, start: FloatArray | None = None
) -> list[Slopes]:
    """Minimise (1/2n) ||y - X theta||^2 + strength (l1_share ||theta||_1 + (1 - l1_share)/2 ||theta||^2).

    Strengths may be in any order, but sorted strengths are faster, because each solution is the starting point of the
    next. `start` is the starting point of the first solution, 0 by default.
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
        # cannot happen with noise, because the repair prevents it
        if problem.smallest + ridge + problem.missing(ridge) < floor:
            raise NotEstimableError.at_strength(ridge)
        theta = minimise(problem.repaired(ridge), problem.right, np.full(len(theta), limit), theta)
        yield theta


def _without_l1(problem: SlopeEquations, ridges: Sequence[float]) -> Iterator[FloatArray]:
    eigenvalues, axes = np.linalg.eigh(problem.gram)
    rotated = axes.T @ problem.right
    for ridge in ridges:
        scales = eigenvalues + ridge + problem.missing(ridge)
        # exact columns may be collinear; an undetermined direction gets the coefficient 0
        determined = scales > _ROUNDING * scales.max(initial=0.0)
        yield axes @ np.divide(rotated, scales, out=np.zeros_like(rotated), where=determined)


def with_intercept(problem: SlopeEquations, slopes: Slopes) -> Solution:
    """Return all coefficients of z, solved again exactly if the penalty has no L1 term."""
    equations = problem.equations
    A, b, unit = equations.integer_gram, equations.integer_b, equations.unit
    if slopes.l1_share == 0:
        return solve_ridge(A, b, problem.penalty_diagonal(slopes.ridge), unit=unit)
    exact = [Fraction(value) for value in slopes.values.tolist()]
    if equations.intercept:
        left = b[0] - sum(a * value for a, value in zip(A[0, 1:], exact, strict=True))
        exact.insert(0, left / (A[0, 0] + Fraction(problem.intercept_shift) * unit))
    return Solution(tuple(exact))
