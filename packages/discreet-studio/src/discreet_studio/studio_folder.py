"""Access the files in the curator's folder, and save the state of the studio there between sessions."""

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
# The curator's folder: which files may be read and written. Nothing outside the folder is accessible.

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
    """An existing folder. Every path must lie inside it after all links are followed."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise FieldError("folder", f"expected a folder, got {str(root)!r}; give the folder that contains the table")

    def listed(self, *ends: str) -> list[str]:
        """Return the relative names of regular files with these endings, without hidden files."""
        names: list[str] = []
        for here, folders, files in os.walk(self.root):
            depth = len(Path(here).relative_to(self.root).parts)
            folders[:] = sorted(name for name in folders if not name.startswith(".") and depth < _DEPTH)
            for name in sorted(files):
                path = Path(here, name)
                # a name that is not printable text cannot be shown or sent back
                shown = not name.startswith(".") and path.as_posix().isprintable()
                if shown and name.lower().endswith(ends) and self._is_inside(path):
                    names.append(path.relative_to(self.root).as_posix())
        return names[:_MOST_FILES]

    def file(self, name: str, field: str = "file") -> Path:
        """Return the regular file with this name inside the folder, with all links followed."""
        relative = Path(name)
        if not name or "\0" in name or relative.is_absolute() or ".." in relative.parts:
            raise FieldError(field, "choose a file in this folder")
        path = self.root / relative
        if not self._is_inside(path):
            raise FieldError(
                field, f"there is no file {name!r} in this folder; links that lead out of the folder are not followed"
            )
        return path.resolve()

    def check_stem(self, name: str, field: str) -> None:
        """Reject a name that cannot begin a file name."""
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_STEM:
            raise FieldError(
                field,
                f"write a name of up to {_LONGEST_STEM} letters, digits, blanks and . _ - that begins with a letter or "
                "digit; do not add a file ending",
            )

    def new_file(self, name: str, field: str, *ends: str) -> Path:
        """Return the path of a new file with this name directly in the folder. The file must not exist yet."""
        if not _NAME.fullmatch(name) or not name.endswith(ends):
            raise FieldError(
                field,
                f"write a file name that consists of letters, digits, blanks and . _ - and ends in {' or '.join(ends)}",
            )
        path = self.root / name
        if os.path.lexists(path):
            raise FieldError(field, f"the file {name} already exists; choose another name")
        return path

    def _is_inside(self, path: Path) -> bool:
        try:
            end = path.resolve(strict=True)
            return end.is_relative_to(self.root) and stat.S_ISREG(end.stat().st_mode)
        except (OSError, ValueError, RuntimeError):
            return False


# -- store -------------------------------------------------------------------------------------------------------------
# The fields that a curator has filled in so far, saved in the folder so that the next session can continue.

NAME: Final = ".discreet-studio.json"
_LARGEST_STATE: Final = 4 * 2**20


@dataclass
class State:
    """Fields of all forms as typed. The state contains no value of any cell."""

    version: int = 0  # increases with every change, so that an outdated page cannot overwrite a newer state
    table: str = ""
    database_table: str = ""  # if the file is a database
    reading: dict[str, Any] = field(default_factory=dict)  # format of the file
    columns: list[list[str]] = field(default_factory=list)  # names and types
    draft: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, list[str]] = field(default_factory=dict)  # ledger file and data set of each table
    begun: dict[str, Any] = field(default_factory=dict)  # confirmed release without a file yet, with its settings
    made: list[str] = field(default_factory=list)  # release files made by the studio, newest first

    @property
    def table_shown(self) -> str:
        """Name of the chosen table for pages.

        >>> State(table="survey.duckdb", database_table="people").table_shown
        'people in survey.duckdb'
        """
        return f"{self.database_table} in {self.table}" if self.database_table else self.table

    @property
    def account(self) -> tuple[str, str]:
        """Ledger file and data set that the chosen table is charged to. Both are blank if not chosen yet.

        >>> State(table="a.csv", accounts={"a.csv": ["ledger.db", "a"]}).account, State(table="b.csv").account
        (('ledger.db', 'a'), ('', ''))
        """
        ledger, dataset = self.accounts.get(self._key, ("", ""))
        return ledger, dataset

    def charged_to(self, ledger: str, dataset: str) -> dict[str, list[str]]:
        """Return all accounts, with the chosen table charged to this data set.

        >>> State(table="a.csv").charged_to("ledger.db", "a")
        {'a.csv': ['ledger.db', 'a']}
        """
        return self.accounts | {self._key: [ledger, dataset]}

    @property
    def _key(self) -> str:
        return f"{self.table}/{self.database_table}" if self.database_table else self.table


_TEXTS: Final = ("table", "database_table")


def _is_right(name: str, value: Any) -> bool:  # noqa: ANN401  # whatever a file holds
    """Return whether a saved value has the type that the screens expect. Drafts are checked elsewhere.

    >>> _is_right("plan", {"rows": "400"}), _is_right("plan", {"rows": 400})
    (True, False)
    """
    if name == "version":
        right = type(value) is int and value >= 0
    elif name in _TEXTS:
        right = isinstance(value, str)
    elif name == "plan":
        right = isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    elif name == "made":
        right = isinstance(value, list) and all(isinstance(name, str) for name in value)
    elif name == "accounts":
        right = isinstance(value, dict) and _is_right("columns", [*value.values()])
    elif name == "columns":
        pair = [str, str]
        right = isinstance(value, list) and all(isinstance(item, list) and [*map(type, item)] == pair for item in value)
    elif name == "reading":
        right = isinstance(value, dict) and all(isinstance(item, str | bool) for item in value.values())
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
    """The state, in memory and in a file that only its owner may read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self.lock = RLock()
        self.state = self._loaded()

    def _loaded(self) -> State:
        try:
            if self._path.is_symlink() or self._path.stat().st_size > _LARGEST_STATE:
                return State()
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            names = [item.name for item in fields(State) if item.name in kept]
            if not all(_is_right(name, kept[name]) for name in names):
                return State()
            return State(**{name: kept[name] for name in names})
        except (OSError, ValueError, TypeError, RecursionError):
            # another version, truncated or edited: start again
            return State()

    def change(self, **changes: object) -> None:
        """Set fields and save them. If the disk is full, report it and keep the previous file."""
        with self.lock:
            for name, value in changes.items():
                setattr(self.state, name, value)
            self.state.version += 1
            text = json.dumps(asdict(self.state), ensure_ascii=False)
            temporary = self._path.with_name(f"{NAME}.{secrets.token_hex(4)}")
            try:
                with os.fdopen(
                    os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
                ) as file:
                    file.write(text)
                temporary.replace(self._path)
            except OSError as error:
                temporary.unlink(missing_ok=True)
                raise FieldError(
                    "",
                    f"your changes could not be saved in the folder ({error.strerror}); they are still on this page: "
                    "free some disk space and save again",
                ) from None
