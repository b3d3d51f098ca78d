"""Fit any linear model from a release, and diagnose a fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, overload

import numpy as np

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.diagnostics import Diagnostic, findings
from discreet.analyst.equations.model_columns import SubModel, choose
from discreet.analyst.equations.normal import NormalEquations, normal_equations
from discreet.analyst.fitted import Fit, as_released, assembled
from discreet.analyst.inference.released_model import check_declared
from discreet.analyst.inference.robust import checked_robust_type
from discreet.analyst.solvers.least_squares import Solution, solve_ols, solve_ridge
from discreet.analyst.solvers.penalised import Criterion, Penalty, PenaltySpec, checked_spec
from discreet.analyst.values import NothingExcluded
from discreet.errors import SpecError, shown
from discreet.privacy.checks import listed
from discreet.releases.release import Release

if TYPE_CHECKING:
    from discreet.analyst.solvers.adaptive import SlopeEquations
    from discreet.analyst.solvers.penalised import Slopes

__all__ = ["Fit", "Penalty", "fit"]

# -- model -------------------------------------------------------------------------------------------------------------
# `fit`: any linear model from one release, at no further cost.

# least squares, which most fits are, needs no solver of the penalised ones: those are imported where they are used


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
    """Fit a linear model to a release; any number of models of one release cost nothing more.

    A release of coefficients holds one model, the declared one, and that is what comes back.

    Parameters
    ----------
    release
        What a curator published.
    formula
        The model in one line, such as `"income ~ age + region"`, instead of target, features and intercept.
    target
        Declared numeric or boolean column to explain; the design's target unless named. A list of them gives a fit of
        each by name, all with the same features: those named, or every column that is none of these targets.
    features
        Declared names, in the order wanted; every other declared column unless named. A categorical name means
        all its indicators.
    intercept
        Whether the model has a free constant; as the design says unless given.
    penalty
        `none`: ordinary least squares. `ridge`, `lasso`, `elastic-net`: with a
        strength. `bayes`: the best predictor from noisy sums, a posterior mean that knows their noise; it has no
        intervals. `adaptive`: a ridge as large as the noise calls for, with intervals of what it shrinks.
    strength
        As in scikit-learn's elastic net: minimises (1/2n) ||y - X theta||^2 + strength (l1_ratio ||theta||_1 +
        (1 - l1_ratio)/2 ||theta||^2) over the slopes of the scaled columns, n the (noisy) number of rows, at least 1.
        The ratio is 0 for `ridge` and 1 for `lasso`. The intercept is not penalised. With `criterion` the strength is
        chosen from the release as `path` chooses it, down to one that is as good as none where the release is good.
    l1_ratio
        From 0 to 1, of `elastic-net`.
    cov_type
        `HC1` or `HC0` for robust standard errors, as `Fit.robust` gives them; `nonrobust` for plain ones. Unless given
        they are plain, and clustered by person where the release has what that needs.

    Returns
    -------
    Fit, or dict of Fit by target
        Where the released sums of products are not positive definite there are no coefficients: `Fit.estimable` is
        false, `params` and `bse` hold "not estimable" with a reason, every confidence set is "any value" and every
        p-value 1; `predict` refuses. The penalties `bayes` and `adaptive` still predict there. Where the noise leaves
        the sums too close to indefinite, a model with a strength is repaired, and `Fit.repair` says by how much.

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
            raise SpecError("got a formula together with several targets; name the features instead of the formula")
        check_release(release)
        targets, shared = _several(release, target, features)
        return {one: _with_errors(_fitted(release, one, shared, intercept, spec), cov_type) for one in targets}
    if formula is not None:
        target, features, intercept = _by_formula(release, formula, target, features, intercept)
    check_release(release)
    return _with_errors(_fitted(release, target, features, intercept, spec), cov_type)


def _several(
    release: Release, targets: Sequence[str], features: Iterable[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Targets, each named once, and the features that all of them have."""
    if not targets:
        raise SpecError("got an empty list of targets; name at least one declared column")
    chosen = tuple(choose(release, one, (), True).target for one in targets)
    for one in chosen:
        if chosen.count(one) > 1:
            raise SpecError(f"the target {shown(one)} is named twice; name each target once")
    if features is None:
        return chosen, tuple(name for name in release.design.offered if name not in chosen)
    named = listed(features)
    if named is None:
        # says what a list of features looks like
        choose(release, chosen[0], features)
    return chosen, tuple(named or ())


def _with_errors(plain: Fit, cov_type: object) -> Fit:
    """Give the fit with the kind of standard errors that was asked for."""
    if cov_type is None:
        return plain
    if cov_type != NONROBUST:
        return plain.robust(checked_robust_type(plain.release, cov_type, also=(NONROBUST,)))
    if plain.is_robust:
        raise SpecError(
            f"cov_type is {NONROBUST!r}, but this release has errors of this model only as {plain.cov_type}; leave "
            "cov_type out"
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
        declared = choose(release, target, features, intercept)
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
    return NothingExcluded(str(error).removeprefix("not estimable: "))


def _by_formula(
    release: Release, formula: str, target: str | None, features: Iterable[str] | None, intercept: bool | None
) -> tuple[str, tuple[str, ...], bool | None]:
    from discreet.analyst.equations.model_columns import parse_model

    if (target, features, intercept) != (None, None, None):
        raise SpecError("got a formula together with target, features or intercept; give the formula alone")
    check_release(release)
    named = parse_model(formula, release.design)
    return named.target, named.features, named.intercept


def check_release(release: object, what: str = "fit") -> None:
    """Refuse what is no release, such as a path; `what` is the function that needs one."""
    if not isinstance(release, Release):
        raise SpecError(f"{what}: expected a Release, got {type(release).__name__}; load one with Release.load(path)")


def read_model(
    release: Release, target: str | None, features: Iterable[str] | None, intercept: bool | None
) -> tuple[SubModel, NormalEquations]:
    """Pick a model of a release by declared names and set up its normal equations."""
    check_release(release)
    model = choose(release, target, features, intercept)
    return model, normal_equations(release, model)


def at_strength(release: Release, model: SubModel, problem: SlopeEquations, slopes: Slopes, spec: PenaltySpec) -> Fit:
    """Give the fit whose penalised slopes these are."""
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
# What a careful reader of a fit should hear, as a function of the fit.


def diagnose(subject: Fit | Release) -> tuple[Diagnostic, ...]:
    """Every finding about a model, the most serious first; like `fit` it costs nothing more.

    Parameters
    ----------
    subject
        A fit, or a release, of which the model `discreet.fit(release)` is looked at.

    Returns
    -------
    tuple of Diagnostic
        Each with a `number` such as `D004` that never changes its meaning, a `title`, a `text` and a `severity`:
        `serious`, `caution` or `note`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> exact = discreet.testing.exact_release({"x": [0, 1, 2], "y": [2, 4, 6]}, design)  # NOT PRIVATE
    >>> [(found.number, found.severity, found.title) for found in discreet.diagnose(discreet.fit(exact))]
    [('D001', 'serious', 'Not private')]
    """
    if not isinstance(subject, Fit | Release):
        raise SpecError(
            f"diagnose needs a Fit or a Release, got {type(subject).__name__}; make a Fit with discreet.fit, or load a "
            "Release with Release.load(path)"
        )
    model = subject if isinstance(subject, Fit) else fit(subject)
    return findings(model.release, model)
