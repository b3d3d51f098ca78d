"""Standard errors, confidence sets and R^2, with the names of statsmodels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Never

import numpy as np

from discreet.analyst.confidence_sets import NotEstimableError, mapped
from discreet.analyst.equations.fit_inputs import ErrorBasis, FitInputs, Line
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.contrasts import (
    TOO_WIDE,
    Contrasts,
    Simultaneous,
    checked_way,
    contrasts,
    in_double,
    noise_known_beforehand,
    noise_sds,
    read_each,
    simultaneous_value,
    table_intervals,
    unit_map,
)
from discreet.analyst.inference.released_model import no_errors
from discreet.analyst.inference.robust import sample_factor
from discreet.analyst.inference.rsquared import (
    VarianceRatio,
    from_0_to_1,
    rsquared,
    rsquared_interval,
    variance_ratio,
)
from discreet.analyst.inference.score import Middle, ScoreInference, score_inference
from discreet.analyst.values import (
    Interval,
    NamedMatrix,
    NamedValues,
    NothingExcluded,
    Number,
    first_missing,
    number_without,
    p_without,
    set_without,
)
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import (
    DEFAULT_LEVEL,
    Family,
    NotEstimable,
    checked_level,
    critical_value,
    family_of,
)
from discreet.releases.release import Release
from discreet.wording import Message, SetOption

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.prediction import Prediction

# statsmodels attributes that describe single rows
ABOUT_ROWS: Final = frozenset(
    {"resid", "fittedvalues", "resid_pearson", "wresid", "get_influence", "outlier_test", "remove_data"}
)
FEW_ROWS: Final = NothingExcluded("there are not more rows than coefficients")
NO_RESIDUAL: Final = NotEstimable("the noise exceeds the residual variance at this budget")
NOISE_IN_SUMS: Final = NotEstimable(
    "the noise of this release was added to sums, not to the coefficients; conf_int accounts for it"
)
WEIGHTS: Final = NotEstimable(
    "no interval for R^2 is available for weighted rows; rsquared is the R^2 of weighted least squares"
)
NEW_ROW: Final = NotEstimable(
    "the variance of a new observation depends on its weight, which is unknown; request the mean instead"
)
PENALISED: Final = NotEstimable(
    Message("R^2 is defined only for least squares, not for a penalised fit; ", SetOption("penalty", "none"))
)


class InferenceMixin:
    """Standard errors, confidence sets, tests and R^2 of a fit. Missing numbers are `NotEstimable` with a reason.

    Confidence sets may be unbounded. If the sums of products of the regressors are not positive definite, every set is
    the whole line and every p-value is 1. With `ridge` and `adaptive` the intervals are for the *penalised*
    coefficients, which the same ridge would give without noise (see `interval_target`).
    """

    release: Release
    nobs: Number
    _inputs: FitInputs
    _line: Line | NotEstimable

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            hint = ": it needs single rows, and a release contains only sums; use predict for new rows"
            raise AttributeError(message + (hint if name in ABOUT_ROWS else ""))

    @property
    def estimable(self) -> bool:
        """Whether the released sums are positive definite and so determine the coefficients."""
        return not isinstance(self._line, NotEstimable)

    @property
    def fitted_inside(self) -> bool:
        """Whether the mechanism fitted the model and published only its coefficients."""
        return self._inputs.fitted_inside

    @property
    def _solved(self) -> Line:
        if isinstance(self._line, NotEstimable):
            raise NotEstimableError.because(self._line.reason)
        return self._line

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients in original units in the order of `names`, shape (k,). Raises if they are not estimable."""
        return self._solved.original

    @property
    def scaled_coefficients(self) -> FloatArray:
        """Coefficients of the scaled columns in the order of `names`, shape (k,). Raises if they are not estimable.

        Columns are scaled to [-1, 1]. In a model without intercept they are only divided by half the width of their
        bounds.
        """
        return self._solved.scaled

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficient names, starting with `Intercept` if there is one."""
        return self._inputs.model.names

    @property
    def interval_target(self) -> str:
        """Which coefficients the intervals are for: `least squares`, `penalised`, or `none` without intervals."""
        basis = self._inputs.basis
        if isinstance(basis, NotEstimable) and not isinstance(basis, NothingExcluded):
            return "none"
        return "penalised" if self._inputs.penalised else "least squares"

    @property
    def _family(self) -> Family:
        return family_of(self.release.noise.family)

    @cached_property
    def _known(self) -> tuple[ErrorBasis, ScoreInference] | NotEstimable:
        basis = self._inputs.basis
        if isinstance(basis, NotEstimable):
            return basis
        rows = basis.equations.nobs
        if rows <= len(self.names):
            return FEW_ROWS
        score = score_inference(basis.equations, basis.exact, basis.penalty_diagonal)
        if basis.meat is not None and basis.meat_variance is not None:
            gram, H = basis.equations.A, score.inverse
            meat = basis.meat
            if basis.meat_line_square is not None:
                # the model's residuals are larger than those of the line of the meat, as if equally in all rows
                meat = meat + max(score.residual - basis.meat_line_square, 0.0) / rows * gram
            middle = Middle(meat, basis.meat_variance, gram @ score.sampling @ gram, basis.meat_mapping)
            correction = 1.0 if basis.robust_type == "HC0" else sample_factor(self.release, rows, len(self.names))
            score = replace(
                score,
                sampling=correction * H @ middle.definite @ H,
                joint_sampling=correction * H @ middle.joint() @ H,
                middle=middle,
                correction=correction,
            )
        return basis, score

    def _rows_needed(self, names: tuple[str, ...], level: float) -> dict[str, str]:
        """Describe how many rows would give bounded intervals, if this can be forecast. Results are cached."""
        if (names, level) not in self._forecasts:
            self._forecasts[names, level] = self._forecast(names, level)
        return self._forecasts[names, level]

    @cached_property
    def _forecasts(self) -> dict[tuple[tuple[str, ...], float], dict[str, str]]:
        return {}

    def _forecast(self, names: tuple[str, ...], level: float) -> dict[str, str]:
        if not names or self._inputs.penalised or self.fitted_inside:
            return {}
        equations = normal_equations(self.release, self._inputs.model)
        if not (equations.mapped_noise is None and equations.has_square and equations.block_sd.any()):
            return {}
        from discreet.analyst.inference.rows_needed import rows_factors, rows_needed_text

        L = unit_map(self._inputs.units)[[self.names.index(name) for name in names]]
        z = critical_value(level, self._family, max(equations.nobs - len(self.names), 1.0))
        factors = rows_factors(equations, L / np.abs(L).max(axis=1, keepdims=True), z, self.release.digest)
        return dict(zip(names, map(rows_needed_text, factors), strict=True))

    @property
    def _score(self) -> ScoreInference | NotEstimable:
        return mapped(self._known, itemgetter(1))

    @cached_property
    def _contrasts(self) -> Contrasts | NotEstimable:
        return self._combined(self.names, np.eye(len(self.names)))

    def _combined(self, names: tuple[str, ...], weights: FloatArray) -> Contrasts | NotEstimable:
        # weights may overflow, and then no combination is estimable
        with np.errstate(over="ignore", invalid="ignore"):
            L = weights @ unit_map(self._inputs.units)
        return mapped(self._score, lambda score: contrasts(score, names, L, weights @ self.coefficients, self._family))

    def _each(self, read: Callable[[Contrasts], NamedValues[Number]]) -> NamedValues[Number]:
        return read_each(self._contrasts, self.names, read, number_without)

    @property
    def _zero(self) -> FloatArray:
        return np.zeros(len(self.names))

    @cached_property
    def bse(self) -> NamedValues[Number]:
        """Standard errors by name, including sampling error and privacy noise (sandwich variances)."""
        return self._each(Contrasts.standard_errors)

    @property
    def sampling_sd(self) -> NamedValues[Number]:
        """Standard errors without privacy noise. bse^2 = sampling_sd^2 + privacy_sd^2."""
        return self._each(Contrasts.sampling_sd)

    @property
    def privacy_sd(self) -> NamedValues[Number]:
        """Standard deviation that privacy noise adds to each coefficient.

        If noise was added to published coefficients, it is known even if `bse` is not estimable.
        """
        if noise_known_beforehand(self.release.noise):
            return NamedValues(self.names, noise_sds(self.release.noise, self._inputs.units))
        return self._each(Contrasts.privacy_sd)

    @property
    def privacy_share(self) -> NamedValues[Number]:
        """Fraction of the squared standard error that is privacy noise, from 0 to 1."""
        return self._each(Contrasts.privacy_share)

    @cached_property
    def tvalues(self) -> NamedValues[Number]:
        """Coefficients divided by standard errors. The p-values come from `score_z`."""
        return self._each(lambda about: about.ratios(self._zero))

    @cached_property
    def score_z(self) -> NamedValues[Number]:
        """Score statistics for the hypotheses that each coefficient is 0.

        They use the variance under the hypothesis, so with much noise they differ from `tvalues`.
        """
        return self._each(lambda about: about.statistics(self._zero))

    @cached_property
    def pvalues(self) -> NamedValues[Number]:
        """Two-sided p-values of `score_z`. They are 1 if the release excludes no value."""
        return read_each(self._contrasts, self.names, lambda about: about.tail_probabilities(self._zero), p_without)

    def conf_int(
        self, level: float | None = None, *, alpha: float | None = None, simultaneous: Simultaneous | None = None
    ) -> NamedValues[Interval]:
        """Return a confidence set for each coefficient, by inverting the score test (Fieller's method).

        Parameters
        ----------
        level
            Confidence level, at least 0.5 and below 1. The default is 0.95.
        alpha
            1 minus the level. Pass it instead of the level.
        simultaneous
            `bonferroni` or `max-t` for sets that hold jointly at that level. By default each set holds separately.

        Returns
        -------
        NamedValues
            A `ConfidenceSet` for each coefficient. An interval unpacks to (lower, upper).
        """
        checked, way = checked_level(level, alpha), checked_way(simultaneous)

        def sets(about: Contrasts) -> NamedValues[Interval]:
            return about.intervals(
                about.critical(checked) if way is None else simultaneous_value(about, checked, way, self.release.digest)
            )

        return read_each(self._contrasts, self.names, sets, set_without)

    def table_conf_int(self, level: float | None = None, *, alpha: float | None = None) -> NamedValues[Interval]:
        """Return intervals for the coefficients that the mechanism would have published for this table without noise.

        They include no sampling error and are not intervals for a population. They are available only if the release
        publishes coefficients and noise was added to these.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        checked, noise = checked_level(level, alpha), self.release.noise
        if noise_known_beforehand(noise):
            return table_intervals(noise, self._inputs.units, self.names, self.coefficients.tolist(), checked)
        reason = no_errors(self.release) if self.fitted_inside else NOISE_IN_SUMS
        return NamedValues[Interval].constant(self.names, reason)

    def cov_params(self) -> NamedMatrix | NotEstimable:
        """Return the sandwich covariance matrix of the coefficients, if they are estimable."""
        return mapped(self._contrasts, self._covariance)

    def _covariance(self, about: Contrasts) -> NamedMatrix | NotEstimable:
        missing = first_missing(self.bse)
        if missing is not None:
            return missing
        with np.errstate(over="ignore"):
            out: FloatArray = about.covariance() * np.outer(about.scale, about.scale)
        if not np.isfinite(out).all():
            return TOO_WIDE
        return NamedMatrix(self.names, out)

    @property
    def df_resid(self) -> Number:
        """Number of rows minus number of coefficients. It is noisy unless the number of rows is public."""
        return mapped(self.nobs, lambda rows: rows - len(self.names))

    @property
    def s2(self) -> Number:
        """Residual variance in squared units of the target, corrected for privacy noise.

        With declared weights it is the variance for a row with weight 1, as in statsmodels.
        """
        return mapped(self._score, self._residual_variance)

    def _residual_variance(self, score: ScoreInference) -> Number:
        if score.s2 <= 0 and score.entry_noise:
            return NO_RESIDUAL
        half = float(self._inputs.units.half[-1])
        return in_double(score.s2 * half * half * self.release.design.largest_weight)

    @property
    def _residual_sd(self) -> Number:
        """Residual standard deviation, even if its square would overflow."""
        return mapped(self._score, self._root_variance)

    def _root_variance(self, score: ScoreInference) -> Number:
        if score.s2 <= 0 and score.entry_noise:
            return NO_RESIDUAL
        half = float(self._inputs.units.half[-1])
        return in_double(math.sqrt(max(score.s2, 0.0)) * half * math.sqrt(self.release.design.largest_weight))

    @cached_property
    def _ratio(self) -> VarianceRatio | NotEstimable:
        return mapped(self._known, lambda known: self._variance_ratio(*known))

    def _variance_ratio(self, basis: ErrorBasis, score: ScoreInference) -> VarianceRatio | NotEstimable:
        if basis.penalty_diagonal.any():
            return PENALISED
        return variance_ratio(score, basis.equations, basis.ratio_square)

    @property
    def rsquared(self) -> Number:
        """R^2, uncentred in a model without intercept."""
        return self._rsquared(adjusted=False)

    @property
    def rsquared_adj(self) -> Number:
        """Adjusted R^2."""
        return self._rsquared(adjusted=True)

    def _rsquared(self, *, adjusted: bool) -> Number:
        return mapped(self._ratio, lambda ratio: rsquared(ratio, self._z(DEFAULT_LEVEL, ratio), adjusted=adjusted))

    def rsquared_conf_int(self, level: float | None = None, *, alpha: float | None = None) -> Interval:
        """Return an interval for the population R^2, which is 0 to 1 if the release excludes no value.

        The interval assumes Gaussian rows. With skewed or heavy-tailed columns it is too narrow. In a robust fit it
        uses the released spread of squared residuals, if available.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        checked = checked_level(level, alpha)
        ratio = mapped(self._ratio, lambda ratio: ratio if self.release.design.weights is None else WEIGHTS)
        if isinstance(ratio, NotEstimable):
            return from_0_to_1(ratio.reason) if isinstance(ratio, NothingExcluded) else ratio
        return rsquared_interval(ratio, self._z(checked, ratio))

    def _z(self, level: float, ratio: VarianceRatio) -> float:
        return critical_value(level, self._family, ratio.residual_rows)

    def get_prediction(self, frame: object) -> Prediction:
        """Predict the target with intervals.

        Parameters
        ----------
        frame
            As for `predict`.
        """
        from discreet.analyst.prediction import prediction  # importing Arrow is slow

        inputs = self._inputs
        return prediction(
            frame,
            self.release.design,
            inputs.model.features,
            inputs.units,
            self.scaled_coefficients,
            self._score,
            self._family,
            None if self.release.design.weights is None else NEW_ROW,
        )

    def to_frame(self, level: float | None = None, *, alpha: float | None = None) -> Table:
        """Return the coefficients with standard errors and confidence sets as an Arrow table.

        `low`, `high` and `kind` describe the confidence set. The ends of an unbounded set are infinite. A number that
        is not estimable is null, and `reason` says why.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        from discreet.analyst.summary import arrow_table

        return arrow_table(self, checked_level(level, alpha))
