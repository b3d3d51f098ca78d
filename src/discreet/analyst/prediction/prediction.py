"""Predictions for new rows, which pass through the encoder that the released rows passed through."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.equations.selection import SubModel, has_all_regressors
from discreet.analyst.solvers.penalties import MIDDLE, Penalty
from discreet.design.columns import Identifier, Numeric
from discreet.design.derived import completed, needed
from discreet.design.model import Design
from discreet.errors import ColumnNotice, DataError, SpecError
from discreet.exact.arrays import FloatArray
from discreet.tables.arrow import declared_arrays
from discreet.tables.encoder import settle_missing, shrink_scaled, write_scaled
from discreet.tables.frames import frame_batches, is_frame, position_notice

if TYPE_CHECKING:
    from discreet.releases import Release, ScalingPart

_BATCH_ROWS: Final = 2**16


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a mechanism clipped each scaled column of x, and the bounds of the target in its own units."""

    ranges: tuple[tuple[float, float], ...]
    target: tuple[float, float]

    @classmethod
    def of(cls, release: Release, model: SubModel, penalty: Penalty) -> Limits | None:
        """Those of a release whose mechanism clips closer than the declared bounds; none otherwise.

        The best predictor from privately scaled rows is clipped too. Rows far from the centre had small weights, so the
        sums know little of them, and a noisy slope would count most exactly there.
        """
        target = release.design.columns[model.target]
        bounds = target.bounds if isinstance(target, Numeric) else (0.0, 1.0)
        if release.coefficients is not None and release.coefficients.ranges:
            return cls(release.coefficients.ranges, bounds)
        if release.scaling is not None and penalty == "bayes":
            return cls(tuple(_middle(release.scaling, position) for position in model.positions), bounds)
        return None


def _middle(scaling: ScalingPart, position: int) -> tuple[float, float]:
    """Ends of the middle of a released column, in scaled units: the target comes after all columns of x."""
    centre, width = scaling.target_centre, scaling.target_bound
    if position <= len(scaling.centres):
        centre, width = scaling.centres[position - 1], MIDDLE * scaling.scales[position - 1]
    return max(centre - width, -1.0), min(centre + width, 1.0)


def predict_frame(
    frame: object,
    design: Design,
    features: Sequence[str],
    constant: float,
    gains: FloatArray,
    limits: Limits | None = None,
) -> FloatArray:
    """One prediction for each row of an in-memory table; see `predict_columns`."""
    check_frame(frame, design, features)
    if not features:
        return np.full(row_count(frame), constant)
    parts = [
        predict_columns(arrays, design, features, constant, gains, limits)
        for arrays in array_batches(frame, design, features)
    ]
    return np.concatenate([np.empty(0), *parts])


def check_frame(frame: object, design: Design, features: Sequence[str]) -> None:
    """Refuse what is no table in memory, and an array of another width; say by which position an array is read.

    To be called by what a method of a fit calls, so that the notice names the user's line.
    """
    if not is_frame(frame):
        raise SpecError(
            f"expected a table in memory (pandas, polars, pyarrow, a dict of columns, a two-dimensional array), "
            f"got {type(frame).__name__}"
        )
    names = list(needed(design.parts, features))
    positions = position_notice(frame, names) if names else None
    if positions is not None:
        warnings.warn(positions, ColumnNotice, stacklevel=4)


def array_batches(frame: object, design: Design, features: Sequence[str]) -> Iterator[list[FloatArray]]:
    """Give the columns that the features need, as arrays, some rows at a time."""
    columns = needed(design.parts, features)
    for batch in frame_batches(frame, columns, _BATCH_ROWS):
        yield declared_arrays(batch, columns)


def predict_columns(
    arrays: Sequence[FloatArray],
    design: Design,
    features: Sequence[str],
    constant: float,
    gains: FloatArray,
    limits: Limits | None = None,
) -> FloatArray:
    """`constant + gains' z` for each row, z the scaled features.

    Parameters
    ----------
    arrays
        One array for each column of the table that the features need: numbers, 0/1 or level positions, NaN where a
        cell is missing, shape (m,).
    design, features
        The declarations and the names to predict from; numbers are clipped to their bounds and missing cells follow
        their rule. With all regressors of the design, rows outside its radius are shrunk to it.
    constant, gains
        In the units of the target; one gain for each released column of the features.
    limits
        Where the scaled features and the prediction are clipped, if closer than the declared bounds.

    Returns
    -------
    numpy.ndarray
        Shape (m,); NaN holds the place of a row that its rule drops.
    """
    scaled, keep = encoded_columns(arrays, design, features, len(gains))
    if limits is not None:
        lower, upper = np.array(limits.ranges).T
        np.clip(scaled, lower[:, None], upper[:, None], out=scaled)
    predicted: FloatArray = gains @ scaled + constant
    if limits is not None:
        np.clip(predicted, *limits.target, out=predicted)
    if keep is None:
        return predicted
    out = np.full(len(keep), np.nan)
    out[keep] = predicted
    return out


def encoded_columns(
    arrays: Sequence[FloatArray], design: Design, features: Sequence[str], size: int
) -> tuple[FloatArray, npt.NDArray[np.bool_] | None]:
    """Scaled features of the rows that are kept, shape (size, rows kept), and which rows these are (none: all)."""
    columns = needed(design.parts, features)
    if len(arrays) != len(columns):
        raise SpecError(f"expected {len(columns)} arrays, one for each feature in order, got {len(arrays)}")
    values = [np.asarray(array, dtype=np.float64) for array in arrays]
    if any(array.ndim != 1 or array.shape != values[0].shape for array in values):
        raise DataError("the columns of the table have different lengths")
    if not values:
        raise SpecError("a model without features has no arrays to predict from; its prediction is its intercept")
    settled, keep = settle_missing(columns, values)
    scaled = np.empty((size, len(settled[0])))
    complete = completed(design.parts, features, dict(zip(columns, settled, strict=True)))
    write_scaled({name: design.parts[name] for name in features}, complete, scaled)
    if design.radius is not None and has_all_regressors(design, features):
        shrink_scaled(scaled, design.radius)
    return scaled, keep


def row_count(frame: object) -> int:
    """Number of rows of a table in memory."""
    shape = getattr(frame, "shape", None)
    if shape:
        return int(shape[0])
    # a mapping has the length of its columns, so one of them has to be read
    names = list(frame)[:1] if isinstance(frame, Mapping) else []
    return sum(batch.num_rows for batch in frame_batches(frame, dict.fromkeys(names, Identifier()), _BATCH_ROWS))
