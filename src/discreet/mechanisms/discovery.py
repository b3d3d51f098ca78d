"""Private discovery of bounds: noisy counts of rows by dyadic cell, from which the ends of what is used are read.

It is used only where a design asks for it. The counts are the first thing that is released, for a stated share of the
budget; the bounds are a function of them, and the mechanism then runs on rows clipped to these bounds. Where the counts
do not show bounds, the release stops: that is a result, and no guess is put in its place. Proof: discovery.proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final

from discreet.curator.sums.protocol import Totals
from discreet.design.domain import RowDomain
from discreet.design.dyadic import cell_edges
from discreet.design.model import Design
from discreet.losses.law import DISCOVERY, NoiseLaw
from discreet.losses.sensitivity.before.discovery import discovery_block
from discreet.mechanisms.calibration.before import preceded_law
from discreet.mechanisms.noisy_counts import noisy_counts
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.releases.discovery import DiscoveryPart

# of mu^2, or of epsilon for noise without delta
DISCOVERY_SHARE: Final = Fraction(1, 20)


def discovered_law(
    design: Design, domain: RowDomain, budget: PrivacyBudget, law_for: Callable[[PrivacyBudget], NoiseLaw]
) -> NoiseLaw:
    """The law of a mechanism and of the discovery before it, which together keep the budget; see `preceded_law`."""
    return preceded_law(discovery_block(design), DISCOVERY_SHARE, domain, budget, law_for)


def discovered(totals: Totals, design: Design, law: NoiseLaw, sampler: Sampler) -> DiscoveryPart:
    """The counts of `DyadicCells` with noise.

    Parameters
    ----------
    totals
        Exact counts: of every cell, column after column, and of the rows.
    design
        Whose columns are searched.
    law, sampler
        Law and source of the noise.
    """
    return part_of(noisy_counts(totals.values, DISCOVERY, law, sampler), design, law)  # [P:discovery-noise]


def part_of(counts: Sequence[int], design: Design, law: NoiseLaw) -> DiscoveryPart:
    """Noisy counts by column: of every cell, column after column, and of the rows."""
    *cells, rows = counts
    left = iter(cells)
    by_name = {name: tuple(islice(left, len(cell_edges(*design.ranges[name])) - 1)) for name in design.searched}
    return DiscoveryPart(law.sigma[DISCOVERY], rows, by_name)
