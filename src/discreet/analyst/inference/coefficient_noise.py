r"""Noise that was added to the coefficients themselves: its size, and intervals for what it was added to.

A release whose noise law has the one statistic `coefficients` holds q + noise: q the coefficients that the mechanism
computed from the table, in steps of the product grid, and one independent discrete Gaussian number for each. The law
of that noise is public and does not depend on the table. A coefficient in original units is a combination w'(q + noise)
plus a constant, so its noise has the standard deviation sigma |w|.

The interval reaches z sigma |w| and one step, |w|_1, to either side, z the normal quantile. A discrete Gaussian number
X and a normal one Y with the same sigma can be drawn together with |X - Y| <= 1: P(X >= m) <= P(Y >= m - 1) for m >= 1
[Canonne, Kamath & Steinke 2020], and P(Y >= m) <= c P(X >= m), because exp(-t^2 / 2 sigma^2) falls, with
c - 1 < 6e-9 from sigma = 1 on. So w'X misses w'Y by at most |w|_1, and the interval holds w'q with its probability or
more, to 1e-8 for each number in w, and to 1e-33 from sigma = 2 on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.analyst.equations.units import Units
from discreet.analyst.inference.contrasts import TOO_WIDE, unit_map
from discreet.analyst.values.confidence_sets import ConfidenceSet
from discreet.analyst.values.estimates import ByName, Interval, Number
from discreet.releases import NoiseLaw


def known_before(law: NoiseLaw) -> bool:
    """Whether all noise is in the published coefficients themselves, by a law that no table changes.

    >>> known_before(NoiseLaw(16, {"coefficients": 2**30}, "gaussian"))
    True
    >>> known_before(NoiseLaw(16, {"linear": 2**30, "coefficients": 2**10}, "gaussian"))
    False
    """
    return set(law.sigma) == {"coefficients"} and law.family == "discrete-gaussian"


def noise_sds(law: NoiseLaw, units: Units) -> list[Number]:
    """Standard deviation of the noise of each coefficient in original units.

    Parameters
    ----------
    law
        One that is `known_before`.
    units
        Of the released coefficients.
    """
    sds = [law.sd("coefficients") * math.hypot(*row) for row in _weights(units)]
    return [sd if math.isfinite(sd) else TOO_WIDE for sd in sds]


def table_intervals(
    law: NoiseLaw, units: Units, names: Sequence[str], estimates: Sequence[float], level: float
) -> ByName[Interval]:
    """Intervals for the coefficients that would have been published of the same table without noise.

    Parameters
    ----------
    law, units
        As for `noise_sds`.
    names, estimates
        Of the released coefficients in original units.
    level
        Between 0 and 1.
    """
    from scipy.special import ndtri

    # the lower tail keeps its digits where the upper end would round to 1
    z = -float(ndtri((1 - level) / 2))
    step = 4**-law.grid_bits if law.sigma["coefficients"] else 0.0
    out: list[Interval] = []
    for estimate, row in zip(estimates, _weights(units), strict=True):
        half_width = z * law.sd("coefficients") * math.hypot(*row) + step * sum(map(abs, row))
        low, high = estimate - half_width, estimate + half_width
        finite = math.isfinite(low) and math.isfinite(high)
        out.append(ConfidenceSet("interval", low, high) if finite else TOO_WIDE)
    return ByName(names, out)


def _weights(units: Units) -> list[list[float]]:
    """Weights of the scaled coefficients in each original one; not finite where they leave double precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights: list[list[float]] = unit_map(units).tolist()
    return weights
