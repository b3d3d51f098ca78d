"""Releases that are NOT PRIVATE: exact, or with noise from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet import __version__
from discreet.curator.moments import Table, accumulate
from discreet.curator.opening import open_source
from discreet.curator.source import ComputeOptions
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.design.model import Design
from discreet.mechanisms.choice import AUTO, chosen_mechanism
from discreet.mechanisms.clips import clip_columns, on_product_grid
from discreet.mechanisms.registry import Job, NoisyMoments, Published, clipped_by_name
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import BLOCKS, CLIPPED, NoiseLaw, Release


def exact_release(
    data: object,
    design: Design,
    *,
    clip_counts: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    compute: ComputeOptions | None = None,
) -> Release:
    """The exact moments of the rows rounded to the grid, NOT PRIVATE.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> exact_release({"x": [1.0, 0.5], "y": [1.0, 1.0]}, design).moments[0].tolist()
    [2.0, 1.5, 2.0]
    """
    domain = RowDomain.of(design, grid_bits)
    if clip_counts:
        clip_columns(design)
    options = compute or ComputeOptions()
    moments = accumulate(open_source(data), design, domain, options, clip_counts=clip_counts)
    law = NoiseLaw(grid_bits, dict.fromkeys((*BLOCKS, *((CLIPPED,) if clip_counts else ())), 0), "none")
    made = _not_private("exact", design, law, moments.totals, moments.units)
    counts = on_product_grid(moments.clipped, [0] * len(moments.clipped), law)
    return replace(made, clipped=dict(zip(design.clippable, counts, strict=True))) if clip_counts else made


def seeded_release(
    data: object,
    design: Design,
    *,
    seed: int,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = AUTO,
    settings: Mapping[str, object] | None = None,
    clip_counts: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
) -> Release:
    """The mechanism with noise from a seed, NOT PRIVATE: whoever knows the seed can take the noise away."""
    domain = RowDomain.of(design, grid_bits)
    budget = PrivacyBudget(epsilon, delta)
    chosen, public, law = chosen_mechanism(mechanism, design, domain, budget, settings, clip_counts=clip_counts)
    passes = chosen.passes(Job(design, domain, law, public, SeededSampler(seed)))
    wanted = next(passes)
    with Table(open_source(data), design, domain, ComputeOptions(), again=True, clip_counts=clip_counts) as table:
        while True:
            moments = table.sums(wanted)
            try:
                wanted = passes.send(moments)
            except StopIteration as done:
                published: Published = done.value
                break
    made = _not_private(f"{chosen.name}-seeded", design, law, (), moments.units)
    if isinstance(published, NoisyMoments):
        clipped = clipped_by_name(design, published)
        return replace(made, totals=published.totals, scalars=published.scalars, settings=public, clipped=clipped)
    return replace(made, coefficients=published, settings=public, numerics=chosen.card.numerics)


class SeededSampler:
    """Rounded variates from a seed, NOT PRIVATE; the same seed gives the same sequence."""

    private = False

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """A rounded normal variate for each parameter."""
        normal = self._random.standard_normal(len(sigmas))
        return [round(sigma * float(value)) for sigma, value in zip(sigmas, normal, strict=True)]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """A rounded Laplace variate for each parameter."""
        variates = self._random.laplace(size=len(scales))
        return [round(scale * float(value)) for scale, value in zip(scales, variates, strict=True)]

    def bits(self, how_many: int) -> int:
        """A uniform whole number below 2**how_many."""
        return int.from_bytes(self._random.bytes((how_many + 7) // 8)) >> (-how_many % 8)


def _not_private(name: str, design: Design, law: NoiseLaw, totals: tuple[int, ...], rows: int) -> Release:
    return Release(
        design=design,
        guarantee=None,
        mechanism=name,
        mechanism_version="0",
        noise=replace(law, calibration="none"),
        totals=totals,
        units_public=rows if design.unit.neighbours == "replace" else None,
        anchor="untracked",
        made_by=f"discreet {__version__}",
    )
