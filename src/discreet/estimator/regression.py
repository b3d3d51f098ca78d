"""The `PrivateLinearRegression` class."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, Unpack

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import validation

from discreet.analyst.fitted import Fit
from discreet.analyst.model import fit
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.errors import DiscreetError, OptionError, PrivacyNotice, shown
from discreet.estimator.inputs import (
    FIT_OPTIONS,
    IN_DESIGN,
    check_fit_options,
    check_formula,
    check_kind,
    check_rows,
    checked_design,
    declared_design,
    features_of,
    fit_options,
    in_familiar_words,
    named_columns,
    read_column,
    read_target,
    warn_of_callers,
)
from discreet.ledger.account import SESSION, is_worker
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.registry import HOMES, mechanism_named, predicting_mechanism
from discreet.options import (
    ADDITIONS,
    AUTO,
    DEFAULT_OPTIONS,
    ReleaseKeywords,
    check_keywords,
    takes_options,
)
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import ObservedHook, SpendHook, SpendReceipt, SpendRequest, untracked
from discreet.releases.release import Release
from discreet.tables.frames import check_names, matrix_columns, table_names
from discreet.workflow import release

# each check compares two fits to the same rows, which have different noise
_FRESH_NOISE: Final = {
    "check_fit_idempotent": "a second fit is a second release with fresh noise, so its predictions differ",
    "check_regressor_data_not_an_array": "compares fits to two containers of the same rows; each draws its own noise",
    "check_regressors_int": "compares fits to whole and to floating numbers; each draws its own noise",
    "check_supervised_y_2d": "compares fits to a flat y and to a column y; each draws its own noise",
}


@takes_options(after="formula")
class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Differentially private linear regression with the interface of scikit-learn.

    Under the given budget, `fit` publishes either one model for prediction, or noisy moments from which any model can
    be computed. The estimator keeps that release and neither `X` nor `y`. Every `fit` is a new release and spends the
    budget again. A second fit of one estimator, and every fit of a clone (as in `cross_val_score` and `GridSearchCV`),
    issues a `PrivacyNotice` with the total of all fits of the process. With `mechanism="staged"` there are intervals,
    and `refit` tries other penalties at no additional privacy cost. The noise has no seed, so there is no
    `random_state`.

    The guarantee covers what `fit` publishes about its rows. A score is not private for the rows that it is computed
    on. What a scaler or another earlier step of a pipeline learns from the rows is not private either. Declared
    `bounds` replace scaling.

    Parameters
    ----------
    epsilon, delta
        Budget of one fit. If `delta` is 0, the guarantee is pure and the noise is larger.
    bounds
        Declarations of the columns of `X`, made without looking at the data. Values outside are clipped. Pass a mapping
        from names to `(low, high)`, lists of levels, `bool` or anything else that `Design` accepts; or one pair
        `(low, high)` for all columns; or a pair of arrays `(lows, highs)` in column order, which must be NumPy arrays
        if there are two columns. Columns without names are called x0, x1, ... A name that `X` does not have may be
        declared by a formula, as in `{"x0": (1, 9), "log_x0": {"formula": "log(x0)"}}`. With "private", for one column
        or for all, `fit` spends 5% of its budget on private bounds, and raises `BoundsNotFound` if it finds none.
    target_bounds
        `(low, high)` of `y`, or `bool`, or "private".
    missing
        Rule for cells that are missing, not finite or of the wrong type: `error`, `drop` or `{"fill": VALUE}`. It
        applies to columns without a rule in `bounds`. If every column has a rule to drop or fill, no cell is an error.
    fit_intercept, radius, neighbours
        As in `discreet.Design` (`intercept`, `radius`, `unit`).
    design
        A complete `Design` instead of the parameters from `bounds` to `neighbours`. `X` must have its columns, except
        the target, which is `y`, and except those with a formula. They are matched by name or, without names, in
        declared order. A design with an id is rejected, because `X` has no ids.
    formula
        Model to fit to a release of moments, as in `discreet.fit`, such as `"y ~ x0 + log_x0"`. The default is all
        columns. `refit` keeps it.
    penalty, strength, l1_ratio
        As in `discreet.fit`. The default is the best predictor: `bayes` for a release of moments, and the published
        model for a mechanism of kind `coefficients`, which allows no penalty.
    mechanism
        As in `discreet.release`, except for `auto`. With delta above 0, `auto` means `refined`, which predicts best and
        publishes one model. It means the default of `discreet.release`, which publishes moments, if delta is 0; if
        `formula`, `penalty`, `strength`, `l1_ratio` or `settings` are set; if an option adds numbers to the release,
        as `robust` does; or if the model has no intercept and bounds that are not symmetric around 0. The choice does
        not depend on any cell.
    **options
        As in `discreet.release`. A guard needs a ledger.
    dataset
        Name of the data set that the rows belong to. Fits with the same name are added up. Fits without a name are
        added up with all others without a name in the same process.
    ledger
        A `Ledger`, or its path, that records every fit under `dataset` and rejects a fit that exceeds its budget. It
        includes the fits of all processes.

    Attributes
    ----------
    coef_, intercept_
        Coefficients in original units: one for each number or boolean, and one for each level except the reference.
        They are missing if the penalty is `none` and least squares has no solution because of the noise. Then `predict`
        raises an error that says what to do.
    columns_
        Declared names of the columns of `X`, in their order.
    release_, guarantee_, fit_
        The release, its guarantee, and the model fitted to it. The guarantee is for this fit. `guarantee_.together` is
        the total of all fits so far in this process, assuming that all used the same rows.

    Examples
    --------
    >>> X, y = [[20.0], [40.0], [60.0]] * 100, [1.0, 2.0, 3.0] * 100
    >>> model = PrivateLinearRegression(epsilon=1, delta=1e-6, bounds={"x0": (0, 80)}, target_bounds=(0, 5)).fit(X, y)
    >>> model.predict([[30.0], [50.0]]).shape
    (2,)
    >>> model.release_
    <Release of x0, y: refined, epsilon=1, delta=1e-06, add-remove>
    """

    _cloned = False

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float = 0.0,
        bounds: object = None,
        target_bounds: object = None,
        penalty: str | None = None,
        strength: float | str | None = None,
        l1_ratio: float | None = None,
        fit_intercept: bool = True,
        radius: float | None = None,
        neighbours: str = "add-remove",
        missing: object = "error",
        design: Design | None = None,
        formula: str | None = None,
        dataset: str | None = None,
        ledger: Ledger | str | Path | None = None,
        **options: Unpack[ReleaseKeywords],
    ) -> None:
        check_keywords(PrivateLinearRegression, options)
        self.epsilon, self.delta = epsilon, delta
        self.bounds, self.target_bounds = bounds, target_bounds
        self.penalty, self.strength, self.l1_ratio = penalty, strength, l1_ratio
        self.fit_intercept, self.radius = fit_intercept, radius
        self.neighbours, self.missing = neighbours, missing
        self.design, self.formula = design, formula
        self.dataset, self.ledger = dataset, ledger
        for name, default in DEFAULT_OPTIONS.keywords().items():
            setattr(self, name, options.get(name, default))

    def fit(self, X: object, y: object, **refused: object) -> Self:
        """Make one release of the rows and fit the model to it. Every call spends the budget.

        Parameters
        ----------
        X
            Two-dimensional array, list of rows, or a pandas, polars or pyarrow table, whose columns are matched by
            name. Each cell is read separately, as in `discreet.release`. Text in a list is always text and follows
            `missing`. The type of an array is public, and arrays of complex numbers or text are rejected. A list whose
            rows have different lengths is rejected with the index of such a row.
        y
            One number or boolean for each row. In a list, an entry may also be a list of one cell.
        **refused
            Weights and groups are rejected with the reason. They are not named arguments, because scikit-learn's
            metadata routing would otherwise assume that they are supported.
        """
        if refused:
            raise OptionError(
                f"fit accepts only X and y, got {', '.join(refused)}: {_why_refused(refused)}",
                code="fit-parameters",
                option=next(iter(refused)),
            )
        warn_of_callers(self)
        PrivacyBudget(self.epsilon, self.delta)
        check_fit_options(self._asked())
        parameters = {name: getattr(self, name) for name in IN_DESIGN}
        whole = checked_design(self.design, parameters)
        table = self._columns(X, whole)
        target, values = read_target(y, table, None if whole is None else whole.target)
        design = declared_design(list(table), target, parameters) if whole is None else whole
        check_formula(self.formula, self._asked(), design)
        mechanism = self._mechanism(design)
        kind = "moments" if mechanism == AUTO else mechanism_named(mechanism).kind
        check_kind(self.formula, self.penalty, kind, mechanism)
        names, table[target] = tuple(table), values
        check_rows(design, table)
        hook = ObservedHook(self._account(), before=self._say_what_is_spent, after=self._count)
        options = self._options() | {"mechanism": mechanism}
        released = partial(release, table, design, epsilon=self.epsilon, delta=self.delta, **options, spend=hook)
        self.release_ = in_familiar_words(target, released)
        self.columns_ = names
        self.guarantee_ = self._counted_guarantee()
        return self._fit_release()

    def refit(
        self, penalty: str | None = None, *, strength: float | str | None = None, l1_ratio: float | None = None
    ) -> Self:
        """Fit the existing release again with another penalty, at no privacy cost.

        This needs a release of moments, as from `mechanism="gaussian"`. A release of coefficients holds one model and
        rejects every penalty.

        Parameters
        ----------
        penalty, strength, l1_ratio
            As in `discreet.fit`. All three replace those of the estimator. The default is the best predictor.

        Examples
        --------
        >>> X, y = [[20.0], [40.0], [60.0]] * 100, [1.0, 2.0, 3.0] * 100
        >>> declared = {"bounds": (0, 80), "target_bounds": (0, 5), "mechanism": "gaussian"}
        >>> model = PrivateLinearRegression(epsilon=1, delta=1e-6, **declared).fit(X, y)
        >>> model.refit("ridge", strength=0.1).fit_.penalty
        'ridge'
        """
        validation.check_is_fitted(self, "release_")
        before = self._asked()
        self.set_params(penalty=penalty, strength=strength, l1_ratio=l1_ratio)
        try:
            check_fit_options(self._asked())
            check_kind(self.formula, self.penalty, self.release_.kind, self.release_.mechanism)
            return self._fit_release()
        except DiscreetError:
            self.set_params(**before)
            raise

    def _fit_release(self) -> Self:
        """Fit the model to the release."""
        options = fit_options(self._asked(), self.release_.kind)
        for stale in ("fit_", "coef_", "intercept_"):
            self.__dict__.pop(stale, None)
        try:
            model = fit(self.release_, self.formula if options else None, **options)
        except DiscreetError as error:
            error.add_note(
                "the budget is spent; the release is kept in release_, and fitting other models costs nothing"
            )
            raise
        self.fit_ = model
        if model.estimable:
            constant, slopes = np.split(model.coefficients, [int(model.model.intercept)])
            self.coef_, self.intercept_ = slopes.copy(), float(constant.sum())
        return self

    def _account(self) -> SpendHook:
        """Return the spend hook of a fit: the ledger's account of the data set, or `untracked` without a ledger."""
        if self.dataset is not None and not (isinstance(self.dataset, str) and self.dataset):
            raise OptionError(
                f"dataset: expected the name of a data set, got {shown(self.dataset)}",
                option="dataset",
                given=self.dataset,
                allowed="the name of a data set",
                remedy="leave it out if unsure",
            )
        if self.ledger is None:
            return untracked
        if self.dataset is None:
            raise OptionError(
                "a ledger needs the name of a data set, got dataset=None",
                option="dataset",
                remedy="name the data set whose budget is spent, such as dataset='survey'",
            )
        if not isinstance(self.ledger, Ledger | str | Path):
            raise OptionError(
                f"ledger: expected a Ledger or its path, got {type(self.ledger).__name__}",
                option="ledger",
                allowed="a Ledger or its path",
            )
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger(self.ledger)
        # cross-validation folds of one data set are different tables
        return ledger.account(self.dataset, accept_changed_data=True)

    def _say_what_is_spent(self, request: SpendRequest) -> None:
        """Warn about a repeated fit before the spend, so that a warning turned into an error spends nothing."""
        if not (self._cloned or hasattr(self, "release_")):
            return
        who = "is a clone, as in model selection" if self._cloned else "was fitted before"
        what = f"this fit spends epsilon={request.budget.epsilon:g}, delta={request.budget.delta:g}"
        more = SESSION.with_one_more(self.dataset, request.unit, request.loss)
        alone = "" if self.ledger is None else "; a fit that the ledger already recorded costs nothing"
        if is_worker() and self.ledger is None:
            alone = (
                "; this is a worker process, and fits of other workers are not included here: a ledger includes them "
                "all (ledger=..., dataset=...)"
            )
        notice = f"the estimator {who}: {what}. {more}, assuming they all used the same rows{alone}"
        # stack level of the caller of `fit`
        warnings.warn(notice, PrivacyNotice, stacklevel=7)

    def _count(self, request: SpendRequest, receipt: SpendReceipt) -> None:
        """Add this fit to the total of the process, unless the ledger already recorded the release."""
        if receipt.stored is None:
            SESSION.add(self.dataset, request.unit, request.loss)

    def _counted_guarantee(self) -> Guarantee | None:
        guarantee = self.release_.guarantee
        return None if guarantee is None else replace(guarantee, together=SESSION.total(self.dataset, guarantee.unit))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # it only raises
        # called only if the attribute is missing
        if name in ("coef_", "intercept_") and "fit_" in self.__dict__:
            raise AttributeError(f"{name} is {next(iter(self.fit_.params.values()))!r}")
        if name == "set_fit_request":
            raise AttributeError(f"fit accepts only X and y, so there is no metadata to route: {_why_refused({})}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _mechanism(self, design: Design) -> str:
        """Return the mechanism of the next fit, which depends on parameters and declarations only."""
        model_options = (self.penalty, self.strength, self.l1_ratio, self.formula)
        if not isinstance(self.mechanism, str):
            raise OptionError.unknown_name("mechanism", self.mechanism, (AUTO, *HOMES), option="mechanism")
        plain = all(getattr(self, name) is False for name in ADDITIONS)
        unset = self.settings is None or (isinstance(self.settings, Mapping) and not self.settings)
        if self.mechanism == AUTO and all(option is None for option in model_options) and plain and unset:
            return predicting_mechanism(design, self.delta)
        return self.mechanism

    def _options(self) -> dict[str, Any]:
        """Return the parameters that are options of a release."""
        return {name: getattr(self, name) for name in DEFAULT_OPTIONS.keywords()}

    def _asked(self) -> dict[str, Any]:
        """Return the parameters that are options of a fit."""
        return {name: getattr(self, name) for name in FIT_OPTIONS}

    def predict(self, X: object) -> npt.NDArray[np.float64]:
        """Predict the target of each row from features clipped to their bounds.

        Parameters
        ----------
        X
            Rows with the columns of `fit`. A row that the rule `drop` removes gets NaN.
        """
        validation.check_is_fitted(self)
        design = self.release_.design
        # match by position, because scikit-learn allows an array after a table and warns about it
        table = dict(zip(self.columns_, self._matrix(X, reset=False).values(), strict=True))
        check_rows(design, table)
        return in_familiar_words(design.target, partial(self.fit_.predict, table))

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return R^2 of the predictions for these rows. The result does not protect the people in these rows.

        Parameters
        ----------
        X, y
            Read as in `fit`. Rows that the rule `drop` removes are not scored.
        sample_weight
            One weight for each row, or None.
        """
        predicted = self.predict(X)
        design = self.release_.design
        read = partial(read_column, design.target, design.table_columns[design.target], y)
        actual = in_familiar_words(design.target, read)
        weights = None if sample_weight is None else read_column("sample_weight", Numeric((0, 1)), sample_weight)
        if any(len(values) != len(predicted) for values in (actual, weights) if values is not None):
            raise OptionError(
                "X, y and sample_weight must have the same number of rows",
                code="rows-differ",
                option="sample_weight",
                remedy="pass one value for each row of X",
            )
        if weights is not None and (weights < 0).any():
            raise OptionError(
                "sample_weight must not contain a negative weight",
                option="sample_weight",
                remedy="pass weights of 0 or more",
            )
        finite = np.isfinite(actual) & np.isfinite(predicted)
        if not finite.any():
            return float("nan")
        kept_weights = None if weights is None else weights[finite]
        with np.errstate(over="ignore"):
            total = 1.0 if kept_weights is None else float(kept_weights.sum())
        if not 0 < total < np.inf:
            raise OptionError(
                "sample_weight must have a sum that is above 0 and fits in double precision",
                option="sample_weight",
                remedy="pass other weights",
            )
        return float(r2_score(actual[finite], predicted[finite], sample_weight=kept_weights))

    def _columns(self, X: object, whole: Design | None) -> dict[str, Any]:
        """Return the columns by declared name."""
        columns = self._matrix(X, reset=True)
        return columns if whole is None else named_columns(whole, columns, named=bool(table_names(X)))

    def _matrix(self, X: Any, *, reset: bool) -> dict[str, Any]:  # noqa: ANN401  # tables of any library
        """Return the columns by name after scikit-learn's checks of names and width. No cell is read."""
        if issparse(X):
            raise OptionError(
                "expected a dense X, got a sparse matrix", option="X", remedy="convert it with X.toarray()"
            )
        names = table_names(X)
        check_names(names, names)
        columns = matrix_columns(X, self._width(reset=reset))
        if not columns:
            # the words that scikit-learn's checks look for, without the number of rows
            raise OptionError(
                "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.", option="X"
            )
        seen = X if names else np.empty((0, len(columns)))
        validation.validate_data(self, seen, reset=reset, skip_check_array=True)
        return dict(zip(names or [f"x{position}" for position in range(len(columns))], columns, strict=True))

    def _width(self, *, reset: bool) -> int:
        """Return the number of columns to assume for a list without rows, as fitted or declared, or 0 if unknown."""
        if not reset:
            return int(self.n_features_in_)
        bounds: Any = self.bounds
        if isinstance(self.design, Design):
            return len(features_of(self.design))
        return len(bounds) if isinstance(bounds, Mapping) else 0

    def expected_failed_checks(self) -> dict[str, str]:
        """Return the scikit-learn checks that fail because every private release has new noise, with the reasons.

        Pass the result to `sklearn.utils.estimator_checks.check_estimator(model, expected_failed_checks=...)`, or pass
        the method `PrivateLinearRegression.expected_failed_checks` to `parametrize_with_checks`.

        Examples
        --------
        >>> model = PrivateLinearRegression(epsilon=1, bounds=(-100, 100), target_bounds=(-1000, 1000))
        >>> sorted(model.expected_failed_checks())[0]
        'check_fit_idempotent'
        """
        return dict(_FRESH_NOISE)

    def __sklearn_clone__(self) -> Self:
        clone: Self = super().__sklearn_clone__()
        clone._cloned = True
        return clone

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fit_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = self.missing != "error"
        # the 200 rows of scikit-learn's check are too few for the required score at an ordinary budget
        tags.regressor_tags.poor_score = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # pickle the canonical text of the release, so that its digest is checked on loading
        state = dict(super().__getstate__())
        if "release_" in state:
            state["release_"] = self.release_.to_json()
        if "fit_" in state:
            state["fit_"] = {part.name: getattr(self.fit_, part.name) for part in fields(Fit) if part.name != "release"}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "release_" in state:
            self.release_ = Release.from_json(state["release_"])
        if "fit_" in state:
            self.fit_ = Fit(release=self.release_, **state["fit_"])


def _why_refused(refused: Mapping[str, object]) -> str:
    if "groups" in refused:
        return (
            "every row is treated as a separate individual; to protect individuals with several rows, pass the table "
            'with its ids to discreet.release with Design(..., unit={"id": "patient", "max_rows": 3})'
        )
    return (
        "weights need a public bound, which sample_weight does not have, so every row has the same weight; pass the "
        'table with its weights to discreet.release with Design(..., {"w": (0, 5), ...}, weights="w"), and the release '
        "to discreet.fit"
    )
