"""Releases as other mechanisms make them: coefficients alone, sums left out, other distributions of the noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.design.design import Design
from discreet.releases import BLOCKS, Coefficients, NoiseDistribution, Release
from support.made_releases import made

DESIGN = Design("y", {"y": (0, 10), "a": (-1, 3), "g": ["p", "q", "r"], "b": bool})
COLUMNS = {"y": (-5, 5), "a": (-1, 1), "b": (-2, 2)}
CENTRED = Design("y", COLUMNS, intercept=False)


def rows(design: Design, count: int, seed: int = 0) -> dict[str, list[object]]:
    """A table of the design whose target follows its columns."""
    random = np.random.default_rng(seed)
    if "g" in design.columns:
        a, g, b = random.uniform(-1, 3, count), random.choice(["p", "q", "r"], count), random.random(count) < 0.5
        y = np.clip(4 + a + (g == "q") - 0.5 * b + random.normal(0, 0.4, count), 0, 10)
        return {"y": y.tolist(), "a": a.tolist(), "g": g.tolist(), "b": b.tolist()}
    a, b = random.uniform(-1, 1, count), random.uniform(-2, 2, count)
    return {"y": (a - 0.5 * b + random.uniform(-1, 1, count)).tolist(), "a": a.tolist(), "b": b.tolist()}


def fitted_inside(design: Design = DESIGN, *, rows_public: bool = False, trace: bool = True) -> Release:
    """The coefficients of one model, as a mechanism of that kind publishes them."""
    size = len(design.released) - 1
    values = tuple(float(value) for value in (0.1 * design.intercept, *(0.05 * (1 + j) for j in range(size - 1))))
    steps = (tuple(value / 2 for value in values), values) if trace else ()
    return Release(
        design=design, guarantee=None, mechanism="steps", mechanism_version="1",
        noise=NoiseDistribution(16, {"score": 2**36}, "composed", "discrete-laplace"), totals=(),
        units_public=500 if rows_public else None, anchor="untracked", made_by="a test",
        coefficients=Coefficients(values, steps), settings={"passes": 2}, numerics="idealised",
    )  # fmt: skip


def without(release: Release, *absent: str) -> Release:
    """The same release with blocks left out."""
    sigma = {block: scale for block, scale in release.noise.sigma.items() if block not in absent}
    kept = NoiseDistribution(16, {block: int(block in sigma) for block in BLOCKS}, "none").steps(len(release.columns))
    totals = tuple(total if keep else None for total, keep in zip(release.totals, kept, strict=True))
    return replace(release, noise=replace(release.noise, sigma=sigma), totals=totals, mechanism="ssp")


def without_square(count: int = 400, sigma: float = 2.0, design: Design = DESIGN) -> tuple[Release, Release]:
    """A release with and without the sum of squares of the target."""
    whole = made(design, rows(design, count), sigma=sigma).release
    return whole, without(whole, "target_square")
