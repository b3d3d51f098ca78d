"""Convert dates to days since 1970-01-01, and collect the problems of a design."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final

from discreet.errors import DesignError, DesignProblem, SpecError, written

# -- dates -------------------------------------------------------------------------------------------------------------
# Dates are days since 1970-01-01 in the proleptic Gregorian calendar of ISO 8601, for the years 1 to 9999.

MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EPOCH: Final = date(1970, 1, 1).toordinal()
FIRST_DAY: Final = 1 - _EPOCH
LAST_DAY: Final = date.max.toordinal() - _EPOCH
# an ISO 8601 date with hyphens, optionally followed by a time without a time zone
ISO: Final = r"^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)?$"
_ISO: Final = re.compile(ISO.removesuffix("$"), re.ASCII)


def is_date(value: object) -> bool:
    """Return whether a value is a `date` and not a `datetime`."""
    return isinstance(value, date) and not isinstance(value, datetime)


def day_of(day: date) -> int:
    """Return the number of days from 1970-01-01 to a date, ignoring any time of day."""
    return date.toordinal(day) - _EPOCH


def day_of_text(text: str) -> int | None:
    """Return the day number of an ISO 8601 date, or None for any other text.

    >>> day_of_text("1970-01-03"), day_of_text("1970-01-03T23:59:59"), day_of_text("3.1.1970")
    (2, 2, None)
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    try:
        return day_of(date(int(match[1]), int(match[2]), int(match[3])))
    except ValueError:
        return None


def date_text(day: float) -> str:
    """Format a day number as an ISO 8601 date."""
    return date.fromordinal(round(day) + _EPOCH).isoformat()


def declared_day(value: object, key: str) -> float:
    """Return the day number of a declared date, which is text in a release file."""
    day = day_of_text(value) if isinstance(value, str) and len(value) == len("1970-01-03") else None
    if is_date(value):
        day = day_of(value)  # type: ignore[arg-type]  # checked by is_date
    if day is None:
        raise SpecError(f"{key}: expected a date such as 2019-01-31, without a time, got {written(value)}")
    return float(day)


def dated(value: object) -> object:
    """Convert ISO 8601 text to dates, including inside lists and dictionaries."""
    if isinstance(value, list):
        return [dated(item) for item in value]
    if isinstance(value, dict):
        return {key: dated(item) for key, item in value.items()}
    return date.fromisoformat(value) if isinstance(value, str) and day_of_text(value) is not None else value


def months_between(first: float, last: float) -> tuple[int, ...]:
    """Return the calendar months that occur between two days, as sorted indices with January as 0.

    >>> months_between(day_of(date(2019, 11, 5)), day_of(date(2020, 1, 2)))
    (0, 10, 11)
    """
    start, end = (date.fromordinal(round(day) + _EPOCH) for day in (first, last))
    steps = (end.year - start.year) * 12 + end.month - start.month
    return tuple(sorted({(start.month - 1 + step) % 12 for step in range(min(steps, 11) + 1)}))


def weekdays_between(first: float, last: float) -> tuple[int, ...]:
    """Return the weekdays that occur between two days, as sorted indices with Monday as 0.

    >>> weekdays_between(day_of(date(2020, 1, 5)), day_of(date(2020, 1, 6)))
    (0, 6)
    """
    # 1970-01-01 was a Thursday
    return tuple(sorted({(round(first) + 3 + step) % 7 for step in range(min(round(last - first), 6) + 1)}))


# -- problems ----------------------------------------------------------------------------------------------------------
@dataclass
class Problems:
    """Collection of the problems of a design, so that all of them can be reported at once.

    >>> problems = Problems()
    >>> with problems.at(column="age", key="bounds"):
    ...     raise SpecError("bounds are blank")
    >>> problems.add("the design has no 'target'; declare it", key="target")
    >>> [str(problem) for problem in problems.found]
    ["column 'age': bounds are blank", "the design has no 'target'; declare it"]
    """

    found: list[DesignProblem] = field(default_factory=list)

    def add(self, message: object, *, column: str = "", key: str = "") -> None:
        """Add a problem to the collection, with the column and the key that it concerns."""
        self.found.append(DesignProblem(str(message), column, key))

    @contextmanager
    def at(self, *, column: str = "", key: str = "") -> Iterator[None]:
        """Collect errors raised in the `with` block, and add `column` and `key` to those that lack them."""
        try:
            yield
        except DesignError as error:
            self.found += [replace(item, column=item.column or column, key=item.key or key) for item in error.problems]
        except SpecError as error:
            self.add(error, column=column, key=key)

    def check(self) -> None:
        """Raise a DesignError that holds the collected problems, if there are any."""
        if self.found:
            raise DesignError(self.found)
