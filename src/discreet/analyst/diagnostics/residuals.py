"""Warnings about residuals: clipped ones, and errors of one person that are treated as independent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from discreet.analyst.inference.robust import has_clusters, held_residuals, residual_bound
from discreet.analyst.values.not_estimable import known

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

_LOST: Final = 0.05  # share of the residual sum that clipping may take without a word
_FALSE_ALARM: Final = 3.09  # standard deviations of the noise: one release in a thousand


def clipped_residuals(fit: Fit) -> str | None:
    """Say that the residuals of a robust release were clipped by more than a little; none where nothing shows it.

    Without clipping the released sum of squared residuals is the residual sum of the moments but for the noise of both,
    whose variances are known: the chance that it lies this far below is at most 0.1%. Rows of one person are summed
    before they are squared, so for persons the two cannot be compared.
    """
    release, score = fit.release, known(fit._score)
    held = held_residuals(release, fit.model, fit.penalty)
    # the sum of squared residuals of weighted rows is not among the released sums
    if score is None or held is None or has_clusters(release) or release.weighted:
        return None
    bound = residual_bound(fit)
    clipped, expected = float(held.meat[0, 0]), score.residual
    kept = 1 - _LOST
    sd = math.sqrt(float(held.variance[0, 0]) + kept**2 * score.residual_noise)
    if not clipped + _FALSE_ALARM * sd < kept * expected:
        return None
    return (
        f"Residuals were clipped at {bound:.4g}, and their squares add up to {max(clipped, 0.0) / expected:.0%} of "
        "what the moments give without clipping. Robust standard errors are therefore too small. Release again with a "
        "larger residual_bound (--residual-bound). Where nothing is clipped, at most 0.1% of releases show this."
    )


def independent_rows(fit: Fit) -> str | None:
    """Say that the errors treat rows of one person as independent; none where they do not, or there are none."""
    release = fit.release
    if not has_clusters(release) or fit.is_robust or known(fit._score) is None:
        return None
    further = "".join(f", {model}" for model in release.robust_models)
    remedy = (
        f"The full model{further} without a penalty {'have' if further else 'has'} clustered ones."
        if release.residuals is not None
        else 'A release with moments "robust" (--robust) gives clustered ones.'
    )
    return (
        f"A person has up to {release.design.unit.max_rows} rows, and these standard errors treat them as independent: "
        "95% intervals covered 83% to 91% in simulations where errors of one person were correlated. "
        f"{remedy}"
    )
