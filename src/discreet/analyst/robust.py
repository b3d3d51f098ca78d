"""Robust standard errors: where residuals are taken, and which fits may use them."""

from __future__ import annotations

from discreet.analyst.model import fit
from discreet.releases import Release


def residual_coefficients(release: Release) -> tuple[float, ...]:
    """Scaled coefficients of (1, x) of the declared full model, at which a second pass takes residuals.

    Least squares, or the adaptive ridge where the noise leaves no least squares; both are read off the release.
    """
    full = fit(release, intercept=True)
    if not full.estimable:
        full = fit(release, intercept=True, penalty="adaptive")
    return tuple(full.scaled_coefficients.tolist())
