"""Coefficients by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from discreet.errors import SpecError
from discreet.releases import FloatArray


class Parameters(Mapping[str, float]):
    """A read-only, ordered table of coefficient name to value; `np.asarray` gives the values.

    >>> Parameters(["Intercept", "age"], [1.5, -0.25])
    Intercept    1.5
    age        -0.25
    """

    __slots__ = ("_values",)

    def __init__(self, names: Sequence[str], values: Sequence[float]) -> None:
        self._values = dict(zip(names, map(float, values), strict=True))

    def __getitem__(self, name: str) -> float:
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(str(SpecError.unknown_name("coefficient", str(name), self._values))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        return np.array(list(self._values.values()), dtype=dtype)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """One aligned line for each coefficient, to six digits."""
        numbers = [f"{value:.6g}" for value in self._values.values()]
        wide = max(map(len, self._values))
        digits = max(map(len, numbers))
        return [f"{name:<{wide}}  {number:>{digits}}" for name, number in zip(self._values, numbers, strict=True)]
