"""Errors that the coefficients of a release will have, over draws of its noise and of tables with supposed sums.

The draws come from a fixed seed and the same ones serve every budget and every number of rows, so that plans can be
compared. They protect nobody and use no data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.analyst.equations.noise_covariance import EntryNoise
from discreet.analyst.equations.noise_draws import noise_draws
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.equations.seeded import seeded_stream, standard_normals
from discreet.analyst.inference.contrasts import Contrasts, unit_map
from discreet.analyst.inference.rows_needed import bounded
from discreet.analyst.inference.score import (
    ScoreInference,
    contrast_terms,
    fieller_sets,
    is_identity,
    noise_map,
    score_from_sums,
    stacked,
)
from discreet.analyst.values.confidence_sets import ConfidenceSet
from discreet.exact.arrays import FloatArray
from discreet.exact.blas_threads import one_blas_thread
from discreet.releases.reference_law import critical_value, family_of

BoolArray: TypeAlias = npt.NDArray[np.bool_]

_ROUNDING: Final = 1e-6
_KEPT: Final = 2**22  # numbers in draws of noise that are kept
_TOGETHER: Final = 2**18  # numbers in the matrices of draws that are treated together
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


class Draws:
    """Sums of tables and noise that a plan draws, and what the inference says of each draw.

    Parameters
    ----------
    equations
        With the supposed sums, and with the deviations and the family of the noise.
    level
        Of the intervals.
    one_table
        Whether the sums are those of one table; else they are expected ones, and vary from one table to the next.
    check
        Called again and again; it may end the work with an error.
    """

    def __init__(
        self, equations: NormalEquations, level: float, *, one_table: bool, check: Callable[[], None] = lambda: None
    ) -> None:
        self.equations, self.level, self.one_table, self.check = equations, level, one_table, check
        self.usual = next(times for columns, times in _DRAWS if len(equations.block_sd) <= columns)
        units = unit_map(equations)
        self._scale = np.abs(units).max(axis=1)
        self._L = units / self._scale[:, None]
        self._kept: dict[int, list[FloatArray]] = {}

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return len(self._L)

    def errors(self, which: Sequence[int] | None = None) -> DrawnErrors:
        """Apply the inference to each draw: to all coefficients, or to those with these numbers alone."""
        asked = list(range(len(self._L)) if which is None else which)
        L, z = self._L[asked], self._critical(1.0)
        parts: list[FloatArray] = []
        # many small matrices, one after another
        with one_blas_thread():
            scores = self._scores(1.0, self.usual)
            while some := list(islice(scores, max(1, _TOGETHER // self._L.size))):
                sure = bounded(some, self._L, z)
                read = self._read(some, L, z)
                for index, score in enumerate(some):
                    # in doubt is what other coefficients that are not well known may leave open: there the sets
                    # themselves decide
                    if score is not None and self._in_doubt(score, self._L[~sure[index]], z):
                        self.check()
                        read[2, index] = _widths(_about(score, L, self.equations), self.level)
                parts.append(read)
        return DrawnErrors(*(np.concatenate(parts, axis=1) * self._scale[asked]))

    def enough(self, rows_factor: float, share: float, draws: int, among: BoolArray, *, sets: bool) -> BoolArray:
        """Whether the interval of each coefficient is bounded in at least a share of the draws, shape (k,).

        Draws end as soon as too few of them are left for any.

        Parameters
        ----------
        rows_factor
            How many times as many rows there are.
        share
            From 0 to 1.
        draws
            How many.
        among
            Coefficients that are looked at; false of the others.
        sets
            Whether the sets themselves decide in doubt; else what is in doubt counts as not bounded.
        """
        missed, asked = np.zeros(len(self._L), dtype=np.int_), np.flatnonzero(among)
        z = self._critical(rows_factor)
        with one_blas_thread():
            for score in self._scores(rows_factor, draws):
                found = bounded([score], self._L if sets else self._L[asked], z)[0]
                if sets:
                    if score is not None and self._in_doubt(score, self._L[~found], z):
                        found = np.isfinite(_widths(_about(score, self._L, self.equations), self.level))
                    found = found[asked]
                missed[asked] += ~found
                if (missed[asked] > (1 - share) * draws + _ROUNDING).all():
                    break
        return among & (missed <= (1 - share) * draws + _ROUNDING)

    def _scores(self, rows_factor: float, count: int) -> Iterator[ScoreInference | None]:
        equations = self.equations
        tables = repeat(_sums(equations) * rows_factor) if self.one_table else _tables(equations, rows_factor, count)
        C, noise, nobs = noise_map(equations), equations.noise, equations.nobs * rows_factor
        for sums, F in zip(tables, self._noises(count), strict=False):
            self.check()
            noisy = sums + (F if is_identity(C) else C @ F @ C.T)
            yield score_from_sums(noisy, nobs + float(F[0, 0]), C, noise)

    def _noises(self, count: int) -> Iterable[FloatArray]:
        """Noise of the released sums, shape (p, p) each; kept for the next time unless it is much."""
        if count in self._kept:
            return self._kept[count]
        drawn = _noises(self.equations, count)
        if count * self.equations.block_sd.size > _KEPT:
            return drawn
        return self._kept.setdefault(count, list(drawn))

    def _critical(self, rows_factor: float) -> float:
        nobs, size = self.equations.nobs * rows_factor, len(self._L)
        return critical_value(self.level, family_of(self.equations.law.family), max(nobs - size, 1.0))

    def _in_doubt(self, score: ScoreInference, L: FloatArray, z: float) -> bool:
        """Whether an interval is bounded unless the other coefficients leave it open, for any row of L."""
        return len(L) > 0 and bool(np.isfinite(self._read([score], L, z)[2]).any())

    @staticmethod
    def _read(scores: Sequence[ScoreInference | None], L: FloatArray, z: float) -> FloatArray:
        """Parts of the standard error and width of the interval of each row of L in each draw, shape (3, m, rows)."""
        out = np.full((3, len(scores), len(L)), np.inf)
        usable = [index for index, score in enumerate(scores) if score is not None]
        if usable:
            terms = contrast_terms(stacked([score for score in scores if score is not None]), L)
            sets = fieller_sets(terms, z)
            width = np.where(sets.kind == "interval", sets.upper - sets.lower, np.inf)
            out[:, usable] = np.sqrt(terms.sampling), np.sqrt(terms.privacy), width
        return out


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


def score_at(equations: NormalEquations) -> ScoreInference | None:
    """The inference from the sums as they are; none where they do not determine a line."""
    return score_from_sums(_sums(equations), equations.nobs, noise_map(equations), equations.noise)


def _sums(equations: NormalEquations) -> FloatArray:
    sums: FloatArray = (equations.whole / equations.unit).astype(np.float64)
    return sums
