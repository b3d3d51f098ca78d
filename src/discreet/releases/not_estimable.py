"""What a release cannot give, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True, repr=False)
class NotEstimable:
    """What is returned instead of a number that the release cannot give; it is false, and says why.

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


def known(value: Known | NotEstimable) -> Known | None:
    """Give the value, or nothing where the release cannot give it.

    >>> known(0.5), known(NotEstimable("the noise is too large"))
    (0.5, None)
    """
    return None if isinstance(value, NotEstimable) else value


def reason_of(value: object) -> str | None:
    """Say why there is no value; nothing if there is one.

    >>> reason_of(0.5), reason_of(NotEstimable("the noise is too large"))
    (None, 'the noise is too large')
    """
    return value.reason if isinstance(value, NotEstimable) else None


def shown_number(value: float | NotEstimable, digits: str) -> str:
    """Give a number in this form, or say that it is not estimable.

    >>> shown_number(0.12345, ".2g"), shown_number(NotEstimable("too much noise"), ".2g")
    ('0.12', 'not estimable')
    """
    return "not estimable" if isinstance(value, NotEstimable) else f"{value:{digits}}"
