"""Which models may have robust standard errors, and what the release holds for them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from discreet.accounting.noise_distribution import model_blocks
from discreet.analyst.equations.fit_inputs import ErrorBasis, RobustType
from discreet.analyst.equations.model_columns import SubModel
from discreet.analyst.solvers.penalised import Penalty
from discreet.design.columns import Numeric
from discreet.design.design import SAMPLING
from discreet.design.domain import full_columns
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import NotEstimable
from discreet.releases.release import Release

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

ROBUST_TYPES: Final[tuple[RobustType, ...]] = get_args(RobustType)
_LEVERAGES: Final = ("HC2", "HC3")
#: the kind of errors that a release of persons has
CLUSTERED: Final = "cluster"

NO_FOURTH: Final = NotEstimable(
    "the rows are weighted, and the release does not hold the sums that errors of this model need: one with robust "
    "errors has them for the declared full model without a penalty, another for models without the declared target "
    "among the features"
)


@dataclass(frozen=True, eq=False)
class HeldResiduals:
    """What a release holds for robust standard errors of one model, k coefficients.

    Attributes
    ----------
    meat
        Noisy sum of squared residuals times products of (1, features), as it was released, in the order of the model's
        coefficients, shape (k, k).
    variance
        Variances of the noise in its entries, shape (k, k).
    bound
        Where residuals were clipped, in scaled units of the target, or of what private scaling made of it.
    ratio_square
        For an interval of R^2: the ratio of variances at which it was released, and the noisy sum of squares.
    """

    meat: FloatArray
    variance: FloatArray
    bound: float
    ratio_square: tuple[float, float] | None


def checked_robust_type(release: Release, name: object, also: tuple[str, ...] = ()) -> RobustType:
    """Check the name of a kind of robust errors, in statsmodels' words; `also` is what else the caller takes.

    Those of a release of persons are clustered by person, which none of the names means.
    """
    if not isinstance(name, str):
        raise SpecError.unknown_name("cov_type", name, (*also, *ROBUST_TYPES))
    if has_clusters(release):
        raise SpecError(
            f"cov_type is {shown(name)}, but in this release rows of one person may depend on each other, and robust "
            "errors are clustered by person; leave cov_type out"
        )
    for known in ROBUST_TYPES:
        if name == known:
            return known
    allowed = ", ".join((*also, *ROBUST_TYPES))
    if name in _LEVERAGES:
        raise SpecError(
            f"cov_type is {shown(name)}, which divides each squared residual by 1 - h or its square before they are "
            "summed, h the leverage of its row; a release holds the sum without it, and no leverage of any row. "
            f"Allowed: {allowed}"
        )
    if name == CLUSTERED:
        raise SpecError(
            f"cov_type is {shown(name)}, but at most one row of a person counts in this release, so there are no "
            "clusters; a design with an id and max_rows above 1 has errors clustered by person by "
            f"itself. Allowed: {allowed}"
        )
    raise SpecError.unknown_name("cov_type", name, (*also, *ROBUST_TYPES))


def robust_basis(
    release: Release, model: SubModel, penalty: Penalty, basis: ErrorBasis, robust_type: RobustType = "HC1"
) -> ErrorBasis:
    """What robust standard errors are computed from: with the released middle of the sandwich and the spread of R^2."""
    held = needed_residuals(release, model, penalty)
    return replace(
        basis,
        meat=held.meat,
        meat_variance=held.variance,
        ratio_square=held.ratio_square,
        robust_type=robust_type,
    )


def clustered_basis(
    release: Release, model: SubModel, penalty: Penalty, basis: ErrorBasis | NotEstimable
) -> ErrorBasis | NotEstimable:
    """With clustered errors, where a release of persons holds them for this model; as it is otherwise.

    A release of privately scaled rows has either what plain errors need or what robust ones need, so it gives what it
    has. Where weights are those of a sample there are no plain errors.
    """
    if isinstance(basis, NotEstimable):
        return basis
    lacking = basis.equations.weighted and basis.equations.fourth is None
    sampled = release.design.weights_are == SAMPLING
    wanted = lacking or sampled or has_clusters(release)
    if wanted and holds_residuals(release, model, penalty):
        return robust_basis(release, model, penalty, basis)
    if sampled:
        return _no_plain(release)
    return NO_FOURTH if lacking else basis


def has_clusters(release: Release) -> bool:
    """Whether several rows may be of one person."""
    return release.design.unit.max_rows > 1


def sample_factor(release: Release, rows: float, coefficients: int) -> float:
    """Give the factor of a robust sampling variance: n / (n - k), or that of statsmodels for a public number of people.

    For G clusters statsmodels takes G / (G - 1) (n - 1) / (n - k). Under `replace` G is public and is used. Under
    `add-remove` the number of people is data and is not released, so the factor stays n / (n - k), with the noisy n.
    Nobody has more than max_rows rows, so G is at least n / max_rows, and statsmodels' variance is larger by less than
    the share (max_rows - 1) / (n - max_rows).
    """
    people = release.units_public
    if people is None or people < 2 or not has_clusters(release):
        return rows / (rows - coefficients)
    return people / (people - 1) * (rows - 1) / (rows - coefficients)


def has_ratio_spread(fit: Fit) -> bool:
    """Whether the interval of R^2 counts the released spread of squared residuals."""
    basis = fit._inputs.basis
    return isinstance(basis, ErrorBasis) and basis.ratio_square is not None


def holds_residuals(release: Release, model: SubModel, penalty: Penalty) -> bool:
    """Whether the release holds sums over the residuals of this model."""
    return _number(release, model, penalty) is not None


def held_residuals(release: Release, model: SubModel, penalty: Penalty) -> HeldResiduals | None:
    """What the release holds for robust standard errors of this model: the full one, or one declared beside it."""
    number = _number(release, model, penalty)
    if number is None or release.residuals is None:
        return None
    part = (release.residuals, *release.residuals.further)[number]
    radius = 1.0 if release.scaling is None else release.scaling.radius
    # released from left to right, wanted in the order of the coefficients
    places = [0, *(1 + model.columns.index(position) for position in model.positions)]
    diagonal, off = (
        (release.noise.sd(block) * (part.bound * release.design.unit.max_rows * radius) ** 2) ** 2
        for block in model_blocks(number)
    )
    ratio, square = part.ratio, release.ratio_square
    return HeldResiduals(
        meat=release.residual_gram(part)[np.ix_(places, places)] * radius**2,
        variance=np.where(np.eye(len(places), dtype=np.bool_), diagonal, off),
        bound=part.bound,
        ratio_square=None if ratio is None or square is None else (ratio.ratio, square),
    )


def needed_residuals(release: Release, model: SubModel, penalty: Penalty) -> HeldResiduals:
    """The same, or a refusal that says for which models the release has it."""
    if release.residuals is None:
        raise SpecError(
            "robust standard errors need residuals, which this release does not have; "
            'release with moments "robust" (--robust), which spends budget on them'
        )
    held = held_residuals(release, model, penalty)
    if held is None:
        raise SpecError(
            "robust standard errors of this model are impossible from the release: they need the sum of its own "
            "squared residuals times products of the features, which no released sum gives. The release holds that of "
            f"{models_held(release)}, or declare this model in robust_models (--robust-model) of another release, "
            "which spends budget"
        )
    return held


def models_held(release: Release) -> str:
    """For which models the release has robust standard errors, in words."""
    further = release.robust_models
    if not further:
        return "the declared full model with its intercept and without a penalty; fit that one"
    named = ", ".join(map(repr, further))
    return f"the declared full model and {named}, with an intercept and without a penalty; fit one of these"


def residual_bound(fit: Fit) -> float:
    """Where the residuals behind the robust errors of a fit were clipped, in units of its target; NaN without them."""
    release = fit.release
    held = held_residuals(release, fit.model, fit.penalty)
    target = release.design.columns[fit.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    unit = 1.0 if release.scaling is None else release.scaling.target_bound
    return math.nan if held is None else held.bound * unit * half


def _number(release: Release, model: SubModel, penalty: Penalty) -> int | None:
    """Which of the models with sums over residuals it is: 0 the full one, 1 and on those of `NoiseLaw.models`."""
    if release.residuals is None or not model.intercept or penalty != "none":
        return None
    held = (full_columns(release.design), *release.noise.models)
    return held.index(model.columns) if model.columns in held else None


def _no_plain(release: Release) -> NotEstimable:
    return NotEstimable(
        "the weights are those of a sample, for which plain standard errors are wrong, and robust ones are there for "
        f"{models_held(release)}, or declare this model in robust_models (--robust-model) of another release"
    )
