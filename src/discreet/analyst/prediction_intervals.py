"""Predictions for new rows with what is known of their errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.analyst.estimates import NotEstimable, Number
from discreet.analyst.inference import ContrastTerms, ScoreInference, contrast_terms, fieller_ends
from discreet.analyst.prediction import array_batches, check_frame, encoded_columns, row_count
from discreet.analyst.quantities import estimable, gate, taken, why_not
from discreet.analyst.reference_law import DEFAULT_LEVEL, Family, checked_level, critical_value
from discreet.analyst.units import Units
from discreet.design.model import Design
from discreet.releases import FloatArray

if TYPE_CHECKING:
    from pyarrow import Table

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Masked: TypeAlias = np.ma.MaskedArray[Any, np.dtype[np.float64]]  # of any shape

_ROWS: Final = 2**13  # whose combinations are held in memory at once
_DROPPED: Final = "a cell is missing, and its column says drop"


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predicted means of new rows and their intervals; masked where a row is dropped or the release cannot say.

    Attributes
    ----------
    predicted_mean
        In the units of the target, shape (m,).
    """

    predicted_mean: Masked
    _inference: ScoreInference | NotEstimable
    _family: Family
    _half: float
    _terms: ContrastTerms
    _kept: BoolArray
    _s2: Number

    @property
    def se_mean(self) -> Masked:
        """Standard errors of the predicted means, shape (m,)."""
        known = self._known(0.0)
        return self._masked(np.sqrt(self._terms.q0[known]) * self._half, known)

    def conf_int(self, level: float = DEFAULT_LEVEL, *, obs: bool = False) -> Masked:
        """Give the ends of an interval for each row, shape (m, 2).

        Parameters
        ----------
        level
            Between 0 and 1.
        obs
            Whether it is for a new observation of the target rather than for its mean.
        """
        z = self._critical(level)
        known = self._known(z, obs=obs)
        more = self._inference.expected_s2 if obs and isinstance(self._inference, ScoreInference) else 0.0
        low, high = fieller_ends(taken(self._terms, known), z, more=more)
        middle = self.predicted_mean.data[self._kept][known]
        return self._masked(middle[:, None] + np.column_stack([low, high]) * self._half, known)

    def reasons(self, level: float = DEFAULT_LEVEL, *, obs: bool = False) -> list[str | None]:
        """Say for each row why it has no interval; none where it has one.

        Parameters
        ----------
        level, obs
            As for `conf_int`.
        """
        limit = self._gate(self._critical(level))
        refused = self._refused(obs=obs)
        out: list[str | None] = [_DROPPED] * len(self._kept)
        for place, row in enumerate(np.flatnonzero(self._kept)):
            why = why_not(self._terms, place, limit) if refused is None else refused
            out[row] = None if why is None else why.reason
        return out

    def summary_frame(self, level: float = DEFAULT_LEVEL) -> Table:
        """Means, standard errors and both kinds of interval as a table with statsmodels' names, and a reason.

        Parameters
        ----------
        level
            Between 0 and 1.
        """
        import pyarrow as pa

        mean, obs = self.conf_int(level), self.conf_int(level, obs=True)
        columns = {
            "mean": self.predicted_mean,
            "mean_se": self.se_mean,
            "mean_ci_lower": mean[:, 0],
            "mean_ci_upper": mean[:, 1],
            "obs_ci_lower": obs[:, 0],
            "obs_ci_upper": obs[:, 1],
        }
        arrays = {name: pa.array(values.data, mask=np.ma.getmaskarray(values)) for name, values in columns.items()}
        whys = zip(self.reasons(level), self.reasons(level, obs=True), strict=True)
        return pa.table(arrays | {"reason": pa.array([one or two for one, two in whys], type=pa.string())})

    def _critical(self, level: float) -> float:
        checked = checked_level(level)
        return critical_value(checked, self._family, self._df)

    def _gate(self, z: float) -> float:
        return gate(z, self._family, self._df)

    @property
    def _df(self) -> float:
        return self._inference.df if isinstance(self._inference, ScoreInference) else 1.0

    def _refused(self, *, obs: bool) -> NotEstimable | None:
        """Why no row has an interval; none if some may have one."""
        for found in (self._inference, self._s2 if obs else None):
            if isinstance(found, NotEstimable):
                return found
        return None

    def _known(self, z: float, *, obs: bool = False) -> BoolArray:
        if self._refused(obs=obs) is not None:
            return np.zeros(len(self._terms.q2), dtype=np.bool_)
        return estimable(self._terms, self._gate(z))

    def _masked(self, values: FloatArray, known: BoolArray) -> Masked:
        """Put values of the known rows among the kept ones into their places."""
        places = np.flatnonzero(self._kept)[known]
        out = np.zeros((len(self._kept), *values.shape[1:]))
        mask = np.ones(out.shape, dtype=np.bool_)
        out[places] = values
        mask[places] = False
        return np.ma.MaskedArray(out, mask)


def prediction(
    frame: object,
    design: Design,
    features: Sequence[str],
    units: Units,
    theta: FloatArray,
    inference: ScoreInference | NotEstimable,
    family: Family,
    s2: Number,
) -> Prediction:
    """Predict the rows of a table, with intervals.

    Parameters
    ----------
    frame, design, features
        As for `predict_frame`.
    units, theta
        Of the model, and its scaled coefficients, shape (k,).
    inference
        Of the coefficients, or why there is none.
    family
        Law of the noise.
    s2
        Residual variance, or why there is none.
    """
    check_frame(frame, design, features)
    half = float(units.half[-1])
    kept, means, parts = [np.zeros(0, dtype=np.bool_)], [np.zeros(0)], [_no_terms()]
    for Z, keep in _regressors(frame, design, features, units):
        kept.append(keep)
        means.append(units.base + half * (Z @ theta))
        for start in range(0, len(Z), _ROWS):
            rows = Z[start : start + _ROWS]
            if isinstance(inference, NotEstimable):
                parts.append(_no_terms(len(rows)))
            else:
                parts.append(contrast_terms(inference, rows))
    terms = ContrastTerms(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("sampling", "privacy", "q1", "q2"))
    )
    chosen = np.concatenate(kept)
    predicted = np.zeros(len(chosen))
    predicted[chosen] = np.concatenate(means)
    return Prediction(np.ma.MaskedArray(predicted, ~chosen), inference, family, half, terms, chosen, s2)


def _no_terms(size: int = 0) -> ContrastTerms:
    return ContrastTerms(*(np.zeros(size) for _ in range(4)))


def _regressors(
    frame: object, design: Design, features: Sequence[str], units: Units
) -> Iterator[tuple[FloatArray, BoolArray]]:
    """Rows of z, some at a time, and which rows of the table these are."""
    if not features:
        size = row_count(frame)
        yield np.ones((size, 1)), np.ones(size, dtype=np.bool_)
        return
    for arrays in array_batches(frame, design, features):
        scaled, keep = encoded_columns(arrays, design, features, len(units.half) - 1)
        rows = scaled.T + units.shift[:-1]
        if units.intercept:
            rows = np.column_stack([np.ones(len(rows)), rows])
        yield rows, np.ones(len(rows), dtype=np.bool_) if keep is None else keep
