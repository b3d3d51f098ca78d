"""Errors that the coefficients of a release will have, over draws of its noise and of tables with supposed sums.

The draws come from a fixed seed and the same ones serve every budget and every number of rows, so that plans can be
compared. They protect nobody and use no data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.equations.noise_covariance import EntryNoise
from discreet.analyst.equations.noise_draws import noise_draws
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.equations.seeded import seeded_stream, standard_normals
from discreet.analyst.inference.contrasts import Contrasts, unit_map
from discreet.analyst.inference.rows_needed import bounded
from discreet.analyst.inference.score import ScoreInference, contrast_terms, fieller_sets, noise_map, score_from_sums
from discreet.analyst.values.confidence_sets import ConfidenceSet
from discreet.exact.arrays import FloatArray
from discreet.exact.blas_threads import one_blas_thread
from discreet.releases.reference_law import critical_value, family_of

_ROUNDING: Final = 1e-6
_DRAWS: Final = ((32, 300), (100, 100), (math.inf, 20))  # up to so many columns, so many draws


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

    def middle(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Medians of standard error, width and share of the squared error that privacy adds, shape (k,) each."""
        total = np.hypot(self.sampling, self.privacy)
        known = np.isfinite(total) & (total > 0)
        ratio = np.divide(self.privacy, total, out=np.ones_like(total), where=known)
        middle = [np.median(each, axis=0) for each in (total, self.width, ratio**2)]
        return middle[0], middle[1], middle[2]


def drawn_errors(
    equations: NormalEquations, level: float, *, one_table: bool, rows_factor: float = 1.0, draws: int | None = None
) -> DrawnErrors:
    """Draw sums of tables and noise, and apply the inference to each draw.

    Parameters
    ----------
    equations
        With the supposed sums, and with the deviations and the family of the noise.
    level
        Of the intervals.
    one_table
        Whether the sums are those of one table; else they are expected ones, and vary from one table to the next.
    rows_factor
        How many times as many rows there are.
    draws
        How many; fewer than usual where a rough number will do.
    """
    count = draws or next(times for columns, times in _DRAWS if len(equations.block_sd) <= columns)
    tables = repeat(_sums(equations) * rows_factor) if one_table else _tables(equations, rows_factor, count)
    return _errors(equations, zip(tables, _noises(equations, count), strict=False), equations.nobs * rows_factor, level)


def errors_now(equations: NormalEquations, level: float) -> DrawnErrors:
    """Apply the inference to the sums as they are."""
    score = score_at(equations)
    if score is None:
        unknown = np.full((1, len(equations.b)), np.inf)
        return DrawnErrors(unknown, unknown, unknown)
    L = unit_map(equations)
    scale = np.abs(L).max(axis=1)
    about = _about(score, L / scale[:, None], equations)
    sampling, privacy = (np.sqrt(part)[None, :] * scale for part in (about.terms.sampling, about.terms.privacy))
    return DrawnErrors(sampling, privacy, _widths(about, level)[None, :] * scale)


def _about(score: ScoreInference, L: FloatArray, equations: NormalEquations) -> Contrasts:
    size = len(L)
    family = family_of(equations.law.family)
    return Contrasts(tuple(map(str, range(size))), np.zeros(size), L, np.ones(size), score, family)


def _widths(about: Contrasts, level: float) -> FloatArray:
    """Widths of the sets that a release gives; infinite where a set is no interval."""
    sets = about.intervals(about.critical(level)).values()
    return np.array([
        ends.upper - ends.lower if isinstance(ends, ConfidenceSet) and ends.bounded else math.inf for ends in sets
    ])  # fmt: skip


def _noises(equations: NormalEquations, count: int) -> Iterator[FloatArray]:
    """Noise of the released sums, shape (p, p) each; a few at a time where they are large."""
    stream = seeded_stream("plan", "noise")
    batch = max(1, 2**21 // equations.block_sd.size)
    for start in range(0, count, batch):
        yield from noise_draws(equations.law, equations.noise, stream, min(batch, count - start))


def _tables(equations: NormalEquations, rows_factor: float, count: int) -> Iterator[FloatArray]:
    """Sums of tables in which the share of each indicator varies as it does from one sample of rows to the next.

    A rare indicator is true in few rows, more in one table and fewer in another. With p its share, p' a drawn one and
    f = p'(1 - p') / p(1 - p), z becomes p' + sqrt(f) (z - p); slopes and residuals stay. What else varies over tables
    is small beside the noise wherever a plan is in doubt.
    """
    sums, nobs = _sums(equations) * rows_factor, equations.nobs * rows_factor
    rare = _indicators(equations)
    score = score_from_sums(sums, nobs, noise_map(equations), EntryNoise(np.zeros_like(equations.block_sd)))
    if score is None or not len(rare):
        yield from [sums] * count
        return
    A, b = sums[:-1, :-1], sums[:-1, -1]
    theta = score.inverse @ b
    share = np.clip(A.diagonal()[rare] / nobs, 1 / nobs, 1 - 1 / nobs)
    spread = np.sqrt(share * (1 - share) / nobs)
    for variate in standard_normals(seeded_stream("plan", "rows"), count, len(rare)):
        drawn = np.clip(share + spread * variate, 1 / nobs, 1 - 1 / nobs)
        T = np.eye(len(A))
        T[rare, rare] = np.sqrt(drawn * (1 - drawn) / (share * (1 - share)))
        if equations.intercept:
            T[rare, 0] = drawn - T[rare, rare] * share
        table = np.empty_like(sums)
        table[:-1, :-1] = T @ A @ T.T
        table[:-1, -1] = table[-1, :-1] = table[:-1, :-1] @ theta
        table[-1, -1] = score.residual + theta @ table[:-1, -1]
        yield table


def _indicators(equations: NormalEquations) -> npt.NDArray[np.intp]:
    """Which regressors are 0 or 1: their sum of squares is their sum, where that is there to see."""
    indices = np.flatnonzero(equations.low[:-1] == 0) + int(equations.intercept)
    if not equations.intercept:
        return indices
    squares, sums = equations.A[indices, indices], equations.A[0, indices]
    found: npt.NDArray[np.intp] = indices[np.abs(squares - sums) <= _ROUNDING * squares]
    return found


def _errors(
    equations: NormalEquations, drawn: Iterable[tuple[FloatArray, FloatArray]], nobs: float, level: float
) -> DrawnErrors:
    C, noise = noise_map(equations), equations.noise
    L = unit_map(equations)
    scale = np.abs(L).max(axis=1)
    L = L / scale[:, None]
    z = critical_value(level, family_of(equations.law.family), max(nobs - len(L), 1.0))
    # many small matrices, one after another
    with one_blas_thread():
        scores = [score_from_sums(sums + C @ F @ C.T, nobs + float(F[0, 0]), C, noise) for sums, F in drawn]
        sampling, privacy, width = (np.array(part) for part in zip(*(_read(one, L, z) for one in scores), strict=True))
        sure = bounded(scores, L, z)
        # in doubt is what other coefficients that are not well known may leave open: there the sets themselves decide
        for index in np.flatnonzero((np.isfinite(width) & ~sure).any(axis=1)):
            score = scores[index]
            if score is not None:
                width[index] = _widths(_about(score, L, equations), level)
    return DrawnErrors(sampling * scale, privacy * scale, width * scale)


def score_at(equations: NormalEquations) -> ScoreInference | None:
    """The inference from the sums as they are; none where they do not determine a line."""
    return score_from_sums(_sums(equations), equations.nobs, noise_map(equations), equations.noise)


def _sums(equations: NormalEquations) -> FloatArray:
    sums: FloatArray = (equations.whole / equations.unit).astype(np.float64)
    return sums


def _read(score: ScoreInference | None, L: FloatArray, z: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Parts of the standard error and width of the interval of each combination in the rows of L."""
    if score is None:
        unknown = np.full(len(L), np.inf)
        return unknown, unknown, unknown
    terms = contrast_terms(score, L)
    sets = fieller_sets(terms, z)
    width = np.where(sets.kind == "interval", sets.upper - sets.lower, np.inf)
    return np.sqrt(terms.sampling), np.sqrt(terms.privacy), width
