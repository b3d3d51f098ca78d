"""Which fits may have robust standard errors, and what the release holds for them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from discreet.analyst.equations.fit_inputs import ErrorBasis, RobustType
from discreet.analyst.equations.selection import SubModel
from discreet.analyst.solvers.penalties import Penalty
from discreet.analyst.values.not_estimable import NotEstimable
from discreet.design.columns import Numeric
from discreet.design.parts import SAMPLING
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases import Release

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

ROBUST_TYPES: Final[tuple[RobustType, ...]] = get_args(RobustType)
_LEVERAGES: Final = ("HC2", "HC3")

NO_FOURTH: Final = NotEstimable(
    "the rows are weighted, and the release does not hold the sums that errors of this model need: one with robust "
    "errors has them for the declared full model without a penalty, another for models without the declared target "
    "among the features"
)


NO_PLAIN: Final = NotEstimable(
    "the weights are those of a sample, for which plain standard errors are wrong, and robust ones are there for the "
    "declared full model with its intercept and without a penalty; fit that one, or declare this model in a design of "
    'its own and release it with moments "robust" (--robust)'
)


def checked_robust_type(release: Release, name: object) -> RobustType:
    """Check the name of a kind of robust errors, in statsmodels' words.

    Those of a release of persons are clustered by person, which none of the names means.
    """
    for known in ROBUST_TYPES:
        if isinstance(name, str) and name == known:
            if has_clusters(release):
                raise SpecError(
                    f"cov_type is {shown(name)}, but in this release rows of one person may depend on each other, and "
                    "robust errors are clustered by person; leave cov_type out"
                )
            return known
    if name in _LEVERAGES:
        raise SpecError(
            f"cov_type is {shown(name)}, which divides each squared residual by 1 - h or its square before they are "
            "summed, h the leverage of its row; a release holds the sum without it, and no leverage of any row. "
            f"Allowed: {', '.join(ROBUST_TYPES)}"
        )
    raise SpecError.unknown_name("cov_type", name, ROBUST_TYPES)


def robust_basis(
    release: Release, model: SubModel, penalty: Penalty, basis: ErrorBasis, robust_type: RobustType = "HC1"
) -> ErrorBasis:
    """What robust standard errors are computed from: with the released middle of the sandwich and the spread of R^2."""
    ratio = None if release.residuals is None else release.residuals.ratio
    square = release.ratio_square
    return replace(
        basis,
        meat=robust_meat(release, model, penalty),
        meat_variance=_noise_variance(release, len(model.positions) + 1),
        ratio_square=None if ratio is None or square is None else (ratio.ratio, square),
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
    if release.residuals is not None and wanted and is_full(release, model, penalty):
        return robust_basis(release, model, penalty, basis)
    if sampled:
        return NO_PLAIN
    return NO_FOURTH if lacking else basis


def has_clusters(release: Release) -> bool:
    """Whether several rows may be of one person."""
    return release.design.unit.max_rows > 1


def has_ratio_spread(fit: Fit) -> bool:
    """Whether the interval of R^2 counts the released spread of squared residuals."""
    basis = fit._inputs.basis
    return isinstance(basis, ErrorBasis) and basis.ratio_square is not None


def is_full(release: Release, model: SubModel, penalty: Penalty) -> bool:
    """Whether it is the model whose residuals a robust release holds."""
    design = release.design
    full = model.intercept and model.target == design.target and set(model.features) == set(design.regressors)
    return full and penalty == "none"


def robust_meat(release: Release, model: SubModel, penalty: Penalty) -> FloatArray:
    """Noisy sum of squared residuals times products of (1, features), shape (k, k), as it was released."""
    whole = release.residual_moments
    if whole is None:
        raise SpecError(
            "robust standard errors need residuals, which this release does not have; "
            'release with moments "robust" (--robust), which spends budget on them'
        )
    if not is_full(release, model, penalty):
        raise SpecError(
            "robust standard errors of this model are impossible from the release: they need the sum of its own "
            "squared residuals times products of the features, which no released sum gives. The release holds that of "
            "the declared full model with its intercept and without a penalty; fit that one, or declare this model in "
            'a design of its own and release it with moments "robust" (--robust), which spends budget'
        )
    indices = [0, *model.positions]
    return whole[np.ix_(indices, indices)] * _radius(release) ** 2


def _noise_variance(release: Release, size: int) -> FloatArray | None:
    """Variances of the noise in the entries of the middle of the sandwich, shape (k, k)."""
    if release.residuals is None:
        return None
    unit = (release.residuals.bound * release.design.unit.max_rows * _radius(release)) ** 2
    out = np.full((size, size), (release.noise.sd("residual_off_diagonal") * unit) ** 2)
    np.fill_diagonal(out, (release.noise.sd("residual_diagonal") * unit) ** 2)
    return out


def _radius(release: Release) -> float:
    """What one unit of the rows behind the residuals is worth in units of z."""
    return 1.0 if release.scaling is None else release.scaling.radius


def residual_bound(release: Release) -> float:
    """Where the residuals of a robust release were clipped, in units of the target; NaN in another release."""
    target = release.design.columns[release.design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    unit = 1.0 if release.scaling is None else release.scaling.target_bound
    return math.nan if release.residuals is None else release.residuals.bound * unit * half
