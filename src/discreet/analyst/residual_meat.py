"""Which fits may have robust standard errors, and the released matrix in their middle."""

from __future__ import annotations

import numpy as np

from discreet.analyst.penalties import Penalty
from discreet.analyst.selection import SubModel
from discreet.errors import SpecError
from discreet.releases import FloatArray, Release


def robust_meat(release: Release, model: SubModel, penalty: Penalty) -> FloatArray:
    """Noisy sum of squared residuals times products of (1, features), shape (k, k), not below 0 in any direction.

    Where noise left it indefinite the nearest matrix that is not takes its place, which can only widen intervals.
    """
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
    design = release.design
    full = model.intercept and model.target == design.target and set(model.features) == set(design.regressors)
    if not full or penalty != "none":
        raise SpecError(
            "robust standard errors hold for the declared full model with its intercept and without a penalty, because "
            "the residuals were taken from it; fit that one"
        )
    places = [0, *model.positions]
    values, vectors = np.linalg.eigh(whole[np.ix_(places, places)])
    meat: FloatArray = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return meat
