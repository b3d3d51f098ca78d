"""What callers may give: public numbers are refused by value, data are refused without a word about their values."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping, Sequence, Set, Sized
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Final, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, PrivacyNotice, SpecError, shown
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.checks import positive, within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.unit import Neighbours, PrivacyUnit

# one number or several, of whatever library
Values: TypeAlias = Real | float | np.number[Any] | np.bool_ | Sequence[Any] | npt.NDArray[Any]
EPSILON_LOWEST: Final = 1e-9
EPSILON_HIGHEST: Final = 1e6
_ALONE: Final = "no other release is made from the same data (privacy losses add up)"


def checked_epsilon(epsilon: object) -> float:
    """An epsilon from 1e-9 to 1e6.

    >>> checked_epsilon(1)
    1.0
    """
    advice = "choose an epsilon between 0.1 and 8; a release above 20 needs allow_weak_privacy=True"
    return within("epsilon", epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice=advice)


def checked_promise(
    neighbours: object, epsilon: object, delta: float, allow_weak_privacy: object
) -> tuple[Neighbours, float]:
    """The relation and the epsilon of a promise that is strong enough.

    To be called by the function that a user calls, so that a notice names the user's line.

    >>> checked_promise("replace", 1, 0.0, allow_weak_privacy=False)
    ('replace', 1.0)
    """
    relation = checked_neighbours(neighbours)
    promise = checked_epsilon(epsilon)
    checked_strength(promise, delta, allow_weak_privacy, callers=2)
    return relation, promise


def checked_strength(epsilon: float, delta: float, allow_weak_privacy: object, *, callers: int = 1) -> None:
    """Refuse a promise that hides next to nothing unless it is meant; give notice of one that hides little.

    A notice names the user's line, which is `callers` functions above this one.

    >>> checked_strength(1.0, 0.0, allow_weak_privacy=False)
    """
    for notice in check_strength(PrivacyBudget(epsilon, delta), checked_flag("allow_weak_privacy", allow_weak_privacy)):
        warnings.warn(notice, PrivacyNotice, stacklevel=2 + callers)


def checked_flag(name: str, value: object) -> bool:
    """True or False, and nothing that only counts as one of them.

    >>> checked_flag("monotone", False)
    False
    """
    if not isinstance(value, bool | np.bool_):
        raise SpecError(f"{name} = {shown(value)}; allowed: True or False")
    return bool(value)


def checked_level(level: object) -> float:
    """A level of confidence from 0.5 to 1 - 1e-9.

    >>> checked_level(0.95)
    0.95
    """
    number = _double(level)
    if not 0.5 <= number <= 1 - 1e-9:
        raise SpecError(
            f"level = {shown(level)}; allowed: at least 0.5 and below 1, at most 1 - 1e-9; for instance 0.95"
        )
    return number


def checked_name(what: str, name: object, allowed: tuple[str, ...]) -> str:
    """One of the allowed names.

    >>> checked_name("method", "laplace", ("laplace", "squared-error"))
    'laplace'
    """
    if not isinstance(name, str) or name not in allowed:
        raise SpecError.unknown_name(what, name, allowed)
    return name


def either_spelling(neighbours: object, neighbors: object) -> object:
    """The relation by whichever spelling it was given; both only where they agree.

    >>> either_spelling("add-remove", "replace"), either_spelling("replace", None)
    ('replace', 'replace')
    """
    if neighbors is None:
        return neighbours
    if isinstance(neighbors, str) and neighbours not in ("add-remove", neighbors):
        raise SpecError(
            f"got neighbours = {shown(neighbours)} and neighbors = {shown(neighbors)}, two spellings of one thing; "
            "give one of them"
        )
    return neighbors


def one_or_many(values: Values) -> Sequence[Any] | npt.NDArray[Any]:
    """A single number, true or false as a list of one; whatever else was given as it is.

    >>> one_or_many(4.5), one_or_many([4, 5])
    ([4.5], [4, 5])
    """
    # by its type, as an object may answer anything when it is asked for its class
    if issubclass(type(values), Real | np.number | np.bool_):
        return [values]
    return cast("Sequence[Any]", values)


def checked_neighbours(neighbours: object) -> Neighbours:
    """One of the two relations.

    >>> checked_neighbours("replace")
    'replace'
    """
    return cast("Neighbours", checked_name("neighbours", neighbours, get_args(Neighbours)))


def public_fraction(name: str, value: object, *, zero: bool = False) -> Fraction:
    """A public number above 0 as an exact fraction; 0 too where `zero` says so.

    >>> public_fraction("sensitivity", 0.5)
    Fraction(1, 2)
    """
    advice = "give a finite number that is fixed without looking at the data"
    if zero:
        within(name, value, 0.0, sys.float_info.max, advice=advice)
    else:
        positive(name, value, advice=advice)
    return exact_number(value)


def public_count(name: str, value: object, highest: int | None = None) -> int:
    """A public integer of at least 1.

    >>> public_count("sensitivity", 3)
    3
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if number >= 1 and (highest is None or number <= highest):
            return number
    end = "" if highest is None else f" and at most {highest}"
    raise SpecError(f"{name} = {shown(value)}; expected an integer of at least 1{end}, fixed without the data")


def data_fractions(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[Fraction]:
    """Data as exact fractions.

    >>> data_fractions("values", [0.5, 2])
    [Fraction(1, 2), Fraction(2, 1)]
    """
    _refuse_other_shapes(name, values)
    try:
        return [exact_number(value) for value in values]
    except KeyboardInterrupt:
        raise
    except BaseException:  # an entry may be an object of somebody's own making, which may raise anything
        problem = DataError(f"{name} holds a value that is not a finite number; give numbers only")
    raise problem


def data_integers(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[int]:
    """Data as integers.

    >>> data_integers("counts", [3, 0])
    [3, 0]
    """
    _refuse_other_shapes(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return cast("list[int]", values.tolist())
    if not all(is_integer(value) and not issubclass(type(value), bool) for value in values):
        raise DataError(f"{name} holds a value that is not an integer; give integers only")
    # by the number itself, whatever a class of somebody's own makes of it
    return [int.__int__(value) if issubclass(type(value), int) else int(value) for value in values]


def data_floats(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Data as finite doubles.

    >>> data_floats("values", [1, 2.5])
    array([1. , 2.5])
    """
    _refuse_other_shapes(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        # a long double beyond the doubles becomes infinite, and is refused below
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float64)
    else:
        numbers = np.array([_double(value) for value in values], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} holds a value that is not a finite number; fill or drop such entries by a public rule")
    return numbers


def public_length(name: str, values: object) -> int:
    """How many entries there are, at least 1, where that number is public.

    >>> public_length("counts", [4, 5])
    2
    """
    _refuse_other_shapes(name, values)
    how_many = len(cast("Sized", values))
    if how_many < 1:
        raise SpecError(f"{name} is empty; give at least one entry")
    return how_many


def is_list(values: object) -> bool:
    """Whether the entries come in an order, each as often as it is there.

    >>> is_list([1, 1]), is_list({1, 1}), is_list("11")
    (True, False, False)
    """
    unordered = isinstance(values, str | bytes | bytearray | Mapping | Set)
    return isinstance(values, Sized) and not unordered and getattr(values, "ndim", 1) > 0


def is_integer(value: object) -> bool:
    """Whether an entry is an integer, true or false by its type; a duration of NumPy counts as one there.

    >>> is_integer(1), is_integer(1.0), is_integer(np.timedelta64(1, "s"))
    (True, False, False)
    """
    # by its type, as an object may answer anything when it is asked for its class
    kind = type(value)
    return issubclass(kind, int | np.integer) and not issubclass(kind, np.timedelta64)


def promised(epsilon: float, delta: float, neighbours: Neighbours, *conditions: str) -> Guarantee:
    """The guarantee in the words that every release uses.

    >>> promised(1.0, 0.0, "replace").epsilon
    1.0
    """
    return Guarantee(epsilon, delta, PrivacyUnit(neighbours=neighbours), (*conditions, _ALONE))


def exact_number(value: object) -> Fraction:
    """A number as the fraction that it is; what is no finite number raises an error of Python's own.

    >>> exact_number(0.25)
    Fraction(1, 4)
    """
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        raise TypeError
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    # every bit of a number counts: a wider float rounded to a double could move by more than it changed
    if isinstance(value, float | np.floating):
        return Fraction(*value.as_integer_ratio())
    raise TypeError


def _refuse_other_shapes(name: str, values: object) -> None:
    if not is_list(values):
        raise DataError(f"{name} is not a list; give a list or a one-dimensional array")
    if getattr(values, "ndim", 1) != 1:
        raise DataError(f"{name} has more than one dimension; give a list or a one-dimensional array")
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array, whose masked entries would be counted; fill or drop them by a public rule"
        )


def _double(value: object) -> float:
    """The nearest double; what is no number, or beyond the doubles, becomes NaN."""
    try:
        kind = type(value)
        is_number = issubclass(kind, Real) and not issubclass(kind, np.timedelta64)
        return float(cast("Real", value)) if is_number else math.nan
    except KeyboardInterrupt:
        raise
    except BaseException:  # as above
        return math.nan
