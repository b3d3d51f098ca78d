"""From a release and a sub-model to normal equations in well-scaled coordinates, and back to original units.

The sums of products are kept as whole numbers, as they were released, so that the solver can be exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.analyst.selection import SubModel
from discreet.design.columns import Column, Numeric
from discreet.errors import SpecError
from discreet.releases import FloatArray, Release

WholeArray: TypeAlias = npt.NDArray[np.object_]

# mid/half is kept to 2**-60 of a scaled unit: far below the finest grid of the rows
_SHIFT_BITS: Final = 60


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Sums of products of the regressors z (k of them) and the target v, with the law of their noise.

    With an intercept z = (1, scaled features) and v is the scaled target. Without one the line goes through the origin
    of the *original* units, so z = x/half and v = y/half: the scaled columns with their middles put back.

    Attributes
    ----------
    whole
        Sums of products of (z, v) as whole numbers, shape (k+1, k+1).
    unit
        What a whole number is divided by.
    block_sd
        Noise standard deviations of the released sums of (1, features, target) behind them; independent entries.
    shift
        What was added to each scaled column of (features, target): 0 with an intercept, mid/half without.
    half, mid
        Scale and middle of (features, target): one scaled unit is `half`, the scaled 0 is `mid`.
    low
        Lower end of the public range of each scaled feature: -1 or 0; the upper end is 1.
    nobs, nobs_sd
        The number of rows summed up, noisy or (with deviation 0) public, and the standard deviation of its noise.
    intercept
        Whether z begins with the constant.
    """

    whole: WholeArray
    unit: int
    block_sd: FloatArray
    shift: FloatArray
    half: FloatArray
    mid: FloatArray
    low: FloatArray
    nobs: float
    nobs_sd: float
    intercept: bool

    @property
    def whole_gram(self) -> WholeArray:
        """Gram of the regressors in whole numbers, shape (k, k)."""
        return self.whole[:-1, :-1]

    @property
    def whole_b(self) -> WholeArray:
        """Regressors times target in whole numbers, shape (k,)."""
        return self.whole[:-1, -1]

    @cached_property
    def _moments(self) -> FloatArray:
        moments: FloatArray = (self.whole / self.unit).astype(np.float64)
        return moments

    @property
    def A(self) -> FloatArray:
        """Gram of the regressors, shape (k, k)."""
        return self._moments[:-1, :-1]

    @property
    def b(self) -> FloatArray:
        """Regressors times target, shape (k,)."""
        return self._moments[:-1, -1]

    @property
    def c(self) -> float:
        """Sum of squares of the target."""
        return float(self._moments[-1, -1])

    def original_units(self, theta: Sequence[Fraction]) -> FloatArray:
        """Coefficients of the declared columns in their own units, from those of z, shape (k,).

        A slope is theta_j half_y / half_j; the intercept takes up the middles of the columns. Each is rounded once.
        """
        *halves, half_y = map(Fraction, self.half.tolist())
        *mids, mid_y = map(Fraction, self.mid.tolist())
        scaled = theta[1:] if self.intercept else theta
        exact = [value * half_y / half for value, half in zip(scaled, halves, strict=True)]
        if self.intercept:
            moved = sum(slope * mid for slope, mid in zip(exact, mids, strict=True))
            exact.insert(0, mid_y + half_y * theta[0] - moved)
        try:
            return np.array([float(value) for value in exact])
        except OverflowError:
            raise SpecError(
                "a coefficient in original units is too large for double precision; rescale the declared columns"
            ) from None


def normal_equations(release: Release, model: SubModel) -> NormalEquations:
    """Set up the normal equations of a sub-model, from released numbers only."""
    design = release.design
    slopes = [design.columns[name] for name in model.features for _ in design.columns[name].released(name)]
    columns: list[Column] = [*slopes, design.columns[model.target]]
    half = np.array([column.half if isinstance(column, Numeric) else 1.0 for column in columns])
    mid = np.array([column.mid if isinstance(column, Numeric) else 0.0 for column in columns])
    positions = np.array([0, *model.positions, model.target_position])
    block = _block(release, positions)
    unit = 4**release.noise.grid_bits
    if model.intercept:
        shift = np.zeros(len(columns))
    else:
        shift = mid / half
        block = _shifted(block, shift)
        unit <<= 2 * _SHIFT_BITS
    return NormalEquations(
        whole=block,
        unit=unit,
        block_sd=release.noise_sd[np.ix_(positions, positions)],
        shift=shift,
        half=half,
        mid=mid,
        low=np.array([-1.0 if isinstance(column, Numeric) else 0.0 for column in slopes]),
        nobs=float(release.moments[0, 0]),
        nobs_sd=float(release.noise_sd[0, 0]),
        intercept=model.intercept,
    )


def _block(release: Release, positions: npt.NDArray[np.int_]) -> WholeArray:
    size = len(release.columns)
    low = np.minimum.outer(positions, positions)
    high = np.maximum.outer(positions, positions)
    # the totals are the upper triangle, row by row
    totals = np.array(release.totals, dtype=object)
    block: WholeArray = totals[low * size - low * (low - 1) // 2 + high - low]
    return block


def _shifted(block: WholeArray, shift: FloatArray) -> WholeArray:
    """Give sums of products of (scaled + shift), in steps 4**_SHIFT_BITS times finer, from those of (1, scaled)."""
    whole_shift = np.array([round(math.ldexp(value, _SHIFT_BITS)) for value in shift], dtype=object)
    cross = np.outer(whole_shift, block[0, 1:]) * 2**_SHIFT_BITS
    square = np.outer(whole_shift, whole_shift) * block[0, 0]
    shifted: WholeArray = block[1:, 1:] * 4**_SHIFT_BITS + cross + cross.T + square
    return shifted
