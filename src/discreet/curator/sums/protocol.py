"""What rows are summed into, and the exact sums: handed to a mechanism and to nothing else."""

from __future__ import annotations

from typing import NoReturn, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray


class Sums(Protocol):
    """What rows are summed into."""

    def add(self, chunk: FloatArray) -> None:
        """Take a chunk of rows (1, x, y) in grid steps."""
        ...

    def totals(self) -> tuple[int, ...]:
        """The exact sums."""
        ...


@runtime_checkable
class PersonSums(Protocol):
    """Sums that treat the rows of one person together."""

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Take a chunk of whole persons, whose rows are together from each of `starts` on."""
        ...


class Moments:
    """Exact sums of products of the grid rows (1, x, y). Sensitive: handed to a mechanism and to nothing else.

    It adds, and that is all it does: it does not print, compare, copy, pickle or serialise its numbers, and is no
    dataclass, whose fields any tool can list. Parts of one table add up if no person is in two of them.

    Attributes
    ----------
    totals
        Upper triangle, row by row, in steps of the product grid.
    grid_bits
        Steps per scaled unit, as a power of two.
    units
        Number of rows, or of persons, in the table; also sensitive unless the neighbouring relation makes it public.
    clipped
        Number of rows that count in which each numeric column was clipped, where that was asked for.
    """

    __slots__ = ("clipped", "grid_bits", "totals", "units")

    totals: tuple[int, ...]
    grid_bits: int
    units: int
    clipped: tuple[int, ...]

    def __init__(self, totals: tuple[int, ...], grid_bits: int, units: int, clipped: tuple[int, ...] = ()) -> None:
        _set = object.__setattr__
        _set(self, "totals", totals)
        _set(self, "grid_bits", grid_bits)
        _set(self, "units", units)
        _set(self, "clipped", clipped)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("moments cannot be changed; add them up instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("moments cannot be changed; add them up instead")

    def __add__(self, other: Moments) -> Moments:
        sizes = [(part.grid_bits, len(part.totals), len(part.clipped)) for part in (self, other)]
        if sizes[0] != sizes[1]:
            raise SpecError("these moments have different grids or columns; only moments of one design add up")
        totals = tuple(a + b for a, b in zip(self.totals, other.totals, strict=True))
        clipped = tuple(a + b for a, b in zip(self.clipped, other.clipped, strict=True))
        return Moments(totals, self.grid_bits, self.units + other.units, clipped)

    def __reduce__(self) -> NoReturn:
        raise TypeError("moments are sensitive and are never serialised; publish a release instead")

    # without it Python would list the slots
    __getstate__ = __reduce__

    def __repr__(self) -> str:
        return "<Moments: sensitive, not shown>"
