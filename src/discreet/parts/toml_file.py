"""Short TOML files of this room: read with a limit, and every failure in words."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from discreet.errors import SpecError
from discreet.files import read_limited

_MOST_BYTES: Final = 1 << 20
# what the parser says of a key or a table that is there already
_TWICE: Final = re.compile("(?:Cannot (?:overwrite|declare)|Duplicate).*at line ([0-9]+)", re.ASCII)


def toml_table(path: str | Path) -> dict[str, object]:
    """The table in a TOML file."""
    try:
        content = read_limited(path, _MOST_BYTES)
    except OSError as error:
        raise SpecError(f"cannot read {str(path)!r}: {error.strerror}") from None
    try:
        # some editors put a byte order mark before the first line
        return tomllib.loads(content.decode().removeprefix("\ufeff"))
    except (RecursionError, ValueError) as error:
        twice = _TWICE.match(str(error))
        raise SpecError(
            f"{str(path)!r} is not a TOML file in UTF-8"
            if twice is None
            else f"{str(path)!r} has a key or a table twice, the second time on line {twice[1]}; keep one of them"
        ) from None
