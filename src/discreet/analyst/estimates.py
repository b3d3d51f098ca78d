"""Values by coefficient name, some of which the budget cannot give: `NotEstimable` is a value, never NaN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from discreet.analyst.solve import NotEstimableError
from discreet.errors import SpecError
from discreet.releases import FloatArray


@dataclass(frozen=True, slots=True, repr=False)
class NotEstimable:
    """What stands in the place of a number that the release cannot give; it is false, and says why.

    >>> NotEstimable("the noise is too large")
    not estimable: the noise is too large
    >>> bool(NotEstimable("the noise is too large"))
    False
    """

    reason: str

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"not estimable: {self.reason}"


Number: TypeAlias = float | NotEstimable
Interval: TypeAlias = tuple[float, float] | NotEstimable
Value = TypeVar("Value", bound=float | tuple[float, float] | NotEstimable)


class ByName(Mapping[str, Value]):
    """A read-only, ordered table of name to value; `np.asarray` gives the numbers if every one is estimable.

    >>> ByName(["Intercept", "age"], [0.25, NotEstimable("too much noise")])
    Intercept  0.25
    age        not estimable: too much noise
    """

    __slots__ = ("_values",)

    def __init__(self, names: Sequence[str], values: Sequence[Value]) -> None:
        self._values = dict(zip(names, values, strict=True))

    def __getitem__(self, name: str) -> Value:
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(str(SpecError.unknown_name("coefficient", str(name), self._values))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        for name, value in self._values.items():
            if isinstance(value, NotEstimable):
                raise NotEstimableError(f"{name}: {value}")
        return np.array(list(self._values.values()), dtype=dtype)

    def __repr__(self) -> str:
        wide = max(map(len, self._values))
        return "\n".join(f"{name:<{wide}}  {_shown(value)}" for name, value in self._values.items())


def _shown(value: float | tuple[float, float] | NotEstimable) -> str:
    if isinstance(value, NotEstimable):
        return str(value)
    if isinstance(value, tuple):
        return f"{value[0]:.6g} to {value[1]:.6g}"
    return f"{value:.6g}"
