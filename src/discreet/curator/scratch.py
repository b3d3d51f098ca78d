"""Where rows wait: up to a stated size in memory, beyond it in the system's folder for temporary files, or TMPDIR's."""

from __future__ import annotations

import os
import tempfile
from typing import Final

from discreet.errors import DataError

# of one set of rows; docs/promise/limits.md states it
IN_MEMORY_BYTES: Final = 64 * 2**20


def scratch_folder() -> str:
    """Where rows may wait; never another folder than the one that was named.

    Raises
    ------
    DataError
        If TMPDIR names a folder that cannot be written to, or there is none at all.
    """
    named = os.environ.get("TMPDIR")
    if named and not (os.path.isdir(named) and os.access(named, os.W_OK | os.X_OK)):
        raise DataError("TMPDIR names a folder that cannot be written to; create it, or set TMPDIR to another")
    if named and not _is_text(named):
        # the database of persons has no such name
        raise DataError("TMPDIR names a folder whose name is not UTF-8; set TMPDIR to another")
    try:
        return named or tempfile.gettempdir()
    except OSError:
        raise DataError("there is no folder for temporary files; set TMPDIR to one that can be written to") from None


def _is_text(name: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def no_room(reason: str | None = None) -> DataError:
    """Build the error for rows that cannot wait there.

    >>> print(no_room("No space left on device"))
    rows could not be stored on disk (No space left on device); free some space, or set TMPDIR to another folder
    """
    why = f" ({reason})" if reason else ""
    return DataError(f"rows could not be stored on disk{why}; free some space, or set TMPDIR to another folder")


def no_memory() -> DataError:
    """Build the error for rows of persons that a database cannot sort in the memory that it may use.

    >>> print(no_memory())
    rows could not be sorted by person in memory; declare fewer columns or levels, or free some memory
    """
    return DataError(
        "rows could not be sorted by person in memory; declare fewer columns or levels, or free some memory"
    )
