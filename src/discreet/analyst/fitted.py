"""The `Fit`: a linear model read from a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.analyst.equations.fit_inputs import POSTERIOR, ErrorBasis, FitInputs, Line, RobustType, error_basis
from discreet.analyst.equations.model_columns import SubModel
from discreet.analyst.equations.normal import NormalEquations, Units, counted_rows
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
from discreet.analyst.values import ByName, NothingExcluded, Number, Parameters, unbounded
from discreet.design.columns import Base
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import check_flag
from discreet.releases.fields import Coefficients
from discreet.releases.reference_law import NotEstimable, checked_level, known, reason_of
from discreet.releases.release import Release

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.analyst.plots.coefficient_plots import Scale


@dataclass(frozen=True, eq=False, repr=False)
class Fit(TestsMixin, TableMixin):
    """A linear model read from a release.

    The coefficients describe the rows as they were released: clipped to their bounds and, in a design with a `radius`,
    shrunk to that ball. What is known of their errors has statsmodels' names.

    Attributes
    ----------
    release
        The release it was read from.
    model
        Which target, features and intercept.
    penalty, strength, l1_ratio
        What was asked for; a strength only for `ridge`, `lasso` and `elastic-net`, a ratio only for the last.
    selected
        Whether the strength was chosen by the criterion, from the release.
    ridge
        All that was added to the diagonal of the sums of products of the scaled columns; 0 without a penalty.
    repair
        The part of `ridge` that no strength asked for: it lifts sums that the noise left too close to indefinite.
    nobs, nobs_sd
        Number of rows, noisy or public, and the standard deviation of its noise; not estimable where it was not
        released.
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
        """Declared name of the explained column."""
        return self.model.target

    @property
    def features(self) -> tuple[str, ...]:
        """Declared names of the regressors."""
        return self.model.features

    @property
    def penalised(self) -> bool:
        """Whether the coefficients are shrunk towards 0 on purpose."""
        return self.penalty != "none"

    @property
    def params(self) -> Parameters:
        """Coefficients in original units by name; in print those whose set is unbounded are in brackets."""
        weak = [name for name, ends in self.conf_int().items() if unbounded(ends)]
        return Parameters(self.names, list(estimates(self).values()), weak)

    @property
    def table_columns(self) -> dict[str, Base]:
        """Columns that a table must have for a prediction: the features, or what their formulas use."""
        from discreet.design.declarations import needed

        return needed(self.release.design.parts, self.features)

    @property
    def is_robust(self) -> bool:
        """Whether the standard errors are robust: HC1, or clustered by person in a release of persons."""
        return isinstance(self._inputs.basis, ErrorBasis) and self._inputs.basis.meat is not None

    @property
    def cov_type(self) -> str:
        """Kind of standard errors: `nonrobust`, `HC0`, `HC1`, or `cluster` for those clustered by person."""
        basis = self._inputs.basis
        if not isinstance(basis, ErrorBasis) or basis.meat is None:
            return "nonrobust"
        return CLUSTERED if has_clusters(self.release) else basis.robust_type

    def robust(self, cov_type: RobustType | None = None) -> Fit:
        """The same fit with heteroskedasticity-consistent standard errors, and an interval of R^2 to match.

        They allow errors of unequal variance. They need a release made with `moments="robust"`, are there for its
        declared full model and for its `robust_models`, fitted without a penalty, and are too small where many
        residuals were clipped, which the summary and diagnostic D020 say. In a release of persons they are clustered by
        person, and the fit has them from the start.

        Parameters
        ----------
        cov_type
            `HC1`, with the factor n / (n - k), unless given; `HC0` without that factor. `HC2` and `HC3` need the
            leverage of each row inside the sum and cannot be read from a release.
        """
        robust_type = "HC1" if cov_type is None else checked_robust_type(self.release, cov_type)
        # says first what such errors would need
        if self.fitted_inside:
            raise SpecError(
                f"robust standard errors need residuals and sums, but the mechanism {self.release.mechanism!r} "
                'published only the coefficients of one model; release with the mechanism "gaussian" and moments '
                '"robust" (--mechanism gaussian --robust)'
            )
        needed_residuals(self.release, self.model, self.penalty)
        basis = self._inputs.basis
        if isinstance(basis, NothingExcluded):
            return self
        if isinstance(basis, NotEstimable):
            raise SpecError(f"this fit has no standard errors at all: {basis.reason}")
        basis = robust_basis(self.release, self.model, self.penalty, basis, robust_type)
        return replace(self, _inputs=replace(self._inputs, basis=basis))

    def predict(self, frame: object) -> FloatArray:
        """Predict the target, row for row, in original units.

        Numbers outside their bounds are clipped, as they were for the release, and rows outside the `radius` of the
        design are shrunk to it. A model without all regressors of the design cannot know how long a row is: it takes
        rows without the radius. Where the mechanism published closer ranges, as `refined` does, numbers are clipped to
        those, and predictions to the bounds of the target; so they are by `bayes` from privately scaled rows, at three
        released scales from the centre of each column.

        Parameters
        ----------
        frame
            A table in memory with the features by name (pandas, polars, pyarrow, DuckDB relation, dict of columns), or
            a two-dimensional array whose columns are in the order of `table_columns`; a `ColumnNotice` then says which
            position is read as which column.

        Returns
        -------
        numpy.ndarray
            One float for each row. A missing cell, or a level that is not declared, follows the rule of its column:
            `error` refuses the table, a fill value replaces the cell, and `drop` leaves NaN in the place of that row.
        """
        # Arrow is slow to import and only needed here
        from discreet.analyst.prediction import Limits, predict_frame

        line, limits = self._solved, Limits.of(self.release, self.model, self.penalty)
        return predict_frame(frame, self.release.design, self.features, line.constant, line.gains, limits)

    def predict_arrays(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """Predict from a float64 array for each of `table_columns`: numbers, 0/1 or level positions; see `predict`."""
        from discreet.analyst.prediction import Limits, predict_columns

        line, limits = self._solved, Limits.of(self.release, self.model, self.penalty)
        return predict_columns(arrays, self.release.design, self.features, line.constant, line.gains, limits)

    def standardised(self) -> ByName[Number]:
        """Slopes for columns divided by their standard deviations: how many of the target's for one of a feature's.

        The standard deviations are the noisy ones of `release.describe()`; there is no interval that counts their
        noise.
        """
        from discreet.analyst.inference.rsquared import standardised_slopes

        slopes = [name for name in self.names if not (self.model.intercept and name == self.names[0])]
        return standardised_slopes(self.release, self.target, estimates(self)[slopes])

    def summary(self, level: float | None = None, *, alpha: float | None = None) -> str:
        """Coefficients with their errors and intervals, number of rows, penalty and guarantee as plain text.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
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

        A set without an end is an arrow. Where intervals are too thin to be seen, a second column magnifies each of
        them to the same width. The report shows the same drawing.

        Parameters
        ----------
        path
            Where to save it as well, if anywhere; the name ends in .svg, .png or .pdf.
        scale
            `range`: the change of the target over the declared range of each column, all on one axis. `unit`: the
            coefficients themselves, with an axis for each unit.
        level, alpha
            As for `conf_int`.
        force
            Whether to replace an existing file.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it. Needs the extra `plots`.

        Examples
        --------
        >>> import discreet
        >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
        >>> table = {"x": [1.0, 2.0, 3.0] * 400, "y": [2.0, 4.0, 6.5] * 400}
        >>> fit = discreet.fit(discreet.release(table, design, epsilon=1.0, delta=1e-6))
        >>> picture = fit.plot(level=0.9)
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
        """Draw predictions over the declared range of one column, with a band split into sampling and privacy.

        Parameters
        ----------
        x
            One of `table_columns`; columns computed from it move with it.
        path
            As for `plot`.
        at
            Values of the other columns of `table_columns`. Unless given, a number is in the middle of its bounds, a
            boolean is false and levels are at their reference; the picture states them all.
        obs
            Whether the band is for a new observation of the target rather than for its mean.
        level, alpha
            As for `conf_int`.
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
        >>> picture = fit.plot_prediction("x", at={"member": True})
        """
        from discreet.analyst.plots.prediction_plot import predicted_line, prediction_figure
        from discreet.analyst.plots.style import checked_destination, saved

        checked_destination(path, force=force)
        check_flag("obs", obs)
        line = predicted_line(self, x, at, checked_level(level, alpha), obs=obs)
        return saved(prediction_figure(self, line), path, force=force)

    def to_dict(self, level: float | None = None, *, alpha: float | None = None) -> dict[str, object]:
        """Give the fit as plain values for JSON.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
        """
        checked = checked_level(level, alpha)
        guarantee, inside = self.release.guarantee, self.fitted_inside
        clipping = self.release.target_clipping
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
            "target_clipping": None if clipping is None else clipping.to_dict(),
            "notes": notes(self, checked),
        }

    def _repr_html_(self) -> str:
        from discreet.text import html_table

        guarantee = self.release.guarantee
        promise = "NOT PRIVATE: this release carries no guarantee." if guarantee is None else guarantee.sentence()
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
    """Put a fit together from solved coefficients, or why there are none, and what was added to the diagonal for them.

    `penalty_diagonal` has one number for each coefficient; a penalty on absolute values and a posterior mean have none.
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
    """Put the fit together that a release of coefficients holds."""
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
