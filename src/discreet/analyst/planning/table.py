"""Mean and covariance of the scaled regressors of a table that nobody has: one with the supposed properties.

Columns of the table have them by their definition. Where columns are computed by formulas, or rows are shrunk to a
ball, a table is drawn from a fixed seed: numbers follow a beta law on their bounds with the supposed mean and sd
(uniform by default), joined by a Gaussian copula. Nothing here is data.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from discreet.analyst.equations.seeded import seeded_stream, standard_normals
from discreet.analyst.planning.assumptions import Supposed
from discreet.analyst.planning.correlation import correlations
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.derived import completed, needed
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.tables.encoder import write_scaled

_ROWS: Final = 2**15
_WIDE: Final = 256  # columns from which fewer rows are drawn
_ROUNDS: Final = 20
_CLOSE: Final = 0.005  # from when on a drawn correlation is near enough to the supposed one
_ENOUGH: Final = 0.03  # how far it may miss it at all
_LARGEST: Final = 0.9999
_FEWEST: Final = 1e-3  # sum of the two parameters of a beta law; below it nearly all values lie at the bounds


@lru_cache(maxsize=8)
def regressor_moments(design: Design, supposed: Supposed) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the scaled regressors, shapes (d,) and (d, d)."""
    domain = RowDomain.of(design)
    ball = domain.ball_norm2
    shrinks = ball is not None and ball < domain.box_norm2
    drawn = shrinks or any(design.columns[name].formula is not None for name in design.regressors)
    mean, covariance = (drawn_moments if drawn else declared_moments)(design, supposed)
    # they are kept for the next plan
    mean.flags.writeable = covariance.flags.writeable = False
    return mean, covariance


def declared_moments(design: Design, supposed: Supposed) -> tuple[FloatArray, FloatArray]:
    """Moments of regressors that are all columns of the table."""
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
    """Mean and sd of the scaled target."""
    assumed = supposed[design.target]
    return _scaled(design.columns[design.target], assumed.mean, assumed.sd, assumed.share)


def drawn_moments(design: Design, supposed: Supposed) -> tuple[FloatArray, FloatArray]:
    """Moments of the regressors of a drawn table, formulas and ball included."""
    base = needed(design.columns, design.regressors)
    table = _drawn(design, base, supposed)
    arrays = completed(design.columns, design.regressors, table)
    columns = {name: design.columns[name] for name in design.regressors}
    scaled = np.empty((len(design.released) - 2, len(next(iter(table.values())))))
    write_scaled(columns, arrays, scaled)
    if design.radius is not None:
        lengths = np.linalg.norm(scaled, axis=0)
        scaled *= np.divide(design.radius, lengths, out=np.ones_like(lengths), where=lengths > design.radius)
    mean = scaled.mean(axis=1)
    scaled -= mean[:, None]
    return mean, scaled @ scaled.T / scaled.shape[1]


def _drawn(design: Design, base: dict[str, Base], supposed: Supposed) -> dict[str, FloatArray]:
    """A table with the supposed shares, means and sds to within a row, and with the supposed correlations."""
    names = list(base)
    rows = _ROWS if len(names) <= _WIDE else max(_ROWS * _WIDE // len(names), 8 * len(names))
    middles = (np.arange(rows) + 0.5) / rows
    sorted_values = np.column_stack([_quantiles(name, column, supposed, middles) for name, column in base.items()])
    normals = _white(standard_normals(seeded_stream("supposed table", design.target), rows, len(names)))
    wanted = np.eye(len(names))
    if supposed.correlated:
        among, R = correlations(design, supposed)
        known = [index for index, name in enumerate(names) if name in among]
        which = [among.index(names[index]) for index in known]
        wanted[np.ix_(known, known)] = R[np.ix_(which, which)]
    values = _joined(sorted_values, normals, wanted)
    return {name: np.ascontiguousarray(values[:, index]) for index, name in enumerate(names)}


def _white(normals: FloatArray) -> FloatArray:
    """Variates whose own mean is 0 and whose own covariance is the identity."""
    centred = normals - normals.mean(axis=0)
    factor = np.linalg.cholesky(centred.T @ centred / len(centred))
    out: FloatArray = np.linalg.solve(factor, centred.T).T
    return out


def _quantiles(name: str, column: Base, supposed: Supposed, middles: FloatArray) -> FloatArray:
    """Values of a column from the lowest to the highest."""
    assumed = supposed[name]
    if isinstance(column, Numeric) and assumed.mean is not None and assumed.sd is not None:
        from scipy.special import betaincinv

        low, high = column.bounds
        share = (assumed.mean - low) / (high - low)
        spread = (assumed.sd / (high - low)) ** 2
        parameters = max(share * (1 - share) / spread - 1, _FEWEST)
        return low + (high - low) * np.asarray(betaincinv(share * parameters, (1 - share) * parameters, middles))
    if isinstance(column, Boolean):
        return np.where(middles > 1 - (assumed.share or 0.0), 1.0, 0.0)
    ends = np.cumsum([share for _, share in assumed.shares or ()])[:-1]
    return np.searchsorted(ends, middles).astype(np.float64)


def _joined(sorted_values: FloatArray, normals: FloatArray, wanted: FloatArray) -> FloatArray:
    """Columns with these values and the wanted correlations: those of normal variates are adapted until they are so."""
    asked = (wanted != 0) & ~np.eye(len(wanted), dtype=bool)
    latent, best, nearest = wanted.copy(), sorted_values, math.inf
    for _ in range(_ROUNDS if asked.any() else 1):
        mixed = normals @ _root(latent)
        values = np.empty_like(sorted_values)
        np.put_along_axis(values, np.argsort(mixed, axis=0), sorted_values, axis=0)
        if not asked.any():
            return values
        found = np.corrcoef(values, rowvar=False)
        gap = float(np.abs(found - wanted)[asked].max())
        if gap < nearest:
            best, nearest = values, gap
        if gap < _CLOSE:
            break
        same_side = asked & (found * wanted > 0)
        step = np.divide(wanted, found, out=np.ones_like(wanted), where=same_side)
        latent = np.where(asked, np.clip(latent * step, -_LARGEST, _LARGEST), latent)
    if nearest > _ENOUGH:
        raise SpecError(
            "no table with these means, sds, shares and correlations could be simulated; state smaller correlations "
            "(a plan simulates a table where columns have formulas or a radius is declared)"
        )
    return best


def _root(latent: FloatArray) -> FloatArray:
    """A root of the correlation matrix nearest to one that may have become indefinite, for use from the right."""
    values, vectors = np.linalg.eigh(latent)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    out: FloatArray = root / np.linalg.norm(root, axis=0)
    return out
