"""Two releases of one table put together: every sum the mean of the two, weighted with the inverse of its variance."""

from __future__ import annotations

import math
from dataclasses import replace

from discreet.losses.law import WEIGHT_STEPS, NoiseFamily, entry_blocks
from discreet.releases import NoiseLaw, Release
from discreet.releases.reference_law import family_of


def both_laws(first: NoiseLaw, second: NoiseLaw) -> NoiseLaw:
    """Noise of the means of two releases of the same sums, each weighted with the inverse of its variance.

    The variance of such a mean is 1 / (1/v1 + 1/v2). Where the families differ, or their means belong to neither, the
    law with the heavier tails of the two is used for both.
    """
    families = {family_of(first.family), family_of(second.family)}
    unit = first.unit
    laplace = "laplace" in families
    sigma = {}
    for block in {**first.sigma, **second.sigma}:
        sds = [law.sd(block) for law in (first, second) if block in law.sigma]
        together = 0.0 if 0.0 in sds else sum(sd**-2 for sd in sds) ** -0.5
        sigma[block] = round(together * unit / (math.sqrt(2) if laplace else 1.0))
    family: NoiseFamily = "discrete-laplace" if laplace else "discrete-gaussian"
    # a sum that one of them has without noise has none in their mean
    weights = {name: bits for name, bits in first.parameters.items() if name == WEIGHT_STEPS}
    factors = first.factors or second.factors
    # where one of them has two variates for sum and square, their means are no longer one number
    indicators = first.indicators if first.indicators == second.indicators else ()
    return NoiseLaw(first.grid_bits, sigma, "none", family, weights, factors, indicators)


def with_law(release: Release, law: NoiseLaw) -> Release:
    """The sums of a release as another law would publish them; what either leaves out is left out."""
    size = len(release.columns)
    blocks = entry_blocks(size)
    known = {block: sigma for block, sigma in law.sigma.items() if block in release.noise.sigma}
    totals = tuple(total if block in known else None for block, total in zip(blocks, release.totals, strict=True))
    return replace(release, noise=replace(law, sigma=known, calibration="none"), totals=totals, residuals=None)
