"""One place that decides whether a declared value is a number in its range.

The three checks of a number take the name that a message calls it, what the user gave, and as `advice` the sentence
that says what to do instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, TypeGuard

from discreet.errors import SpecError, shown, written


def positive(name: str, value: object, *, advice: str) -> float:
    """Give `value` as a float if it is a number, finite and above zero.

    >>> positive("epsilon", 1, advice="take 1")
    1.0
    """
    number = _number(name, value, advice)
    # written as "not inside" so that NaN, which compares false with everything, is refused
    if not (0 < number < math.inf):
        raise SpecError(f"{name} = {number!r}; it must be finite and above 0; {advice}")
    return number


def within(name: str, value: object, low: float, high: float, *, advice: str) -> float:
    """Give `value` as a float if it is a number with low <= value <= high.

    >>> within("delta", 1e-6, 0.0, 0.5, advice="take 1e-6")
    1e-06
    """
    number = _number(name, value, advice)
    if not (low <= number <= high):
        raise SpecError(f"{name} = {number!r}; allowed: from {low:g} to {high:g}; {advice}")
    return number


def probability_below_one(name: str, value: object, *, advice: str) -> float:
    """Give `value` as a float if it is a number with 0 <= value < 1.

    >>> probability_below_one("delta", 0, advice="take 1e-6")
    0.0
    """
    number = _number(name, value, advice)
    if not (0 <= number < 1):
        raise SpecError(f"{name} = {number!r}; allowed: at least 0 and below 1; {advice}")
    return number


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a Python number; a boolean is none, although Python counts with it.

    Examples
    --------
    >>> is_number(1.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a Python integer; a boolean is none, although Python counts with it.

    Examples
    --------
    >>> is_integer(1), is_integer(True), is_integer(1.0)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool)


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False, although Python may count it as one of them.

    Examples
    --------
    >>> check_flag("clip_counts", False)
    """
    if not isinstance(value, bool):
        raise SpecError(f"{name}: expected true or false, got {written(value)}")


def listed(given: object) -> list[Any] | None:
    """The entries of a list or of anything else that can be gone through; none for text, or where that fails.

    Examples
    --------
    >>> listed(("a", "b")), listed("ab"), listed(5)
    (['a', 'b'], None, None)
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return None
    try:
        return list(given)
    except Exception:  # an array without dimensions, or an object of somebody's own making
        return None


def exact_fields(what: str, mapping: object, fields: Iterable[str]) -> Mapping[str, object]:
    """Give `mapping` back if its keys are exactly `fields`; nothing missing, nothing unknown.

    The message calls it `what`; it was read from JSON or TOML.

    >>> exact_fields("budget", {"epsilon": 1.0}, ["epsilon"])
    {'epsilon': 1.0}
    """
    names = list(fields)
    known = known_fields(what, mapping, names)
    missing = [name for name in names if name not in known]
    if missing:
        raise SpecError(f"{what} lacks {', '.join(missing)}; it needs {', '.join(names)}")
    return known


def known_fields(what: str, mapping: object, fields: Iterable[str]) -> Mapping[str, object]:
    """Give `mapping` back if it is a mapping whose keys are all among `fields`.

    >>> known_fields("unit", {}, ["neighbours"])
    {}
    """
    if not isinstance(mapping, Mapping):
        raise SpecError(f"{what} is {written(mapping)}; it must be a table of named values; write name = value pairs")
    names = list(fields)
    for key in mapping:
        if key not in names:
            raise SpecError.unknown_name(f"{what} field", key, names)
    return mapping


def _number(name: str, value: object, advice: str) -> float:
    # bool is an int to Python, but True is not an amount of privacy
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SpecError(f"{name} = {shown(value)} is not a number; {advice}")
    try:
        return float(value)
    except OverflowError:
        # an integer beyond every float; infinity is refused by every caller, whatever the sign was
        return math.inf
