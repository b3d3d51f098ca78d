"""Fit linear models to a release, and diagnose fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, overload

import numpy as np

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.diagnostics import Diagnostic, findings
from discreet.analyst.equations.normal import NormalEquations, normal_equations
from discreet.analyst.fitted import Fit, as_released, assembled
from discreet.analyst.inference.released_model import check_declared
from discreet.analyst.inference.robust import checked_robust_type
from discreet.analyst.solvers.least_squares import Solution, solve_ols, solve_ridge
from discreet.analyst.solvers.penalised import Criterion, Penalty, PenaltySpec, checked_spec
from discreet.analyst.values import NothingExcluded
from discreet.design.model_columns import SubModel, model_of
from discreet.errors import ModelError, OptionError, shown
from discreet.privacy.checks import listed
from discreet.releases.release import Release
from discreet.wording import Call, LeaveOut, SetOption

if TYPE_CHECKING:
    from discreet.analyst.solvers.adaptive import SlopeEquations
    from discreet.analyst.solvers.penalised import Slopes

__all__ = ["Fit", "Penalty", "fit"]

# -- model -------------------------------------------------------------------------------------------------------------
# Penalised solvers are imported only when needed, because most fits are least squares.


CovType = Literal["nonrobust", "HC0", "HC1"]
NONROBUST: Final = "nonrobust"


@overload
def fit(
    release: Release,
    formula: str | None = None,
    *,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
    penalty: Penalty = "none",
    strength: float | Criterion | None = None,
    l1_ratio: float | None = None,
    cov_type: CovType | None = None,
) -> Fit: ...
@overload
def fit(
    release: Release,
    formula: None = None,
    *,
    target: list[str] | tuple[str, ...],
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
    penalty: Penalty = "none",
    strength: float | Criterion | None = None,
    l1_ratio: float | None = None,
    cov_type: CovType | None = None,
) -> dict[str, Fit]: ...
def fit(
    release: Release,
    formula: str | None = None,
    *,
    target: str | list[str] | tuple[str, ...] | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
    penalty: Penalty = "none",
    strength: float | Criterion | None = None,
    l1_ratio: float | None = None,
    cov_type: CovType | None = None,
) -> Fit | dict[str, Fit]:
    """Fit a linear model to a release. Any number of models can be fitted at no additional privacy cost.

    If the release publishes coefficients, only the declared model is available.

    Parameters
    ----------
    release
        A published release.
    formula
        The model as a formula, such as `"income ~ age + region"`, instead of target, features and intercept.
    target
        Declared numeric or boolean column. The default is the target of the design. A list gives one fit for each
        target, all with the same features: those in `features`, or else every column that is not a target.
    features
        Declared names. The default is every other declared column. A categorical name means all its indicators.
    intercept
        Whether the model has an intercept. The default is declared in the design.
    penalty
        `none`: ordinary least squares. `ridge`, `lasso`, `elastic-net`: penalties with a strength. `bayes`: the
        posterior mean given the noisy sums, which predicts best and has no intervals. `adaptive`: the smallest ridge
        that the noise requires, with intervals for the penalised coefficients.
    strength
        As in scikit-learn's elastic net, the fit minimises (1/2n) ||y - X theta||^2 + strength (l1_ratio ||theta||_1 +
        (1 - l1_ratio)/2 ||theta||^2) over the slopes of the scaled columns, where n is the (noisy) number of rows, at
        least 1. The ratio is 0 for `ridge` and 1 for `lasso`. The intercept is not penalised. With `criterion` the
        strength is chosen from the release, as in `path`.
    l1_ratio
        Weight of the L1 norm in the penalty of `elastic-net`, from 0 to 1.
    cov_type
        `HC1` or `HC0` for robust standard errors, as in `Fit.robust`, or `nonrobust`. By default standard errors are
        clustered by individual if the release supports it, and `nonrobust` otherwise.

    Returns
    -------
    Fit, or dict of Fit by target
        If the released sums of products are not positive definite, there are no coefficients: `Fit.estimable` is false,
        `params` and `bse` hold "not estimable" with a reason, every confidence set is "any value", every p-value is 1,
        and `predict` raises an error. The penalties `bayes` and `adaptive` still predict. If noise leaves the sums
        nearly indefinite, a model with a strength is repaired, and `Fit.repair` says by how much.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> table = {"x": [0, 1, 2], "y": [2, 4, 6]}
    >>> release = discreet.testing.exact_release(table, design)  # NOT PRIVATE
    >>> discreet.fit(release).params
    Intercept  2
    x          2
    """
    spec = checked_spec(penalty, strength, l1_ratio)
    if isinstance(target, list | tuple):
        if formula is not None:
            raise OptionError(
                "a formula cannot be combined with several targets", option="formula", remedy=SetOption("features")
            )
        check_release(release)
        targets, shared = _several(release, target, features)
        return {name: _with_errors(_fitted(release, name, shared, intercept, spec), cov_type) for name in targets}
    if formula is not None:
        target, features, intercept = _by_formula(release, formula, target, features, intercept)
    check_release(release)
    return _with_errors(_fitted(release, target, features, intercept, spec), cov_type)


def _several(
    release: Release, targets: Sequence[str], features: Iterable[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check several targets, and return them with their common features."""
    if not targets:
        raise OptionError(option="target", given=[], allowed="at least one declared column")
    chosen = tuple(model_of(release.design, name, (), True).target for name in targets)
    for name in chosen:
        if chosen.count(name) > 1:
            raise OptionError(
                f"expected each target once, got {shown(name)} twice", option="target", remedy="name each target once"
            )
    if features is None:
        return chosen, tuple(name for name in release.design.offered if name not in chosen)
    named = listed(features)
    if named is None:
        # raises the right error
        model_of(release.design, chosen[0], features)
    return chosen, tuple(named or ())


def _with_errors(plain: Fit, cov_type: object) -> Fit:
    """Return the fit with the requested type of standard errors."""
    if cov_type is None:
        return plain
    if cov_type != NONROBUST:
        return plain.robust(checked_robust_type(plain.release, cov_type, also=(NONROBUST,)))
    if plain.is_robust:
        raise ModelError(
            f"the release has only {plain.cov_type} standard errors for this model",
            option="cov_type",
            given=cov_type,
            remedy=LeaveOut("cov_type"),
        )
    return plain


def _fitted(
    release: Release,
    target: str | None,
    features: Iterable[str] | None,
    intercept: bool | None,
    spec: PenaltySpec,
) -> Fit:
    if release.coefficients is not None:
        declared = model_of(release.design, target, features, intercept)
        check_declared(release, declared, spec)
        return as_released(release, declared, spec, release.coefficients)
    model, equations = read_model(release, target, features, intercept)
    if spec.strength is None:
        return _without_strength(release, model, equations, spec)
    if spec.strength == "criterion":
        from discreet.analyst.solvers.criterion import check_criterion

        check_criterion(equations)
    try:
        return _with_strength(release, model, equations, spec, spec.strength)
    except NotEstimableError as error:
        strength = None if spec.strength == "criterion" else spec.strength
        penalty_diagonal = np.zeros(len(model.names)) if spec.l1_share == 0 else None
        return assembled(
            release, model, equations, spec, _nothing(error), strength=strength, penalty_diagonal=penalty_diagonal
        )


def _with_strength(
    release: Release, model: SubModel, equations: NormalEquations, spec: PenaltySpec, strength: float | Criterion
) -> Fit:
    from discreet.analyst.solvers.adaptive import slope_equations
    from discreet.analyst.solvers.criterion import best_of, chosen_path
    from discreet.analyst.solvers.penalised import penalised_slopes

    problem = slope_equations(equations, release.digest)
    if strength == "criterion":
        along, values = chosen_path(problem, spec.l1_share)
        slopes = along[best_of(values)]
    else:
        (slopes,) = penalised_slopes(problem, [strength], spec.l1_share)
    return at_strength(release, model, problem, slopes, spec)


def _nothing(error: NotEstimableError) -> NothingExcluded:
    return NothingExcluded(error.reason)


def _by_formula(
    release: Release, formula: str, target: str | None, features: Iterable[str] | None, intercept: bool | None
) -> tuple[str, tuple[str, ...], bool | None]:
    from discreet.design.model_columns import parse_model

    if (target, features, intercept) != (None, None, None):
        raise OptionError(
            "a formula cannot be combined with target, features or intercept",
            option="formula",
            remedy="pass only the formula",
        )
    check_release(release)
    named = parse_model(formula, release.design)
    return named.target, named.features, named.intercept


def check_release(release: object, what: str = "fit") -> None:
    """Raise unless the argument of a public function is a release."""
    if not isinstance(release, Release):
        raise OptionError(
            f"{what}: expected a Release, got {type(release).__name__}",
            option="release",
            remedy=Call("Release.load", "load a release"),
        )


def read_model(
    release: Release, target: str | None, features: Iterable[str] | None, intercept: bool | None
) -> tuple[SubModel, NormalEquations]:
    """Select a model by declared names, and form its normal equations."""
    check_release(release)
    model = model_of(release.design, target, features, intercept)
    return model, normal_equations(release, model)


def at_strength(release: Release, model: SubModel, problem: SlopeEquations, slopes: Slopes, spec: PenaltySpec) -> Fit:
    """Build a fit from penalised slopes."""
    from discreet.analyst.solvers.penalised import with_intercept

    return assembled(
        release,
        model,
        problem.equations,
        spec,
        with_intercept(problem, slopes),
        strength=slopes.strength,
        ridge=slopes.ridge + slopes.repair,
        repair=slopes.repair,
        penalty_diagonal=problem.penalty_diagonal(slopes.ridge) if slopes.l1_share == 0 else None,
    )


def _without_strength(release: Release, model: SubModel, equations: NormalEquations, spec: PenaltySpec) -> Fit:
    if spec.penalty == "bayes":
        from discreet.analyst.solvers.adaptive import posterior_solution

        return assembled(release, model, equations, spec, posterior_solution(equations, release.digest))
    A, b = equations.integer_gram, equations.integer_b
    if spec.penalty == "none":
        ridge, penalty_diagonal = 0.0, np.zeros(len(b))
    else:
        from discreet.analyst.solvers.adaptive import adaptive_ridge, released_bound

        rule = adaptive_ridge(equations, release.digest, released_bound(release, model))
        ridge, penalty_diagonal = rule.ridge, np.where(rule.penalised, rule.ridge, 0.0)
    solution: Solution | NothingExcluded
    try:
        solution = (
            solve_ols(A, b) if spec.penalty == "none" else solve_ridge(A, b, penalty_diagonal, unit=equations.unit)
        )
    except NotEstimableError as error:
        solution = _nothing(error)
    return assembled(release, model, equations, spec, solution, ridge=ridge, penalty_diagonal=penalty_diagonal)


# -- diagnosis ---------------------------------------------------------------------------------------------------------


def diagnose(subject: Fit | Release) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of a model, most serious first, at no additional privacy cost.

    Parameters
    ----------
    subject
        A fit, or a release. For a release, `discreet.fit(release)` is diagnosed.

    Returns
    -------
    tuple of Diagnostic
        Each has a stable `number` such as `D004`, a `title`, a `text` and a `severity`: `serious`, `caution` or `note`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> exact = discreet.testing.exact_release({"x": [0, 1, 2], "y": [2, 4, 6]}, design)  # NOT PRIVATE
    >>> [(item.number, item.severity, item.title) for item in discreet.diagnose(discreet.fit(exact))]
    [('D001', 'serious', 'Not private')]
    """
    if not isinstance(subject, Fit | Release):
        raise OptionError(
            f"diagnose: expected a Fit or a Release, got {type(subject).__name__}",
            option="subject",
            remedy=(Call("discreet.fit", "make a Fit"), Call("Release.load", "load a Release")),
        )
    model = subject if isinstance(subject, Fit) else fit(subject)
    return findings(model.release, model)
