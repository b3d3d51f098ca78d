"""How many times as many rows would bound a coefficient: a forecast from the release alone."""

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

SHARE: Final = 0.9  # of such tables in which the set shall be bounded
FACTORS: Final = (
    1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2, 2.5, 2.8, 3.2, 3.6, 4.0, 4.5, 5.0, 5.6, 6.3, 7.0, 8.0, 9.0, 10.0,
    12.0, 14.0, 16.0, 18.0, 20.0, 25.0, 30.0, 40.0, 50.0, 70.0, 100.0,
)  # fmt: skip
_WANTED: Final = 199  # tables that are forecast
_ENOUGH: Final = 49  # fewer say nothing about a share of 90%
_ROUNDING: Final = 1e-9
_TRIES: Final = 200_000  # draws times the square of the number of coefficients, at most


def rows_words(factor: float | None) -> str:
    """Say how many rows would give an interval.

    >>> rows_words(4.0)
    'in 90% of tables with 4 times as many rows it would be a bounded interval'
    >>> rows_words(None)
    'the release does not show how many rows would give a bounded interval in 90% of such tables'
    """
    if factor is None:
        return f"the release does not show how many rows would give a bounded interval in {SHARE:.0%} of such tables"
    return f"in {SHARE:.0%} of tables with {factor:g} times as many rows it would be a bounded interval"


def rows_factors(equations: NormalEquations, L: FloatArray, z: float, digest: str) -> tuple[float | None, ...]:
    """Smallest listed factor at which the set of each combination would be bounded in 90% of such tables.

    The sums of the rows behind the release are what it shows less a new draw of its noise; draws that leave no sums of
    products of any rows, because they are not positive definite, are left out. The rest are weighted by one over the
    root of the determinant of the Gram, so that a weakest direction far below the noise counts for more. A
    table of f times as many rows of the same population then shows f times these sums with another draw of the noise.

    Parameters
    ----------
    equations
        Of the model; the Gram need not be positive definite.
    L
        Combinations of the scaled coefficients, shape (m, k).
    z
        Critical value of the sets.
    digest
        Fingerprint of the release, which seeds the draws.

    Returns
    -------
    tuple
        None for a combination that no listed factor bounds, or where nearly no draw leaves possible sums.
    """
    # many small matrices, one after another
    with one_blas_thread():
        forecast = _Forecast(equations, L, z, digest)
        if len(forecast.now) < _ENOUGH:
            return (None,) * len(L)
        return tuple(forecast.smallest(row) for row in range(len(L)))


@dataclass(eq=False)
class _Forecast:
    """Shares of bounded sets by factor, each computed once for all combinations."""

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
        law, own = equations.law, equations.noise
        kept: list[FloatArray] = []
        for _ in range(max(1, _TRIES // size**2 // _WANTED)):
            noise = noise_draws(law, own, stream, _WANTED)
            kept += list(noise[np.linalg.eigvalsh(self.sums - self.C @ noise @ self.C.T)[:, 0] > 0])
            if len(kept) >= _WANTED:
                break
        self.now = np.array(kept[:_WANTED]).reshape(-1, *own.sd.shape)
        self.then = noise_draws(law, own, stream, len(self.now))
        sums = self.sums - self.C @ self.now @ self.C.T
        log_size = np.linalg.slogdet(sums[:, :-1, :-1])[1]
        weights = np.exp((log_size.min(initial=np.inf) - log_size) / 2)
        self.weights = weights / weights.sum() if len(weights) else weights

    def smallest(self, row: int) -> float | None:
        """Smallest factor that bounds a combination, by halving the list."""
        low, high = 0, len(FACTORS)
        while low < high:
            middle = (low + high) // 2
            if self.share(FACTORS[middle])[row] >= SHARE:
                high = middle
            else:
                low = middle + 1
        return FACTORS[low] if low < len(FACTORS) else None

    def share(self, factor: float) -> FloatArray:
        """Share of tables that bound each combination, shape (m,)."""
        if factor not in self.shares:
            noise = self.then - factor * self.now
            sums = factor * self.sums + self.C @ noise @ self.C.T
            rows = factor * self.equations.nobs + noise[:, 0, 0]
            own = self.equations.noise
            scores = [score_from_sums(*table, self.C, own) for table in zip(sums, rows.tolist(), strict=True)]
            self.shares[factor] = self.weights @ bounded(scores, self.L, self.z)
        return self.shares[factor]


def bounded(scores: Sequence[ScoreInference | None], L: FloatArray, z: float) -> npt.NDArray[np.bool_]:
    """Whether the sets of combinations are bounded at z, table by table, shape (tables, m).

    The set of l'theta is bounded if z^2 times the variance of its score along every direction of the coefficients,
    in units of their errors, is less than its variance at the estimate. Where the other coefficients are not well known
    its critical value is smaller than z, so that a few more are.

    Parameters
    ----------
    scores
        What the sums of each table say; none where they do not determine a line, and then no set is bounded.
    L, z
        As for `rows_factors`.
    """
    out = np.zeros((len(scores), len(L)), dtype=np.bool_)
    usable = [index for index, score in enumerate(scores) if score is not None]
    known = [score for score in scores if score is not None]
    if not known:
        return out
    noise, regressors = known[0].entry_noise, known[0].noise_map
    covariance = np.array([one.covariance for one in known])
    W = L @ np.array([one.inverse for one in known]) @ regressors
    variance = ((L @ covariance) * L).sum(axis=2)
    largest = np.linalg.eigvalsh(regressors.T @ covariance @ regressors)[:, -1]
    found = z**2 * growth_bound(noise, W, largest[:, None]) < variance / (1 + _ROUNDING)
    for table, score in enumerate(known):
        # the bound decides nearly all
        open_ones = np.flatnonzero(~found[table] & (variance[table] > 0))
        if len(open_ones):
            own = variance[table, open_ones]
            growth = largest_growth(noise, covariance_root(score).noise, W[table, open_ones], own)
            found[table, open_ones] = z**2 * growth < 1
    out[usable] = found
    return out
