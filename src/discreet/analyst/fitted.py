"""The `Fit` class, a linear model estimated from a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.analyst.equations.fit_inputs import POSTERIOR, ErrorBasis, FitInputs, Line, RobustType, error_basis
from discreet.analyst.equations.normal import NormalEquations, Units, counted_rows
from discreet.analyst.inference.clipped_scores import clipped_scores_note
from discreet.analyst.inference.released_model import no_errors, released_units, released_values
from discreet.analyst.inference.robust import (
    CLUSTERED,
    checked_robust_type,
    clustered_basis,
    has_clusters,
    needed_residuals,
    robust_basis,
)
from discreet.analyst.notes import notes
from discreet.analyst.solvers.least_squares import Solution
from discreet.analyst.solvers.penalised import Penalty, PenaltySpec
from discreet.analyst.summary import cells, estimates, fact_lines, headers, plain_values, summary_text
from discreet.analyst.tables.regression_table import TableMixin
from discreet.analyst.tested import TestsMixin
from discreet.analyst.values import NamedValues, NothingExcluded, Number, Parameters, unbounded
from discreet.design.columns import Base
from discreet.design.model_columns import SubModel
from discreet.errors import ModelError, SpecError
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import check_flag
from discreet.releases.fields import Coefficients
from discreet.releases.reference_distribution import NotEstimable, checked_level, known, reason_of
from discreet.releases.release import Release
from discreet.wording import Message, Option

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.analyst.plots.coefficient_plots import Scale


@dataclass(frozen=True, eq=False, repr=False)
class Fit(TestsMixin, TableMixin):
    """A linear model estimated from a release.

    The coefficients describe rows that were clipped to their bounds and, if the design has a `radius`, shrunk to that
    ball. Inference results have the same names as in statsmodels.

    Attributes
    ----------
    release
        The release.
    model
        Target, features and intercept.
    penalty, strength, l1_ratio
        The requested penalty. Only `ridge`, `lasso` and `elastic-net` have a strength. Only `elastic-net` has a ratio.
    selected
        Whether the strength was chosen by the criterion.
    ridge
        Total added to the diagonal of the sums of products of the scaled columns. It is 0 without a penalty.
    repair
        The part of `ridge` that repairs sums of products that noise left nearly indefinite.
    nobs, nobs_sd
        Noisy or public number of rows and the standard deviation of its noise. `NotEstimable` if it was not released.
    """

    release: Release
    model: SubModel
    penalty: Penalty
    strength: float | None
    l1_ratio: float | None
    selected: bool
    ridge: float
    repair: float
    nobs: Number
    nobs_sd: float
    _line: Line | NotEstimable = field(repr=False)
    _inputs: FitInputs = field(repr=False)

    @property
    def target(self) -> str:
        """Declared name of the target."""
        return self.model.target

    @property
    def features(self) -> tuple[str, ...]:
        """Declared names of the features."""
        return self.model.features

    @property
    def penalised(self) -> bool:
        """Whether the coefficients are shrunk towards 0 by a penalty."""
        return self.penalty != "none"

    @property
    def params(self) -> Parameters:
        """Coefficients by name, in original units. Those with an unbounded confidence set are printed in brackets."""
        weak = [name for name, ends in self.conf_int().items() if unbounded(ends)]
        return Parameters(self.names, list(estimates(self).values()), weak)

    @property
    def table_columns(self) -> dict[str, Base]:
        """Columns that a table needs for predictions: the features, or the columns used by their formulas."""
        from discreet.design.declarations import needed

        return needed(self.release.design.parts, self.features)

    @property
    def is_robust(self) -> bool:
        """Whether the standard errors are robust or clustered by individual."""
        return isinstance(self._inputs.basis, ErrorBasis) and self._inputs.basis.meat is not None

    @property
    def cov_type(self) -> str:
        """Type of the standard errors: `nonrobust`, `HC0`, `HC1` or `cluster`."""
        basis = self._inputs.basis
        if not isinstance(basis, ErrorBasis) or basis.meat is None:
            return "nonrobust"
        return CLUSTERED if has_clusters(self.release) else basis.robust_type

    def robust(self, cov_type: RobustType | None = None) -> Fit:
        """Return the same fit with heteroskedasticity-consistent standard errors and a matching interval for R^2.

        The release must have been made with `robust=True`. The model must be the full model or one of the additional
        robust models, fitted without a penalty. The standard errors are too small if many residuals were clipped; the
        summary and diagnostic D020 warn about that. If an individual may have several rows, such a fit already has
        standard errors clustered by individual.

        Parameters
        ----------
        cov_type
            `HC1` (default), with the factor n / (n - k), or `HC0`, without it. `HC2` and `HC3` need the leverage of
            each row and are not available from a release.
        """
        robust_type = "HC1" if cov_type is None else checked_robust_type(self.release, cov_type)
        if self.fitted_inside:
            raise ModelError(
                f"robust standard errors need sums of residuals, but the mechanism {self.release.mechanism!r} "
                "published only the coefficients of one model",
                code="no-residuals",
                option="cov_type",
                remedy=Message("release with ", Option("mechanism", "gaussian"), " and ", Option("robust", True)),
            )
        needed_residuals(self.release, self.model, self.penalty)
        basis = self._inputs.basis
        if isinstance(basis, NothingExcluded):
            return self
        if isinstance(basis, NotEstimable):
            raise SpecError(f"robust standard errors are not available for this fit: {basis.reason}")
        basis = robust_basis(self.release, self.model, self.penalty, basis, robust_type)
        return replace(self, _inputs=replace(self._inputs, basis=basis))

    def predict(self, frame: object) -> FloatArray:
        """Predict the target for each row, in original units.

        Numbers outside their bounds are clipped, as in the release. If the model has all regressors of the design, rows
        outside the declared `radius` are shrunk to it. If the mechanism published narrower ranges, as `refined` does,
        numbers are clipped to these ranges, and predictions to the bounds of the target.

        Parameters
        ----------
        frame
            A table in memory with the features by name (pandas, polars, pyarrow, DuckDB relation, dict of columns), or
            a two-dimensional array with columns in the order of `table_columns`. For an array, a `ColumnNotice` lists
            which array column is used as which table column.

        Returns
        -------
        numpy.ndarray
            One float for each row. A missing cell or an undeclared level follows the declared rule of its column:
            `error` rejects the table, a fill value replaces the cell, and `drop` gives NaN for the row.
        """
        # importing Arrow is slow
        from discreet.analyst.prediction import Limits, predict_frame

        line, limits = self._solved, Limits.of(self.release, self.model)
        return predict_frame(frame, self.release.design, self.features, line.constant, line.gains, limits)

    def predict_arrays(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """Predict from float64 arrays of numbers, 0/1 or level indices, one array for each of `table_columns`."""
        from discreet.analyst.prediction import Limits, predict_columns

        line, limits = self._solved, Limits.of(self.release, self.model)
        return predict_columns(arrays, self.release.design, self.features, line.constant, line.gains, limits)

    def standardised(self) -> NamedValues[Number]:
        """Return standardised slopes: standard deviations of the target per standard deviation of each feature.

        They use the noisy standard deviations of `release.describe()`. No interval accounts for this noise.
        """
        from discreet.analyst.inference.rsquared import standardised_slopes

        names = self.names[1:] if self.model.intercept else self.names
        coefficients = estimates(self)
        slopes = NamedValues(names, [coefficients[name] for name in names])
        return standardised_slopes(self.release, self.target, slopes)

    def summary(self, level: float | None = None, *, alpha: float | None = None) -> str:
        """Return a summary as plain text: coefficients, standard errors, intervals and the privacy guarantee.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        return summary_text(self, checked_level(level, alpha))

    def plot(
        self,
        path: str | Path | None = None,
        *,
        scale: Scale = "range",
        level: float | None = None,
        alpha: float | None = None,
        force: bool = False,
    ) -> Figure:
        """Draw the coefficients with their confidence sets, split into sampling error and privacy noise.

        Arrows mark unbounded sets. If intervals are too narrow to see, a second column shows each of them magnified to
        the same width. The report shows the same plot.

        Parameters
        ----------
        path
            File to save the plot to, or None. The name must end in .svg, .png or .pdf.
        scale
            `range`: change of the target over the declared range of each column, on one axis. `unit`: coefficients in
            original units, with one axis for each unit.
        level, alpha
            Confidence level, as for `conf_int`.
        force
            Whether to replace an existing file.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. Notebooks display it. Needs the extra `plots`.

        Examples
        --------
        >>> import discreet
        >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
        >>> table = {"x": [1.0, 2.0, 3.0] * 400, "y": [2.0, 4.0, 6.5] * 400}
        >>> fit = discreet.fit(discreet.release(table, design, epsilon=1.0, delta=1e-6))
        >>> figure = fit.plot(level=0.9)
        """
        from discreet.analyst.plots.coefficient_plots import checked_scale, coefficient_figure
        from discreet.analyst.plots.style import checked_destination, saved

        checked_destination(path, force=force)
        figure = coefficient_figure(self, checked_level(level, alpha), checked_scale(scale))
        return saved(figure, path, force=force)

    def plot_prediction(
        self,
        x: str,
        path: str | Path | None = None,
        *,
        at: Mapping[str, object] | None = None,
        obs: bool = False,
        level: float | None = None,
        alpha: float | None = None,
        force: bool = False,
    ) -> Figure:
        """Plot predictions along one column, with a band split into sampling error and privacy noise.

        Parameters
        ----------
        x
            One of `table_columns`. Columns computed from it change with it.
        path
            As for `plot`.
        at
            Values of the other columns of `table_columns`. By default numbers are at the midpoint of their bounds,
            booleans are false and factors are at their reference level. The plot lists all these values.
        obs
            Whether the band is for a new observation of the target instead of its mean.
        level, alpha
            Confidence level, as for `conf_int`.
        force
            Whether to replace an existing file.

        Returns
        -------
        matplotlib.figure.Figure
            As for `plot`.

        Examples
        --------
        >>> import discreet
        >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5), "member": bool})
        >>> table = {"x": [1.0, 2.0, 3.0] * 400, "member": [True, False] * 600, "y": [2.0, 4.0, 6.5] * 400}
        >>> fit = discreet.fit(discreet.release(table, design, epsilon=4.0, delta=1e-6), penalty="adaptive")
        >>> figure = fit.plot_prediction("x", at={"member": True})
        """
        from discreet.analyst.plots.prediction_plot import predicted_line, prediction_figure
        from discreet.analyst.plots.style import checked_destination, saved

        checked_destination(path, force=force)
        check_flag("obs", obs)
        line = predicted_line(self, x, at, checked_level(level, alpha), obs=obs)
        return saved(prediction_figure(self, line), path, force=force)

    def to_dict(self, level: float | None = None, *, alpha: float | None = None) -> dict[str, object]:
        """Return the fit as plain values for JSON.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        checked = checked_level(level, alpha)
        guarantee, inside = self.release.guarantee, self.fitted_inside
        return {
            "nobs": known(self.nobs),
            "nobs_sd": None if known(self.nobs) is None else self.nobs_sd,
            "nobs_reason": reason_of(self.nobs),
            "nobs_public": self.nobs_sd == 0 and known(self.nobs) is not None,
            "target": self.target,
            "features": list(self.features),
            "intercept": self.model.intercept,
            "penalty": "as released" if inside else self.penalty,
            "penalised": None if inside else self.penalised,
            "strength": self.strength,
            "strength_selected": self.selected,
            "l1_ratio": self.l1_ratio,
            "ridge": None if inside else self.ridge,
            "repair": self.repair,
            "estimable": self.estimable,
            "params": {name: known(value) for name, value in self.params.items()},
            **plain_values(self, checked),
            "private": self.release.private,
            "epsilon": None if guarantee is None else guarantee.epsilon,
            "delta": None if guarantee is None else guarantee.delta,
            "neighbours": None if guarantee is None else guarantee.neighbours,
            **({} if (line := clipped_scores_note(self)) is None else {"estimated": line}),
            "notes": notes(self, checked),
        }

    def _repr_html_(self) -> str:
        from discreet.text import html_table

        guarantee = self.release.guarantee
        promise = (
            "NOT PRIVATE: this release carries no privacy guarantee." if guarantee is None else guarantee.sentence()
        )
        titles = ["coefficient", *headers(self)[1:]]
        below = [*fact_lines(self), promise, *notes(self)]
        return html_table(f"{self.target}: linear regression from a release", titles, cells(self), below)

    def __repr__(self) -> str:
        private = "" if self.release.private else ", NOT PRIVATE"
        how = f"by {self.release.mechanism}" if self.fitted_inside else f"penalty {self.penalty}"
        return f"<Fit of {self.target} on {', '.join(self.names)}: {how}{private}>"


def assembled(
    release: Release,
    model: SubModel,
    equations: NormalEquations,
    spec: PenaltySpec,
    solution: Solution | NothingExcluded,
    *,
    strength: float | None = None,
    ridge: float = 0.0,
    repair: float = 0.0,
    penalty_diagonal: FloatArray | None = None,
) -> Fit:
    """Build a fit from solved coefficients, or from the reason why there are none.

    `penalty_diagonal` has one number for each coefficient. It is None for lasso penalties and posterior means.
    """
    exact = solution if isinstance(solution, NothingExcluded) else solution.exact
    basis = POSTERIOR if spec.penalty == "bayes" else error_basis(equations, exact, penalty_diagonal)
    return _made(
        release,
        model,
        spec,
        equations,
        solution,
        clustered_basis(release, model, spec.penalty, basis),
        strength=strength,
        ridge=ridge,
        repair=repair,
    )


def as_released(release: Release, model: SubModel, spec: PenaltySpec, fitted: Coefficients) -> Fit:
    """Build a fit from coefficients published in a release."""
    solution = Solution(released_values(fitted.values, model))
    units = released_units(release, model)
    return _made(release, model, spec, units, solution, no_errors(release), fitted_inside=True)


def _made(
    release: Release,
    model: SubModel,
    spec: PenaltySpec,
    units: Units,
    solution: Solution | NothingExcluded,
    basis: ErrorBasis | NotEstimable,
    *,
    strength: float | None = None,
    ridge: float = 0.0,
    repair: float = 0.0,
    fitted_inside: bool = False,
) -> Fit:
    nobs, nobs_sd = counted_rows(release)
    return Fit(
        release=release,
        model=model,
        penalty=spec.penalty,
        strength=strength,
        selected=spec.strength == "criterion",
        l1_ratio=spec.l1_ratio,
        ridge=ridge,
        repair=repair,
        nobs=nobs,
        nobs_sd=nobs_sd,
        _line=solution if isinstance(solution, NothingExcluded) else _line(units, solution),
        _inputs=FitInputs(model, units, spec.penalty != "none", basis, fitted_inside),
    )


def _line(units: Units, solution: Solution) -> Line:
    theta = solution.coefficients
    constant, gains = units.prediction_terms(theta)
    return Line(_frozen(theta), _frozen(units.original_units(solution.exact)), constant, _frozen(gains))


def _frozen(values: FloatArray) -> FloatArray:
    values.flags.writeable = False
    return values
