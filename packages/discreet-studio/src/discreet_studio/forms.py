"""Parse the fields of submitted forms, and check the token that proves their origin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from discreet_studio.request_gate import same
from discreet_studio.studio_folder import FieldError

MOST_FIELDS: Final = 20_000
CSRF: Final = "csrf"
_URLENCODED: Final = "application/x-www-form-urlencoded"


class ForgedError(Exception):
    """A form that does not carry the token of this session."""


@dataclass(frozen=True)
class Form:
    """Fields in the order in which they arrived, and uploaded files by name."""

    fields: list[tuple[str, str]]
    files: dict[str, bytes] = field(default_factory=dict)

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of a field, without leading and trailing blanks.

        >>> Form([("a", " 1 ")]).get("a"), Form([]).get("a")
        ('1', '')
        """
        text = next((value.strip() for key, value in reversed(self.fields) if key == name), default)
        # browsers end each line of a text field with \r\n
        return text.replace("\r\n", "\n")

    def every(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value.strip() for key, value in self.fields if key == name]

    def __contains__(self, name: object) -> bool:
        return any(key == name for key, _ in self.fields)

    def number(self, name: str, label: str) -> float:
        """Return the number in a field, or raise an error for the field."""
        return as_number(self.get(name), name, label)

    def optional(self, name: str, label: str) -> float | None:
        """Return a number, or None if the field is blank."""
        return as_number(self.get(name), name, label) if self.get(name) else None


def as_number(text: str, name: str, label: str) -> float:
    """Parse a finite number that may have thousands separators.

    >>> as_number("1e-6", "delta", "Delta"), as_number("30,000", "rows", "Rows")
    (1e-06, 30000.0)
    """
    plain = text.replace(" ", "")
    groups = plain.split(",")
    if len(groups) > 1 and all(len(group) == 3 and group.isdigit() for group in groups[1:]):
        plain = "".join(groups)
    try:
        value = float(plain)
    except ValueError:
        value = float("nan")
    if not -1e300 < value < 1e300:
        raise FieldError(
            name, f"{label}: expected a number, got {text[:40]!r}" if text else f"{label}: fill in a number"
        )
    return value


async def read_form(request: Request, csrf: str) -> Form:
    """Read a form and check its token."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = await _multipart(request) if kind == "multipart/form-data" else _plain(kind, await request.body())
    if not same(form.get(CSRF), csrf):
        raise ForgedError
    return form


def _plain(kind: str, body: bytes) -> Form:
    if kind != _URLENCODED:
        raise ForgedError
    try:
        return Form(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise ForgedError from None


async def _multipart(request: Request) -> Form:
    from starlette.exceptions import HTTPException

    fields: list[tuple[str, str]] = []
    files: dict[str, bytes] = {}
    try:
        async with request.form(max_files=2, max_fields=50) as parts:
            for name, value in parts.multi_items():
                if isinstance(value, str):
                    fields.append((name, value))
                else:
                    files[name] = await value.read()
                    fields.append((f"{name}:name", value.filename or ""))
    except HTTPException:
        raise ForgedError from None
    return Form(fields, files)
