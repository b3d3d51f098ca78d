"""Errors that the coefficients of a release will have, over draws of its noise around sums that are supposed.

The draws come from a fixed seed and the same ones serve every budget and every number of rows, so that plans can be
compared. They protect nobody and use no data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.inference import ScoreInference, contrast_terms, fieller_ends
from discreet.analyst.noise_covariance import product_covariance
from discreet.analyst.noise_draws import noise_draws
from discreet.analyst.normal_equations import NormalEquations
from discreet.analyst.quantities import taken, unit_map
from discreet.analyst.reference_law import critical_value, family_of
from discreet.analyst.seeded import seeded_stream
from discreet.releases import FloatArray

_MANY: Final = 500
_FEW: Final = 100


@dataclass(frozen=True, eq=False)
class DrawnErrors:
    """What the inference would say of each of k coefficients in each of m draws, in original units, shape (m, k).

    Attributes
    ----------
    sampling, privacy
        The two parts of the standard error; infinite where the sums of the regressors are not positive definite.
    width
        Of the interval; infinite where it is not bounded.
    """

    sampling: FloatArray
    privacy: FloatArray
    width: FloatArray

    @property
    def interval_share(self) -> FloatArray:
        """Share of draws in which the interval is bounded, shape (k,)."""
        out: FloatArray = np.isfinite(self.width).mean(axis=0)
        return out

    def middle(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Medians of standard error, width, share of privacy and part of privacy, shape (k,) each."""
        total = np.hypot(self.sampling, self.privacy)
        known = np.isfinite(total) & (total > 0)
        ratio = np.divide(self.privacy, total, out=np.ones_like(total), where=known)
        return tuple(np.median(each, axis=0) for each in (total, self.width, ratio**2, self.privacy))  # type: ignore[return-value]


def is_bounded(z: float, q2: FloatArray) -> npt.NDArray[np.bool_]:
    """Which coefficients have a bounded interval, given that the sums of the regressors are positive definite.

    The set { u : u^2 <= z^2 (q0 + 2 q1 u + q2 u^2) } is bounded where z^2 q2 < 1, and only there.

    >>> is_bounded(2.0, np.array([0.2, 0.25]))
    array([ True, False])
    """
    out: npt.NDArray[np.bool_] = z**2 * q2 < 1
    return out


def drawn_errors(
    equations: NormalEquations, level: float, *, noise_factor: float = 1.0, draws: int | None = None
) -> DrawnErrors:
    """Draw noise around the sums of normal equations and apply the inference to each draw.

    Parameters
    ----------
    equations
        With the supposed sums, and with the deviations and the family of the noise.
    level
        Of the intervals.
    noise_factor
        What the noise is multiplied by; 1/f stands for f times as many rows.
    draws
        How many; fewer than usual where a guess will do.
    """
    sd = equations.block_sd * noise_factor
    count = draws or (_MANY if len(sd) <= 30 else _FEW)
    stream = seeded_stream("plan", "noise")
    return errors_of(equations, noise_draws(equations.law, sd, stream, count), sd, level)


def errors_of(equations: NormalEquations, noises: Iterable[FloatArray], sd: FloatArray, level: float) -> DrawnErrors:
    """Apply the inference to the sums with each of these noises added, shape (p, p) each."""
    C, sums = _noise_map(equations), _sums(equations)
    L = unit_map(equations)
    scale = np.abs(L).max(axis=1)
    rows = [
        _one(sums + C @ F @ C.T, equations, equations.nobs + F[0, 0], C, sd**2, L / scale[:, None], level)
        for F in noises
    ]
    sampling, privacy, width = (np.array(part) * scale for part in zip(*rows, strict=True))
    return DrawnErrors(sampling, privacy, width)


def score_at(equations: NormalEquations) -> ScoreInference | None:
    """The inference from the sums as they are; none where they do not determine a line."""
    return score_of(_sums(equations), equations.nobs, _noise_map(equations), equations.block_sd**2)


def _sums(equations: NormalEquations) -> FloatArray:
    sums: FloatArray = (equations.whole / equations.unit).astype(np.float64)
    return sums


def _noise_map(equations: NormalEquations) -> FloatArray:
    """How noise in the sums of (1, features, target) enters those of (z, target)."""
    moved = [] if equations.intercept else [equations.shift]
    return np.column_stack([*moved, np.eye(len(equations.whole))])


def _one(
    sums: FloatArray,
    equations: NormalEquations,
    nobs: float,
    C: FloatArray,
    variance: FloatArray,
    L: FloatArray,
    level: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Parts of the standard error and width of each coefficient, in units of the rows of L."""
    score = score_of(sums, nobs, C, variance)
    if score is None:
        nothing = np.full(len(L), np.inf)
        return nothing, nothing, nothing
    terms = contrast_terms(score, L)
    z = critical_value(level, family_of(equations.law.family), score.df)
    bounded = is_bounded(z, terms.q2)
    width = np.full(len(L), np.inf)
    low, high = fieller_ends(taken(terms, bounded), z)
    width[bounded] = high - low
    return np.sqrt(terms.sampling), np.sqrt(terms.privacy), width


def score_of(sums: FloatArray, nobs: float, C: FloatArray, variance: FloatArray) -> ScoreInference | None:
    """The inference from sums of (z, target) in double precision; none where they do not determine a line.

    Parameters
    ----------
    sums
        Shape (k+1, k+1).
    nobs
        Number of rows.
    C
        How the noise of the released sums of (1, features, target) enters, shape (k+1, p).
    variance
        Of that noise, shape (p, p).
    """
    A, b = sums[:-1, :-1], sums[:-1, -1]
    size = len(b)
    diagonal = A.diagonal()
    if nobs <= size or not (diagonal > 0).all():
        return None
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = np.linalg.cholesky(A * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    half = np.linalg.inv(factor) * scale
    H = half.T @ half
    theta = H @ b
    contrast = C.T @ np.append(-theta, 1.0)
    noise = C[:-1] @ product_covariance(variance, contrast) @ C[:-1].T
    residual = float(sums[-1, -1] - b @ theta + (H * noise).sum())
    df = nobs - size
    return ScoreInference(
        variance=variance,
        reach=C[:-1],
        contrast=contrast,
        inverse=H,
        noise=noise,
        residual=residual,
        residual_noise=0.0,
        residual_rows=df,
        df=df,
        sampling=max(residual / df, 0.0) * H,
        privacy=H @ noise @ H,
    )
