"""Mistakes that can be put into the mechanism `refined` while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.accounting.search_queries import LAST
from discreet.curator.sums.cell_counts import CELLS
from discreet.exact.linear import pairs, position, symmetric
from discreet.mechanisms import column_search as columns
from discreet.mechanisms import refined
from discreet.mechanisms.irls import fitted_indices
from discreet.releases import NoiseDistribution

Patch = pytest.MonkeyPatch


# -- parts that are not charged ----------------------------------------------------------------------------------------


def part_free(name: str) -> Callable[[Patch], None]:
    """The account of all other parts is that without one of them, which keeps its noise."""

    def apply(patch: Patch) -> None:
        distribution = refined.queries_distribution

        def free(domain: Any, budget: Any, given: Any) -> NoiseDistribution:
            made = distribution(domain, budget, given)
            alone = distribution(domain, budget, [(query, share) for query, share in given if name not in query.blocks])
            return replace(alone, sigma={**made.sigma, **alone.sigma})

        patch.setattr(refined, "queries_distribution", free)

    return apply


def one_time_less(name: str) -> Callable[[Patch], None]:
    """The account of a part is that of one release less."""

    def apply(patch: Patch) -> None:
        counted = refined.refined_shares

        def fewer(design: Any) -> Any:
            return [
                (replace(query, times=query.times - 1) if name in query.blocks else query, share)
                for query, share in counted(design)
            ]

        patch.setattr(refined, "refined_shares", fewer)

    return apply


# -- exact numbers -----------------------------------------------------------------------------------------------------


def without_noise(module: Any, block: str, which: int) -> Callable[[Patch], None]:
    """One of the sums of a kind that a run releases, counted from 0, as it is; its noise is drawn and thrown away."""

    def apply(patch: Patch) -> None:
        noisy, seen = module.noisy, {}

        def exact_once(context: Any, name: str, exact: Sequence[int]) -> list[int]:
            found = noisy(context, name, exact)
            if name != block:
                return found
            at = seen[id(context)] = seen.get(id(context), -1) + 1
            return list(exact) if at == which else found

        patch.setattr(module, "noisy", exact_once)

    return apply


def step_without_noise(patch: Patch) -> None:
    without_noise(refined, "score", 0)(patch)


def one_variate_for_all(patch: Patch) -> None:
    """Every column, and every coordinate of a score, has the same noise, so that their differences have none."""

    def noisy(context: Any, block: str, exact: Sequence[int]) -> list[int]:
        (variate,) = context.sampler.draw([context.distribution.sigma[block]])
        return [total + variate for total in exact]

    for module in (columns, refined):
        patch.setattr(module, "noisy", noisy)


def comparison_without_noise(patch: Patch) -> None:
    without_noise(columns, "centre", 0)(patch)


def mean_square_without_noise(patch: Patch) -> None:
    without_noise(columns, "mean_square", 1)(patch)


def exact_gram(patch: Patch) -> None:
    noisy = refined._noisy_gram

    def gram(totals: Any, context: Any) -> np.ndarray:
        noisy(totals, context)
        indices, size = fitted_indices(context.design), len(context.design.released) - 1
        exact = totals.on_grid(context.distribution.unit)
        at = [position(indices[i], indices[j], size) for i, j in pairs(len(indices))]
        return symmetric((exact[k] / context.distribution.unit for k in at), len(indices))

    patch.setattr(refined, "_noisy_gram", gram)


def exact_clip(patch: Patch) -> None:
    noisy = refined._first_clip

    def first_clip(totals: Any, context: Any, pace: Any) -> int:
        noisy(totals, context, pace)
        *counts, rows = totals.on_grid(context.distribution.unit)[-LAST["clip"] - 2 :]
        return next(k for k, count in enumerate(counts) if count >= pace.quantile * rows or k == LAST["clip"])

    patch.setattr(refined, "_first_clip", first_clip)


def exact_scaling(module: Any) -> Callable[[Patch], None]:
    """Medians and median distances from them, as they are, where `module` looks for centres and scales."""

    def apply(patch: Patch) -> None:
        noisy = module.columns_centred

        def centred(context: Any, cells: Any, rows: int, many: float) -> tuple[list[float], list[float]]:
            noisy(context, cells, rows, many)
            values = [np.repeat(np.arange(-CELLS, CELLS + 1), column) / CELLS for column in cells]
            centres = [float(np.median(column)) for column in values]
            spreads = [np.median(abs(column - centre)) for column, centre in zip(values, centres, strict=True)]
            return centres, [max(float(spread), columns.NARROWEST) for spread in spreads]

        patch.setattr(module, "columns_centred", centred)

    return apply
