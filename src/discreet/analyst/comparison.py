"""Comparison of several models of one release, and tables of several fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from discreet.analyst.confidence_sets import NotEstimableError, mapped
from discreet.analyst.equations.normal import NO_SQUARE, check_moments
from discreet.analyst.fitted import Fit
from discreet.analyst.inference.contrasts import in_double
from discreet.analyst.inference.tests import JointTest
from discreet.analyst.model import check_release, fit, read_model
from discreet.analyst.solvers.adaptive import slope_equations
from discreet.analyst.solvers.criterion import criterion_values
from discreet.analyst.solvers.penalised import penalised_slopes
from discreet.analyst.summary import shown_rsquared
from discreet.analyst.tables.regression_table import (
    BELOW,
    DIGITS,
    Below,
    Layout,
    RegressionTable,
    checked_digits,
    several_models,
)
from discreet.analyst.values import Interval, Number
from discreet.design.domain import formula_name
from discreet.errors import ModelError, OptionError
from discreet.privacy.checks import is_number, listed
from discreet.releases.reference_distribution import (
    DEFAULT_LEVEL,
    NotEstimable,
    checked_level,
    known,
    reason_of,
    shown_number,
)
from discreet.releases.release import Release
from discreet.releases.release_summary import estimated
from discreet.wording import LeaveOut

if TYPE_CHECKING:
    from pyarrow import Table

# -- comparison --------------------------------------------------------------------------------------------------------
# A model is nested in another if the larger model has all its coefficients and more. The nested test is the joint score
# test, in the larger model, that the additional coefficients are 0. Without noise it is the F test of the residual
# sums, because for least squares (RSS(smaller) - RSS(larger)) / q = (L theta)'(L H L')^{-1} (L theta) / q.

POST_PROCESSING: Final = (
    "All models are post-processing of one release and cost no additional budget. Intervals do not account for "
    "choosing the best-looking model."
)

_MODELS: Final = "a list of formulas or of feature lists, such as [['age'], ['age', 'region']],"


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """One model of a comparison.

    Attributes
    ----------
    features
        Declared names of the features.
    coefficients
        Number of coefficients, including the intercept.
    rsquared_adj, rsquared_interval
        Adjusted R^2, and an interval for the population R^2.
    error
        Expected squared prediction error of a row in squared units of the target, corrected for the optimism of a
        noisy residual sum (see `discreet.analyst.solvers.criterion`). Only differences are meaningful. It may be
        negative, which is printed as not estimable.
    repaired
        Whether noise left the sums nearly indefinite. `error` then belongs to the smallest ridge that repairs them.
    intercept
        Whether the model has an intercept.
    aic, bic
        AIC and BIC of the fit, which account for privacy noise. Without noise they equal those of statsmodels.
    """

    features: tuple[str, ...]
    coefficients: int
    rsquared_adj: Number
    rsquared_interval: Interval
    error: Number
    repaired: bool
    intercept: bool
    aic: Number
    bic: Number

    @property
    def terms(self) -> str:
        """Right-hand side of the formula."""
        features = [formula_name(name) for name in self.features]
        return " + ".join(features if self.intercept and features else [*features, "1" if self.intercept else "0"])


@dataclass(frozen=True, slots=True)
class NestedTest:
    """A test of a model against a larger model that contains it.

    Attributes
    ----------
    smaller, larger
        Indices of the two models in the comparison.
    test
        Test that the coefficients that are only in the larger model are 0.
    """

    smaller: int
    larger: int
    test: JointTest


@dataclass(frozen=True, slots=True, repr=False)
class ModelComparison:
    """Several models of one release, in the requested order.

    Attributes
    ----------
    target
        Declared name of the target.
    models
        Results for each model.
    nested
        A test for each pair of nested models that has no other compared model between them.
    estimated
        What a release by `staged` estimates, and how many rows it shortened. None for other releases.
    """

    target: str
    models: tuple[ComparedModel, ...]
    nested: tuple[NestedTest, ...] = ()
    estimated: str | None = None

    @property
    def best(self) -> int:
        """Index of the model with the smallest expected prediction error. Ties go to the first model."""
        errors = [(known(model.error), index) for index, model in enumerate(self.models)]
        estimable = [(error, index) for error, index in errors if error is not None]
        if not estimable:
            raise NotEstimableError(
                "not estimable: the expected prediction error cannot be estimated for any model of the comparison"
            )
        return min(estimable)[1]

    def to_frame(self) -> Table:
        """Return the comparison as an Arrow table, with null and a reason for numbers that are not estimable."""
        import pyarrow as pa

        ends = [model.rsquared_interval for model in self.models]
        floats = {
            "rsquared_adj": [model.rsquared_adj for model in self.models],
            "rsquared_low": [mapped(interval, attrgetter("lower")) for interval in ends],
            "rsquared_high": [mapped(interval, attrgetter("upper")) for interval in ends],
            "error": [model.error for model in self.models],
            "aic": [model.aic for model in self.models],
            "bic": [model.bic for model in self.models],
        }
        whys = [next(filter(None, map(reason_of, row)), None) for row in _rows(floats)]
        columns = {
            "features": pa.array([model.terms for model in self.models], type=pa.string()),
            "coefficients": pa.array([model.coefficients for model in self.models], type=pa.int64()),
        }
        for name, values in floats.items():
            columns[name] = pa.array([known(value) for value in values], type=pa.float64())
        columns["repaired"] = pa.array([model.repaired for model in self.models], type=pa.bool_())
        return pa.table(columns | {"reason": pa.array(whys, type=pa.string())})

    def nested_frame(self) -> Table:
        """Return the nested tests as an Arrow table, with null and a reason for numbers that are not estimable."""
        import pyarrow as pa

        tests = [pair.test for pair in self.nested]
        return pa.table(
            {
                "smaller": pa.array([self.models[pair.smaller].terms for pair in self.nested], type=pa.string()),
                "larger": pa.array([self.models[pair.larger].terms for pair in self.nested], type=pa.string()),
                "df_num": pa.array([test.df_num for test in tests], type=pa.int64()),
                "df_denom": pa.array([test.df_denom for test in tests], type=pa.float64()),
                "statistic": pa.array([known(test.statistic) for test in tests], type=pa.float64()),
                "pvalue": pa.array([known(test.pvalue) for test in tests], type=pa.float64()),
                "reason": pa.array([reason_of(test.statistic) for test in tests], type=pa.string()),
            }
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON, with null and a reason for numbers that are not estimable."""
        return {
            "target": self.target,
            "models": [
                {"formula": f"{formula_name(self.target)} ~ {model.terms}"} | row
                for model, row in zip(self.models, self.to_frame().to_pylist(), strict=True)
            ],
            "nested": [
                {"smaller": pair.smaller, "larger": pair.larger}
                | {name: value for name, value in row.items() if name not in ("smaller", "larger")}
                for pair, row in zip(self.nested, self.nested_frame().to_pylist(), strict=True)
            ],
            "estimated": self.estimated,
            "best": self.best if any(known(model.error) is not None for model in self.models) else None,
        }

    def __repr__(self) -> str:
        lines = [
            f"Models of {self.target}: adjusted R^2 [interval, assuming Gaussian rows], expected squared error of a "
            "row, AIC and BIC (accounting for privacy noise)"
        ]
        for model in self.models:
            repaired = ", repaired" if model.repaired else ""
            adjusted, interval, error, aic, bic = model_cells(model)
            lines.append(f"  {model.terms}: {adjusted} [{interval}], {error}{repaired}, {aic}, {bic}")
        lines += [f"  {nested_line(self, pair)}" for pair in self.nested]
        return "\n".join([*lines, *([] if self.estimated is None else [self.estimated]), POST_PROCESSING])


def model_cells(model: ComparedModel) -> tuple[str, str, str, str, str]:
    """Format adjusted R^2, its interval, the expected error, AIC and BIC."""
    ends, value = known(model.rsquared_interval), known(model.error)
    # a negative error is dominated by noise; only differences between models are meaningful
    error = "not estimable" if value is not None and value < 0 else shown_number(model.error, ".4g")
    interval = "-" if ends is None else f"{ends.lower:.3g} to {ends.upper:.3g}"
    adjusted = shown_rsquared(model.rsquared_adj, model.rsquared_interval)
    return adjusted, interval, error, shown_number(model.aic, ".6g"), shown_number(model.bic, ".6g")


def nested_line(compared: ModelComparison, pair: NestedTest) -> str:
    """Describe a nested test in one line."""
    smaller, larger, test = compared.models[pair.smaller].terms, compared.models[pair.larger].terms, pair.test
    below = "" if test.df_denom is None else f", {test.df_denom:.6g}"
    return (
        f"{smaller} in {larger}: F({test.df_num}{below}) = {shown_number(test.statistic, '.4g')}, "
        f"p = {shown_number(test.pvalue, '.4g')}"
    )


def compare_models(
    release: Release,
    models: Iterable[Iterable[str] | str],
    *,
    target: str | None = None,
    intercept: bool | None = None,
    level: float = DEFAULT_LEVEL,
) -> ModelComparison:
    """Compare several models of a release, at no additional privacy cost.

    Parameters
    ----------
    release
        A published release.
    models
        One list of declared features for each model, or formulas such as `"income ~ age + region"` with the same
        target.
    target, intercept
        As for `fit`, but for all models. Not allowed with formulas.
    level
        Confidence level of the intervals for R^2.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> table = {"x": [0, 1, 2, 1.5, 0.5], "y": [2, 5, 6, 4, 4]}
    >>> release = discreet.testing.exact_release(table, design)  # NOT PRIVATE
    >>> compared = discreet.compare_models(release, [[], ["x"]])
    >>> [round(model.rsquared_adj, 4) for model in compared.models], compared.best
    ([0.0, 0.6364], 1)
    >>> compared.nested[0].smaller, compared.nested[0].larger, round(compared.nested[0].test.statistic, 4)
    (0, 1, 8.0)
    """
    checked = checked_level(level)
    requests = listed(models)
    if requests is None:
        raise OptionError(option="models", given=models, allowed=_MODELS)
    if not requests:
        raise OptionError("expected at least one model to compare", option="models", given=models, allowed=_MODELS)
    check_release(release, "compare_models")
    check_moments(release, "a comparison of models")
    fits = [_fitted(release, request, target, intercept) for request in requests]
    targets = sorted({model.target for model in fits})
    if len(targets) > 1:
        raise ModelError(
            f"expected models with the same target, got {', '.join(targets)}",
            option="models",
            remedy="compare models of one target",
        )
    compared = tuple(_compared(model, checked) for model in fits)
    return ModelComparison(fits[0].target, compared, nested_tests(fits), estimated(release))


def _fitted(release: Release, model: Iterable[str] | str, target: str | None, intercept: bool | None) -> Fit:
    if isinstance(model, str):
        return fit(release, model, target=target, intercept=intercept)
    return fit(release, target=target, features=model, intercept=intercept)


def nested_tests(fits: Sequence[Fit]) -> tuple[NestedTest, ...]:
    """Test each model against the next larger models of the comparison that contain it."""
    names = [frozenset(model.names) for model in fits]
    indices = range(len(fits))
    pairs = [
        (small, large)
        for large in indices
        for small in indices
        if names[small] < names[large] and not any(names[small] < other < names[large] for other in names)
    ]
    return tuple(NestedTest(small, large, _test(fits[small], fits[large])) for small, large in pairs)


def _test(smaller: Fit, larger: Fit) -> JointTest:
    return larger.f_test({name: 0.0 for name in larger.names if name not in smaller.names})


def _compared(fitted: Fit, level: float) -> ComparedModel:
    release = fitted.release
    model, equations = read_model(release, fitted.target, fitted.features, fitted.model.intercept)
    error: Number
    repaired = False
    try:
        problem = slope_equations(equations, release.digest)
        slopes = penalised_slopes(problem, [0.0], 0.0)
        repaired = slopes[0].repair > 0
        error = NO_SQUARE
        if equations.has_square:
            (value,) = criterion_values(problem, slopes).tolist()
            half = float(equations.half[-1])
            error = in_double(value * half * half)
    except NotEstimableError:
        error = NotEstimable("the noise of the row count exceeds the number of rows")
    return ComparedModel(
        features=model.features,
        coefficients=len(model.names),
        rsquared_adj=fitted.rsquared_adj,
        rsquared_interval=fitted.rsquared_conf_int(level),
        error=error,
        repaired=repaired,
        intercept=model.intercept,
        aic=fitted.aic,
        bic=fitted.bic,
    )


def _rows(columns: dict[str, list[Number]]) -> list[tuple[Number, ...]]:
    return list(zip(*columns.values(), strict=True))


# -- side by side ------------------------------------------------------------------------------------------------------
# `table`: several fits side by side.

STARS: Final = (0.05, 0.01, 0.001)
_FITS: Final = "a list of fits, such as [fit1, fit2],"


def table(
    fits: Iterable[Fit],
    *,
    names: Iterable[str] | None = None,
    level: float | None = None,
    alpha: float | None = None,
    below: Below = "errors",
    stars: bool | Iterable[float] = False,
    coefficients: Iterable[str] | None = None,
    labels: Mapping[str, str] | None = None,
    digits: int = DIGITS,
    title: str = "Linear regressions from releases",
) -> RegressionTable:
    r"""Tabulate several fits side by side, at no additional privacy cost.

    Parameters
    ----------
    fits
        Fits from one or several releases.
    names
        Column names. The default is (1), (2) and so on.
    level, alpha
        Confidence level of the sets, as for `Fit.conf_int`.
    below
        What to print below each estimate: `errors`, `intervals`, `pvalues` or `none`.
    stars
        Whether to print stars for p-values below 0.05, 0.01 and 0.001, or a list of other thresholds.
    coefficients
        Names of the coefficients to print, in this order. The default is all.
    labels
        Labels to print instead of coefficient names.
    digits
        Significant digits.
    title
        Title of the table.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2), "z": (0, 1)})
    >>> rows = {"x": [0, 1, 2, 1.5, 0.5], "z": [0, 1, 0, 1, 1], "y": [2, 5, 6, 4, 4]}
    >>> release = discreet.testing.exact_release(rows, design)  # NOT PRIVATE
    >>> both = discreet.table([discreet.fit(release, "y ~ x"), discreet.fit(release)], title="Two models")
    >>> print("\n".join(both.to_text().splitlines()[:12]))
    NOT PRIVATE: Two models
    ---------------------------------------------
                               (1)            (2)
    Target                       y              y
    ---------------------------------------------
    Intercept                2.600          2.400
                          (0.6928)        (1.010)
    x                        1.600          1.600
                          (0.5657)       (0.6733)
    z                                      0.3333
                                         (0.9718)
    ---------------------------------------------
    """
    chosen = listed(fits)
    if chosen is None or not all(isinstance(item, Fit) for item in chosen):
        raise OptionError(option="fits", given=fits, allowed=_FITS)
    if not chosen:
        raise OptionError("expected at least one fit", option="fits", given=fits, allowed=_FITS)
    if not isinstance(title, str):
        raise OptionError(option="title", given=title, allowed="text")
    if below not in BELOW:
        raise OptionError.unknown_name("below", below, BELOW, option="below")
    present = tuple(dict.fromkeys(name for item in chosen for name in item.names))
    layout = Layout(
        names=_names(names, len(chosen)),
        level=checked_level(level, alpha),
        below=below,
        stars=_thresholds(stars),
        digits=checked_digits(digits),
        coefficients=present if coefficients is None else _chosen(coefficients, present),
        labels={} if labels is None else _labels(labels, present),
        title=title,
    )
    return RegressionTable(several_models(chosen, layout))


def _texts(option: str, given: object) -> tuple[str, ...]:
    texts = listed(given)
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise OptionError(option=option, given=given, allowed="a list of strings")
    return tuple(texts)


def _names(names: object, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"({number})" for number in range(1, count + 1))
    texts = _texts("names", names)
    if len(texts) != count or len(set(texts)) != count:
        raise OptionError(option="names", given=list(texts), allowed=f"{count} different names, one for each fit,")
    return texts


def _thresholds(stars: object) -> tuple[float, ...]:
    if isinstance(stars, bool):
        return STARS if stars else ()
    thresholds = listed(stars)
    if not thresholds or not all(is_number(value) and 0 < value < 1 for value in thresholds):
        raise OptionError(
            option="stars", given=stars, allowed="True, False or numbers between 0 and 1, such as [0.1, 0.05],"
        )
    return tuple(sorted(map(float, thresholds), reverse=True))


def _chosen(coefficients: object, present: tuple[str, ...]) -> tuple[str, ...]:
    names = _texts("coefficients", coefficients)
    for name in names:
        if name not in present:
            raise OptionError.unknown_name("coefficient", name, present, option="coefficients")
    if not names:
        raise OptionError(
            option="coefficients", given=coefficients, allowed="at least one name", remedy=LeaveOut("coefficients")
        )
    return tuple(dict.fromkeys(names))


def _labels(labels: object, present: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(labels, Mapping) or not all(isinstance(label, str) for label in labels.values()):
        raise OptionError(
            option="labels", given=labels, allowed="a mapping of coefficients to text, such as {'age': 'Age'},"
        )
    for name in labels:
        if name not in present:
            raise OptionError.unknown_name("coefficient", name, present, option="labels")
    return dict(labels)
