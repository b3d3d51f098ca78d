"""Noisy counts of clipped rows beside the moments, under the same calibration.

The counts are there to warn, so they get a share of the budget that costs the moments 2% more noise, 3%
beside a robust part.
Proof: clip_counts.proof.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.losses.sensitivity.clips import clips_l2_sensitivity
from discreet.mechanisms.calibration.blocks import ExtraStatistic
from discreet.releases import CLIPPED, NoiseLaw

# of mu^2: the moments keep sqrt(0.96) of mu, so their noise grows by 1 / sqrt(0.96) = 1.021
CLIP_MU2_SHARE: Final = 0.04
# of epsilon: the moments keep 0.98 of it, so their noise grows by 1 / 0.98 = 1.020
CLIP_EPSILON_SHARE: Final = Fraction(1, 50)


def clip_columns(design: Design) -> int:
    """How many columns are counted; a design in which nothing can be clipped is refused."""
    if not design.clippable:
        raise SpecError("got clip_counts, but no declared column is numeric, so nothing is clipped; leave it out")
    return len(design.clippable)


def clip_counts_statistic(design: Design) -> ExtraStatistic:
    """The counts as one more part of a Gaussian release: one statistic with a sensitivity of its own."""
    columns = clip_columns(design)
    return ExtraStatistic(CLIPPED, clips_l2_sensitivity(design), CLIP_MU2_SHARE, columns)


def on_product_grid(counts: Sequence[int], noise: Sequence[int], law: NoiseLaw) -> tuple[int, ...]:
    """Exact counts in steps of the product grid plus one independent variate each, in unlimited integers."""
    # [P:clip-noise]
    return tuple(count * law.unit + variate for count, variate in zip(counts, noise, strict=True))
