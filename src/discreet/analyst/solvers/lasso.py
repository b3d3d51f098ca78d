"""Least squares with an L1 penalty from a Gram: coordinate descent that jumps to the end of the face it is on.

Coordinate descent goes down from anywhere and finds which coefficients are 0; once it has them and the signs of the
others, one linear system gives the rest. So each round guesses zeros and signs, as the primal-dual active set method
does [Hintermueller, Ito & Kunisch 2002], and takes the answer if it lies lower; where it does not, the round is a sweep
over the coefficients that are not 0 or should not be. A guess is one of finitely many points and is never taken twice,
so the method converges as coordinate descent does, and along a path it seldom needs a sweep.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray

_TOLERANCE: Final = 1e-12  # of the terms of the gradient: the objective is then far closer than 1e-10
_JITTER: Final = 1e-13  # of the largest diagonal entry: keeps collinear exact columns from dividing by 0
_ROUNDS: Final = 10_000  # a handful is usual


def minimise(A: FloatArray, b: FloatArray, weights: FloatArray, start: FloatArray) -> FloatArray:
    """Give the minimiser of (1/2) theta'A theta - b'theta + weights'|theta|.

    With g = b - A theta the minimum has g_j = weights_j sign(theta_j), and |g_j| <= weights_j where theta_j = 0. It
    ends where these hold to 1e-12 of the terms in g, where double precision allows no further descent, or after 10,000
    rounds.

    Parameters
    ----------
    A
        Positive semidefinite, shape (m, m).
    b
        Shape (m,).
    weights
        At least 0, shape (m,).
    start
        Where to begin, such as the solution of a neighbouring problem, shape (m,).

    Examples
    --------
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
                # rounding hides any further descent; another face may still meet the conditions much better
                last = _settled(A, b, weights, steps, jitter)
                _, left = _beyond(b - A @ last, weights, last, curvature)
                return last if np.abs(left).max() < np.abs(beyond).max() else theta
        theta, value = lower, reached
    return theta


def _beyond(
    g: FloatArray, weights: FloatArray, theta: FloatArray, curvature: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Steps of single coordinates, and by how much g misses the conditions of the minimum.

    The minimum of a coordinate is what its step has beyond the weights, over its curvature.
    """
    steps = theta * curvature + g
    return steps, g - np.minimum(np.maximum(steps, -weights), weights)


def _value(b: FloatArray, g: FloatArray, weights: FloatArray, theta: FloatArray) -> float:
    """Objective by way of g = b - A theta, which saves a product with A."""
    return float(weights @ np.abs(theta) - (b + g) @ theta / 2)


def _guessed(A: FloatArray, b: FloatArray, weights: FloatArray, steps: FloatArray, jitter: float) -> FloatArray:
    """Solve for the coefficients that a step of each coordinate would leave beyond 0, with the signs it gives them."""
    active = np.flatnonzero(np.abs(steps) > weights)
    face = A.take(active, axis=0).take(active, axis=1)
    face.flat[:: len(active) + 1] += jitter
    guess = np.zeros(len(b))
    guess[active] = np.linalg.solve(face, b[active] - weights[active] * np.sign(steps[active]))
    return guess


def _settled(A: FloatArray, b: FloatArray, weights: FloatArray, steps: FloatArray, jitter: float) -> FloatArray:
    """Guess again and again, without the coefficients whose answers contradict the signs that they were given."""
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
    """Minimise over each active coordinate in turn, with g kept up to date by columns of A."""
    rows = A.take(active, axis=0).take(active, axis=1)
    left = g[active]
    # numbers of Python's own are several times faster to handle one by one
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
