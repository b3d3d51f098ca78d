"""Exact counts of the rows of a table, which are passed along with its sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Self

from discreet.accounting.noise_distribution import CLIPPED, GUARD
from discreet.errors import SpecError


class Sensitive:
    """Base class of immutable values that only a mechanism receives.

    They cannot be printed, compared, copied, pickled or serialised. They are not dataclasses, because any tool can list
    the fields of a dataclass.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("totals cannot be changed; add two totals instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("totals cannot be changed; add two totals instead")

    def __reduce__(self) -> NoReturn:
        raise TypeError("totals are sensitive and are never serialised; publish a release instead")

    # otherwise the default method would return the slots
    __getstate__ = __reduce__

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, not shown>"


class RowCounts(Sensitive):
    """Exact counts of the rows of a table. Counts of parts of a table add up if no individual is in two parts.

    Every other function passes all counts on together, so a new count needs a slot here and code that counts it.

    Attributes
    ----------
    units
        Number of rows or of individuals in the table. It is sensitive unless the neighbouring relation makes it public.
    fitting
        Number of included rows, and number of rows that a rule drops. Of each individual, only as many rows are counted
        as the cap allows, included rows before dropped rows.
    clipped
        Number of included rows in which each numeric column was clipped, if requested.
    """

    __slots__ = ("clipped", "fitting", "units")

    units: int
    fitting: tuple[int, int]
    clipped: tuple[int, ...]

    def __init__(self, units: int = 0, fitting: tuple[int, int] = (0, 0), clipped: tuple[int, ...] = ()) -> None:
        _set = object.__setattr__
        _set(self, "units", units)
        _set(self, "fitting", fitting)
        _set(self, "clipped", clipped)

    @property
    def by_block(self) -> Mapping[str, tuple[int, ...]]:
        """Counts that can be released with the first pass, by their block of the noise distribution."""
        return {GUARD: self.fitting, CLIPPED: self.clipped}

    def replaced(self, **changes: Any) -> Self:  # noqa: ANN401  # the slots
        """Copy the counts with some of them replaced."""
        return type(self)(**{name: changes.get(name, getattr(self, name)) for name in self.__slots__})

    def raised(self, by: int) -> Self:
        """Copy the counts with every number except `units` raised, as if the same units had more rows."""
        return self.replaced(
            **{name: tuple(one + by for one in getattr(self, name)) for name in self.__slots__ if name != "units"}
        )

    def packed(self) -> dict[str, object]:
        """Return the counts as JSON values, for another worker of the same curator."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> Self:
        """Read the values that `packed` returned."""
        counts: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in packed.items()}
        return cls(**counts)

    def __add__(self, other: Self) -> Self:
        if len(self.clipped) != len(other.clipped):
            raise SpecError("totals can be added only if they have equal units and columns; use totals of one design")
        return type(self)(**{name: _sum(getattr(self, name), getattr(other, name)) for name in self.__slots__})


def _sum(one: Any, other: Any) -> Any:  # noqa: ANN401  # a number, or numbers of equal length
    return one + other if isinstance(one, int) else tuple(a + b for a, b in zip(one, other, strict=True))
