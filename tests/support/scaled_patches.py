"""Mistakes that can be put into the release of privately scaled moments while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.curator.sums.cell_counts import CELLS
from discreet.mechanisms import private_scaling as scaled
from discreet.mechanisms import private_scaling as searches
from discreet.releases import NoiseDistribution

Patch = pytest.MonkeyPatch
_FIRST_PASS = ("centre", "spread", "zoomed_centre", "zoomed_spread")


def searches_free(patch: Patch) -> None:
    """The account of all other parts is that without the first pass, whose searches keep their noise."""
    distribution = scaled.scaled_distribution

    def free(design: Any, domain: Any, queries: Any, mu: Any, calibration: Any) -> NoiseDistribution:
        made = distribution(design, domain, queries, mu, calibration)
        rest = [query for query in queries if not {*query.blocks} & {*_FIRST_PASS}]
        alone = distribution(design, domain, rest, mu, calibration)
        return replace(alone, sigma={**alone.sigma, **{name: made.sigma[name] for name in _FIRST_PASS}})

    patch.setattr(scaled, "scaled_distribution", free)


def exact_scaling(module: Any) -> Callable[[Patch], None]:
    """Medians and median distances from them, as they are, where `module` looks for centres and scales."""

    def apply(patch: Patch) -> None:
        noisy = module.columns_centred

        def centred(context: Any, cells: Any, rows: int, many: float) -> tuple[list[float], list[float]]:
            noisy(context, cells, rows, many)
            values = [np.repeat(np.arange(-CELLS, CELLS + 1), column) / CELLS for column in cells]
            centres = [float(np.median(column)) for column in values]
            spreads = [np.median(abs(column - centre)) for column, centre in zip(values, centres, strict=True)]
            return centres, [max(float(spread), searches.NARROWEST) for spread in spreads]

        patch.setattr(module, "columns_centred", centred)

    return apply
