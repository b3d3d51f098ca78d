"""Normal equations of a model in scaled coordinates, and the conversion to original units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.accounting.noise_distribution import BLOCKS, NoiseDistribution, block_of
from discreet.analyst.equations.noise import EntryNoise, MappedNoise, Noise
from discreet.analyst.equations.staged_sums import staged_sums
from discreet.analyst.values import Number
from discreet.design.columns import Column, Interaction, Numeric
from discreet.design.design import Design
from discreet.design.model_columns import SubModel
from discreet.design.scales import released_columns, scales_of
from discreet.errors import ModelError
from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.releases.fields import centred, released_count
from discreet.releases.reference_distribution import NotEstimable
from discreet.releases.release import Release
from discreet.wording import Call

# -- units -------------------------------------------------------------------------------------------------------------
# The scaled units in which a model is solved, and the conversion to original units.


@dataclass(frozen=True, eq=False)
class Units:
    """Scaling of the regressors z and the target of a model."""

    shift: FloatArray  # added to each scaled column of (features, target) to form z
    half: FloatArray  # one scaled unit of (features, target) in original units
    mid: FloatArray  # the value of (features, target) whose scaled value is 0
    base: float  # value of the target in original units if every coefficient is 0
    intercept: bool  # whether z begins with the constant
    # z = (feature scaled by its declared bounds - centre) / scale; 0 and 1 unless the release is by `staged`
    centre: FloatArray
    scale: FloatArray
    # (interaction j, feature i, multiple of i contained in j) in original units, see `design/scales.py`
    taken: tuple[tuple[int, int, float], ...]

    def original_units(self, theta: Sequence[Fraction]) -> FloatArray:
        """Convert coefficients of z to original units, shape (k,).

        A slope is theta_j half_y / half_j. The intercept absorbs the midpoints of the columns, and the indicators of a
        category absorb the midpoints of its interactions. Each coefficient is rounded once.
        """
        *halves, half_y = map(Fraction, self.half.tolist())
        *mids, mid_y = map(Fraction, self.mid.tolist())
        scaled = theta[1:] if self.intercept else theta
        exact = [value * half_y / half for value, half in zip(scaled, halves, strict=True)]
        moved = sum(slope * mid for slope, mid in zip(exact, mids, strict=True))
        for column, indicator, times in self.taken:
            exact[indicator] -= exact[column] * Fraction(times)
        if self.intercept:
            exact.insert(0, mid_y + half_y * theta[0] - moved)
        try:
            return np.array([float(value) for value in exact])
        except OverflowError:
            raise ModelError(
                "a coefficient in original units is too large for double precision",
                code="coefficient-too-large",
                remedy="rescale the declared columns",
            ) from None

    def mixture(self) -> FloatArray:
        """Return the (d, d) matrix that maps scaled features z to original features divided by their half-ranges.

        Constants are left out. The matrix is the identity, except that an interaction also contains a multiple of the
        indicators of its category.
        """
        out = np.eye(len(self.half) - 1)
        for column, indicator, times in self.taken:
            out[column, indicator] += times * self.half[indicator] / self.half[column]
        return out

    def prediction_terms(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the constant and the slopes of a prediction from scaled features, in units of the target."""
        half = float(self.half[-1])
        slopes = theta[1:] if self.intercept else theta
        start = float(theta[0]) if self.intercept else float(theta @ self.shift[:-1])
        gains = half * slopes / self.scale
        return self.base + half * start - float(gains @ self.centre), gains

    def regressors(self, scaled: FloatArray) -> FloatArray:
        """Compute the regressors z without the constant, shape (rows, k), from features scaled by declared bounds."""
        out: FloatArray = (scaled.T - self.centre) / self.scale + self.shift[:-1]
        return out


def model_scales(design: Design, model: SubModel) -> tuple[FloatArray, FloatArray, tuple[tuple[int, int, float], ...]]:
    """Return the half-widths and midpoints of (features, target), and the multiples of features inside interactions."""
    scales = scales_of(design, (*model.features, model.target))
    return np.array(scales.half), np.array(scales.mid), scales.taken


def released_scaling(release: Release, model: SubModel) -> tuple[FloatArray, FloatArray]:
    """Return the released centres and scales of (features, target), in scaled units of the columns.

    They are 0 and 1 unless the release was made by `staged`.
    """
    positions = [*model.positions, model.target_position]
    if release.staged is None:
        return np.zeros(len(positions)), np.ones(len(positions))
    centres = (0.0, *release.staged.centres, release.staged.target_centre)
    scales = (1.0, *release.staged.scales, 1.0)
    return np.array([centres[index] for index in positions]), np.array([scales[index] for index in positions])


def declared_widths(design: Design, features: Sequence[str]) -> list[float | None]:
    """Return the declared width of the column of each slope, with None for indicators and basis functions."""
    return [
        column.bounds[1] - column.bounds[0]
        if isinstance(column, Numeric | Interaction) and column.bounds is not None
        else None
        for column in released_columns(design, features)
    ]


# -- sums --------------------------------------------------------------------------------------------------------------
# The sums that a release holds for a model, and its number of rows.

NO_SQUARE: Final = NotEstimable(
    "the release has no sum of squares of the target, so the residual variance is unknown; for standard errors, "
    "release that sum too, with the setting target_square or with the mechanism 'gaussian' or 'laplace'"
)
NO_COUNT: Final = NotEstimable("a release of coefficients has no number of rows")
_BLOCK_NAMES: Final = {
    "sum_x": "sums of the regressors",
    "sum_y": "sum of the target",
    "gram_off_diagonal": "products of two regressors",
    "target_square": "sum of squares of the target",
}


def check_moments(release: Release, what: str) -> None:
    """Raise unless the release has sums. `what` names the request in the message."""
    if release.kind != "moments":
        raise ModelError(
            f"{what} needs sums of products, but the mechanism {release.mechanism!r} published only the coefficients "
            "of one model",
            code="no-moments",
            remedy=(
                Call("discreet.fit", "read that model"),
                "make a release with 'gaussian' or another mechanism that publishes moments",
            ),
        )


def check_sums(release: Release, model: SubModel, *, moved: bool) -> None:
    """Raise if the release lacks a sum that the model needs.

    With `moved`, the model shifts columns to another origin and therefore needs their sums.
    """
    check_moments(release, "this model")
    if release.noise.sigma.keys() >= set(BLOCKS):
        return
    size = len(release.columns)
    regressors = [0, *model.positions] if model.intercept or moved else list(model.positions)
    pairs = [(i, j) for index, i in enumerate(regressors) for j in regressors[index:]]
    pairs += [(i, model.target_position) for i in regressors]
    for pair in pairs:
        block = block_of(min(pair), max(pair), size)
        if block not in release.noise.sigma:
            name = _BLOCK_NAMES.get(block, "sums")
            raise ModelError(
                f"the release has no {name} ({block}), because the mechanism {release.mechanism!r} does not publish "
                f"them, and {_model_kind(release, model, block)} needs them",
                code="missing-sums",
                remedy=(
                    "fit another model",
                    "make a release with a mechanism that publishes all sums, such as 'gaussian' or 'laplace'",
                ),
            )


def _model_kind(release: Release, model: SubModel, block: str) -> str:
    if block == "target_square":
        return f"a model with {release.design.target!r} among its features"
    if model.intercept:
        return "a model with an intercept"
    return "a line through the origin of columns whose bounds are not symmetric around 0"


def counted_rows(release: Release) -> tuple[Number, float]:
    """Return the released number of rows and the standard deviation of its noise (0 if the number is public)."""
    count = released_count(release)
    return (NO_COUNT, 0.0) if count is None else (count.value, count.sd)


# -- normal ------------------------------------------------------------------------------------------------------------
# Normal equations of a model in well-scaled coordinates.
#
# The sums of products stay integers, as released, so that the solver can be exact.

# mid/half is rounded to 2**-60 of a scaled unit, far below the finest grid of the rows
_SHIFT_BITS: Final = 60


@dataclass(frozen=True, eq=False)
class NormalEquations(Units):
    """Sums of products of the k regressors z and the target v, with their noise distribution.

    With an intercept z = (1, scaled features) and v is the scaled target. Without one the line passes through the
    origin of the *original* units, so z = x/half and v = y/half: the scaled columns with their midpoints added back.
    """

    whole: BigIntArray  # sums of products of (z, v) times `unit`, shape (k+1, k+1); 0 for a sum that is not needed
    unit: int
    block_sd: FloatArray  # noise standard deviations of the released sums of (1, features, target)
    block_copies: tuple[int, ...]  # indicators, whose sum and square have the same noise; other noise is uncorrelated
    distribution: NoiseDistribution
    # ends of the public range of each column of (features, target) in units of z
    low: FloatArray
    high: FloatArray
    nobs: float  # number of rows, noisy or public
    has_square: bool = True  # whether the sum of squares of the target was released
    weights: bool = False  # whether the rows have declared weights
    # noise of the sums of a release by `staged`; None where all entries have independent noise
    mapped_noise: MappedNoise | None = None
    # residual variance of the scaled target that another released number suggests
    prior_variance: float | None = None

    @property
    def noise(self) -> Noise:
        """Noise of the released sums of (1, features, target)."""
        return EntryNoise(self.block_sd, self.block_copies) if self.mapped_noise is None else self.mapped_noise

    @property
    def integer_gram(self) -> BigIntArray:
        """Integer Gram matrix of the regressors, shape (k, k)."""
        return self.whole[:-1, :-1]

    @property
    def integer_b(self) -> BigIntArray:
        """Integer products of regressors and target, shape (k,)."""
        return self.whole[:-1, -1]

    @cached_property
    def moments(self) -> FloatArray:
        """Sums of products of the regressors and the target, shape (k+1, k+1)."""
        moments: FloatArray = (self.whole / self.unit).astype(np.float64)
        return moments

    @property
    def A(self) -> FloatArray:
        """Gram matrix of the regressors, shape (k, k)."""
        return self.moments[:-1, :-1]

    @property
    def b(self) -> FloatArray:
        """Products of regressors and target, shape (k,)."""
        return self.moments[:-1, -1]

    @property
    def c(self) -> float:
        """Sum of squares of the target, if it was released."""
        return float(self.moments[-1, -1])


def normal_equations(release: Release, model: SubModel) -> NormalEquations:
    """Form the normal equations of a model from a release."""
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
    mapped = None if release.staged is None else staged_sums(release, release.staged, positions.tolist())
    unit = release.noise.unit
    if mapped is not None:
        block, unit = mapped.whole, mapped.unit
    else:
        block = _block(release, positions)
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
        # a sum that was not released is never used
        block_sd=np.nan_to_num(release.noise_sd[np.ix_(positions, positions)]) if mapped is None else mapped.noise.sd,
        block_copies=tuple(np.flatnonzero(np.isin(positions, release.noise.indicator_columns)).tolist()),
        distribution=release.noise,
        low=np.array(low),
        high=np.array(high),
        nobs=_rows(release),
        has_square=block_of(model.target_position, model.target_position, len(release.columns)) in release.noise.sigma,
        weights=release.design.weights is not None,
        mapped_noise=None if mapped is None else mapped.noise,
        prior_variance=mapped.prior_variance if mapped and model.target == release.design.target else None,
    )


def _rows(release: Release) -> float:
    """Return the number of rows."""
    count = None if release.design.weights is None and release.staged is None else released_count(release)
    return float(release.moments[0, 0]) if count is None else count.value


def _signed(column: Column) -> bool:
    """Return whether the scaled values of a column lie in [-1, 1] instead of [0, 1]."""
    return isinstance(column, Numeric) or (isinstance(column, Interaction) and column.signed)


def _block(release: Release, positions: npt.NDArray[np.int_]) -> BigIntArray:
    size = len(release.columns)
    low = np.minimum.outer(positions, positions)
    high = np.maximum.outer(positions, positions)
    # the totals are the upper triangle in row order
    totals = np.array([0 if total is None else total for total in release.totals], dtype=object)
    block: BigIntArray = totals[low * size - low * (low - 1) // 2 + high - low]
    return block


def _shifted(block: BigIntArray, shift: FloatArray) -> BigIntArray:
    """Convert sums of products of (1, scaled) to sums of products of (scaled + shift), times 4**_SHIFT_BITS."""
    integer_shift = np.array([round(math.ldexp(value, _SHIFT_BITS)) for value in shift], dtype=object)
    cross = np.outer(integer_shift, block[0, 1:]) * 2**_SHIFT_BITS
    square = np.outer(integer_shift, integer_shift) * block[0, 0]
    shifted: BigIntArray = block[1:, 1:] * 4**_SHIFT_BITS + cross + cross.T + square
    return shifted
