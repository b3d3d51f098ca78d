"""Residual sums of a release, or products of its scores, for robust standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from discreet.accounting.noise_distribution import model_blocks
from discreet.accounting.staged_queries import SCORE_PRODUCTS, SCORE_SQUARES
from discreet.analyst.equations.fit_inputs import ErrorBasis, RobustType
from discreet.analyst.solvers.penalised import Penalty
from discreet.design.columns import Numeric
from discreet.design.design import SAMPLING
from discreet.design.domain import full_columns
from discreet.design.model_columns import SubModel
from discreet.errors import ModelError, OptionError, UnsupportedError, shown
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import symmetric
from discreet.releases.fields import StagedPart
from discreet.releases.reference_distribution import NotEstimable
from discreet.releases.release import Release
from discreet.releases.staged_rules import whitening_matrix
from discreet.wording import LeaveOut

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

ROBUST_TYPES: Final[tuple[RobustType, ...]] = get_args(RobustType)
_LEVERAGES: Final = ("HC2", "HC3")
#: error type if an individual may have several rows
CLUSTERED: Final = "cluster"

_DECLARE: Final = "make another release, which spends budget, and declare this model as an additional robust model"


@dataclass(frozen=True, eq=False)
class HeldResiduals:
    """Released residual sums for the robust standard errors of a model with k coefficients."""

    # noisy sum of squared residuals times products of (1, features), in the order of the coefficients, shape (k, k)
    meat: FloatArray
    variance: FloatArray  # variances of independent noise E, shape (m, m); the noise of `meat` is U E U'
    bound: float  # residuals were clipped here, in scaled units of the target
    # for an interval of R^2: the variance ratio rho and the noisy sum of squares released for it
    ratio_square: tuple[float, float] | None
    mapping: FloatArray | None = None  # U, shape (k, m), or None for the identity
    # noisy sum of squared residuals of the line of `meat`, or None if that line is the model's own
    line_square: float | None = None


def checked_robust_type(release: Release, name: object, also: tuple[str, ...] = ()) -> RobustType:
    """Return `name` if it is HC0 or HC1, and raise otherwise. `also` lists other names to mention in the error.

    If an individual may have several rows, every name is rejected, because robust errors are then clustered.
    """
    allowed = (*also, *ROBUST_TYPES)
    if not isinstance(name, str):
        raise OptionError.unknown_name("cov_type", name, allowed, option="cov_type")
    if has_clusters(release):
        raise ModelError(
            f"got cov_type {shown(name)}, but an individual may have several rows in this release, so its robust "
            "standard errors are always clustered by individual",
            code="errors-are-clustered",
            option="cov_type",
            given=name,
            remedy=LeaveOut("cov_type"),
        )
    for robust_type in ROBUST_TYPES:
        if name == robust_type:
            return robust_type
    if name in _LEVERAGES:
        raise UnsupportedError(
            f"cov_type {shown(name)} needs the leverage of every row, and no release contains leverages",
            code="leverages-not-released",
            option="cov_type",
            given=name,
            allowed=allowed,
            remedy=f"use one of {', '.join(allowed)}",
        )
    if name == CLUSTERED:
        raise ModelError(
            f"got cov_type {shown(name)}, but an individual has at most one row in this release, so there are no "
            "clusters",
            code="no-clusters",
            option="cov_type",
            given=name,
            allowed=allowed,
            remedy=(
                f"use one of {', '.join(allowed)}",
                "declare an id with max_rows above 1, so that standard errors are clustered by individual",
            ),
        )
    raise OptionError.unknown_name("cov_type", name, allowed, option="cov_type")


def robust_basis(
    release: Release, model: SubModel, penalty: Penalty, basis: ErrorBasis, robust_type: RobustType = "HC1"
) -> ErrorBasis:
    """Add the released residual sums to the inputs of the standard errors."""
    held = needed_residuals(release, model, penalty)
    return replace(
        basis,
        meat=held.meat,
        meat_variance=held.variance,
        meat_mapping=held.mapping,
        meat_line_square=held.line_square,
        ratio_square=held.ratio_square,
        robust_type=robust_type,
    )


def clustered_basis(
    release: Release, model: SubModel, penalty: Penalty, basis: ErrorBasis | NotEstimable
) -> ErrorBasis | NotEstimable:
    """Return the inputs of robust or clustered errors if plain errors do not apply, and `basis` otherwise.

    Return NotEstimable if plain errors do not apply and the release lacks residual sums. Plain errors do not apply to
    clusters or to sampling weights.
    """
    if isinstance(basis, NotEstimable):
        return basis
    sampled = release.design.weights_are == SAMPLING
    if (sampled or has_clusters(release)) and holds_residuals(release, model, penalty):
        return robust_basis(release, model, penalty, basis)
    return _no_plain(release) if sampled else basis


def has_clusters(release: Release) -> bool:
    """Return whether an individual may have several rows."""
    return release.design.unit.max_rows > 1


def sample_factor(release: Release, rows: float, coefficients: int) -> float:
    """Return the small-sample factor of a robust sampling variance.

    It is n / (n - k), with the noisy n, unless the number of individuals G is public. For G clusters statsmodels uses
    G / (G - 1) (n - 1) / (n - k). Under `replace` G is public and is used. Under `add-remove` G is sensitive and not
    released. Nobody has more than max_rows rows, so G is at least n / max_rows, and statsmodels' variance is larger by
    a relative difference below (max_rows - 1) / (n - max_rows).
    """
    people = release.units_public
    if people is None or people < 2 or not has_clusters(release):
        return rows / (rows - coefficients)
    return people / (people - 1) * (rows - 1) / (rows - coefficients)


def has_ratio_spread(fit: Fit) -> bool:
    """Return whether the interval of R^2 uses a released sum that allows for rows that are not Gaussian."""
    basis = fit._inputs.basis
    return isinstance(basis, ErrorBasis) and basis.ratio_square is not None


def holds_residuals(release: Release, model: SubModel, penalty: Penalty) -> bool:
    """Return whether the release has residual sums for this model."""
    return _number(release, model, penalty) is not None


def held_residuals(release: Release, model: SubModel, penalty: Penalty) -> HeldResiduals | None:
    """Return the residual sums of the declared full model or an additional model, or None if not released.

    A release by `staged` has products of scores instead, which serve every model of the declared target.
    """
    if release.staged is not None:
        return _held_scores(release, release.staged, model, penalty)
    number = _number(release, model, penalty)
    if number is None or release.residuals is None:
        return None
    part = (release.residuals, *release.residuals.further)[number]
    # released in design order, needed in the order of the coefficients
    indices = [0, *(1 + model.columns.index(position) for position in model.positions)]
    diagonal, off = (
        (release.noise.sd(block) * (part.bound * release.design.unit.max_rows) ** 2) ** 2
        for block in model_blocks(number)
    )
    ratio, square = part.ratio, release.ratio_square
    return HeldResiduals(
        meat=release.residual_gram(part)[np.ix_(indices, indices)],
        variance=np.where(np.eye(len(indices), dtype=np.bool_), diagonal, off),
        bound=part.bound,
        ratio_square=None if ratio is None or square is None else (ratio.ratio, square),
    )


def needed_residuals(release: Release, model: SubModel, penalty: Penalty) -> HeldResiduals:
    """Return the residual sums of this model, or raise an error that lists the models for which they were released."""
    if release.residuals is None and not _has_score_products(release):
        raise ModelError(
            "robust standard errors need sums of squared residuals, which this release does not have",
            code="no-residuals",
            option="robust",
            remedy="make a release with the option robust, which spends part of the budget on these sums",
        )
    held = held_residuals(release, model, penalty)
    if held is None and release.staged is not None:
        raise ModelError(
            "robust standard errors of a release by 'staged' are for models of the declared target "
            f"{release.design.target!r} with an intercept and without a penalty",
            code="no-residuals-of-model",
            option="robust",
            remedy=("fit such a model", "make another release with mechanism 'gaussian', and declare this model there"),
        )
    if held is None:
        raise ModelError(
            "the release has no sums of squared residuals for this model, and robust standard errors need these sums; "
            f"the release has the sums for {models_held(release)}",
            code="no-residuals-of-model",
            option="robust",
            remedy=("fit one of these models", _DECLARE),
        )
    return held


def models_held(release: Release) -> str:
    """Describe the models that have robust standard errors in this release."""
    additional = ", ".join(map(repr, release.robust_models))
    return (
        f"the declared full model{f' and {additional}' if additional else ''}, with an intercept and without a penalty"
    )


def residual_bound(fit: Fit) -> float:
    """Return the bound at which residuals of a robust fit were clipped, in units of its target, or NaN without one."""
    release = fit.release
    held = held_residuals(release, fit.model, fit.penalty)
    target = release.design.columns[fit.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    return math.nan if held is None else held.bound * half


def _has_score_products(release: Release) -> bool:
    """Return whether a release by `staged` has products of scores."""
    return release.staged is not None and bool(release.staged.score_products)


def _held_scores(release: Release, part: StagedPart, model: SubModel, penalty: Penalty) -> HeldResiduals | None:
    """Return the sum of r^2 (1, z_S)(1, z_S)' for the pilot line's residuals r, from the products of scores.

    The sum of s s' with s = V (1, z) r is multiplied by the inverse of V on both sides, and the rows and columns of the
    model are taken.
    """
    served = model.intercept and penalty == "none" and model.target == release.design.target
    if not (part.score_products and served):
        return None
    noise, size = release.noise, len(part.line)
    unwhitened: FloatArray = np.asarray(np.linalg.inv(whitening_matrix(part)) * part.score_bound, dtype=np.float64)
    mapping = unwhitened[[0, *model.positions]]
    products = symmetric((total / noise.unit for total in part.score_products), size)
    square, products_sd = noise.sd(SCORE_SQUARES), noise.sd(SCORE_PRODUCTS)
    return HeldResiduals(
        meat=mapping @ products @ mapping.T,
        variance=np.where(np.eye(size, dtype=np.bool_), square**2, products_sd**2),
        bound=part.score_bound,
        ratio_square=None,
        mapping=mapping,
        line_square=int(release.totals[-1] or 0) / noise.unit * part.residual_bound**2,
    )


def _number(release: Release, model: SubModel, penalty: Penalty) -> int | None:
    """Return 0 for the full model, i for the i-th additional one, or None if its residual sums were not released."""
    if release.residuals is None or not model.intercept or penalty != "none":
        return None
    held = (full_columns(release.design), *release.noise.models)
    return held.index(model.columns) if model.columns in held else None


def _no_plain(release: Release) -> NotEstimable:
    return NotEstimable(
        "the weights are sampling weights, for which plain standard errors are wrong; the release has robust standard "
        f"errors for {models_held(release)}; fit such a model, or {_DECLARE}"
    )
