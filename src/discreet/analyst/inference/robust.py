"""Which fits may have robust standard errors, what the release holds for them, and whether residuals were clipped."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.equations.fit_inputs import ErrorBasis
from discreet.analyst.equations.selection import SubModel
from discreet.analyst.solvers.penalties import Penalty
from discreet.analyst.values.not_estimable import NotEstimable
from discreet.design.columns import Numeric
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.releases import Release

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

_LOST: Final = 0.05  # share of the residual sum that clipping may take without a word
_FALSE_ALARM: Final = 3.09  # standard deviations of the noise: one release in a thousand


def robust_basis(release: Release, model: SubModel, penalty: Penalty, basis: ErrorBasis) -> ErrorBasis:
    """What robust standard errors are computed from: with the released middle of the sandwich and the spread of R^2."""
    ratio = None if release.residuals is None else release.residuals.ratio
    square = release.ratio_square
    return replace(
        basis,
        meat=robust_meat(release, model, penalty),
        meat_variance=_noise_variance(release, len(model.positions) + 1),
        ratio_square=None if ratio is None or square is None else (ratio.ratio, square),
    )


def clustered_basis(
    release: Release, model: SubModel, penalty: Penalty, basis: ErrorBasis | NotEstimable
) -> ErrorBasis | NotEstimable:
    """With clustered errors, where a release of persons holds them for this model; as it is otherwise."""
    if isinstance(basis, NotEstimable) or not has_clusters(release) or release.residuals is None:
        return basis
    return robust_basis(release, model, penalty, basis) if is_full(release, model, penalty) else basis


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
    if release.kind == "coefficients":
        raise SpecError(
            f"robust standard errors need residuals and sums, and the mechanism {release.mechanism!r} published the "
            'coefficients of one model; release with the mechanism "gaussian" and moments "robust" '
            "(--mechanism gaussian --robust)"
        )
    if whole is None:
        raise SpecError(
            "robust standard errors need residuals, which this release has none of; "
            'release with moments "robust" (--robust), which charges for them'
        )
    if not is_full(release, model, penalty):
        raise SpecError(
            "robust standard errors hold for the declared full model with its intercept and without a penalty, because "
            "the residuals were taken from it; fit that one"
        )
    indices = [0, *model.positions]
    return whole[np.ix_(indices, indices)]


def _noise_variance(release: Release, size: int) -> FloatArray | None:
    """Variances of the noise in the entries of the middle of the sandwich, shape (k, k)."""
    if release.residuals is None:
        return None
    unit = (release.residuals.bound * release.design.unit.max_rows) ** 2
    out = np.full((size, size), (release.noise.sd("residual_off_diagonal") * unit) ** 2)
    np.fill_diagonal(out, (release.noise.sd("residual_diagonal") * unit) ** 2)
    return out


def residual_bound(release: Release) -> float:
    """Where the residuals of a robust release were clipped, in units of the target; NaN in another release."""
    target = release.design.columns[release.design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    return math.nan if release.residuals is None else release.residuals.bound * half


def clipped_residuals(fit: Fit) -> str | None:
    """Say that the residuals of a robust release were clipped by more than a little; none where nothing shows it.

    Without clipping the released sum of squared residuals is the residual sum of the moments but for the noise of both,
    whose variances are known: the chance that it lies this far below is at most 0.1%. Rows of one person are summed
    before they are squared, so for persons the two cannot be compared.
    """
    release, known = fit.release, fit._known
    matrix = release.residual_moments
    if isinstance(known, NotEstimable) or matrix is None or has_clusters(release):
        return None
    if not is_full(release, fit.model, fit.penalty):
        return None
    score, bound = known[1], residual_bound(release)
    clipped, expected = float(matrix[0, 0]), score.residual
    kept = 1 - _LOST
    noise = (release.residuals.bound**2 * release.noise.sd("residual_diagonal")) ** 2 if release.residuals else 0.0
    sd = math.sqrt(noise + kept**2 * score.residual_noise)
    if not clipped + _FALSE_ALARM * sd < kept * expected:
        return None
    return (
        f"Residuals were clipped at {bound:.4g}, and their squares add up to {max(clipped, 0.0) / expected:.0%} of "
        "what the moments give without clipping. Robust standard errors are therefore too small. Release again with a "
        "larger residual_bound (--residual-bound). Where nothing is clipped this is said of at most 0.1% of releases."
    )


def independent_rows(fit: Fit) -> str | None:
    """Say that the errors treat rows of one person as independent; none where they do not, or there are none."""
    release = fit.release
    if not has_clusters(release) or fit.is_robust or isinstance(fit._known, NotEstimable):
        return None
    remedy = (
        "The full model without a penalty has clustered ones."
        if release.residuals is not None
        else 'A release with moments "robust" (--robust) gives clustered ones.'
    )
    return (
        f"A person has up to {release.design.unit.max_rows} rows, and these standard errors treat them as independent: "
        "95% intervals covered 83% to 91% in simulations where errors of one person were correlated. "
        f"{remedy}"
    )
