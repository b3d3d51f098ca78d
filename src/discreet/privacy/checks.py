"""Check declared values and their fields.

`name` and `what` are used in the error message, and `advice` becomes the remedy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, TypeGuard

from discreet.errors import OptionError, shown, written


def positive(name: str, value: object, *, advice: str) -> float:
    """Return `value` as a float if it is a finite number above 0."""
    number = _number(name, value, advice)
    # negated, so that NaN is rejected
    if not (0 < number < math.inf):
        raise OptionError(
            f"{name}: expected a finite number above 0, got {number!r}",
            option=name,
            given=number,
            allowed="a finite number above 0",
            remedy=advice,
        )
    return number


def within(name: str, value: object, low: float, high: float, *, advice: str) -> float:
    """Return `value` as a float if it is a number with low <= value <= high."""
    number = _number(name, value, advice)
    if not (low <= number <= high):
        raise OptionError(
            f"{name}: expected a number from {low:g} to {high:g}, got {number!r}",
            option=name,
            given=number,
            allowed=f"a number from {low:g} to {high:g}",
            remedy=advice,
        )
    return number


def probability_below_one(name: str, value: object, *, advice: str) -> float:
    """Return `value` as a float if it is a number with 0 <= value < 1."""
    number = _number(name, value, advice)
    if not (0 <= number < 1):
        raise OptionError(
            f"{name}: expected a number of at least 0 and below 1, got {number!r}",
            option=name,
            given=number,
            allowed="a number from 0 to below 1",
            remedy=advice,
        )
    return number


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a Python number other than a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is a Python integer other than a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_flag(name: str, value: object) -> None:
    """Reject a value that is neither True nor False."""
    if not isinstance(value, bool):
        raise OptionError(
            f"{name}: expected true or false, got {written(value)}",
            option=name,
            given=value,
            allowed=("true", "false"),
        )


def listed(values: object) -> list[Any] | None:
    """Return the entries of an iterable as a list, or None for text and for objects that cannot be iterated.

    >>> listed(("a", "b")), listed("ab"), listed(5)
    (['a', 'b'], None, None)
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return None
    try:
        return list(values)
    except Exception:  # a zero-dimensional array, or an object whose iteration fails
        return None


def exact_fields(what: str, mapping: object, fields: Iterable[str]) -> Mapping[str, object]:
    """Return `mapping` if its keys are exactly `fields`."""
    names = list(fields)
    table = known_fields(what, mapping, names)
    missing = [name for name in names if name not in table]
    if missing:
        raise OptionError(
            f"the {what} lacks {', '.join(missing)}; expected the fields {', '.join(names)}",
            code="missing-fields",
            allowed=names,
        )
    return table


def known_fields(what: str, mapping: object, fields: Iterable[str]) -> Mapping[str, object]:
    """Return `mapping` if it is a mapping whose keys are all in `fields`."""
    if not isinstance(mapping, Mapping):
        raise OptionError(
            f"{what}: expected a table of named values, got {written(mapping)}",
            given=mapping,
            allowed="a table of named values",
            remedy="write name = value pairs",
        )
    names = list(fields)
    for key in mapping:
        if key not in names:
            raise OptionError.unknown_name(f"{what} field", key, names)
    return mapping


def _number(name: str, value: object, advice: str) -> float:
    # bool is a subclass of int
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(
            f"{name}: expected a number, got {shown(value)}",
            option=name,
            given=value,
            allowed="a number",
            remedy=advice,
        )
    try:
        return float(value)
    except OverflowError:
        # an integer beyond the float range; every caller rejects infinity
        return math.inf
