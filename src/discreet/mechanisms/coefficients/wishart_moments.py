"""Wishart noise for the weighted moments of (1, x, y) in every iteration. Proof: irls.proof.md."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from discreet.curator.sums.protocol import Totals
from discreet.design.domain import RowDomain, norm2
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.exact.triangle import symmetric
from discreet.losses.chi_square import (
    DELTA_LOWEST,
    EPSILON_HIGHEST,
    EPSILON_LOWEST,
    largest_shift,
    proved_delta,
    served_epsilon,
)
from discreet.losses.composition import split
from discreet.losses.sensitivity.scores import weighted_row_shift
from discreet.mechanisms.coefficients.iterates import fitted_indices
from discreet.mechanisms.interface.protocol import RunContext
from discreet.mechanisms.sampling.wishart_draw import wishart_noise
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import approximate
from discreet.releases import NoiseLaw

# with the mean taken away more degrees give less noise, but there are none much better
DEGREES: Final = 1000
# share of the squared length of a scaled row for (1, x), the rest is for y
ROW_SHARE: Final = 0.7
_MOST_COLUMNS: Final = 200


def wishart_law(design: Design, domain: RowDomain, budget: PrivacyBudget, iterations: int, rule: str) -> NoiseLaw:
    """Scales under which all iterations together keep the budget, each with the same epsilon and delta.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> law = wishart_law(design, RowDomain.of(design), PrivacyBudget(1.0, 1e-6), 1, "basic")
    >>> round(law.sd("gram_off_diagonal"), 1), law.parameters["degrees"]
    (9.8, 1000)
    """
    size = len(design.released)
    epsilon, delta = split(rule, *approximate(budget), iterations)  # [P:wishart-split]
    _check(design, size, epsilon, delta)
    row, target = accepted_scales(domain, size, epsilon, delta, exchanged=design.unit.neighbours == "replace")
    sigma = {
        "gram_diagonal": row * row,
        "gram_off_diagonal": row * row,
        "cross": row * target,
        "target_square": target * target,
    }
    return NoiseLaw(domain.grid_bits, sigma, "composed", "wishart", {"degrees": DEGREES})


def accepted_scales(domain: RowDomain, size: int, epsilon: float, delta: float, *, exchanged: bool) -> tuple[int, int]:
    """Scales of the columns (1, x) and of y, in grid steps, whose delta is proved to be at most this one."""
    nu, served = DEGREES - size + 1, served_epsilon(epsilon, exchanged=exchanged)
    shift, share = largest_shift(nu, served, delta, exchanged=exchanged)
    while True:
        row = domain.unit * math.sqrt((1 + norm2(domain)) / (ROW_SHARE * shift))
        target = domain.unit / math.sqrt((1 - ROW_SHARE) * shift)
        scales = math.ceil(row), math.ceil(target)
        if proved_delta(nu, weighted_row_shift(domain, *scales), served, share, exchanged=exchanged) <= delta:
            return scales  # [P:wishart-accepted]
        shift *= 1 - 1e-6


def noisy_moments(moments: Totals, context: RunContext) -> tuple[FloatArray, FloatArray]:
    """Weighted products of the fitted columns, and theirs with the target, less the mean of the noise; scaled units."""
    size = len(context.design.released)
    law, degrees = context.law, context.law.parameters["degrees"]
    row = math.isqrt(law.sigma["gram_diagonal"])
    scales = [row] * (size - 1) + [law.sigma["cross"] // row]
    noise = wishart_noise(scales, degrees, context.sampler)
    totals = [
        total + variate for total, variate in zip(moments.on_grid(law.unit), noise, strict=True)
    ]  # [P:wishart-moments]
    whole = symmetric((total / law.unit for total in totals), size)
    kept = np.array(fitted_indices(context.design))
    gram = whole[np.ix_(kept, kept)] - np.eye(len(kept)) * (degrees * row * row / law.unit)
    return gram, whole[kept, -1]


def _check(design: Design, size: int, epsilon: float, delta: float) -> None:
    if design.unit.max_rows > 1:
        raise SpecError(
            f"the loss of Wishart noise is proved for one row of each person; got max_rows = {design.unit.max_rows}; "
            "set max_rows = 1 or leave out noise = 'wishart'"
        )
    if size > _MOST_COLUMNS:
        raise SpecError(
            f"expected at most {_MOST_COLUMNS} released columns for Wishart noise, got {size}; declare fewer columns "
            "or levels, or leave out noise = 'wishart'"
        )
    if not (EPSILON_LOWEST <= epsilon <= EPSILON_HIGHEST and delta >= DELTA_LOWEST):
        raise SpecError(
            f"Wishart noise is proved for epsilon from {EPSILON_LOWEST:g} to {EPSILON_HIGHEST:g} and delta from "
            f"{DELTA_LOWEST:g} in each iteration; got epsilon = {epsilon:g} and delta = {delta:g}; leave out "
            "noise = 'wishart'"
        )
