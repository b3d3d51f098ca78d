"""Values by coefficient name, some of which the budget cannot give: `NotEstimable` is a value, never NaN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from discreet.analyst.values.confidence_sets import ConfidenceSet, any_value
from discreet.analyst.values.not_estimable import NotEstimable, NotEstimableError, missing_values, shown_number
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray


class NothingExcluded(NotEstimable):
    """The release was asked for something that it holds, and excludes no value: sets are "any value", p-values 1.

    >>> set_without(NothingExcluded("the sums are not positive definite")), p_without(NothingExcluded("no rows"))
    (any value, 1.0)
    """

    __slots__ = ()


Number: TypeAlias = float | NotEstimable
Interval: TypeAlias = ConfidenceSet | NotEstimable
Value = TypeVar("Value", bound=float | ConfidenceSet | NotEstimable)


def set_without(why: NotEstimable) -> Interval:
    """Give the set of a number that is not estimable: any value, or the reason where no set can be asked for."""
    return any_value(why.reason) if isinstance(why, NothingExcluded) else why


def p_without(why: NotEstimable) -> Number:
    """Give the p-value of a number that is not estimable: 1, or the reason where no test can be asked for."""
    return 1.0 if isinstance(why, NothingExcluded) else why


def number_without(why: NotEstimable) -> Number:
    """Give what stands for a number that is not estimable: the reason."""
    return why


def bounded(ends: Interval) -> bool:
    """Whether there is a set and it is an interval."""
    return isinstance(ends, ConfidenceSet) and ends.bounded


def unbounded(ends: Interval) -> bool:
    """Whether there is a set and it is no interval, so that the estimate says little."""
    return isinstance(ends, ConfidenceSet) and not ends.bounded


def shown_estimate(value: Number, ends: Interval) -> str:
    """Give an estimate to six digits, or in brackets and to two where the release does not bound it.

    >>> shown_estimate(1234.567, ConfidenceSet("interval", 0.0, 2e3)), shown_estimate(1234.567, any_value("noise"))
    ('1234.57', '[1200]')
    """
    return shown_value(value, weak=unbounded(ends))


def shown_value(value: Number, *, weak: bool) -> str:
    """Give a number to six digits, or in brackets and to two where it is weak."""
    return f"[{rough(value)}]" if weak and not isinstance(value, NotEstimable) else shown_number(value, ".6g")


def rough(value: float) -> str:
    """Give a number to two digits.

    >>> rough(-1234.5), rough(0.0678)
    ('-1200', '0.068')
    """
    return f"{float(f'{value:.2g}'):g}"


class ByName(Mapping[str, Value]):
    """A read-only, ordered table of name to value; `np.asarray` gives the numbers if every one is estimable.

    >>> ByName(["Intercept", "age"], [0.25, NotEstimable("too much noise")])
    Intercept  0.25
    age        not estimable: too much noise
    """

    __slots__ = ("_values",)

    def __init__(self, names: Sequence[str], values: Sequence[Value]) -> None:
        self._values = dict(zip(names, values, strict=True))

    @classmethod
    def alike(cls, names: Sequence[str], value: Value) -> ByName[Value]:
        """Give every name the same value."""
        return ByName(names, [value] * len(names))

    def __getitem__(self, name: str) -> Value:
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(str(SpecError.unknown_name("coefficient", name, self._values))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        for name, why in missing_values(self).items():
            raise NotEstimableError(f"{name}: {why}")
        values = self._values.values()
        return np.array([tuple(one) if isinstance(one, ConfidenceSet) else one for one in values], dtype=dtype)

    def __repr__(self) -> str:
        wide = max(map(len, self._values))
        return "\n".join(f"{name:<{wide}}  {_shown(value)}" for name, value in self._values.items())


def numbers_by_name(names: Sequence[str], values: FloatArray | NotEstimable) -> ByName[Number]:
    """Give each name its number, or each the reason why there are none."""
    if isinstance(values, NotEstimable):
        return ByName[Number].alike(names, values)
    return ByName(names, values.tolist())


def first_missing(values: ByName[Number]) -> NotEstimable | None:
    """Say of which name there is no number and why; nothing where every number is there."""
    return next((NotEstimable(f"{name}: {why.reason}") for name, why in missing_values(values).items()), None)


def _shown(value: float | ConfidenceSet | NotEstimable) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)
