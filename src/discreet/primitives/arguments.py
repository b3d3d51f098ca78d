"""Check the arguments of primitives, and format their results."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping, Sequence, Set, Sized
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, OptionError, PrivacyNotice, UnsupportedError, shown
from discreet.privacy.budget import Neighbours, PrivacyBudget, PrivacyUnit, check_strength
from discreet.privacy.checks import positive, within
from discreet.privacy.guarantee import Guarantee

# -- arguments ---------------------------------------------------------------------------------------------------------
# Errors about public arguments repeat the value. Errors about data never do.

# one or more numbers from any library
Values: TypeAlias = Real | float | np.number[Any] | np.bool_ | Sequence[Any] | npt.NDArray[Any]
EPSILON_LOWEST: Final = 1e-9
EPSILON_HIGHEST: Final = 1e6
_NO_OTHER_RELEASE: Final = "no other release is made from the same data (privacy losses add up)"


def checked_epsilon(epsilon: object) -> float:
    """Return epsilon as a float, after checking that it lies between 1e-9 and 1e6."""
    advice = "choose an epsilon between 0.1 and 8; above 20 weak privacy must be allowed explicitly"
    return within("epsilon", epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice=advice)


def checked_privacy(
    neighbours: object, epsilon: object, delta: float, allow_weak_privacy: object
) -> tuple[Neighbours, float]:
    """Check the neighbouring relation, epsilon and the strength of the guarantee. Return the first two.

    The public function must call this function directly, so that a warning refers to the user's line.
    """
    relation = checked_neighbours(neighbours)
    checked = checked_epsilon(epsilon)
    checked_strength(checked, delta, allow_weak_privacy, callers=2)
    return relation, checked


def checked_strength(epsilon: float, delta: float, allow_weak_privacy: object, *, callers: int = 1) -> None:
    """Reject a very weak guarantee unless it is explicitly allowed, and warn about a weak one.

    The warning refers to the user's line, which is `callers` function calls above this one.
    """
    for notice in check_strength(PrivacyBudget(epsilon, delta), checked_flag("allow_weak_privacy", allow_weak_privacy)):
        warnings.warn(notice, PrivacyNotice, stacklevel=2 + callers)


def checked_flag(name: str, value: object) -> bool:
    """Return an argument that must be a boolean. Other truthy or falsy values are rejected."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(option=name, given=value, allowed="True or False")
    return bool(value)


def checked_level(level: object) -> float:
    """Return a confidence level, after checking that it lies between 0.5 and 1 - 1e-9."""
    number = _double(level)
    if not 0.5 <= number <= 1 - 1e-9:
        raise OptionError(
            option="level", given=level, allowed="a number from 0.5 to 1 - 1e-9", remedy="choose for example 0.95"
        )
    return number


def checked_name(what: str, name: object, allowed: tuple[str, ...]) -> str:
    """Return `name`, after checking that it is one of the allowed names."""
    if not isinstance(name, str) or name not in allowed:
        raise OptionError.unknown_name(what, name, allowed, option=what)
    return name


def resolve_spelling(neighbours: object, neighbors: object) -> object:
    """Return the neighbouring relation, which may be given under either spelling or consistently under both."""
    if neighbors is None:
        return neighbours
    if isinstance(neighbors, str) and neighbours not in ("add-remove", neighbors):
        raise OptionError(
            f"expected the same value for both spellings, got neighbours = {shown(neighbours)} and neighbors = "
            f"{shown(neighbors)}",
            code="conflicting-options",
            option="neighbours",
            given=neighbours,
            remedy="pass only one of the two",
        )
    return neighbors


def as_sequence(values: Values) -> Sequence[Any] | npt.NDArray[Any]:
    """Wrap a single number or boolean in a list. Return anything else unchanged."""
    # check the type, because an object may misreport its __class__
    if issubclass(type(values), Real | np.number | np.bool_):
        return [values]
    return cast("Sequence[Any]", values)


def checked_neighbours(neighbours: object) -> Neighbours:
    """Return a neighbouring relation, after checking its name."""
    return cast("Neighbours", checked_name("neighbours", neighbours, get_args(Neighbours)))


def public_fraction(name: str, value: object, *, zero: bool = False) -> Fraction:
    """Return a public number as an exact fraction. It must be positive, or may be 0 if `zero` is true."""
    advice = "pass a finite number chosen without looking at the data"
    if zero:
        within(name, value, 0.0, sys.float_info.max, advice=advice)
    else:
        positive(name, value, advice=advice)
    return exact_number(value)


def public_count(name: str, value: object, highest: int | None = None) -> int:
    """Return a public integer, after checking that it is at least 1 and at most `highest`."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if number >= 1 and (highest is None or number <= highest):
            return number
    limit = "" if highest is None else f" and at most {highest}"
    allowed = f"an integer of at least 1{limit}, chosen without looking at the data"
    raise OptionError(option=name, given=value, allowed=allowed)


def data_fractions(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[Fraction]:
    """Convert data to exact fractions. Errors do not show the data."""
    _check_shape(name, values)
    try:
        return [exact_number(value) for value in values]
    except KeyboardInterrupt:
        raise
    except BaseException:  # an entry may be an arbitrary object that raises anything
        problem = DataError(
            f"{name} must contain only finite numbers, but has another value", option=name, remedy="pass numbers only"
        )
    raise problem


def data_integers(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[int]:
    """Convert data to integers. Errors do not show the data."""
    _check_shape(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return cast("list[int]", values.tolist())
    if not all(is_integer(value) and not issubclass(type(value), bool) for value in values):
        raise DataError(
            f"{name} must contain only integers, but has another value", option=name, remedy="pass integers only"
        )
    # read the number itself, because a subclass may override the conversion
    return [int.__int__(value) if issubclass(type(value), int) else int(value) for value in values]


def data_floats(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Convert data to finite doubles. Errors do not show the data."""
    _check_shape(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        # a long double outside the range of doubles becomes infinite and is rejected below
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float64)
    else:
        numbers = np.array([_double(value) for value in values], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(
            f"{name} must contain only finite numbers, but has another value",
            option=name,
            remedy="fill or drop such entries by a public rule",
        )
    return numbers


def public_length(name: str, values: object) -> int:
    """Return the number of entries, which is public and must be at least 1."""
    _check_shape(name, values)
    length = len(cast("Sized", values))
    if length < 1:
        raise OptionError(
            f"{name} must have at least one entry, got none",
            code="empty-values",
            option=name,
            remedy="pass at least one entry",
        )
    return length


def is_list(values: object) -> bool:
    """Return whether `values` is an ordered collection that may contain duplicates.

    >>> is_list([1, 1]), is_list({1, 1}), is_list("11")
    (True, False, False)
    """
    unordered = isinstance(values, str | bytes | bytearray | Mapping | Set)
    return isinstance(values, Sized) and not unordered and getattr(values, "ndim", 1) > 0


def is_integer(value: object) -> bool:
    """Return whether the type of a value is an integer or a boolean. NumPy durations are neither."""
    # check the type, because an object may misreport its __class__
    kind = type(value)
    return issubclass(kind, int | np.integer) and not issubclass(kind, np.timedelta64)


def guarantee_for(epsilon: float, delta: float, neighbours: Neighbours, *conditions: str) -> Guarantee:
    """Build the guarantee of a primitive. One of its conditions is that there is no other release."""
    return Guarantee(epsilon, delta, PrivacyUnit(neighbours=neighbours), (*conditions, _NO_OTHER_RELEASE))


def exact_number(value: object) -> Fraction:
    """Convert a finite number to the fraction that it represents.

    Raise TypeError, ValueError or OverflowError for anything else.
    """
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        raise TypeError
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    # keep every bit: rounding a wider float to a double could increase the sensitivity
    if isinstance(value, float | np.floating):
        return Fraction(*value.as_integer_ratio())
    raise TypeError


def _check_shape(name: str, values: object) -> None:
    if not is_list(values):
        raise DataError(
            f"{name} must be a list or a one-dimensional array", option=name, remedy="convert it to a list first"
        )
    if getattr(values, "ndim", 1) != 1:
        raise DataError(
            f"{name} must have one dimension, but has more", option=name, remedy="pass a one-dimensional array"
        )
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(
            f"{name} must not be a masked array, because its masked entries would be included",
            option=name,
            remedy="fill or drop masked entries by a public rule",
        )


def _double(value: object) -> float:
    """Return the nearest double, or NaN if a value is not a number or its conversion fails."""
    try:
        kind = type(value)
        is_number = issubclass(kind, Real) and not issubclass(kind, np.timedelta64)
        return float(cast("Real", value)) if is_number else math.nan
    except KeyboardInterrupt:
        raise
    except BaseException:  # an arbitrary object, as above
        return math.nan


# -- results -----------------------------------------------------------------------------------------------------------
# The single value of a result, and its one-line text.

Value = TypeVar("Value")
_MAX_SHOWN: Final = 4


def only_value(values: Sequence[Value], name: str = "values") -> Value:
    """Return the value of a result that has exactly one. `name` is the attribute that holds all values."""
    if len(values) != 1:
        raise UnsupportedError(
            f"expected a result with one value, got {len(values)} values",
            code="several-values",
            remedy=f"use .{name} instead",
        )
    return values[0]


def result_repr(kind: str, values: Sequence[object], noise: str, guarantee: Guarantee) -> str:
    """Format a result on one line, with its first values, their noise and the guarantee.

    >>> from discreet.primitives.arguments import guarantee_for
    >>> result_repr("NoisyIntegers", (12, 7, 9, 4, 1), "scale 2", guarantee_for(0.5, 0.0, "add-remove"))
    '<NoisyIntegers 12, 7, 9, 4, ... (5 values), scale 2: epsilon=0.5, add-remove>'
    """
    text = ", ".join(short_number(value) for value in values[:_MAX_SHOWN])
    more = f", ... ({len(values)} values)" if len(values) > _MAX_SHOWN else ""
    delta = f", delta={guarantee.delta:g}" if guarantee.delta else ""
    return f"<{kind} {text}{more}, {noise}: epsilon={guarantee.epsilon:g}{delta}, {guarantee.neighbours}>"


def short_number(value: object) -> str:
    """Format a float to six digits, and any other value as in an error message."""
    return f"{value:.6g}" if type(value) is float else shown(value)
