"""From a release and a sub-model to normal equations in well-scaled coordinates, and back to original units.

The sums of products are kept as integers, as they were released, so that the solver can be exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.equations.noise_covariance import EntryNoise
from discreet.analyst.equations.selection import SubModel
from discreet.analyst.equations.sums import centred, check_sums
from discreet.analyst.equations.units import Units, model_scales, released_scaling
from discreet.design.columns import Column, Numeric
from discreet.design.interactions import Interaction
from discreet.design.scales import released_columns
from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.exact.triangle import symmetric
from discreet.losses.sensitivity.scaled import RADIUS_BITS
from discreet.releases import NoiseLaw, Release, block_of
from discreet.releases.noise_mean import released_count

# mid/half is kept to 2**-60 of a scaled unit: far below the finest grid of the rows
_SHIFT_BITS: Final = 60


@dataclass(frozen=True, eq=False)
class NormalEquations(Units):
    """Sums of products of the regressors z (k of them) and the target v, with the law of their noise.

    With an intercept z = (1, scaled features) and v is the scaled target. Without one the line goes through the origin
    of the *original* units, so z = x/half and v = y/half: the scaled columns with their middles put back.

    Attributes
    ----------
    whole
        Sums of products of (z, v) as integers, shape (k+1, k+1); 0 in place of a sum that no model needs.
    unit
        What an integer is divided by.
    block_sd
        Noise standard deviations of the released sums of (1, features, target) behind them.
    block_copies
        Which of these columns are indicators whose sum and square are one number with one noise; all other entries are
        uncorrelated.
    law
        Family of that noise.
    low, high
        Ends of the public range of each column of (features, target) in units of z.
    nobs
        The number of rows summed up, noisy or public; of privately scaled rows the sum of their squared weights.
    has_square
        Whether the sum of squares of the target was released.
    fourth
        Of weighted rows: sums of products of (1, features) with each weight in them four times, shape (p-1, p-1). None
        in other releases and where they were not released.
    weighted
        Whether private scaling gave the rows weights.
    weights
        Whether the rows have declared weights.
    """

    whole: BigIntArray
    unit: int
    block_sd: FloatArray
    block_copies: tuple[int, ...]
    law: NoiseLaw
    low: FloatArray
    high: FloatArray
    nobs: float
    has_square: bool = True
    fourth: FloatArray | None = None
    weighted: bool = False
    weights: bool = False

    @property
    def noise(self) -> EntryNoise:
        """The noise of the released sums of (1, features, target)."""
        return EntryNoise(self.block_sd, self.block_copies)

    @property
    def integer_gram(self) -> BigIntArray:
        """Gram of the regressors in integers, shape (k, k)."""
        return self.whole[:-1, :-1]

    @property
    def integer_b(self) -> BigIntArray:
        """Regressors times target in integers, shape (k,)."""
        return self.whole[:-1, -1]

    @cached_property
    def moments(self) -> FloatArray:
        """Sums of products of the regressors and the target, shape (k+1, k+1)."""
        moments: FloatArray = (self.whole / self.unit).astype(np.float64)
        return moments

    @property
    def A(self) -> FloatArray:
        """Gram of the regressors, shape (k, k)."""
        return self.moments[:-1, :-1]

    @property
    def b(self) -> FloatArray:
        """Regressors times target, shape (k,)."""
        return self.moments[:-1, -1]

    @property
    def c(self) -> float:
        """Sum of squares of the target; only where it was released."""
        return float(self.moments[-1, -1])


def normal_equations(release: Release, model: SubModel) -> NormalEquations:
    """Set up the normal equations of a sub-model, from released numbers only."""
    half, mid, taken = model_scales(release.design, model)
    centre, scale = released_scaling(release, model)
    features = released_columns(release.design, model.features)
    ends = np.array([*((-1.0 if _signed(column) else 0.0, 1.0) for column in features), (-1.0, 1.0)])
    low, high = ((ends.T - centre) / scale).tolist()
    half, mid = half * scale, mid + half * centre
    shift = np.zeros(len(half)) if model.intercept else mid / half
    check_sums(release, model, moved=bool(shift.any()))
    release = centred(release)
    positions = np.array([0, *model.positions, model.target_position])
    block = _block(release, positions)
    unit = release.noise.unit
    units = _in_units(release, positions)
    if release.scaling is not None:
        whole_units = np.array([round(math.ldexp(one, RADIUS_BITS)) for one in units.tolist()], dtype=object)
        block = block * np.outer(whole_units, whole_units)
        unit <<= 2 * RADIUS_BITS
    spread = np.outer(units, units)
    if not model.intercept:
        block = _shifted(block, shift)
        unit <<= 2 * _SHIFT_BITS
    return NormalEquations(
        shift=shift,
        half=half,
        mid=mid,
        base=float(mid[-1]) if model.intercept else 0.0,
        intercept=model.intercept,
        centre=centre[:-1],
        scale=scale[:-1],
        taken=taken,
        whole=block,
        unit=unit,
        # what was not released enters no model, so that its noise is nobody's
        block_sd=np.nan_to_num(release.noise_sd[np.ix_(positions, positions)]) * spread,
        block_copies=tuple(np.flatnonzero(np.isin(positions, release.noise.indicator_columns)).tolist()),
        law=release.noise,
        low=np.array(low),
        high=np.array(high),
        nobs=_rows(release) * float(spread[0, 0]),
        has_square=block_of(model.target_position, model.target_position, len(release.columns)) in release.noise.sigma,
        weighted=release.scaling is not None,
        weights=release.design.weights is not None,
        fourth=_fourth(release, model),
    )


def _rows(release: Release) -> float:
    """The number of rows; of privately scaled ones the sum of their squared weights."""
    count = None if release.design.weights is None else released_count(release)
    return float(release.moments[0, 0]) if count is None else count.value


def _signed(column: Column) -> bool:
    """Whether the scaled values of a column lie in [-1, 1] and not in [0, 1]."""
    return isinstance(column, Numeric) or (isinstance(column, Interaction) and column.signed)


def _in_units(release: Release, positions: npt.NDArray[np.int_]) -> FloatArray:
    """What one unit of each released column (1, features, target) is worth in units of z: the radius of weighted rows.

    The target has its bound as its unit already.
    """
    radius = 1.0 if release.scaling is None else release.scaling.radius
    return np.where(positions == len(release.columns) - 1, 1.0, radius)


def _fourth(release: Release, model: SubModel) -> FloatArray | None:
    """Sums with each weight four times, where the release has them for all regressors of the model."""
    if release.scaling is None or not release.scaling.fourth or release.design.target in model.features:
        return None
    size, unit, indices = len(release.columns) - 1, release.noise.unit, [0, *model.positions]
    sums = symmetric((total / unit for total in release.scaling.fourth), size) * release.scaling.radius**2
    return sums[np.ix_(indices, indices)]


def _block(release: Release, positions: npt.NDArray[np.int_]) -> BigIntArray:
    size = len(release.columns)
    low = np.minimum.outer(positions, positions)
    high = np.maximum.outer(positions, positions)
    # the totals are the upper triangle, row by row
    totals = np.array([0 if total is None else total for total in release.totals], dtype=object)
    block: BigIntArray = totals[low * size - low * (low - 1) // 2 + high - low]
    return block


def _shifted(block: BigIntArray, shift: FloatArray) -> BigIntArray:
    """Give sums of products of (scaled + shift), in steps 4**_SHIFT_BITS times finer, from those of (1, scaled)."""
    integer_shift = np.array([round(math.ldexp(value, _SHIFT_BITS)) for value in shift], dtype=object)
    cross = np.outer(integer_shift, block[0, 1:]) * 2**_SHIFT_BITS
    square = np.outer(integer_shift, integer_shift) * block[0, 0]
    shifted: BigIntArray = block[1:, 1:] * 4**_SHIFT_BITS + cross + cross.T + square
    return shifted
