"""Access the files of the curator's folder, and save what the studio keeps there between sessions."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from threading import RLock
from typing import Any, Final

import discreet

# -- folder ------------------------------------------------------------------------------------------------------------
# The curator's folder: files that can be opened and written, and nothing outside.

TABLES: Final = (
    ".csv", ".tsv", ".csv.gz", ".csv.zst", ".parquet", ".arrow", ".feather", ".dta", ".sav", ".sas7bdat", ".xpt"
)  # fmt: skip
#: databases that contain named tables
DATABASES: Final = (".duckdb", ".ddb")
TEXT: Final = (".csv", ".tsv", ".csv.gz", ".csv.zst")
_DEPTH: Final = 3
_MOST_FILES: Final = 500
_LONGEST_STEM: Final = 80
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}", re.ASCII)


class FieldError(discreet.DiscreetError):
    """A problem with one field of a form.

    >>> error = FieldError("name", "write a name")
    >>> error.field, str(error)
    ('name', 'write a name')
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Folder:
    """An existing folder, inside which every path must be after following all links."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise FieldError("folder", f"{str(root)!r} is not a folder; name the folder that holds the table")

    def listed(self, *ends: str) -> list[str]:
        """Return the names, relative to the folder, of regular files with these endings, without hidden ones."""
        found: list[str] = []
        for here, folders, files in os.walk(self.root):
            depth = len(Path(here).relative_to(self.root).parts)
            folders[:] = sorted(one for one in folders if not one.startswith(".") and depth < _DEPTH)
            for name in sorted(files):
                path = Path(here, name)
                # a name that is not valid text cannot be shown or sent back
                shown = not name.startswith(".") and path.as_posix().isprintable()
                if shown and name.lower().endswith(ends) and self._is_inside(path):
                    found.append(path.relative_to(self.root).as_posix())
        return found[:_MOST_FILES]

    def file(self, name: str, field: str = "file") -> Path:
        """Return the regular file of this name inside the folder, with every link followed."""
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
        """Refuse a name that cannot begin a file name."""
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_STEM:
            raise FieldError(
                field,
                f"write a name of up to {_LONGEST_STEM} letters, digits, blanks and . _ - that begins with a letter or "
                "digit; the endings are put to it",
            )

    def new_file(self, name: str, field: str, *ends: str) -> Path:
        """Return the path of a new file of this name directly in the folder, which must not exist yet."""
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


# -- store -------------------------------------------------------------------------------------------------------------
# The fields that a curator has filled in so far, saved in the folder so that a new studio can continue.

NAME: Final = ".discreet-studio.json"
_LARGEST_STATE: Final = 4 * 2**20


@dataclass
class State:
    """The fields of all forms as typed, without any value of a cell."""

    version: int = 0  # grows with every change, so that an outdated page cannot overwrite a newer state
    table: str = ""
    database_table: str = ""  # if the file is a database
    reading: dict[str, Any] = field(default_factory=dict)  # format of the file
    columns: list[list[str]] = field(default_factory=list)  # names and types
    draft: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, list[str]] = field(default_factory=dict)  # ledger file and data set of each table
    begun: dict[str, Any] = field(default_factory=dict)  # the confirmed release that has no file yet, with its settings
    made: list[str] = field(default_factory=list)  # release files made here, newest first

    @property
    def table_shown(self) -> str:
        """The chosen table as pages name it.

        >>> State(table="survey.duckdb", database_table="people").table_shown
        'people in survey.duckdb'
        """
        return f"{self.database_table} in {self.table}" if self.database_table else self.table

    @property
    def account(self) -> tuple[str, str]:
        """The ledger file and data set that the chosen table is charged to, both blank if not chosen yet.

        >>> State(table="a.csv", accounts={"a.csv": ["ledger.db", "a"]}).account, State(table="b.csv").account
        (('ledger.db', 'a'), ('', ''))
        """
        ledger, dataset = self.accounts.get(self._key, ("", ""))
        return ledger, dataset

    def charged_to(self, ledger: str, dataset: str) -> dict[str, list[str]]:
        """Return all accounts, with this one for the chosen table.

        >>> State(table="a.csv").charged_to("ledger.db", "a")
        {'a.csv': ['ledger.db', 'a']}
        """
        return self.accounts | {self._key: [ledger, dataset]}

    @property
    def _key(self) -> str:
        return f"{self.table}/{self.database_table}" if self.database_table else self.table


_TEXTS: Final = ("table", "database_table")


def _is_right(name: str, value: Any) -> bool:  # noqa: ANN401  # whatever a file holds
    """Return whether a field holds what the screens read from it. A draft is checked elsewhere.

    >>> _is_right("plan", {"rows": "400"}), _is_right("plan", {"rows": 400})
    (True, False)
    """
    if name == "version":
        right = type(value) is int and value >= 0
    elif name in _TEXTS:
        right = isinstance(value, str)
    elif name == "plan":
        right = isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    elif name == "made":
        right = isinstance(value, list) and all(isinstance(one, str) for one in value)
    elif name == "accounts":
        right = isinstance(value, dict) and _is_right("columns", [*value.values()])
    elif name == "columns":
        pair = [str, str]
        right = isinstance(value, list) and all(isinstance(one, list) and [*map(type, one)] == pair for one in value)
    elif name == "reading":
        right = isinstance(value, dict) and all(isinstance(one, str | bool) for one in value.values())
    elif name == "begun":
        right = not value or _is_begun(value)
    else:
        right = isinstance(value, dict)
    return right


def _is_begun(value: Any) -> bool:  # noqa: ANN401
    parts = ("name", "sign", "changed", "ledger", "dataset", "table")
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(part), str) for part in parts)
        and isinstance(value.get("database_table", ""), str)
        and isinstance(value.get("draft"), dict)
        and all(_is_right(part, value.get(part)) for part in ("plan", "reading"))
    )


class Store:
    """The state, in memory and in one file that only its owner may read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self.lock = RLock()
        self.state = self._loaded()

    def _loaded(self) -> State:
        try:
            if self._path.is_symlink() or self._path.stat().st_size > _LARGEST_STATE:
                return State()
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            if not all(_is_right(one.name, kept[one.name]) for one in fields(State) if one.name in kept):
                return State()
            return State(**{one.name: kept[one.name] for one in fields(State) if one.name in kept})
        except (OSError, ValueError, TypeError, RecursionError):
            # of another version, truncated or edited: start again
            return State()

    def change(self, **changes: object) -> None:
        """Set fields and save them. A full disk is reported and loses nothing that was saved."""
        with self.lock:
            for name, value in changes.items():
                setattr(self.state, name, value)
            self.state.version += 1
            text = json.dumps(asdict(self.state), ensure_ascii=False)
            beside = self._path.with_name(f"{NAME}.{secrets.token_hex(4)}")
            try:
                with os.fdopen(
                    os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
                ) as file:
                    file.write(text)
                beside.replace(self._path)
            except OSError as error:
                beside.unlink(missing_ok=True)
                raise FieldError(
                    "",
                    f"what you filled in could not be written to the folder ({error.strerror}); it is still on this "
                    "page: make room and save again",
                ) from None
