"""Read dates as days since 1970-01-01, and report problems of a design."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final

from discreet.errors import DesignError, DesignProblem, SpecError, written

# -- dates -------------------------------------------------------------------------------------------------------------
# Dates as days since 1970-01-01: bounds, cells that are text, and months and days of the week as levels.
#
# Only the calendar is here, the Gregorian one from year 1 to 9999, extended to before it was in use as in ISO 8601.

MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EPOCH: Final = date(1970, 1, 1).toordinal()
FIRST_DAY: Final = 1 - _EPOCH
LAST_DAY: Final = date.max.toordinal() - _EPOCH
# a date of ISO 8601 with hyphens, and perhaps a time of that day without a time zone
ISO: Final = r"^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)?$"
_ISO: Final = re.compile(ISO.removesuffix("$"), re.ASCII)


def is_date(value: object) -> bool:
    """Whether a value is a date, and not a point in time.

    >>> is_date(date(2020, 1, 31)), is_date(datetime(2020, 1, 31)), is_date("2020-01-31")
    (True, False, False)
    """
    return isinstance(value, date) and not isinstance(value, datetime)


def day_of(day: date) -> int:
    """Days from 1970-01-01 to a date; the time of a point in time is left out.

    >>> day_of(date(1970, 1, 3)), day_of(date(1969, 12, 31))
    (2, -1)
    """
    return date.toordinal(day) - _EPOCH


def day_of_text(text: str) -> int | None:
    """The day that a text of ISO 8601 names; none for any other text.

    >>> day_of_text("1970-01-03"), day_of_text("1970-01-03T23:59:59"), day_of_text("3.1.1970")
    (2, 2, None)
    """
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    try:
        return day_of(date(int(found[1]), int(found[2]), int(found[3])))
    except ValueError:
        return None


def date_text(day: float) -> str:
    """A day as text.

    >>> date_text(2.0)
    '1970-01-03'
    """
    return date.fromordinal(round(day) + _EPOCH).isoformat()


def declared_day(value: object, key: str) -> float:
    """The day of a declared date, which may be text as in a release file."""
    day = day_of_text(value) if isinstance(value, str) and len(value) == len("1970-01-03") else None
    if is_date(value):
        day = day_of(value)  # type: ignore[arg-type]  # a date, as was asked
    if day is None:
        raise SpecError(f"{key}: expected a date such as 2019-01-31, without a time, got {written(value)}")
    return float(day)


def dated(value: object) -> object:
    """A value as TOML writes it: text that is a date becomes one, also inside lists and tables.

    >>> dated(["1970-01-03"]), dated({"fill": "1970-01-03"}), dated("drop")
    ([datetime.date(1970, 1, 3)], {'fill': datetime.date(1970, 1, 3)}, 'drop')
    """
    if isinstance(value, list):
        return [dated(one) for one in value]
    if isinstance(value, dict):
        return {key: dated(one) for key, one in value.items()}
    return date.fromisoformat(value) if isinstance(value, str) and day_of_text(value) is not None else value


def months_between(first: float, last: float) -> tuple[int, ...]:
    """Positions of the months that some day from first to last has, in the order of the year.

    >>> months_between(day_of(date(2019, 11, 5)), day_of(date(2020, 1, 2)))
    (0, 10, 11)
    """
    one, other = (date.fromordinal(round(day) + _EPOCH) for day in (first, last))
    apart = (other.year - one.year) * 12 + other.month - one.month
    return tuple(sorted({(one.month - 1 + step) % 12 for step in range(min(apart, 11) + 1)}))


def weekdays_between(first: float, last: float) -> tuple[int, ...]:
    """Positions of the days of the week that some day from first to last has, from Monday.

    >>> weekdays_between(day_of(date(2020, 1, 5)), day_of(date(2020, 1, 6)))
    (0, 6)
    """
    # 1970-01-01 was a Thursday
    return tuple(sorted({(round(first) + 3 + step) % 7 for step in range(min(round(last - first), 6) + 1)}))


# -- problems ----------------------------------------------------------------------------------------------------------
# Finding every problem of a design before any is reported.


@dataclass
class Problems:
    """The problems found so far.

    >>> problems = Problems()
    >>> with problems.at(column="age", key="bounds"):
    ...     raise SpecError("bounds are blank")
    >>> problems.add("the design has no 'target'; declare it", key="target")
    >>> [str(problem) for problem in problems.found]
    ["column 'age': bounds are blank", "the design has no 'target'; declare it"]
    """

    found: list[DesignProblem] = field(default_factory=list)

    def add(self, message: object, *, column: str = "", key: str = "") -> None:
        """Keep one."""
        self.found.append(DesignProblem(str(message), column, key))

    @contextmanager
    def at(self, *, column: str = "", key: str = "") -> Iterator[None]:
        """Keep what the block refuses; what it knows of the place stays, and this fills in the rest."""
        try:
            yield
        except DesignError as error:
            self.found += [replace(one, column=one.column or column, key=one.key or key) for one in error.problems]
        except SpecError as error:
            self.add(error, column=column, key=key)

    def check(self) -> None:
        """Report all of them, if there are any."""
        if self.found:
            raise DesignError(self.found)
