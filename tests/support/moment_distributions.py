"""Noise of moments for a domain alone, without a design."""

from __future__ import annotations

from types import SimpleNamespace

from discreet.accounting.queries import MomentsQuery
from discreet.accounting.queries import variates as variates_of
from discreet.mechanisms import calibration
from discreet.privacy.budget import PrivacyUnit


def moments_query(domain, neighbours, size, *, count_public=False, factors=(), indicators=()) -> MomentsQuery:
    design = SimpleNamespace(
        released=range(size), unit=PrivacyUnit(neighbours=neighbours), count_public=count_public, weights=None,
        factors=factors, indicators=indicators,
    )  # fmt: skip
    return MomentsQuery(design, domain, exact_entries=True)


def noise_distribution(domain, neighbours, size, budget, *, count_public, shares=calibration.DEFAULT_SHARES, **entries):
    query = moments_query(domain, neighbours, size, count_public=count_public, **entries)
    return calibration.noise_distribution(query, budget, shares)


def variates(distribution, size, *others) -> list[tuple[int, int]]:
    """Numbers of variates by scale of the moments that a distribution has, and of other queries."""
    query = moments_query(None, "add-remove", size, factors=distribution.factors, indicators=distribution.indicators)
    moments = [
        (entries, distribution.sigma[block]) for block, entries in query.blocks.items() if distribution.sigma.get(block)
    ]
    return moments + variates_of(others, distribution.sigma)
