"""Forecast of the number of rows that a coefficient would need for a bounded confidence set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.equations.noise import noise_draws, seeded_stream
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.inference.nuisance import covariance_root, growth_bound, largest_growth
from discreet.analyst.inference.score import ScoreInference, noise_map, score_from_sums
from discreet.exact.arrays import FloatArray, one_blas_thread

SHARE: Final = 0.9  # required fraction of tables with a bounded set
FACTORS: Final = (
    1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2, 2.5, 2.8, 3.2, 3.6, 4.0, 4.5, 5.0, 5.6, 6.3, 7.0, 8.0, 9.0, 10.0,
    12.0, 14.0, 16.0, 18.0, 20.0, 25.0, 30.0, 40.0, 50.0, 70.0, 100.0,
)  # fmt: skip
_TABLES: Final = 199  # simulated tables
_ENOUGH: Final = 49  # with fewer tables a fraction of 90% cannot be estimated
_ROUNDING: Final = 1e-9
_TRIES: Final = 200_000  # maximum of draws times the squared number of coefficients


def rows_needed_text(factor: float | None) -> str:
    """Describe how many rows would give a bounded interval.

    >>> rows_needed_text(4.0)
    'with about 4 times as many rows, 90% of releases would give a bounded interval'
    >>> rows_needed_text(None)
    'the release is too noisy to estimate how many rows would be enough'
    """
    if factor is None:
        return "the release is too noisy to estimate how many rows would be enough"
    return f"with about {factor:g} times as many rows, {SHARE:.0%} of releases would give a bounded interval"


def rows_factors(equations: NormalEquations, L: FloatArray, z: float, digest: str) -> tuple[float | None, ...]:
    """Return for each combination the smallest listed factor of the row count that bounds its set in 90% of tables.

    A simulated table has the released sums minus a new noise draw. Draws whose sums are not positive definite are
    impossible and are rejected. The rest are weighted by the inverse root of the Gram determinant, so that a weakest
    direction far below the noise gets more weight. A table with f times as many rows of the same population has f times
    these sums plus another noise draw. The released Gram need not be positive definite.

    A combination gets None if no listed factor bounds it, or if nearly all draws are rejected.
    """
    # many small matrices one after another
    with one_blas_thread():
        forecast = _Forecast(equations, L, z, digest)
        if len(forecast.now) < _ENOUGH:
            return (None,) * len(L)
        return tuple(forecast.smallest(row) for row in range(len(L)))


@dataclass(eq=False)
class _Forecast:
    """Fractions of simulated tables in which the set of each combination is bounded, cached by factor."""

    equations: NormalEquations
    L: FloatArray
    z: float
    digest: str
    shares: dict[float, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        equations = self.equations
        size = len(equations.b)
        self.sums = np.block([[equations.A, equations.b[:, None]], [equations.b, np.array([equations.c])]])
        self.C = noise_map(equations)
        stream = seeded_stream("rows needed", self.digest)
        distribution, own = equations.distribution, equations.noise
        kept: list[FloatArray] = []
        for _ in range(max(1, _TRIES // size**2 // _TABLES)):
            noise = noise_draws(distribution, own, stream, _TABLES)
            kept += list(noise[np.linalg.eigvalsh(self.sums - self.C @ noise @ self.C.T)[:, 0] > 0])
            if len(kept) >= _TABLES:
                break
        self.now = np.array(kept[:_TABLES]).reshape(-1, *own.sd.shape)
        self.then = noise_draws(distribution, own, stream, len(self.now))
        sums = self.sums - self.C @ self.now @ self.C.T
        log_size = np.linalg.slogdet(sums[:, :-1, :-1])[1]
        weights = np.exp((log_size.min(initial=np.inf) - log_size) / 2)
        self.weights = weights / weights.sum() if len(weights) else weights

    def smallest(self, row: int) -> float | None:
        """Find by bisection the smallest factor of the row count that bounds a combination's set in enough tables."""
        low, high = 0, len(FACTORS)
        while low < high:
            middle = (low + high) // 2
            if self.share(FACTORS[middle])[row] >= SHARE:
                high = middle
            else:
                low = middle + 1
        return FACTORS[low] if low < len(FACTORS) else None

    def share(self, factor: float) -> FloatArray:
        """Return the fraction of tables in which the set of each combination is bounded, shape (m,)."""
        if factor not in self.shares:
            noise = self.then - factor * self.now
            sums = factor * self.sums + self.C @ noise @ self.C.T
            rows = factor * self.equations.nobs + noise[:, 0, 0]
            own = self.equations.noise
            scores = [score_from_sums(*table, self.C, own) for table in zip(sums, rows.tolist(), strict=True)]
            self.shares[factor] = self.weights @ bounded(scores, self.L, self.z)
        return self.shares[factor]


def bounded(scores: Sequence[ScoreInference | None], L: FloatArray, z: float) -> npt.NDArray[np.bool_]:
    """Return whether the set of each combination in each table is bounded at the critical value `z`, shape (tables, m).

    The set of l'theta is bounded if z^2 times the growth of the score variance along every unit direction of the
    coefficients is less than the variance at the estimate. Poorly determined other coefficients would lower the
    critical value and bound a few more sets; this is ignored. A table with score None has no bounded set.
    """
    out = np.zeros((len(scores), len(L)), dtype=np.bool_)
    usable = [index for index, score in enumerate(scores) if score is not None]
    usable_scores = [score for score in scores if score is not None]
    if not usable_scores:
        return out
    noise, regressors = usable_scores[0].entry_noise, usable_scores[0].noise_map
    covariance = np.array([score.covariance for score in usable_scores])
    W = L @ np.array([score.inverse for score in usable_scores]) @ regressors
    variance = ((L @ covariance) * L).sum(axis=2)
    largest = np.linalg.eigvalsh(regressors.T @ covariance @ regressors)[:, -1]
    is_bounded = z**2 * growth_bound(noise, W, largest[:, None]) < variance / (1 + _ROUNDING)
    for table, score in enumerate(usable_scores):
        # the bound decides nearly all combinations
        undecided = np.flatnonzero(~is_bounded[table] & (variance[table] > 0))
        if len(undecided):
            own = variance[table, undecided]
            growth = largest_growth(noise, covariance_root(score).noise, W[table, undecided], own)
            is_bounded[table, undecided] = z**2 * growth < 1
    out[usable] = is_bounded
    return out
