"""Coefficients by name."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.analyst.estimates import ByName


class Parameters(ByName[float]):
    """A read-only, ordered table of coefficient name to value; `np.asarray` gives the values.

    >>> Parameters(["Intercept", "age"], [1.5, -0.25])
    Intercept    1.5
    age        -0.25
    """

    __slots__ = ()

    def __init__(self, names: Sequence[str], values: Sequence[float]) -> None:
        super().__init__(names, list(map(float, values)))

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """One aligned line for each coefficient, to six digits."""
        numbers = [f"{value:.6g}" for value in self.values()]
        wide = max(map(len, self))
        digits = max(map(len, numbers))
        return [f"{name:<{wide}}  {number:>{digits}}" for name, number in zip(self, numbers, strict=True)]
