r"""Standardised slopes: what a slope is for columns divided by their own standard deviations.

If y = a + sum_j b_j x_j + e, the same line of y / sd(y) on x_j / sd(x_j) has the slopes b_j sd(x_j) / sd(y): a ratio of
numbers that are all read from the release. The standard deviations carry noise of their own, so that an interval of b_j
times the ratio is no interval of the standardised slope; none is given.
"""

from __future__ import annotations

from typing import Final

from discreet.analyst.values.estimates import ByName, Number
from discreet.analyst.values.not_estimable import NotEstimable
from discreet.errors import SpecError
from discreet.releases import Release

NO_SPREADS: Final = NotEstimable(
    "standardised slopes need the standard deviations of the columns, which this release does not hold; release with "
    'the mechanism "gaussian" (--mechanism gaussian), scaling "declared" and no weights'
)


def standardised_slopes(release: Release, target: str, slopes: ByName[Number]) -> ByName[Number]:
    """Give each slope in standard deviations of the target for one of its column, or why there is none."""
    try:
        spread = release.describe().sd
    except SpecError:
        return ByName[Number].alike(list(slopes), NO_SPREADS)
    own = ByName(list(slopes), [spread[name] for name in slopes])
    return slopes * own / ByName[Number].alike(list(slopes), spread[target])
