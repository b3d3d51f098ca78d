"""Exact counts of rows, each with the places of the first few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.tables.source import Place

FIRST: Final = 5  # places that are kept of each count


@dataclass(frozen=True, slots=True)
class Finding:
    """So many rows, and where the first of them stand.

    >>> Finding(2, (Place(3, "line"), Place(9, "line"))).to_dict()
    {'count': 2, 'first': [3, 9]}
    """

    count: int = 0
    first: tuple[Place, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON; with several files each place is the name of its file and a number."""
        places: list[object] = [
            place.number if place.file is None else {"file": place.file, "number": place.number} for place in self.first
        ]
        return {"count": self.count, "first": places}


class Tally:
    """A finding in the making.

    >>> tally = Tally()
    >>> tally.add(np.array([False, True, True]), lambda row: Place(10 + row, "row"))
    >>> tally.finding.count, [place.number for place in tally.finding.first]
    (2, [11, 12])
    """

    def __init__(self) -> None:
        self._count = 0
        self._first: list[Place] = []

    def add(self, marks: npt.NDArray[np.bool_], place: Callable[[int], Place]) -> None:
        """Count the rows of a batch that are marked; `place` says where a row of it stands."""
        found = int(np.count_nonzero(marks))
        if found and len(self._first) < FIRST:
            rows = np.flatnonzero(marks)[: FIRST - len(self._first)]
            self._first += [place(int(row)) for row in rows]
        self._count += found

    @property
    def finding(self) -> Finding:
        """What was counted so far."""
        return Finding(self._count, tuple(self._first))
