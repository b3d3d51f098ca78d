"""Noise on counts that are released before a mechanism runs. Proof: calibration/before.proof.md."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.losses.law import Block, NoiseLaw
from discreet.mechanisms.sampling.sampler import Sampler


def noisy_counts(exact: Sequence[int], block: Block, law: NoiseLaw, sampler: Sampler) -> list[int]:
    """Exact counts in steps of the product grid plus one independent variate each, in unlimited integers."""
    scales = [law.sigma[block]] * len(exact)
    noise = sampler.draw(scales) if law.family == "discrete-gaussian" else sampler.laplace(scales)
    # [P:before-noise]
    return [count * law.unit + variate for count, variate in zip(exact, noise, strict=True)]
