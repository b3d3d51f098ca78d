"""The second part of a release with robust standard errors: sums over residuals. Proof: residuals.proof.md."""

from __future__ import annotations

from discreet.curator.sums.protocol import Totals
from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.exact.triangle import pairs, size_of
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.checks import is_number
from discreet.releases import RATIO_BLOCK, NoiseLaw


def residuals_with_noise(sums: Totals, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
    """Exact totals of a `ResidualPass` plus one independent variate each, added in unlimited integers."""
    exact = sums.on_grid(law.unit)
    size = size_of(len(exact) - 1)
    diagonal, off = law.sigma["residual_diagonal"], law.sigma["residual_off_diagonal"]
    sigmas = [diagonal if i == j else off for i, j in pairs(size)]
    noise = sampler.draw([*sigmas, law.sigma[RATIO_BLOCK]])
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
    if not is_number(residual_bound):
        raise SpecError(f"residual bound: expected a number, got {shown(residual_bound)}")
    if not 1e-6 * half <= residual_bound <= 4 * half:
        raise SpecError(
            f"the residual bound {shown(residual_bound)} is not allowed; "
            f"choose a positive number of at most {4 * half:g}, "
            "twice the width of the target's bounds"
        )
    return float(residual_bound) / half
