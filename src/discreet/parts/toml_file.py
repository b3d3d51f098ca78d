"""Short TOML files of this room: read with a limit, and every failure in words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from discreet.errors import SpecError
from discreet.files import read_limited

_MOST_BYTES: Final = 1 << 20


def toml_table(path: str | Path) -> dict[str, object]:
    """The table in a TOML file."""
    try:
        content = read_limited(path, _MOST_BYTES)
    except OSError as error:
        raise SpecError(f"cannot read {str(path)!r}: {error.strerror}") from None
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError):
        raise SpecError(f"{str(path)!r} is not a TOML file in UTF-8") from None
