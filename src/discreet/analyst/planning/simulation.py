"""Simulate the errors of coefficients over noise draws and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, repeat
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.analyst.equations.noise import EntryNoise, noise_draws, seeded_stream, standard_normals
from discreet.analyst.equations.normal import NormalEquations
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
from discreet.analyst.planning.assumptions import Assumptions, Supposed, correlations
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.declarations import completed, needed
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.design.scales import scales_of
from discreet.errors import OptionError
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.releases.reference_distribution import critical_value, family_of
from discreet.tables.cells import write_scaled
from discreet.wording import LeaveOut

# -- expected errors ---------------------------------------------------------------------------------------------------
# Errors of the coefficients of a future release, over draws of its noise and of tables with the assumed sums.
#
# The draws have a fixed seed and are the same for every budget and number of rows, so that plans can be compared. They
# use no data and protect nobody.

BoolArray: TypeAlias = npt.NDArray[np.bool_]

_ROUNDING: Final = 1e-6
_KEPT: Final = 2**22  # maximum number of entries in cached noise draws
_TOGETHER: Final = 2**18  # maximum number of entries in the matrices of one batch of draws
_DRAWS: Final = ((32, 300), (100, 100), (math.inf, 20))  # (up to this many columns, number of draws)


@dataclass(frozen=True, eq=False)
class DrawnErrors:
    """Simulated inference for each of k coefficients in each of m draws, in original units, shape (m, k)."""

    # parts of the standard error, infinite if the Gram is not positive definite
    sampling: FloatArray
    privacy: FloatArray
    width: FloatArray  # of the interval, infinite if unbounded

    @property
    def interval_share(self) -> FloatArray:
        """Fraction of draws in which the interval is bounded, shape (k,)."""
        out: FloatArray = np.isfinite(self.width).mean(axis=0)
        return out

    def middle(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return medians of the standard error, the width and the privacy fraction of the variance, each (k,)."""
        total = np.hypot(self.sampling, self.privacy)
        is_positive = np.isfinite(total) & (total > 0)
        ratio = np.divide(self.privacy, total, out=np.ones_like(total), where=is_positive)
        middle = [np.median(each, axis=0) for each in (total, self.width, ratio**2)]
        return middle[0], middle[1], middle[2]


class Draws:
    """Simulated sums of tables and noise, and the inference from each draw.

    With `one_table` the sums are those of one table. Otherwise they are expectations and vary between tables. `check`
    is called repeatedly and may stop the computation by raising.
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
        """Apply the inference to each draw, for all coefficients or those with indices `which`."""
        indices = list(range(len(self._L)) if which is None else which)
        L, z = self._L[indices], self._critical(1.0)
        parts: list[FloatArray] = []
        # many small matrices one after another
        with one_blas_thread():
            scores = self._scores(1.0, self.usual)
            while some := list(islice(scores, max(1, _TOGETHER // self._L.size))):
                sure = bounded(some, self._L, z)
                read = self._read(some, L, z)
                for index, score in enumerate(some):
                    # `sure` is a sufficient condition; in doubtful cases the confidence sets themselves decide
                    if score is not None and self._in_doubt(score, self._L[~sure[index]], z):
                        self.check()
                        read[2, index] = _widths(_about(score, L, self.equations), self.level)
                parts.append(read)
        return DrawnErrors(*(np.concatenate(parts, axis=1) * self._scale[indices]))

    def enough(self, rows_factor: float, share: float, draws: int, among: BoolArray, *, sets: bool) -> BoolArray:
        """Return whether the interval of each coefficient is bounded in the required share of the draws, shape (k,).

        Coefficients outside `among` are false. Simulation stops early if no coefficient can reach the share. With
        `sets` the confidence sets decide doubtful cases. Otherwise doubtful intervals are treated as unbounded.
        """
        missed, indices = np.zeros(len(self._L), dtype=np.int_), np.flatnonzero(among)
        z = self._critical(rows_factor)
        with one_blas_thread():
            for score in self._scores(rows_factor, draws):
                is_bounded = bounded([score], self._L if sets else self._L[indices], z)[0]
                if sets:
                    if score is not None and self._in_doubt(score, self._L[~is_bounded], z):
                        is_bounded = np.isfinite(_widths(_about(score, self._L, self.equations), self.level))
                    is_bounded = is_bounded[indices]
                missed[indices] += ~is_bounded
                if (missed[indices] > (1 - share) * draws + _ROUNDING).all():
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
        """Return noise of the released sums, shape (p, p) each. Small collections are cached."""
        if count in self._kept:
            return self._kept[count]
        drawn = _noises(self.equations, count)
        if count * self.equations.block_sd.size > _KEPT:
            return drawn
        return self._kept.setdefault(count, list(drawn))

    def _critical(self, rows_factor: float) -> float:
        nobs, size = self.equations.nobs * rows_factor, len(self._L)
        return critical_value(self.level, family_of(self.equations.distribution.family), max(nobs - size, 1.0))

    def _in_doubt(self, score: ScoreInference, L: FloatArray, z: float) -> bool:
        """Return whether any row of L has a bounded interval if the other coefficients are treated as known."""
        return len(L) > 0 and bool(np.isfinite(self._read([score], L, z)[2]).any())

    @staticmethod
    def _read(scores: Sequence[ScoreInference | None], L: FloatArray, z: float) -> FloatArray:
        """Return both parts of the standard error and the width of each row of L in each draw, shape (3, m, rows)."""
        out = np.full((3, len(scores), len(L)), np.inf)
        usable = [index for index, score in enumerate(scores) if score is not None]
        if usable:
            terms = contrast_terms(stacked([score for score in scores if score is not None]), L)
            sets = fieller_sets(terms, z)
            width = np.where(sets.kind == "interval", sets.upper - sets.lower, np.inf)
            out[:, usable] = np.sqrt(terms.sampling), np.sqrt(terms.privacy), width
        return out


def errors_now(equations: NormalEquations, level: float) -> DrawnErrors:
    """Apply the inference to the sums without simulation."""
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
    family = family_of(equations.distribution.family)
    return Contrasts(tuple(map(str, range(size))), np.zeros(size), L, np.ones(size), score, family)


def _widths(about: Contrasts, level: float) -> FloatArray:
    """Return the widths of the confidence sets, infinite if a set is not an interval."""
    sets = about.intervals(about.critical(level)).values()
    return np.array([
        ends.upper - ends.lower if isinstance(ends, ConfidenceSet) and ends.bounded else math.inf for ends in sets
    ])  # fmt: skip


def _noises(equations: NormalEquations, count: int) -> Iterator[FloatArray]:
    """Yield noise of the released sums, shape (p, p) each, in batches."""
    stream = seeded_stream("plan", "noise")
    batch = max(1, 2**21 // equations.block_sd.size)
    for start in range(0, count, batch):
        yield from noise_draws(equations.distribution, equations.noise, stream, min(batch, count - start))


def _tables(equations: NormalEquations, rows_factor: float, count: int) -> Iterator[FloatArray]:
    """Yield sums of tables in which the share of each indicator varies as between samples.

    A rare indicator is true in few rows, and their number varies between tables. With p its share, p' a drawn share and
    f = p'(1 - p') / p(1 - p), z becomes p' + sqrt(f) (z - p). Slopes and residuals do not change. Other variation
    between tables is small compared with the noise wherever a coefficient may not be estimable.
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
    """Return the indices of 0/1 regressors. With an intercept, check that their sum of squares equals their sum."""
    indices = np.flatnonzero(equations.low[:-1] == 0) + int(equations.intercept)
    if not equations.intercept:
        return indices
    squares, sums = equations.A[indices, indices], equations.A[0, indices]
    indicators: npt.NDArray[np.intp] = indices[np.abs(squares - sums) <= _ROUNDING * squares]
    return indicators


def score_at(equations: NormalEquations) -> ScoreInference | None:
    """Return the inference from the sums without simulation, or None if they determine no line."""
    return score_from_sums(_sums(equations), equations.nobs, noise_map(equations), equations.noise)


def _sums(equations: NormalEquations) -> FloatArray:
    sums: FloatArray = (equations.whole / equations.unit).astype(np.float64)
    return sums


# -- table -------------------------------------------------------------------------------------------------------------
# Mean and covariance of the scaled regressors of a hypothetical table with the assumed properties.
#
# For columns of the table they are stated. If columns are computed by formulas, or rows are shrunk to a ball, a table
# is simulated with a fixed seed. Its numbers have a beta distribution on their bounds with the assumed mean and sd
# (uniform by default), joined by a Gaussian copula. No data is used.

_ROWS: Final = 2**15
_WIDE: Final = 256  # with more columns, fewer rows are drawn
_ROUNDS: Final = 20
_CLOSE: Final = 0.005  # difference at which the search for a correlation stops
_ENOUGH: Final = 0.03  # largest accepted difference of a correlation
_LARGEST: Final = 0.9999
_FEWEST: Final = 1e-3  # smallest sum of beta parameters; nearly all values are then at the bounds
_MOST: Final = 1e12  # largest sum of beta parameters; all values are then in one cell of the grid


@lru_cache(maxsize=8)
def regressor_moments(design: Design, supposed: Supposed) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of the scaled regressors, shapes (d,) and (d, d)."""
    domain = RowDomain.of(design)
    ball = domain.ball_norm2
    shrinks = ball is not None and ball < domain.box_norm2
    drawn = shrinks or any(design.columns[name].formula is not None for name in design.regressors)
    mean, covariance = (drawn_moments if drawn else declared_moments)(design, supposed)
    # the results are cached, so protect them from changes
    mean.flags.writeable = covariance.flags.writeable = False
    return mean, covariance


def declared_moments(design: Design, supposed: Supposed) -> tuple[FloatArray, FloatArray]:
    """Compute the moments of regressors that are all columns of the table."""
    names, R = correlations(design, supposed)
    means: list[float] = []
    sds: list[float] = []
    indices: list[int] = []
    blocks: list[tuple[int, FloatArray]] = []
    for name in design.regressors:
        assumed, column = supposed[name], design.columns[name]
        if assumed.shares is not None:
            shares = np.array([share for level, share in assumed.shares if level != getattr(column, "reference", None)])
            blocks.append((len(means), np.diag(shares) - np.outer(shares, shares)))
            means += shares.tolist()
            sds += [0.0] * len(shares)
            indices += [0] * len(shares)
            continue
        mean, sd = _scaled(column, assumed.mean, assumed.sd, assumed.share)
        means.append(mean)
        sds.append(sd)
        indices.append(names.index(name))
    covariance = np.outer(sds, sds) * R[np.ix_(indices, indices)] if names else np.zeros((len(means), len(means)))
    for start, block in blocks:
        covariance[start : start + len(block), start : start + len(block)] = block
    return np.array(means), covariance


def _scaled(column: object, mean: float | None, sd: float | None, share: float | None) -> tuple[float, float]:
    if isinstance(column, Numeric) and mean is not None and sd is not None:
        return (mean - column.mid) / column.half, sd / column.half
    share = share or 0.0
    return share, math.sqrt(share * (1 - share))


def target_moments(design: Design, supposed: Supposed) -> tuple[float, float]:
    """Return mean and sd of the scaled target."""
    assumed = supposed[design.target]
    return _scaled(design.columns[design.target], assumed.mean, assumed.sd, assumed.share)


def drawn_moments(design: Design, supposed: Supposed) -> tuple[FloatArray, FloatArray]:
    """Compute the moments from a simulated table, including formulas and shrinking to a ball."""
    scaled = _drawn_regressors(design, supposed)
    mean = scaled.mean(axis=1)
    scaled -= mean[:, None]
    return mean, scaled @ scaled.T / scaled.shape[1]


def drawn_rows(design: Design, assumptions: Assumptions) -> FloatArray:
    """Draw scaled rows (1, x, y), shape (p, m), with a target that is linear in x plus error."""
    x = _drawn_regressors(design, assumptions.supposed)
    mean = x.mean(axis=1, keepdims=True)
    covariance = (x - mean) @ (x - mean).T / x.shape[1]
    target_mean, target_sd = target_moments(design, assumptions.supposed)
    slopes = supposed_slopes(design, assumptions, covariance, target_sd)
    line = target_mean + slopes @ (x - mean)
    rest = math.sqrt(max(target_sd**2 - float(slopes @ covariance @ slopes), 0.0))
    variates = standard_normals(seeded_stream("supposed target", design.target), x.shape[1], 1)[:, 0]
    if isinstance(design.columns[design.target], Numeric):
        target = np.clip(line + rest * variates, -1.0, 1.0)
    else:
        from scipy.special import ndtr

        target = (ndtr(variates) < line).astype(np.float64)
    return np.vstack([np.ones(x.shape[1]), x, target])


def _drawn_regressors(design: Design, supposed: Supposed) -> FloatArray:
    """Draw scaled regressors, shape (d, m)."""
    base = needed(design.columns, design.regressors)
    table = _drawn(design, base, supposed)
    arrays = completed(design.columns, design.regressors, table)
    columns = {name: design.columns[name] for name in design.regressors}
    scaled = np.empty((len(design.released) - 2, len(next(iter(table.values())))))
    write_scaled(columns, arrays, scaled)
    if design.radius is not None:
        lengths = np.linalg.norm(scaled, axis=0)
        scaled *= np.divide(design.radius, lengths, out=np.ones_like(lengths), where=lengths > design.radius)
    return scaled


def _drawn(design: Design, base: dict[str, Base], supposed: Supposed) -> dict[str, FloatArray]:
    """Simulate a table with the assumed shares, means, sds and correlations."""
    names = list(base)
    rows = _ROWS if len(names) <= _WIDE else max(_ROWS * _WIDE // len(names), 8 * len(names))
    middles = (np.arange(rows) + 0.5) / rows
    sorted_values = np.column_stack([_quantiles(name, column, supposed, middles) for name, column in base.items()])
    normals = _white(standard_normals(seeded_stream("supposed table", design.target), rows, len(names)))
    wanted = np.eye(len(names))
    if supposed.correlated:
        among, R = correlations(design, supposed)
        correlated = [index for index, name in enumerate(names) if name in among]
        which = [among.index(names[index]) for index in correlated]
        wanted[np.ix_(correlated, correlated)] = R[np.ix_(which, which)]
    values = _joined(sorted_values, normals, wanted)
    return {name: np.ascontiguousarray(values[:, index]) for index, name in enumerate(names)}


def _white(normals: FloatArray) -> FloatArray:
    """Standardise variates to sample mean 0 and sample covariance identity."""
    centred = normals - normals.mean(axis=0)
    factor = np.linalg.cholesky(centred.T @ centred / len(centred))
    out: FloatArray = np.linalg.solve(factor, centred.T).T
    return out


def _quantiles(name: str, column: Base, supposed: Supposed, middles: FloatArray) -> FloatArray:
    """Return the values of a column in ascending order."""
    assumed = supposed[name]
    if isinstance(column, Numeric) and assumed.mean is not None and assumed.sd is not None:
        from scipy.special import betaincinv

        low, high = column.bounds
        share = (assumed.mean - low) / (high - low)
        spread = (assumed.sd / (high - low)) ** 2
        ratio = share * (1 - share) / spread if spread > 0 else math.inf
        parameters = min(max(ratio - 1, _FEWEST), _MOST)
        return low + (high - low) * np.asarray(betaincinv(share * parameters, (1 - share) * parameters, middles))
    if isinstance(column, Boolean):
        return np.where(middles > 1 - (assumed.share or 0.0), 1.0, 0.0)
    ends = np.cumsum([share for _, share in assumed.shares or ()])[:-1]
    return np.searchsorted(ends, middles).astype(np.float64)


def _joined(sorted_values: FloatArray, normals: FloatArray, wanted: FloatArray) -> FloatArray:
    """Permute each column so that the columns have the wanted correlations.

    The order comes from correlated normal variates, whose correlations are adapted iteratively.
    """
    is_wanted = (wanted != 0) & ~np.eye(len(wanted), dtype=bool)
    latent, best, nearest = wanted.copy(), sorted_values, math.inf
    for _ in range(_ROUNDS if is_wanted.any() else 1):
        mixed = normals @ _root(latent)
        values = np.empty_like(sorted_values)
        np.put_along_axis(values, np.argsort(mixed, axis=0), sorted_values, axis=0)
        if not is_wanted.any():
            return values
        sample = np.corrcoef(values, rowvar=False)
        gap = float(np.abs(sample - wanted)[is_wanted].max())
        if gap < nearest:
            best, nearest = values, gap
        if gap < _CLOSE:
            break
        same_side = is_wanted & (sample * wanted > 0)
        step = np.divide(wanted, sample, out=np.ones_like(wanted), where=same_side)
        latent = np.where(is_wanted, np.clip(latent * step, -_LARGEST, _LARGEST), latent)
    if nearest > _ENOUGH:
        raise OptionError(
            "could not simulate a table with these means, sds, shares and correlations; a plan needs a simulated "
            "table if columns have formulas or a radius is declared",
            code="impossible-correlation",
            option="correlation",
            remedy="state smaller correlations",
        )
    return best


def _root(latent: FloatArray) -> FloatArray:
    """Return R with R'R equal to a correlation matrix close to `latent`, which may be indefinite."""
    values, vectors = np.linalg.eigh(latent)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    out: FloatArray = root / np.linalg.norm(root, axis=0)
    return out


# -- slopes ------------------------------------------------------------------------------------------------------------
# Slopes of the planned table: stated ones, and defaults that explain the rest of R^2.

_SMALL: Final = 1e-9


def settled(design: Design, assumptions: Assumptions) -> Assumptions:
    """Return the assumptions with the implied R^2 if every slope is stated."""
    original = _stated(design, assumptions)
    if np.isnan(original).any():
        return assumptions
    stated = _in_scaled_units(design, original, np.zeros_like(original))
    _, covariance = regressor_moments(design, assumptions.supposed)
    _, target_sd = target_moments(design, assumptions.supposed)
    share = float(stated @ covariance @ stated) / target_sd**2
    if "rsquared" in assumptions.stated:
        raise OptionError(
            f"expected no rsquared, because all slopes are stated and they imply an R^2 of {share:.4g}",
            code="rsquared-implied",
            option="rsquared",
            remedy=(LeaveOut("rsquared"), "leave out one of the slopes"),
        )
    if not share < 1:
        raise OptionError(
            f"the stated slopes explain {share:.4g} times the variance of the target {design.target!r}",
            code="slopes-too-large",
            option="assume",
            remedy="state smaller slopes or a larger sd of the target",
        )
    return replace(assumptions, rsquared=share, stated=(*assumptions.stated, "slopes"))


def supposed_slopes(design: Design, assumptions: Assumptions, covariance: FloatArray, target_sd: float) -> FloatArray:
    """Return slopes of the scaled target on the scaled regressors, shape (d,).

    Slopes that are not stated follow `pattern`, scaled so that all slopes together explain R^2.
    """
    stated = _stated(design, assumptions)
    columns = [design.columns[name] for name in design.regressors for _ in design.columns[name].released(name)]
    numeric = np.array([isinstance(column, Numeric) for column in columns])
    zeros = np.zeros_like(stated)
    known = _in_scaled_units(design, stated, zeros)
    free = _in_scaled_units(design, np.where(np.isnan(stated), np.nan, 0.0), pattern(covariance, numeric))
    # solve for the factor of the free slopes at which all slopes together explain R^2
    lead, cross = float(free @ covariance @ free), float(free @ covariance @ known)
    already, wanted = float(known @ covariance @ known), assumptions.rsquared * target_sd**2
    if lead <= 0:
        return known
    room = wanted - already
    if room < -_SMALL * target_sd**2:
        raise OptionError(
            f"the stated slopes explain {already / target_sd**2:.4g} times the variance of the target "
            f"{design.target!r}, more than the R^2 of {assumptions.rsquared:g}",
            code="slopes-too-large",
            option="rsquared",
            remedy="state a larger R^2 or smaller slopes",
        )
    factor = (-cross + math.sqrt(cross**2 + lead * max(room, 0.0))) / lead
    return known + factor * free


def pattern(covariance: FloatArray, numeric: npt.NDArray[np.bool_]) -> FloatArray:
    """Return default slopes of the scaled regressors, up to a common factor, shape (d,).

    A numeric column is measured in its standard deviations, and an indicator as if its share were one half, so that the
    effect of a treatment does not depend on how rare it is. With uncorrelated columns all slopes then have equal size.
    On correlated columns, slopes of equal sign explain more together than separately, and slopes of opposite sign less.
    The signs are unknown, so every second numeric column gets a smaller slope, chosen such that the extra explained
    variance is half of that for equal signs.

    >>> pattern(np.array([[0.25, 0.0], [0.0, 0.09]]), np.array([True, False]))
    array([2., 2.])
    >>> pattern(np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([True, True])).round(2)
    array([1.37, 0.37])
    """
    sds = np.where(numeric, np.sqrt(np.diag(covariance)), 0.5)
    slopes = np.divide(1.0, sds, out=np.zeros_like(sds), where=sds > 0)
    among = covariance[np.ix_(numeric, numeric)] * np.outer(slopes[numeric], slopes[numeric])
    np.fill_diagonal(among, 0.0)
    sides = (-1.0) ** np.arange(len(among))
    turns = np.linspace(0, math.pi / 2, 91)[:, None]
    weights = np.cos(turns) + np.sin(turns) * sides
    more = ((weights @ among) * weights).sum(axis=1) / max(len(among), 1)
    slopes[numeric] *= weights[np.argmin(np.abs(more - more.max() / 2).round(2))]
    return slopes


def _stated(design: Design, assumptions: Assumptions) -> FloatArray:
    """Return stated slopes in original units, shape (d,), with NaN for slopes that are not stated."""
    out: list[float] = []
    for name in design.regressors:
        slopes = dict(assumptions.supposed[name].slopes)
        out += [slopes.get(released, math.nan) for released in design.columns[name].released(name)]
    return np.array(out)


def _in_scaled_units(design: Design, stated: FloatArray, others: FloatArray) -> FloatArray:
    """Return slopes of the scaled target on the scaled regressors, shape (d,).

    `stated` is in original units, with NaN for slopes that are not stated. `others` holds those in scaled units. With b
    the slopes in original units and s the scaled ones, b half / half_y = L s, where L subtracts the shift of an
    interaction from the indicators of its category (`design/scales.py`). With S the stated slopes and U the others,
    L_SS s_S = (b half / half_y)_S - L_SU s_U. L_SS is triangular with ones on its diagonal.
    """
    scales = scales_of(design, (*design.regressors, design.target))
    half = np.array(scales.half)
    L = np.eye(len(stated))
    for column, indicator, times in scales.taken:
        L[indicator, column] -= times * half[indicator] / half[column]
    known = ~np.isnan(stated)
    out = np.where(known, 0.0, others)
    out[known] = np.linalg.solve(L[np.ix_(known, known)], stated[known] * half[:-1][known] / half[-1] - L[known] @ out)
    return out
