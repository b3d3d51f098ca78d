"""A folder for rows that wait on disk: entered by this user alone, and removed however the work ends.

It goes when it is closed. SIGTERM and SIGHUP, which end a program at once by default, remove it first. What is killed
outright leaves its folder behind, without the lock that a living process holds in it; the next release removes it.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import signal
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from discreet.curator.scratch import no_room, scratch_folder
from discreet.errors import DataError

_PREFIX: Final = "discreet-rows-"
_NAME: Final = re.compile(_PREFIX + "[0-9a-f]{16}")
_LOCK: Final = "lock"
_FILES: Final = "files"
_SIGNALS: Final = ("SIGHUP", "SIGINT", "SIGTERM")
# folders that exist or are about to, each with the process that made it: a fork must not remove those of its parent
_live: dict[Path, int] = {}


class PrivateFolder:
    """A new folder, in which `files` is for whatever waits.

    >>> with PrivateFolder() as folder:
    ...     folder.files.exists()
    True
    >>> folder.files.exists()
    False
    """

    def __init__(self) -> None:
        # absolute, so that it is found again from whatever folder the program ends in
        self._path = Path(scratch_folder()).absolute() / f"{_PREFIX}{secrets.token_hex(8)}"
        self.files = self._path / _FILES
        self._lock: int | None = None
        # before it exists, so that no moment is left in which a signal would leave it
        _live[self._path] = os.getpid()
        self._signals = _take_signals()
        try:
            self._path.mkdir(mode=0o700)
            self._lock = _locked(self._path)
            self.files.mkdir(mode=0o700)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise no_room(error.strerror) from None
            raise

    def __enter__(self) -> PrivateFolder:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        try:
            _remove(self._path)
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
            _give_back(self._signals)


def remove_abandoned() -> None:
    """Remove folders of this user whose process is gone; whatever cannot be decided stays, and nothing fails."""
    with suppress(DataError, OSError), os.scandir(scratch_folder()) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        # a system without such locks cannot show who is alive
        return
    with suppress(OSError):
        if path.lstat().st_uid != os.getuid():
            return
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            # refused as long as the process that made the folder lives, whatever its number
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_tree(path)
        finally:
            os.close(lock)


def _locked(path: Path) -> int | None:
    """Take the lock of a new folder; the system lets go of it when the process ends in any way."""
    try:
        import fcntl
    except ImportError:
        return None
    new = path / "new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # it gets its name once it is locked, so that it is never seen without
        new.rename(path / _LOCK)
    except OSError:
        # a file system without locks: without that name nobody takes the folder for abandoned
        os.close(lock)
        return None
    return lock


def _remove(path: Path) -> None:
    if _live.get(path) == os.getpid():
        _remove_tree(path)
    # forgotten only now: whoever interrupts the removal leaves it to the end of the program
    _live.pop(path, None)


@atexit.register
def _remove_all() -> None:
    for path in list(_live):
        _remove(path)


def _remove_tree(path: Path) -> None:
    # the lock goes last: a removal that is cut short can be taken up again
    shutil.rmtree(path / _FILES, ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)


def _take_signals() -> tuple[signal.Signals, ...]:
    """Take the signals that would end the program at once; those that somebody handles or ignores stay as they are."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    # not every system has all of them; Python itself turns SIGINT into an exception, unless it was set not to
    known = [one for one in signal.Signals if one.name in _SIGNALS]
    taken = tuple(one for one in known if signal.getsignal(one) == signal.SIG_DFL)
    for one in taken:
        signal.signal(one, _remove_and_end)
    return taken


def _give_back(taken: tuple[signal.Signals, ...]) -> None:
    # another thread cannot: what is left there does what the default does
    with suppress(ValueError):
        for one in taken:
            if signal.getsignal(one) is _remove_and_end:
                signal.signal(one, signal.SIG_DFL)


def _remove_and_end(number: int, frame: FrameType | None) -> None:
    """Do what the signal does by default, after all folders of this process are removed."""
    _remove_all()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
