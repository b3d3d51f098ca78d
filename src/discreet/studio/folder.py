"""The curator's folder: what can be opened in it, and where results go; nothing outside of it."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

import discreet

TABLES: Final = (
    ".csv", ".tsv", ".csv.gz", ".csv.zst", ".parquet", ".arrow", ".feather", ".dta", ".sav", ".sas7bdat", ".xpt"
)  # fmt: skip
#: databases that hold tables by name
DATABASES: Final = (".duckdb", ".ddb")
TEXT: Final = (".csv", ".tsv", ".csv.gz", ".csv.zst")
_DEPTH: Final = 3
_MOST: Final = 500
_LONGEST_STEM: Final = 80
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}", re.ASCII)


class FieldError(discreet.DiscreetError):
    """What is wrong with one field of a form.

    >>> error = FieldError("name", "write a name")
    >>> error.field, str(error)
    ('name', 'write a name')
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Folder:
    """One folder; every path is followed to its end and must still be inside.

    Parameters
    ----------
    root
        An existing folder.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise FieldError("folder", f"{str(root)!r} is not a folder; name the folder that holds the table")

    def listed(self, *ends: str) -> list[str]:
        """Names, relative to the folder, of regular files that end so, hidden ones left out."""
        found: list[str] = []
        for here, folders, files in os.walk(self.root):
            depth = len(Path(here).relative_to(self.root).parts)
            folders[:] = sorted(one for one in folders if not one.startswith(".") and depth < _DEPTH)
            for name in sorted(files):
                path = Path(here, name)
                # a name that is no text could not be shown, nor sent back
                shown = not name.startswith(".") and path.as_posix().isprintable()
                if shown and name.lower().endswith(ends) and self._is_inside(path):
                    found.append(path.relative_to(self.root).as_posix())
        return found[:_MOST]

    def file(self, name: str, field: str = "file") -> Path:
        """The regular file of this name inside the folder, with every link followed."""
        given = Path(name)
        if not name or "\0" in name or given.is_absolute() or ".." in given.parts:
            raise FieldError(field, "choose a file of this folder")
        path = self.root / given
        if not self._is_inside(path):
            raise FieldError(
                field, f"there is no file {name!r} in this folder; a link that leads out of it is not followed"
            )
        return path.resolve()

    def check_stem(self, name: str, field: str) -> None:
        """Refuse a name to which endings are put, if it cannot begin a file name."""
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_STEM:
            raise FieldError(
                field,
                f"write a name of up to {_LONGEST_STEM} letters, digits, blanks and . _ - that begins with a letter or "
                "digit; the endings are put to it",
            )

    def new_file(self, name: str, field: str, *ends: str) -> Path:
        """Where a file of this name is written, which does not exist yet, directly in the folder."""
        if not _NAME.fullmatch(name) or not name.endswith(ends):
            raise FieldError(
                field, f"write a file name of letters, digits, blanks and . _ - that ends in {' or '.join(ends)}"
            )
        path = self.root / name
        if os.path.lexists(path):
            raise FieldError(field, f"{name} exists already; choose another name")
        return path

    def _is_inside(self, path: Path) -> bool:
        try:
            end = path.resolve(strict=True)
            return end.is_relative_to(self.root) and stat.S_ISREG(end.stat().st_mode)
        except (OSError, ValueError, RuntimeError):
            return False
