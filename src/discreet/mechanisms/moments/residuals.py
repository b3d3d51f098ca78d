"""The second part of a release with robust standard errors: sums over residuals. Proof: residuals.proof.md."""

from __future__ import annotations

from discreet.curator.sums.protocol import Totals
from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.checks import is_number
from discreet.releases import NoiseLaw


def residuals_with_noise(sums: Totals, law: NoiseLaw, size: int, sampler: Sampler) -> tuple[int, ...]:
    """Exact totals of a `ResidualPass` plus one independent variate each, added in unlimited integers.

    Parameters
    ----------
    sums
        Exact totals.
    law
        Of the noise.
    size
        Number of released columns.
    sampler
        Source of the noise.
    """
    exact = sums.on_grid(law.unit)
    noise = sampler.draw(law.residual_steps(size))
    return tuple(total + variate for total, variate in zip(exact, noise, strict=True))  # [P:residual-noise]


def checked_bound(design: Design, moments: str, residual_bound: float | None) -> float | None:
    """The declared bound of a residual in scaled units of the target, if there is one."""
    if not isinstance(moments, str) or moments not in ("plain", "robust"):
        raise SpecError.unknown_name("moments", moments, ("plain", "robust"))
    if moments == "plain":
        if residual_bound is not None:
            raise SpecError('got a residual bound without moments "robust" (--robust); leave it out')
        return None
    if not design.intercept:
        raise SpecError("robust standard errors are for a model with an intercept; leave out intercept = false")
    target = design.columns[design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    if residual_bound is None:
        return None
    if design.target in design.searched:
        raise SpecError(
            "a residual bound is judged by the target's bounds, which are private; leave it out, and it is set from "
            "the noisy sums, or declare the bounds of the target"
        )
    if not is_number(residual_bound):
        raise SpecError(f"residual bound: expected a number, got {shown(residual_bound)}")
    if not 1e-6 * half <= residual_bound <= 4 * half:
        raise SpecError(
            f"the residual bound {shown(residual_bound)} is not allowed; "
            f"choose a positive number of at most {4 * half:g}, "
            "twice the width of the target's bounds"
        )
    return float(residual_bound) / half
