"""The second part of a release with robust standard errors: sums over residuals. Proof: residuals.proof.md."""

from __future__ import annotations

from discreet.curator.sums.protocol import Totals
from discreet.exact.triangle import pairs, size_of
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.releases import RATIO_BLOCK, NoiseLaw


def residuals_with_noise(sums: Totals, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
    """Exact totals of a `ResidualPass` plus one independent variate each, added in unlimited integers."""
    exact = sums.on_grid(law.unit)
    size = size_of(len(exact) - 1)
    diagonal, off = law.sigma["residual_diagonal"], law.sigma["residual_off_diagonal"]
    sigmas = [diagonal if i == j else off for i, j in pairs(size)]
    noise = sampler.draw([*sigmas, law.sigma[RATIO_BLOCK]])
    return tuple(total + variate for total, variate in zip(exact, noise, strict=True))  # [P:residual-noise]
