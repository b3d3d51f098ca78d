"""What another program needs to sum rows where they are, and what its workers hand back.

Exact sums add up, so an engine is anything that calls `summed` on parts of a table and adds what they give. Noise is
drawn by the release alone, after the sums of all parts are there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import add as add_totals
from typing import Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.protocol import Sums, Totals
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import DataError
from discreet.tables.frames import Origin

# bytes of one exact sum between workers: far beyond what any number of rows can reach
_WIDTH: Final = 32
# given rows as columns of integers, and which of them are the first of a person
TakeRows: TypeAlias = Callable[[npt.NDArray[np.bool_], npt.NDArray[np.int32]], None]


@dataclass(frozen=True, slots=True)
class Work:
    """What every worker knows: public declarations, and nothing of any row.

    Attributes
    ----------
    design, domain
        What the rows mean, and the grid they are put on.
    chunk_rows
        Rows that are multiplied at a time; cannot change the result.
    clip_counts
        Whether the rows in which a column was clipped are counted, too.
    digest
        Whether the rows are digested as they are read.
    """

    design: Design
    domain: RowDomain
    chunk_rows: int
    clip_counts: bool = False
    digest: bool = False

    @property
    def marks(self) -> int:
        """How many marks of clipped cells follow the values of a row of a person."""
        counted = self.clip_counts and self.design.unit.id is not None and not self.design.searched
        return len(self.design.clippable) if counted else 0


@runtime_checkable
class Engine(Protocol):
    """A table whose rows are read and summed by another program: it stands in place of a source."""

    @property
    def origin(self) -> Origin | None:
        """What the rows themselves depend on."""
        ...

    @property
    def read_as(self) -> Mapping[str, object]:
        """How its rows are read, as a ledger keeps it."""
        ...

    @property
    def fingerprint(self) -> Callable[[bytes], str] | None:
        """None: only rows that are read can be digested."""
        ...

    def sum_rows(self, work: Work, sums: Sums) -> PartSums:
        """Sum all rows exactly, of each person no more than count."""
        ...

    def set_aside(self, work: Work, take: TakeRows) -> PartSums:
        """Hand on all rows that count, those of a person together and in one call or the next; give their counts."""
        ...


class PartSums:
    """Exact sums over some parts of a table, as a worker hands them on. Sensitive: to the curator's own driver only.

    Parameters
    ----------
    totals
        Sums and counts of the parts.
    digest
        Sum of the digests of their rows, of which the ledger keeps a keyed hash; 0 where rows are not digested.
    parts
        Numbers of the parts, by which one that is missing or counted twice is seen.

    Examples
    --------
    >>> one = PartSums(Totals((3, -4), 8, 2, (), (2, 0)), 5, (0,))
    >>> both = one + PartSums.unpacked(PartSums(Totals((1, 1), 8, 1, (), (1, 0)), 6, (1,)).packed())
    >>> both.totals.values, both.totals.count, both.digest, both.parts
    ((4, -3), 3, 11, (0, 1))
    """

    __slots__ = ("digest", "parts", "totals")

    def __init__(self, totals: Totals, digest: int = 0, parts: Sequence[int] = ()) -> None:
        self.totals = totals
        self.digest = digest
        self.parts = tuple(parts)

    def __add__(self, other: PartSums) -> PartSums:
        return PartSums.added([self, other])

    def __repr__(self) -> str:
        return "<PartSums: sensitive, not shown>"

    @classmethod
    def added(cls, found: Sequence[PartSums]) -> PartSums:
        """Several at once; their numbers of parts are joined once.

        >>> PartSums.added([PartSums(Totals((1,), 8, 1), parts=(part,)) for part in range(3)]).parts
        (0, 1, 2)
        """
        totals = reduce(add_totals, (one.totals for one in found))
        return cls(totals, sum(one.digest for one in found), tuple(chain.from_iterable(one.parts for one in found)))

    def packed(self) -> bytes:
        """The numbers as bytes, for the way from one worker of the curator to another."""
        totals, cells = self.totals, self.totals.cells
        head = {
            "unit": totals.unit,
            "count": totals.count,
            "clipped": totals.clipped,
            "fitting": totals.fitting,
            "digest": self.digest,
            "parts": self.parts,
            "values": len(totals.values),
            "cells": None if cells is None else cells.shape,
        }
        values = b"".join(value.to_bytes(_WIDTH, "big", signed=True) for value in totals.values)
        counts = b"" if cells is None else np.ascontiguousarray(cells, dtype="<i8").tobytes()
        return json.dumps(head).encode() + b"\n" + values + counts

    @classmethod
    def unpacked(cls, body: bytes) -> PartSums:
        """What `packed` made bytes of."""
        line, _, rest = body.partition(b"\n")
        head = json.loads(line)
        end = head["values"] * _WIDTH
        values = tuple(
            int.from_bytes(rest[start : start + _WIDTH], "big", signed=True) for start in range(0, end, _WIDTH)
        )
        shape = head["cells"]
        cells = None if shape is None else np.frombuffer(rest[end:], dtype="<i8").astype(np.int64).reshape(shape)
        clipped, (fitting, other) = tuple(head["clipped"]), head["fitting"]
        totals = Totals(values, head["unit"], head["count"], clipped, (fitting, other), cells)
        return cls(totals, head["digest"], head["parts"])

    def check_complete(self) -> None:
        """Refuse sums in which a part of the table is missing or counted twice."""
        if sorted(self.parts) != list(range(len(self.parts))):  # [P:all-parts-once]
            raise DataError(
                "a part of the table was lost or summed twice, so there are no sums of it; nothing was released. "
                "Run it again, from a table that does not change meanwhile"
            )
