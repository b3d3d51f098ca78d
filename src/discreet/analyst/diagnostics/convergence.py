"""Iterates that had not converged, and noise as large as the coefficients, read off a release of coefficients."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.releases import Release

_FEWEST_STEPS: Final = 3  # of a quarter of the iterates
_FALSE_ALARM: Final = 0.01  # over all coefficients, for steps of nothing but noise
_MATTERS: Final = 5e-3  # of the largest coefficient


def not_converged(release: Release) -> str | None:
    """Say if the iterates of a release went one way to the end, farther than noise can carry them.

    What moved is the mean of the last quarter of the iterates less that of the quarter before; a way that goes on
    leaves the published mean of both at least half of that from where it leads. The most that noise can do is a random
    walk: iterates that are drawn to a fixed point move less. The scale of its steps comes from the change
    between one step and the next, in which a steady way cancels. Its variates have correlation -1/2, so that a third
    of their degrees of freedom is lost.

    With steps of pure noise the false alarm is about 1% over all coefficients. For iterates at rest it is rarer: none
    in 2,400 simulated releases of `irls` and 480 of `gradient` at their defaults (3,000 and 20,000 rows, 1 to 40
    columns, epsilon 1 and 4), while 15 passes of `irls` where 100 were needed were found in 200 of 200. A move below
    0.5% of the largest coefficient is not reported.
    """
    trace = np.array(() if release.coefficients is None else release.coefficients.trace)
    quarter = (len(trace) + 1) // 4
    if quarter < _FEWEST_STEPS:
        return None
    # without the part of a step that was carried into the next one, by a public rule, noise is independent again
    carried = release.noise.parameters.get("momentum_per_mille", 0) / 1000
    free = ((trace[1:] - carried * trace[:-1]) / (1 - carried))[-2 * quarter :]
    moved = np.abs(free[quarter:].mean(axis=0) - free[:quarter].mean(axis=0))
    turns = np.diff(free, n=2, axis=0)
    walk = np.sqrt(np.square(turns).mean(axis=0) / 2 * (2 * quarter**2 + 1) / (3 * quarter))
    limit = _student(len(turns) / 1.5, _FALSE_ALARM / (2 * free.shape[1])) * walk
    if not (moved > np.maximum(limit, _MATTERS * np.abs(trace[-1]).max())).any():
        return None
    return (
        "In the last half of the iterations the coefficients were still moving in one direction, farther than noise "
        "can carry them: with more iterations they would move further. The iterates are in the release."
    )


def _student(degrees: float, tail: float) -> float:
    """What a variate of Student's law exceeds with that probability."""
    from scipy.special import stdtrit

    return -float(stdtrit(degrees, tail))


def noise_dominates(release: Release) -> str | None:
    """Say if noise of a known size in every coefficient is nearly as large as the coefficients."""
    if release.coefficients is None or "coefficients" not in release.noise.sigma:
        return None
    sd, largest = release.noise.sd("coefficients"), max(map(abs, release.coefficients.values))
    if sd <= largest / 4:
        return None
    return (
        f"Every scaled coefficient has noise of standard deviation {sd:.2g}, and the largest of them has size "
        f"{largest:.2g}: they are hardly more than noise. A larger epsilon or strength, or a mechanism of kind "
        "'moments', would help."
    )
