"""What rows are summed into, and the exact sums: handed to a mechanism and to nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray, IntArray


class Sums(Protocol):
    """What rows are summed into."""

    @property
    def unit(self) -> int:
        """Steps of the totals in one scaled unit of what is summed."""
        ...

    def empty(self) -> Self:
        """Sums of the same kind, with the same settings and without rows: those of another worker."""
        ...

    def add(self, chunk: FloatArray) -> None:
        """Take a chunk of rows (1, x, y) in grid steps."""
        ...

    def totals(self) -> tuple[int, ...]:
        """The exact sums."""
        ...


class MadeAnew:
    """Gives a new one without rows, from the arguments that this one was made with; they must not change."""

    _made_from: tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]

    def __new__(cls, *given: Any, **named: Any) -> Self:  # noqa: ANN401  # whatever sums are made from
        """Remember the arguments."""
        made = super().__new__(cls)
        made._made_from = given, tuple(named.items())
        return made

    def empty(self) -> Self:
        """Sums of the same kind, with the same settings and without rows."""
        given, named = self._made_from
        return type(self)(*given, **dict(named))


@runtime_checkable
class PersonSums(Protocol):
    """Sums that treat the rows of one person together."""

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Take a chunk of whole persons, whose rows are together from each of `starts` on."""
        ...


@runtime_checkable
class CellSums(Protocol):
    """Sums that are too many for integers one by one: counts by cell, as an array."""

    def cells(self) -> IntArray:
        """The exact counts."""
        ...


@runtime_checkable
class SettledSums(Protocol):
    """Sums over rows of settled cells, before all bounds are known; all others are over rows (1, x, y)."""

    @property
    def searched(self) -> tuple[str, ...]:
        """The columns whose bounds are to be found."""
        ...


@runtime_checkable
class RecodedSums(Protocol):
    """Sums over rows that are written anew: this pass sums the new rows, and later passes see them alone."""

    @property
    def recoded_size(self) -> int:
        """Number of integers in a new row."""
        ...

    def recoded(self, chunk: FloatArray) -> FloatArray:
        """The new rows of a chunk of rows (1, x, y): integers of 32 bits, each row a function of its own old row."""
        ...


class Totals:
    """Exact sums over the rows of a table. Sensitive: handed to a mechanism and to nothing else.

    They add, and that is all they do: they do not print, compare, copy, pickle or serialise their numbers, and are no
    dataclass, whose fields any tool can list. Parts of one table add up if no person is in two of them.

    Attributes
    ----------
    values
        The sums, in integer steps, in the order that their kind of sum states.
    unit
        Steps in one scaled unit: what a total is worth is `value / unit`.
    count
        Number of rows, or of persons, in the table; also sensitive unless the neighbouring relation makes it public.
    clipped
        Number of rows that count in which each numeric column was clipped, where that was asked for.
    fitting
        Number of rows that count, and number of rows that a rule drops; of one person no more than its cap in both
        together, those that count first.
    cells
        Counts by cell, of sums that have them.
    """

    __slots__ = ("cells", "clipped", "count", "fitting", "unit", "values")

    values: tuple[int, ...]
    unit: int
    count: int
    clipped: tuple[int, ...]
    fitting: tuple[int, int]
    cells: IntArray | None

    def __init__(
        self,
        values: tuple[int, ...],
        unit: int,
        count: int,
        clipped: tuple[int, ...] = (),
        fitting: tuple[int, int] = (0, 0),
        cells: IntArray | None = None,
    ) -> None:
        _set = object.__setattr__
        _set(self, "values", values)
        _set(self, "unit", unit)
        _set(self, "count", count)
        _set(self, "clipped", clipped)
        _set(self, "fitting", fitting)
        _set(self, "cells", cells)

    def on_grid(self, unit: int) -> tuple[int, ...]:
        """The values in steps of a grid as fine or finer, on which noise is added: `unit` steps in one scaled unit."""
        finer, rest = divmod(unit, self.unit)
        if rest or not finer:
            raise SpecError(f"expected a grid with a multiple of {self.unit} steps in one scaled unit, got {unit}")
        return self.values if finer == 1 else tuple(value * finer for value in self.values)  # [P:finer-grid]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("totals cannot be changed; add them up instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("totals cannot be changed; add them up instead")

    def __add__(self, other: Totals) -> Totals:
        sizes = [(part.unit, len(part.values), len(part.clipped), _shape(part.cells)) for part in (self, other)]
        if sizes[0] != sizes[1]:
            raise SpecError("these totals have different units or columns; only totals of one design add up")
        values = tuple(a + b for a, b in zip(self.values, other.values, strict=True))  # [P:parts-add-up]
        clipped = tuple(a + b for a, b in zip(self.clipped, other.clipped, strict=True))
        fitting = self.fitting[0] + other.fitting[0], self.fitting[1] + other.fitting[1]
        cells = None if self.cells is None or other.cells is None else self.cells + other.cells
        return Totals(values, self.unit, self.count + other.count, clipped, fitting, cells)

    def __reduce__(self) -> NoReturn:
        raise TypeError("totals are sensitive and are never serialised; publish a release instead")

    # without it Python would list the slots
    __getstate__ = __reduce__

    def __repr__(self) -> str:
        return "<Totals: sensitive, not shown>"


def _shape(cells: IntArray | None) -> tuple[int, ...]:
    return () if cells is None else cells.shape


def common_unit(parts: Sequence[Sums]) -> int:
    """The unit of sums that are taken in one pass, which must be one and the same."""
    units = {part.unit for part in parts}
    if len(units) != 1:
        raise SpecError(f"expected sums in one unit, got {len(units)} units")
    return units.pop()
