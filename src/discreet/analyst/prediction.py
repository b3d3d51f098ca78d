"""Predictions for new rows, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from discreet.analyst.confidence_sets import ConfidenceSet, KindArray, NotEstimableError, SetArray, any_value
from discreet.analyst.equations.normal import Units
from discreet.analyst.inference.contrasts import NOTHING_VARIES, UNBOUNDED
from discreet.analyst.inference.score import ContrastTerms, ScoreInference, contrast_terms, fieller_sets
from discreet.analyst.values import NothingExcluded
from discreet.design.columns import Identifier, Numeric
from discreet.design.declarations import completed, needed
from discreet.design.design import Design
from discreet.design.model_columns import SubModel, has_all_regressors
from discreet.errors import ColumnNotice, DataError, OptionError
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import Family, NotEstimable, checked_level, critical_value, known
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing, shrink_scaled, write_scaled
from discreet.tables.frames import frame_batches, is_frame, position_notice
from discreet.text import aligned, html_table

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.releases.release import Release

# -- prediction --------------------------------------------------------------------------------------------------------
# New rows are encoded like the rows of the release.

_BATCH_ROWS: Final = 2**16


@dataclass(frozen=True, slots=True)
class Limits:
    """Clipping ranges of the scaled features, and bounds of the target in original units."""

    ranges: tuple[tuple[float, float], ...]
    target: tuple[float, float]

    @classmethod
    def of(cls, release: Release, model: SubModel) -> Limits | None:
        """Return the limits of a release that clips more narrowly than the declared bounds, or None for others."""
        target = release.design.columns[model.target]
        bounds = target.bounds if isinstance(target, Numeric) else (0.0, 1.0)
        if release.coefficients is not None and release.coefficients.ranges:
            return cls(release.coefficients.ranges, bounds)
        return None


def predict_frame(
    frame: object,
    design: Design,
    features: Sequence[str],
    constant: float,
    gains: FloatArray,
    limits: Limits | None = None,
) -> FloatArray:
    """Predict each row of an in-memory table by `predict_columns`."""
    check_frame(frame, design, features)
    if not features:
        return np.full(row_count(frame), constant)
    parts = [
        predict_columns(arrays, design, features, constant, gains, limits)
        for arrays in array_batches(frame, design, features)
    ]
    return np.concatenate([np.empty(0), *parts])


def check_frame(frame: object, design: Design, features: Sequence[str]) -> None:
    """Raise unless the input is a table in memory. For an array, warn how its columns are matched to names.

    The stack level of the warning assumes that a method of a fit calls the caller.
    """
    if not is_frame(frame):
        raise OptionError(
            "expected a table in memory (pandas, polars, pyarrow, a dict of columns or a two-dimensional array), got "
            f"{type(frame).__name__}",
            option="frame",
        )
    names = list(needed(design.parts, features))
    positions = position_notice(frame, names) if names else None
    if positions is not None:
        warnings.warn(positions, ColumnNotice, stacklevel=4)


def array_batches(frame: object, design: Design, features: Sequence[str]) -> Iterator[list[FloatArray]]:
    """Yield arrays of the columns that the features need, in batches of rows."""
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
    """Compute `constant + gains' z` for each row, with z the scaled features. Dropped rows are NaN.

    `arrays` holds numbers, 0/1 or level indices for each needed column, with NaN for missing cells.
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
    """Return the scaled features of the kept rows, shape (size, rows), and the mask of these rows (None for all)."""
    columns = needed(design.parts, features)
    if len(arrays) != len(columns):
        raise OptionError(f"expected {len(columns)} arrays, one for each column, got {len(arrays)}", option="arrays")
    values = [np.asarray(array, dtype=np.float64) for array in arrays]
    if any(array.ndim != 1 or array.shape != values[0].shape for array in values):
        raise DataError("expected columns of equal length, got columns of different lengths")
    if not values:
        raise OptionError(
            "a model without features takes no arrays, because its prediction is constant", option="arrays"
        )
    filled, keep = settle_missing(columns, values)
    scaled = np.empty((size, len(filled[0])))
    complete = completed(design.parts, features, dict(zip(columns, filled, strict=True)))
    write_scaled({name: design.parts[name] for name in features}, complete, scaled)
    if design.radius is not None and has_all_regressors(design, features):
        shrink_scaled(scaled, design.radius)
    return scaled, keep


def row_count(frame: object) -> int:
    """Return the number of rows of a table in memory."""
    shape = getattr(frame, "shape", None)
    if shape:
        return int(shape[0])
    # a mapping has as many rows as its first column
    names = list(frame)[:1] if isinstance(frame, Mapping) else []
    return sum(batch.num_rows for batch in frame_batches(frame, dict.fromkeys(names, Identifier()), _BATCH_ROWS))


# -- intervals ---------------------------------------------------------------------------------------------------------

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Masked: TypeAlias = np.ma.MaskedArray[Any, np.dtype[np.float64]]  # of any shape

_ROWS: Final = 2**13  # rows processed at once
_SHOWN: Final = 20  # confidence sets printed
_LINES: Final = 15  # rows of a prediction printed
_HEADS: Final = ("row", "mean", "std err", "95% set of the mean")
_DROPPED: Final = "the row was dropped, because a cell is missing and the declared rule of its column is drop"


@dataclass(frozen=True, eq=False, repr=False)
class PredictionSets(Sequence[ConfidenceSet | None]):
    """Confidence sets of m rows, as a sequence. A row without a set has None.

    If every row has an interval, `np.asarray` gives the ends, shape (m, 2), and indices such as `sets[:, 0]` work.

    Attributes
    ----------
    kind
        Kind of each set, or an empty string for a row without a set, shape (m,).
    lower, upper
        Ends of the sets, shape (m,). The ends of unbounded sets are infinite, and rows without a set are masked.
    reasons
        Why each set is unbounded or missing, or None.
    """

    kind: KindArray
    lower: Masked
    upper: Masked
    reasons: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.kind)

    @overload
    def __getitem__(self, index: int) -> ConfidenceSet | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[ConfidenceSet | None]: ...
    @overload
    def __getitem__(self, index: tuple[int | slice, int | slice]) -> Any: ...  # noqa: ANN401  # a number or an array
    def __getitem__(self, index: int | slice | tuple[int | slice, int | slice]) -> object:
        if isinstance(index, tuple):
            return np.asarray(self)[index]
        if isinstance(index, slice):
            return [self[row] for row in range(len(self))[index]]
        if not self.kind[index]:
            return None
        return SetArray(self.kind, self.lower.data, self.upper.data).at(index, self.reasons[index] or "")

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        unbounded = np.flatnonzero(self.kind != "interval")
        if len(unbounded):
            row = int(unbounded[0])
            raise NotEstimableError(
                f"row {row} has no bounded interval ({self[row] or 'no set'}): {self.reasons[row]}; use the attributes "
                "kind, lower and upper"
            )
        return np.column_stack([self.lower.data, self.upper.data]).astype(dtype or np.float64)

    def __repr__(self) -> str:
        lines = [str(self[row] or "none") for row in range(min(len(self), _SHOWN))]
        return "\n".join([*lines, *(["..."] if len(self) > _SHOWN else [])])


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """Predicted means of new rows and their confidence sets. Dropped rows are masked.

    Attributes
    ----------
    predicted_mean
        Predicted means in the units of the target, shape (m,).
    """

    predicted_mean: Masked
    _inference: ScoreInference | NotEstimable
    _family: Family
    _half: float
    _terms: ContrastTerms
    _kept: BoolArray
    _no_new_row: NotEstimable | None = None

    @property
    def se_mean(self) -> Masked:
        """Standard errors of the predicted means, shape (m,). Those that are not estimable are masked."""
        varies = self._varies
        return self._masked(np.sqrt(self._terms.q0[varies]) * self._half, varies)

    def privacy_share(self, *, obs: bool = False) -> Masked:
        """Return the fraction of the squared standard error that is privacy noise, from 0 to 1, shape (m,).

        Parameters
        ----------
        obs
            Whether the standard error is for a new observation of the target instead of its mean.
        """
        inference = known(self._inference)
        if obs and self._no_new_row is not None:
            return self._masked(np.zeros(0), np.zeros(int(self._kept.sum()), dtype=np.bool_))
        whole = self._terms.q0 + (inference.expected_s2 if obs and inference is not None else 0.0)
        varies: BoolArray = whole > 0
        return self._masked(self._terms.privacy[varies] / whole[varies], varies)

    def conf_int(self, level: float | None = None, *, alpha: float | None = None, obs: bool = False) -> PredictionSets:
        """Return a confidence set for each row.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `Fit.conf_int`.
        obs
            Whether the sets are for a new observation of the target instead of its mean.
        """
        checked = checked_level(level, alpha)
        if isinstance(self._inference, NotEstimable):
            return self._without(self._inference)
        if obs and self._no_new_row is not None:
            return self._without(self._no_new_row)
        more = self._inference.expected_s2 if obs else 0.0
        sets = fieller_sets(self._terms, critical_value(checked, self._family, self._inference.df), more=more)
        sets = sets.moved(self.predicted_mean.data[self._kept], self._half)
        varies = (self._terms.q0 + more) > 0
        kind = np.full(len(self._kept), "", dtype="<U10")
        kind[np.flatnonzero(self._kept)[varies]] = sets.kind[varies]
        whys = {"": NOTHING_VARIES.reason, "interval": None}
        reasons = [whys.get(name, UNBOUNDED) if kept else _DROPPED for name, kept in zip(kind, self._kept, strict=True)]
        return PredictionSets(
            kind, self._masked(sets.lower[varies], varies), self._masked(sets.upper[varies], varies), reasons
        )

    def _without(self, why: NotEstimable) -> PredictionSets:
        """Return the whole line, or no set, for every row that is not dropped, depending on the reason."""
        has_set = np.full(int(self._kept.sum()), isinstance(why, NothingExcluded))
        kind = np.where(self._kept, any_value("").kind if has_set.any() else "", "")
        ends = np.full(int(has_set.sum()), np.inf)
        reasons = [why.reason if kept else _DROPPED for kept in self._kept]
        return PredictionSets(kind, self._masked(-ends, has_set), self._masked(ends, has_set), reasons)

    def reasons(self, level: float | None = None, *, alpha: float | None = None, obs: bool = False) -> list[str | None]:
        """Return for each row the reason why it has no interval, or None if it has an interval.

        Parameters
        ----------
        level, alpha, obs
            As for `conf_int`.
        """
        return list(self.conf_int(level, alpha=alpha, obs=obs).reasons)

    def summary_frame(self, level: float | None = None, *, alpha: float | None = None) -> Table:
        """Return means, standard errors and confidence sets as a table with the column names of statsmodels.

        The ends of unbounded sets are infinite, except that for the kind `outside` they are the ends of the gap. A mean
        with an unbounded set has no standard error.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        import pyarrow as pa

        mean, obs = self.conf_int(level, alpha=alpha), self.conf_int(level, alpha=alpha, obs=True)
        columns = {
            "mean": self.predicted_mean,
            "mean_se": self._errors(mean),
            "mean_ci_lower": mean.lower,
            "mean_ci_upper": mean.upper,
            "obs_ci_lower": obs.lower,
            "obs_ci_upper": obs.upper,
        }
        arrays = {name: pa.array(values.data, mask=np.ma.getmaskarray(values)) for name, values in columns.items()}
        kinds = {
            name: pa.array([kind or None for kind in sets.kind.tolist()], type=pa.string())
            for name, sets in (("mean_ci_kind", mean), ("obs_ci_kind", obs))
        }
        whys = [mean_reason or obs_reason for mean_reason, obs_reason in zip(mean.reasons, obs.reasons, strict=True)]
        return pa.table(arrays | kinds | {"reason": pa.array(whys, type=pa.string())})

    def _errors(self, sets: PredictionSets) -> Masked:
        """Return the standard errors, masked for rows whose set is not an interval."""
        errors = self.se_mean
        return np.ma.MaskedArray(errors.data, np.ma.getmaskarray(errors) | (sets.kind != "interval"))

    def _rows(self, count: int) -> list[list[str]]:
        """Return the cells of the first rows: index, mean, standard error and set of the mean."""
        sets = self.conf_int()
        errors = self._errors(sets)
        return [
            [
                str(row),
                "dropped" if not self._kept[row] else f"{float(self.predicted_mean.data[row]):.6g}",
                "-" if np.ma.getmaskarray(errors)[row] else f"{float(errors.data[row]):.4g}",
                str(sets[row] or "-"),
            ]
            for row in range(min(count, len(self._kept)))
        ]

    def _notes(self, shown: int) -> list[str]:
        total = len(self._kept)
        more = [] if shown >= total else [f"... and {total - shown:,} more rows; summary_frame() has all of them"]
        whys = [why for why in dict.fromkeys(self.conf_int().reasons) if why is not None]
        return [*more, *(f"No interval: {why}" for why in whys[:2])]

    def __repr__(self) -> str:
        shown = self._rows(_LINES)
        return "\n".join([*aligned([_HEADS, *shown]), *self._notes(len(shown))])

    def _repr_html_(self) -> str:
        shown = self._rows(_LINES)
        return html_table(f"Predictions of {len(self._kept):,} rows", _HEADS, shown, self._notes(len(shown)))

    @property
    def _varies(self) -> BoolArray:
        """Mask of the rows with a standard error, among those not dropped."""
        varies: BoolArray = self._terms.q0 > 0
        return varies

    def _masked(self, values: FloatArray, where: BoolArray) -> Masked:
        """Place values of the undropped rows selected by `where` in an array of all rows, and mask the other rows."""
        indices = np.flatnonzero(self._kept)[where]
        out = np.zeros(len(self._kept))
        mask = np.ones(out.shape, dtype=np.bool_)
        out[indices] = values
        mask[indices] = False
        return np.ma.MaskedArray(out, mask)


def prediction(
    frame: object,
    design: Design,
    features: Sequence[str],
    units: Units,
    theta: FloatArray,
    inference: ScoreInference | NotEstimable,
    family: Family,
    no_new_row: NotEstimable | None = None,
) -> Prediction:
    """Predict the rows of a table with intervals, given the scaled coefficients `theta`, shape (k,).

    `no_new_row` is the reason why sets for new observations are not available, or None if they are.
    """
    check_frame(frame, design, features)
    half, score = float(units.half[-1]), known(inference)
    kept, means, parts = [np.zeros(0, dtype=np.bool_)], [np.zeros(0)], [_no_terms()]
    for Z, keep in _regressors(frame, design, features, units):
        kept.append(keep)
        means.append(units.base + half * (Z @ theta))
        for start in range(0, len(Z), _ROWS):
            rows = Z[start : start + _ROWS]
            parts.append(_no_terms(len(rows)) if score is None else contrast_terms(score, rows))
    terms = ContrastTerms(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("sampling", "privacy", "q1", "q2"))
    )
    chosen = np.concatenate(kept)
    predicted = np.zeros(len(chosen))
    predicted[chosen] = np.concatenate(means)
    return Prediction(np.ma.MaskedArray(predicted, ~chosen), inference, family, half, terms, chosen, no_new_row)


def _no_terms(size: int = 0) -> ContrastTerms:
    return ContrastTerms(*(np.zeros(size) for _ in range(4)))


def _regressors(
    frame: object, design: Design, features: Sequence[str], units: Units
) -> Iterator[tuple[FloatArray, BoolArray]]:
    """Yield batches of regressors, with masks of the rows that are not dropped."""
    if not features:
        size = row_count(frame)
        yield np.ones((size, 1)), np.ones(size, dtype=np.bool_)
        return
    for arrays in array_batches(frame, design, features):
        scaled, keep = encoded_columns(arrays, design, features, len(units.half) - 1)
        rows = units.regressors(scaled)
        if units.intercept:
            rows = np.column_stack([np.ones(len(rows)), rows])
        yield rows, np.ones(len(rows), dtype=np.bool_) if keep is None else keep
