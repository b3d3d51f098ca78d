"""What a curator has filled in so far, kept in the folder: a studio that is killed goes on where it was."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from threading import RLock
from typing import Any, Final

from discreet.studio.folder import FieldError

NAME: Final = ".discreet-studio.json"
_MOST: Final = 4 * 2**20


@dataclass
class State:
    """Fields of all forms, as they were typed; nothing in it comes from a cell.

    Attributes
    ----------
    version
        Grows with every change; a page that was made for an older one cannot overwrite a newer one.
    table, database_table
        The chosen file, and the name of the table in it where it is a database.
    reading, columns
        How it is written, and its names with types.
    draft
        The half-filled design.
    plan
        Fields of its form.
    accounts
        For each table that was charged to one, or is to be, the file of the ledger and the data set.
    begun
        The release that was confirmed and has no file yet, with everything that was asked then.
    made
        Names of the release files that were made here, newest first.
    """

    version: int = 0
    table: str = ""
    database_table: str = ""
    reading: dict[str, Any] = field(default_factory=dict)
    columns: list[list[str]] = field(default_factory=list)
    draft: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, list[str]] = field(default_factory=dict)
    begun: dict[str, Any] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    @property
    def table_shown(self) -> str:
        """The chosen table as pages name it.

        >>> State(table="survey.duckdb", database_table="people").table_shown
        'people in survey.duckdb'
        """
        return f"{self.database_table} in {self.table}" if self.database_table else self.table

    @property
    def account(self) -> tuple[str, str]:
        """File of the ledger and data set that the chosen table is charged to; blank as long as nobody said.

        >>> State(table="a.csv", accounts={"a.csv": ["ledger.db", "a"]}).account, State(table="b.csv").account
        (('ledger.db', 'a'), ('', ''))
        """
        ledger, dataset = self.accounts.get(self._key, ("", ""))
        return ledger, dataset

    def charged_to(self, ledger: str, dataset: str) -> dict[str, list[str]]:
        """All accounts, with this one for the chosen table.

        >>> State(table="a.csv").charged_to("ledger.db", "a")
        {'a.csv': ['ledger.db', 'a']}
        """
        return self.accounts | {self._key: [ledger, dataset]}

    @property
    def _key(self) -> str:
        return f"{self.table}/{self.database_table}" if self.database_table else self.table


_TEXTS: Final = ("table", "database_table")


def _is_right(name: str, value: Any) -> bool:  # noqa: ANN401  # whatever a file holds
    """Whether a field holds what the screens read from it; a draft is read with care elsewhere.

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
            if self._path.is_symlink() or self._path.stat().st_size > _MOST:
                return State()
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            if not all(_is_right(one.name, kept[one.name]) for one in fields(State) if one.name in kept):
                return State()
            return State(**{one.name: kept[one.name] for one in fields(State) if one.name in kept})
        except (OSError, ValueError, TypeError, RecursionError):
            # of another version, cut off or written by other hands: begin anew
            return State()

    def change(self, **changes: object) -> None:
        """Set fields and write them down; a full disk is reported and loses nothing that is on it."""
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
