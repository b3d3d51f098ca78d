"""Check that a declared value is a number in its range.

Each check of a number takes the name used in the message, the value, and `advice`: what to do instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, TypeGuard

from discreet.errors import OptionError, shown, written


def positive(name: str, value: object, *, advice: str) -> float:
    """Return `value` as a float if it is a finite number above 0.

    >>> positive("epsilon", 1, advice="take 1")
    1.0
    """
    number = _number(name, value, advice)
    # negated so that NaN is rejected, for which every comparison is false
    if not (0 < number < math.inf):
        raise OptionError(
            f"{name} = {number!r}; it must be finite and above 0",
            option=name,
            given=number,
            allowed="a finite number above 0",
            remedy=advice,
        )
    return number


def within(name: str, value: object, low: float, high: float, *, advice: str) -> float:
    """Return `value` as a float if it is a number with low <= value <= high.

    >>> within("delta", 1e-6, 0.0, 0.5, advice="take 1e-6")
    1e-06
    """
    number = _number(name, value, advice)
    if not (low <= number <= high):
        raise OptionError(
            f"{name} = {number!r}; allowed: from {low:g} to {high:g}",
            option=name,
            given=number,
            allowed=f"a number from {low:g} to {high:g}",
            remedy=advice,
        )
    return number


def probability_below_one(name: str, value: object, *, advice: str) -> float:
    """Return `value` as a float if it is a number with 0 <= value < 1.

    >>> probability_below_one("delta", 0, advice="take 1e-6")
    0.0
    """
    number = _number(name, value, advice)
    if not (0 <= number < 1):
        raise OptionError(
            f"{name} = {number!r}; allowed: at least 0 and below 1",
            option=name,
            given=number,
            allowed="a number from 0 to below 1",
            remedy=advice,
        )
    return number


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a Python number other than a boolean.

    >>> is_number(1.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is a Python integer other than a boolean.

    >>> is_integer(1), is_integer(True), is_integer(1.0)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool)


def check_flag(name: str, value: object) -> None:
    """Reject a value that is neither True nor False.

    >>> check_flag("clip_counts", False)
    """
    if not isinstance(value, bool):
        raise OptionError(
            f"{name}: expected true or false, got {written(value)}",
            option=name,
            given=value,
            allowed=("true", "false"),
        )


def listed(given: object) -> list[Any] | None:
    """Return the entries of an iterable as a list, or None for text and for what cannot be iterated.

    >>> listed(("a", "b")), listed("ab"), listed(5)
    (['a', 'b'], None, None)
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return None
    try:
        return list(given)
    except Exception:  # a zero-dimensional array, or an object whose iteration fails
        return None


def exact_fields(what: str, mapping: object, fields: Iterable[str]) -> Mapping[str, object]:
    """Return `mapping` if its keys are exactly `fields`.

    `what` is the name of the mapping in the message.

    >>> exact_fields("budget", {"epsilon": 1.0}, ["epsilon"])
    {'epsilon': 1.0}
    """
    names = list(fields)
    known = known_fields(what, mapping, names)
    missing = [name for name in names if name not in known]
    if missing:
        raise OptionError(
            f"{what} lacks {', '.join(missing)}; it needs {', '.join(names)}", code="missing-fields", allowed=names
        )
    return known


def known_fields(what: str, mapping: object, fields: Iterable[str]) -> Mapping[str, object]:
    """Return `mapping` if it is a mapping whose keys are all in `fields`.

    >>> known_fields("unit", {}, ["neighbours"])
    {}
    """
    if not isinstance(mapping, Mapping):
        raise OptionError(
            f"{what} is {written(mapping)}; it must be a table of named values",
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
    # bool is an int to Python, but True is not an amount of privacy
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(
            f"{name} = {shown(value)} is not a number", option=name, given=value, allowed="a number", remedy=advice
        )
    try:
        return float(value)
    except OverflowError:
        # an integer beyond the float range; every caller rejects infinity
        return math.inf
