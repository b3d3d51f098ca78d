"""Whether the noise that a release states keeps the promise that it makes."""

from __future__ import annotations

import math
from typing import Final

from discreet.design.model import Design
from discreet.errors import ReleaseFileError, SpecError
from discreet.losses.law import NoiseLaw, Settings
from discreet.losses.maps.registry import loss_of
from discreet.losses.promise import TOLERANCE, epsilon_given, keeps
from discreet.losses.settings import check_stored
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_curve
from discreet.privacy.loss import Loss
from discreet.privacy.zcdp import rho_from

_PURE: Final = ("discrete-laplace", "k-norm")
# far above the rounding of doubles, far below anything that a reader could make use of
_CURVE: Final = 1e-9


def checked_loss(
    mechanism: str, version: str, design: Design, noise: NoiseLaw, settings: Settings, guarantee: Guarantee
) -> Loss:
    """What the noise costs, forwards; refused if the promise is stronger than that."""
    if noise.calibration == "none":
        raise ReleaseFileError("the noise is not calibrated to any promise, but the release is marked private")
    if guarantee.delta == 0 and (noise.calibration != "pure" or noise.family not in _PURE):
        raise ReleaseFileError("the promise has delta = 0, which this kind of noise cannot keep")
    if not guarantee.epsilon > 0:
        raise ReleaseFileError("the promise has epsilon = 0, which no noise keeps")
    try:
        check_stored(mechanism, settings)
        _check_curve(noise, guarantee)
        loss = loss_of(mechanism, version, design, noise, settings, guarantee.epsilon, guarantee.delta)
    except SpecError as error:
        raise ReleaseFileError(f"the release file is inconsistent: {error}") from None
    if not keeps(loss, guarantee.epsilon, guarantee.delta):
        raise ReleaseFileError(
            f"the promise is stronger than the noise: epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g} is "
            f"promised, {given_in_words(loss, guarantee)}"
        )
    _check_claims(loss, guarantee)
    return loss


def given_in_words(loss: Loss, guarantee: Guarantee) -> str:
    """What the noise gives, in the terms of the promise."""
    if loss.failure > 0:
        return f"the noise gives delta = {loss.delta:.3g} at epsilon = {loss.epsilon:.6g}"
    found = epsilon_given(loss, guarantee.epsilon, guarantee.delta)
    if not math.isfinite(found):
        return "the noise gives no epsilon at that delta"
    return f"the noise gives epsilon = {found:.6g} at delta = {guarantee.delta:g}"


def _check_curve(noise: NoiseLaw, guarantee: Guarantee) -> None:
    """What a promise says beyond (epsilon, delta) is what its kind of noise keeps; earlier versions say nothing."""
    claimed = guarantee.mu, guarantee.mu_gap, guarantee.rho
    if claimed == (None, None, None):
        return
    calibration = noise.calibration if noise.family == "discrete-gaussian" else "none"
    kept: tuple[float | None, ...] = (None, None, None)
    if calibration == "gaussian":
        kept = (*lattice_curve(guarantee.epsilon, guarantee.delta), None)
    elif calibration == "discrete-zcdp":
        kept = (None, None, rho_from(guarantee.epsilon, guarantee.delta))
    for one, other in zip(claimed, kept, strict=True):
        if (one is None) != (other is None) or not math.isclose(one or 0.0, other or 0.0, rel_tol=_CURVE):
            raise ReleaseFileError("mu or rho of the guarantee is not what this noise keeps at its epsilon and delta")


def _check_claims(loss: Loss, guarantee: Guarantee) -> None:
    """Mu, its gap and rho of a promise are not below those of the noise."""
    claims = (("mu", guarantee.mu, loss.mu), ("mu_gap", guarantee.mu_gap, loss.tau), ("rho", guarantee.rho, loss.rho))
    for name, claimed, found in claims:
        if claimed is not None and found > claimed * (1 + TOLERANCE) ** 2:
            raise ReleaseFileError(f"{name} of the guarantee is {claimed:.6g}, but that of the noise is {found:.6g}")
