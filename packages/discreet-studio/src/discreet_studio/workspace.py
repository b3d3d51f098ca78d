"""Hold what all screens share: the folder, the saved fields, background jobs and open releases."""

from __future__ import annotations

import json
import os
import secrets
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock
from typing import Final, TypeVar, cast

import discreet
from discreet_studio.advice import here
from discreet_studio.draft import Draft
from discreet_studio.jobs import Jobs
from discreet_studio.request_gate import Keys
from discreet_studio.studio_folder import FieldError, Folder, State, Store

Result = TypeVar("Result")
_MOST_KEPT: Final = 48
_MOST_UPLOADS: Final = 8
#: up to this many coefficients are plotted while the page loads; with more, the plot loads later
DRAWN_AT_ONCE: Final = 40


@dataclass
class Workspace:
    """The shared state of one curator's studio."""

    folder: Folder
    keys: Keys = field(default_factory=Keys)
    jobs: Jobs = field(default_factory=Jobs)
    check_on: bool = False
    check_result: object = None
    preview: str = ""
    uploads: OrderedDict[str, discreet.Release] = field(default_factory=OrderedDict)
    upload_names: dict[str, str] = field(default_factory=dict)
    _kept: OrderedDict[str, object] = field(default_factory=OrderedDict)
    _keeping: Lock = field(default_factory=Lock)
    # the plotting library is not thread-safe
    drawing: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        self.store = Store(self.folder.root)

    @property
    def state(self) -> State:
        """The saved fields."""
        return self.store.state

    @property
    def draft(self) -> Draft:
        """The incomplete design."""
        return Draft.from_dict(self.state.draft)

    def design(self) -> discreet.Design:
        """Return the design, or raise an error if it is not complete."""
        if not self.state.draft:
            raise FieldError("", "there is no design yet; choose a table first, then fill in the design page")
        try:
            return self.draft.design()
        except discreet.DesignError as error:
            count = len(error.problems)
            if count == 1:
                message = "the design still has one problem; the design page shows it next to the field"
            else:
                message = f"the design still has {count} problems; the design page shows each one next to its field"
            raise FieldError("", message) from None

    def source(self, table: str, database_table: str) -> Path | discreet.DatabaseTable:
        """Return what functions read rows from: a file in the folder, or a table of a database in the folder."""
        path = self.folder.file(table)
        return discreet.DatabaseTable(path, database_table) if database_table else path

    def hidden(self, message: object) -> str:
        """Return a message in the wording of the screens, with names relative to the folder instead of full paths."""
        return here(message).replace(f"{self.folder.root}{os.sep}", "")

    def remembered(self, *key: object, make: Callable[[], Result]) -> Result:
        """Return the cached result for this key, or compute and cache it."""
        name = json.dumps(key, default=str)
        with self._keeping:
            if name in self._kept:
                self._kept.move_to_end(name)
                return cast("Result", self._kept[name])
        result = make()
        with self._keeping:
            self._kept[name] = result
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return result

    def knows(self, *key: object) -> bool:
        """Return whether a result is cached for this key."""
        return json.dumps(key, default=str) in self._kept

    def upload(self, release: discreet.Release, called: str = "") -> str:
        """Keep an uploaded release in memory, and return the key under which it is kept."""
        name = secrets.token_hex(8)
        self.uploads[name], self.upload_names[name] = release, called
        while len(self.uploads) > _MOST_UPLOADS:
            self.upload_names.pop(self.uploads.popitem(last=False)[0])
        return name

    def picture(self, figure: Callable[[], object], label: str) -> str:
        """Return a figure as SVG for the pages of the studio."""
        with self.drawing, quiet():
            return discreet.page_svg(figure(), label)  # type: ignore[arg-type]  # a figure of the library


class _Notices:
    """Context manager that silences warnings until the last of several threads leaves it."""

    def __init__(self) -> None:
        self._lock, self._count, self._before = Lock(), 0, warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if self._count == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._before.__exit__(None, None, None)


_NOTICES: Final = _Notices()


def quiet() -> _Notices:
    """Return the context manager that keeps warnings off the terminal. Pages show the important ones."""
    return _NOTICES


def notices(epsilon: float, delta: float) -> tuple[str, ...]:
    """Return the warnings about a budget. Raise an error if its privacy is too weak for the studio.

    >>> notices(1.0, 1e-6)
    ()
    """
    return discreet.privacy.check_strength(discreet.PrivacyBudget(epsilon, delta), allow_weak_privacy=False)
