"""Releases that are NOT PRIVATE: exact, or with noise from a seed."""

from __future__ import annotations

from collections.abc import Sequence

from discreet import __version__
from discreet.curator.moments import accumulate
from discreet.curator.opening import open_source
from discreet.curator.source import ComputeOptions
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.design.model import Design
from discreet.mechanisms.registry import mechanism_named
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import BLOCKS, NoiseLaw, Release


def exact_release(
    data: object, design: Design, *, grid_bits: int = DEFAULT_GRID_BITS, compute: ComputeOptions | None = None
) -> Release:
    """The exact moments of the rows rounded to the grid, NOT PRIVATE.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> exact_release({"x": [1.0, 0.5], "y": [1.0, 1.0]}, design).moments[0].tolist()
    [2.0, 1.5, 2.0]
    """
    domain = RowDomain.of(design, grid_bits)
    moments = accumulate(open_source(data), design, domain, compute or ComputeOptions())
    law = NoiseLaw(grid_bits, dict.fromkeys(BLOCKS, 0), "none")
    return _not_private("exact", design, law, moments.totals, moments.units)


def seeded_release(
    data: object,
    design: Design,
    *,
    seed: int,
    epsilon: float,
    delta: float,
    mechanism: str = "gaussian",
    grid_bits: int = DEFAULT_GRID_BITS,
) -> Release:
    """The mechanism with noise from a seed, NOT PRIVATE: whoever knows the seed can take the noise away."""
    chosen = mechanism_named(mechanism)
    domain = RowDomain.of(design, grid_bits)
    law = chosen.noise_model(design, domain, PrivacyBudget(epsilon, delta))
    moments = accumulate(open_source(data), design, domain, ComputeOptions())
    totals = chosen.randomise(moments, law, SeededSampler(seed))
    return _not_private(f"{mechanism}-seeded", design, law, totals, moments.units)


class SeededSampler:
    """Rounded normal variates from a seed, NOT PRIVATE."""

    private = False

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """One variate for each parameter; the same seed gives the same variates."""
        import numpy as np

        normal = np.random.default_rng(self._seed).standard_normal(len(sigmas))
        return [round(sigma * float(value)) for sigma, value in zip(sigmas, normal, strict=True)]


def _not_private(name: str, design: Design, law: NoiseLaw, totals: tuple[int, ...], rows: int) -> Release:
    return Release(
        design=design,
        guarantee=None,
        mechanism=name,
        mechanism_version="0",
        noise=NoiseLaw(law.grid_bits, law.sigma, "none"),
        totals=totals,
        units_public=rows if design.unit.neighbours == "replace" else None,
        anchor="untracked",
        made_by=f"discreet {__version__}",
    )
