"""What callers may give: public numbers are refused by value, data are refused without a word about their values."""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Final, cast, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, SpecError
from discreet.privacy.checks import positive, within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.unit import Neighbours, PrivacyUnit

EPSILON_LOWEST: Final = 1e-9
EPSILON_HIGHEST: Final = 1e6
_ALONE: Final = "no other release is made from the same data (the losses of several add up)"


def checked_epsilon(epsilon: object) -> float:
    """An epsilon from 1e-9 to 1e6.

    >>> checked_epsilon(1)
    1.0
    """
    return within("epsilon", epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice="take an epsilon between 0.1 and 8")


def checked_level(level: object) -> float:
    """A level of confidence from 0.5 to 1 - 1e-9.

    >>> checked_level(0.95)
    0.95
    """
    return within("level", level, 0.5, 1 - 1e-9, advice="take 0.95")


def checked_neighbours(neighbours: str) -> Neighbours:
    """One of the two relations.

    >>> checked_neighbours("replace")
    'replace'
    """
    if neighbours not in get_args(Neighbours):
        raise SpecError.unknown_name("neighbours", str(neighbours), get_args(Neighbours))
    return cast("Neighbours", neighbours)


def public_fraction(name: str, value: object, *, zero: bool = False) -> Fraction:
    """A public number above 0 as an exact fraction; 0 too where `zero` says so.

    >>> public_fraction("sensitivity", 0.5)
    Fraction(1, 2)
    """
    if zero and isinstance(value, Real) and not isinstance(value, bool) and value == 0:
        return Fraction(0)
    positive(name, value, advice="give a finite number above 0 that is fixed without looking at the data")
    return _exact(value)


def public_count(name: str, value: object, highest: int | None = None) -> int:
    """A public whole number of at least 1.

    >>> public_count("sensitivity", 3)
    3
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if number >= 1 and (highest is None or number <= highest):
            return number
    end = "" if highest is None else f" and at most {highest}"
    raise SpecError(f"{name} = {value!r}; it must be a whole number, at least 1{end}; fix it without the data")


def data_fractions(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[Fraction]:
    """Data as exact fractions.

    >>> data_fractions("values", [0.5, 2])
    [Fraction(1, 2), Fraction(2, 1)]
    """
    try:
        return [_exact(value) for value in _flat(name, values)]
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} holds something that is no finite number; give numbers only") from None


def data_whole(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[int]:
    """Data as whole numbers.

    >>> data_whole("counts", [3, 0])
    [3, 0]
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
        return cast("list[int]", values.tolist())
    flat = _flat(name, values)
    if any(isinstance(value, bool) or not isinstance(value, int | np.integer) for value in flat):
        raise DataError(f"{name} holds something that is no whole number; give whole numbers only")
    return [int(value) for value in flat]


def data_floats(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Data as finite doubles.

    >>> data_floats("values", [1, 2.5])
    array([1. , 2.5])
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiub":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([_double(value) for value in _flat(name, values)])
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} holds something that is no finite number; fill or drop such entries by a public rule")
    return numbers


def public_length(name: str, values: object) -> int:
    """How many entries there are, at least 1, where that number is public.

    >>> public_length("counts", [4, 5])
    2
    """
    if isinstance(values, str | bytes) or not isinstance(values, Sized):
        raise DataError(f"{name} is not a list; give a list or a one-dimensional array")
    if len(values) < 1:
        raise SpecError(f"{name} is empty; give at least one entry")
    return len(values)


def promised(epsilon: float, delta: float, neighbours: Neighbours, *conditions: str) -> Guarantee:
    """The guarantee in the words that every release uses.

    >>> promised(1.0, 0.0, "replace").epsilon
    1.0
    """
    return Guarantee(epsilon, delta, PrivacyUnit(neighbours=neighbours), (*conditions, _ALONE))


def _flat(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Sized):
        raise DataError(f"{name} is not a list of numbers; give a list or a one-dimensional array")
    if getattr(values, "ndim", 1) != 1:
        raise DataError(f"{name} has more than one dimension; give a list or a one-dimensional array")
    return list(values)


def _exact(value: object) -> Fraction:
    if isinstance(value, bool | np.bool_):
        raise TypeError
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    # every bit of a number counts: a wider float rounded to a double could move by more than it changed
    if isinstance(value, float | np.floating):
        return Fraction(*value.as_integer_ratio())
    raise TypeError


def _double(value: object) -> float:
    """The nearest double; what is no number, or beyond the doubles, becomes NaN."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.nan
