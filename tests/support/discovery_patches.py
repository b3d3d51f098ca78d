"""Mistakes in the discovery of bounds that can be put into the production path while it runs."""

from __future__ import annotations

from dataclasses import replace

from discreet import release_request
from discreet.accounting.noise_distribution import DISCOVERY
from discreet.releases.fields import DiscoveryPart
from support.production_patches import Changed, Patch, half


def counts_free(patch: Patch) -> None:
    """The mechanism has the whole budget, and the counts have noise beside it."""
    distribution = release_request.discovered_distribution
    patch.setattr(
        release_request,
        "discovered_distribution",
        lambda design, domain, budget, distribution_for: distribution_for(budget).with_before(
            DISCOVERY, distribution(design, domain, budget, distribution_for).sigma[DISCOVERY]
        ),
    )


def counts_halved(patch: Patch) -> None:
    made = release_request.discovered
    patch.setattr(
        release_request,
        "discovered",
        lambda totals, design, distribution, source: made(totals, design, distribution, Changed(source, half)),
    )


def counts_exact(patch: Patch) -> None:
    made = release_request.discovered
    patch.setattr(
        release_request,
        "discovered",
        lambda totals, design, distribution, source: _exact(
            made(totals, design, distribution, source), totals, distribution
        ),
    )


def exact_bounds(patch: Patch) -> None:
    """Noisy counts are published, and exact ones decide about the bounds."""
    made, found, kept = release_request.discovered, release_request.found_bounds, []

    def discovered(totals, design, distribution, source):
        part = made(totals, design, distribution, source)
        kept.append(_exact(part, totals, distribution))
        return part

    patch.setattr(release_request, "discovered", discovered)
    patch.setattr(release_request, "found_bounds", lambda part, design, family: found(kept[-1], design, family))


def _exact(part: DiscoveryPart, totals, distribution) -> DiscoveryPart:
    """The same counts without noise."""
    *cells, rows = (count * distribution.unit for count in totals.values)
    left = iter(cells)
    by_name = {name: tuple(next(left) for _ in counts) for name, counts in part.cells.items()}
    return replace(part, rows=rows, cells=by_name)
