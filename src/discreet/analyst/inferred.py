"""What a fit says about the errors of its coefficients, in statsmodels' vocabulary."""

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
    known_before,
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
    ByName,
    Interval,
    NamedMatrix,
    NothingExcluded,
    Number,
    first_missing,
    number_without,
    p_without,
    set_without,
)
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import (
    DEFAULT_LEVEL,
    Family,
    NotEstimable,
    checked_level,
    critical_value,
    family_of,
)
from discreet.releases.release import Release

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.prediction import Prediction

# of statsmodels' results
ABOUT_ROWS: Final = frozenset(
    {"resid", "fittedvalues", "resid_pearson", "wresid", "get_influence", "outlier_test", "remove_data"}
)
FEW_ROWS: Final = NothingExcluded("there are not more rows than coefficients")
NO_RESIDUAL: Final = NotEstimable("the noise leaves no residual variance above 0 at this budget")
NOISE_IN_SUMS: Final = NotEstimable(
    "the noise of this release is in sums and not in the coefficients; conf_int includes it, with sampling error"
)
WEIGHTED: Final = NotEstimable(
    "the sums are of weighted rows, whose R^2 is not that of the rows; score predictions on other data, or release "
    'with scaling "declared"'
)
WEIGHTS: Final = NotEstimable(
    "the rows have weights, for which no interval of R^2 is proved; rsquared is that of weighted least squares"
)
NEW_ROW: Final = NotEstimable(
    "the rows have weights, and how far a new observation lies from its mean depends on its weight; ask for the mean"
)
PENALISED: Final = NotEstimable('R^2 describes the line of least squares; use the penalty "none" (--penalty none)')


class InferenceMixin:
    """Standard errors, confidence sets, tests and R^2 of a fit; `NotEstimable` where the release cannot give a number.

    A set is given whatever it is, an interval, the outside of one or any value, if the sums of products of the
    regressors are positive definite; where they are not, it is any value and a p-value is 1.
    Everything is decided from released quantities. A penalised fit by `ridge` or `adaptive` has intervals for the
    *penalised* coefficients, those that the same ridge would give without noise; `interval_target` says so.
    """

    release: Release
    nobs: Number
    _inputs: FitInputs
    _line: Line | NotEstimable

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            what = f"{type(self).__name__!r} object has no attribute {name!r}"
            why = ": it is about single rows, which a release does not hold; for new rows there is predict"
            raise AttributeError(what + (why if name in ABOUT_ROWS else ""))

    @property
    def estimable(self) -> bool:
        """Whether the released sums determine the coefficients: whether they are positive definite."""
        return not isinstance(self._line, NotEstimable)

    @property
    def fitted_inside(self) -> bool:
        """Whether the mechanism fitted the model and published its coefficients; else it was read from sums."""
        return self._inputs.fitted_inside

    @property
    def _solved(self) -> Line:
        if isinstance(self._line, NotEstimable):
            raise NotEstimableError(str(self._line))
        return self._line

    @property
    def coefficients(self) -> FloatArray:
        """In the order of `names`, in original units, shape (k,); an error where they are not estimable."""
        return self._solved.original

    @property
    def scaled_coefficients(self) -> FloatArray:
        """In the order of `names`, shape (k,); an error where they are not estimable.

        For columns scaled to [-1, 1] with the intercept of the scaled target, or, in a model without intercept, for
        columns divided by half the width of their bounds.
        """
        return self._solved.scaled

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficient names: `Intercept` first if there is one."""
        return self._inputs.model.names

    @property
    def interval_target(self) -> str:
        """Which coefficients the intervals are for: `least squares`, `penalised`, or `none` where there are none."""
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
            middle = Middle(basis.meat, basis.meat_variance, gram @ score.sampling @ gram)
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
        """Say how many rows would bound each of these coefficients; only for least squares from sums with noise."""
        # a table and its notes both ask
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
        if equations.weighted or not (equations.has_square and equations.block_sd.any()):
            return {}
        from discreet.analyst.inference.rows_needed import rows_factors, rows_words

        L = unit_map(self._inputs.units)[[self.names.index(name) for name in names]]
        z = critical_value(level, self._family, max(equations.nobs - len(self.names), 1.0))
        factors = rows_factors(equations, L / np.abs(L).max(axis=1, keepdims=True), z, self.release.digest)
        return dict(zip(names, map(rows_words, factors), strict=True))

    @property
    def _score(self) -> ScoreInference | NotEstimable:
        return mapped(self._known, itemgetter(1))

    @cached_property
    def _contrasts(self) -> Contrasts | NotEstimable:
        return self._combined(self.names, np.eye(len(self.names)))

    def _combined(self, names: tuple[str, ...], weights: FloatArray) -> Contrasts | NotEstimable:
        # weights may leave double precision here; then nothing is said of any combination
        with np.errstate(over="ignore", invalid="ignore"):
            L = weights @ unit_map(self._inputs.units)
        return mapped(self._score, lambda score: contrasts(score, names, L, weights @ self.coefficients, self._family))

    def _each(self, read: Callable[[Contrasts], ByName[Number]]) -> ByName[Number]:
        return read_each(self._contrasts, self.names, read, number_without)

    @property
    def _zero(self) -> FloatArray:
        return np.zeros(len(self.names))

    @cached_property
    def bse(self) -> ByName[Number]:
        """Standard errors by name, of sampling and privacy together: roots of the sandwich variances."""
        return self._each(Contrasts.standard_errors)

    @property
    def sampling_sd(self) -> ByName[Number]:
        """The part of each standard error that there would be without privacy; bse^2 is the sum of both squares."""
        return self._each(Contrasts.sampling_sd)

    @property
    def privacy_sd(self) -> ByName[Number]:
        """The part of each standard error that the noise of the release adds.

        Known also for a release of coefficients whose noise was added to the coefficients themselves.
        """
        if known_before(self.release.noise):
            return ByName(self.names, noise_sds(self.release.noise, self._inputs.units))
        return self._each(Contrasts.privacy_sd)

    @property
    def privacy_share(self) -> ByName[Number]:
        """Share of the squared standard error that the noise of the release adds, from 0 to 1."""
        return self._each(Contrasts.privacy_share)

    @cached_property
    def tvalues(self) -> ByName[Number]:
        """Coefficient over standard error; the p-values are those of `score_z`."""
        return self._each(lambda about: about.ratios(self._zero))

    @cached_property
    def score_z(self) -> ByName[Number]:
        """Score statistics of the hypotheses that a coefficient is 0.

        The variance is the one that holds under the hypothesis, so where the noise is large they are not
        coefficient over standard error.
        """
        return self._each(lambda about: about.statistics(self._zero))

    @cached_property
    def pvalues(self) -> ByName[Number]:
        """Two-sided p-values of `score_z`; 1 where the release excludes no value."""
        return read_each(self._contrasts, self.names, lambda about: about.tail_probabilities(self._zero), p_without)

    def conf_int(
        self, level: float | None = None, *, alpha: float | None = None, simultaneous: Simultaneous | None = None
    ) -> ByName[Interval]:
        """Give a confidence set for each coefficient: Fieller's, from the inverted score test.

        Parameters
        ----------
        level
            At least 0.5 and below 1; 0.95 unless given.
        alpha
            1 minus the level, instead of it.
        simultaneous
            `bonferroni` or `max-t` for sets that all hold together with that probability.

        Returns
        -------
        ByName
            Of `ConfidenceSet`: an interval unpacks to (lower, upper), other kinds say what they are.
        """
        checked, way = checked_level(level, alpha), checked_way(simultaneous)

        def sets(about: Contrasts) -> ByName[Interval]:
            return about.intervals(
                about.critical(checked) if way is None else simultaneous_value(about, checked, way, self.release.digest)
            )

        return read_each(self._contrasts, self.names, sets, set_without)

    def table_conf_int(self, level: float | None = None, *, alpha: float | None = None) -> ByName[Interval]:
        """Give an interval for what would have been published of this very table without noise, penalty included.

        It includes no sampling error and is no interval for a population. It is there only for a release of
        coefficients whose noise was added to the coefficients themselves.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
        """
        checked, noise = checked_level(level, alpha), self.release.noise
        if known_before(noise):
            return table_intervals(noise, self._inputs.units, self.names, self.coefficients.tolist(), checked)
        reason = no_errors(self.release) if self.fitted_inside else NOISE_IN_SUMS
        return ByName[Interval].alike(self.names, reason)

    def cov_params(self) -> NamedMatrix | NotEstimable:
        """Sandwich covariance of the coefficients by name and name, if the release determines them."""
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
        """Rows less coefficients; noisy unless the number of rows is public."""
        return mapped(self.nobs, lambda rows: rows - len(self.names))

    @property
    def s2(self) -> Number:
        """Residual variance in squared units of the target, corrected for what the estimate follows of the noise.

        With declared weights that of a row with weight 1, as in statsmodels: each square counts times its weight.
        """
        return mapped(self._score, self._residual_variance)

    def _residual_variance(self, score: ScoreInference) -> Number:
        if score.s2 <= 0 and score.entry_noise:
            return NO_RESIDUAL
        half = float(self._inputs.units.half[-1])
        return in_double(score.s2 * half * half * self.release.design.largest_weight)

    @property
    def _residual_sd(self) -> Number:
        """Residual standard deviation: the root of `s2`, known also where the square leaves double precision."""
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
        if basis.equations.weighted:
            return WEIGHTED
        return variance_ratio(score, basis.equations, basis.ratio_square)

    @property
    def rsquared(self) -> Number:
        """Share of the target's variance that the line explains; around 0 in a model without intercept."""
        return self._rsquared(adjusted=False)

    @property
    def rsquared_adj(self) -> Number:
        """R^2 from variances rather than sums, so that a feature that says nothing does not raise it."""
        return self._rsquared(adjusted=True)

    def _rsquared(self, *, adjusted: bool) -> Number:
        return mapped(self._ratio, lambda ratio: rsquared(ratio, self._z(DEFAULT_LEVEL, ratio), adjusted=adjusted))

    def rsquared_conf_int(self, level: float | None = None, *, alpha: float | None = None) -> Interval:
        """Give an interval for the R^2 of the population behind the rows; 0 to 1 where the release excludes no value.

        It assumes Gaussian rows: with skewed or heavy-tailed columns it is too narrow. That of a robust fit uses
        their spread, if the release has it.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
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
        from discreet.analyst.prediction import prediction  # Arrow is slow to import and only needed here

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
        """Coefficients with their errors as an Arrow table.

        `low`, `high` and `kind` give the confidence set, with infinite ends where it has none. Null, and a reason,
        where the release cannot say.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
        """
        from discreet.analyst.summary import arrow_table

        return arrow_table(self, checked_level(level, alpha))
