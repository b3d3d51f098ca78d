"""Coefficients by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from discreet.analyst.values.estimates import ByName, Number, shown_value


class Parameters(ByName[Number]):
    """A read-only, ordered table of coefficient name to value; `np.asarray` gives the values.

    Names that are `weak` have numbers that the release does not bound; they are shown in brackets, to two digits.

    >>> Parameters(["Intercept", "age", "height"], [1.5, -0.25, 3.14159], weak=["height"])
    Intercept    1.5
    age        -0.25
    height     [3.1]
    """

    __slots__ = ("_weak",)

    def __init__(self, names: Sequence[str], values: Sequence[Number], weak: Collection[str] = ()) -> None:
        super().__init__(names, values)
        self._weak = frozenset(weak)

    def _like(self, names: Sequence[str], values: Sequence[Number]) -> Parameters:
        return Parameters(names, values, self._weak)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """One aligned line for each coefficient, to six digits."""
        numbers = [self._shown(name, value) for name, value in self.items()]
        wide = max(map(len, self), default=0)
        digits = max(map(len, numbers), default=0)
        return [f"{name:<{wide}}  {number:>{digits}}" for name, number in zip(self, numbers, strict=True)]

    def _shown(self, name: str, value: Number) -> str:
        return shown_value(value, weak=name in self._weak)
