"""The known mean of the noise, taken away where a mechanism left it in; and the count that is left then."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.exact.triangle import pairs
from discreet.losses.law import block_of
from discreet.losses.sensitivity.scaled import ROWS
from discreet.releases.parts import NoisyCount

if TYPE_CHECKING:
    from discreet.releases.release import Release


def centred(release: Release) -> Release:
    """The same sums with the known mean of their noise taken away, where the mechanism left it in.

    Wishart noise has the mean degrees times scale on the diagonal; the setting `debiased` says whether it is still
    there. Taking a public number away costs nothing.
    """
    law = release.noise
    if law.family != "wishart" or release.settings.get("debiased", True):
        return release
    size = len(release.columns)
    mean = [law.parameters["degrees"] * law.sigma.get(block_of(i, i, size), 0) if i == j else 0 for i, j in pairs(size)]
    totals = tuple(total if total is None else total - away for total, away in zip(release.totals, mean, strict=True))
    return replace(release, totals=totals, settings={**release.settings, "debiased": True})


def released_count(release: Release) -> NoisyCount | None:
    """The number of rows that count as far as it was released; its noise has no spread where it is public."""
    if release.weighted and ROWS in release.scalars:
        return NoisyCount(release.scalars[ROWS] / release.noise.unit, release.noise.sd(ROWS))
    if release.kind == "moments" and not release.weighted:
        value = float(centred(release).moments[0, 0])
        return None if math.isnan(value) else NoisyCount(value, float(release.noise_sd[0, 0]))
    public = release.units_public if release.design.rows_public else None
    return None if public is None else NoisyCount(float(public), 0.0)
