"""Dyadic cells of a public range: where bounds are looked for that nobody declared."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import lru_cache
from typing import Final

from discreet.design.columns import checked_bounds
from discreet.errors import SpecError

# powers of two on each side of the origin that end a cell inside the range
_POWERS: Final = 40


@lru_cache(maxsize=256)
def cell_edges(low: float, high: float) -> tuple[float, ...]:
    """Ends of the cells of a range, in order: its own ends, an origin, and the origin plus and minus powers of two.

    The origin is the point of the range that is nearest to 0. The powers are the 40 largest that are smaller than the
    distance to the farther end. One is left out where a cell beside it would be too narrow to be bounds by itself, so
    any run of cells makes bounds that a column can have.

    Parameters
    ----------
    low, high
        The range.

    Examples
    --------
    >>> edges = cell_edges(-(2.0**20), 2.0**20)
    >>> len(edges), edges[40:44]
    (83, (-9.5367431640625e-07, 0.0, 9.5367431640625e-07, 1.9073486328125e-06))
    >>> cell_edges(1000.0, 1010.0)[-4:]
    (1002.0, 1004.0, 1008.0, 1010.0)
    """
    origin = min(max(0.0, low), high)
    farther = max(high - origin, origin - low)
    top = math.frexp(farther)[1]
    if math.ldexp(1.0, top - 1) == farther:
        top -= 1
    powers = [math.ldexp(1.0, top - place) for place in range(1, _POWERS + 1)]
    wanted = sorted({origin, *(origin + power for power in powers), *(origin - power for power in powers)})
    edges = [low]
    for edge in wanted:
        if low < edge < high and _is_wide(edges[-1], edge) and _is_wide(edge, high):
            edges.append(edge)
    return *edges, high


def _is_wide(low: float, high: float) -> bool:
    with suppress(SpecError):
        return checked_bounds((low, high)) == (low, high)
    return False
