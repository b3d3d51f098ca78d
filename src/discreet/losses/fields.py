"""Single values of a release file, each of the type it must have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from discreet.errors import ReleaseFileError


def table_of(value: object, name: str) -> Mapping[str, object]:
    """A table, or a refusal that names the field."""
    if not isinstance(value, dict):
        raise ReleaseFileError(f"the field {name!r} is not a table")
    return value


def text_of(value: object, name: str) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ReleaseFileError(f"the field {name!r} is not text")
    return value


def integers_of(table: Mapping[str, object], name: str) -> dict[str, int]:
    """Integers by name."""
    return {key: integer_of(value, f"{name}.{key}") for key, value in table.items()}


def integer_of(value: object, name: str) -> int:
    """An integer that is written as decimal text.

    >>> integer_of("-12", "totals")
    -12
    """
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 100):
        raise ReleaseFileError(f"the field {name!r} must hold integers as decimal text")
    return int(cast("str", value))
