"""Buffer encoded rows for later passes, in memory or in a private folder."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError
from discreet.exact.arrays import FloatArray
from discreet.files import no_room

# -- scratch -----------------------------------------------------------------------------------------------------------
# Buffered rows stay in memory up to a fixed size. The rest is written to the folder for temporary files (TMPDIR).

# limit for the rows of one table; see docs/guarantee/limits.md
IN_MEMORY_BYTES: Final = 64 * 2**20


def scratch_folder() -> str:
    """Return the folder for temporary files. Raise DataError if there is none or TMPDIR is not writable."""
    named = os.environ.get("TMPDIR")
    if named and not (os.path.isdir(named) and os.access(named, os.W_OK | os.X_OK)):
        raise DataError("TMPDIR must name a writable folder; create the folder, or set TMPDIR to another one")
    if named and not _is_text(named):
        # DuckDB would use a folder with another name
        raise DataError("TMPDIR must name a folder with a UTF-8 name; set TMPDIR to another folder")
    try:
        return named or tempfile.gettempdir()
    except OSError:
        raise DataError("there is no folder for temporary files; set TMPDIR to a writable folder") from None


def _is_text(name: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def no_memory() -> DataError:
    """Build the error for a database that runs out of memory while it sorts rows by individual."""
    return DataError(
        "rows could not be sorted by person in memory; declare fewer columns or levels, or free some memory"
    )


# -- buffered rows -----------------------------------------------------------------------------------------------------
Marks: TypeAlias = npt.NDArray[np.bool_]

# type of a value on disk; every value fits in 32 bits
_CELL: Final = np.dtype(np.int32)


class KeptRows:
    """Buffer of rows (1, x, y) in grid steps, grouped by individual and divided into chunks of equal size.

    Chunks are arrays with one observation in each column. The first 64 MiB of all buffers of a table stay in memory.
    The rest goes to an unnamed file, which the system removes when the file is closed or the program ends. Until then,
    only the same user and root can reach the file, through the running program.

    >>> with KeptRows(columns=2, unit=8, chunk_rows=2) as kept:
    ...     kept.add(np.array([True, False, True]), np.array([[5, 6, 7]]))
    ...     [chunk.tolist() for chunk in kept.chunks()]
    ...     [starts.tolist() for _, starts in kept.whole_persons()]
    [[[8.0, 8.0], [5.0, 6.0]], [[8.0], [7.0]]]
    [[0], [0]]
    """

    def __init__(self, columns: int, unit: int, chunk_rows: int, *, parts: int = 1) -> None:
        self._shape = columns, chunk_rows
        self._room = IN_MEMORY_BYTES // parts
        # checked before the number of rows is known, so that an error does not reveal it
        self._folder = scratch_folder()
        self._unit = unit
        self._full: list[tuple[FloatArray, Marks]] = []
        self._file: BufferedRandom | None = None
        self._on_disk = 0
        self._closed = False
        self._filling, self._used = self._fresh(), 0

    def __enter__(self) -> KeptRows:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Discard all buffered rows."""
        self._closed = True
        self._full.clear()
        self._filling, self._used = self._fresh(), 0
        if self._file is not None:
            # unwritten rows are no longer needed, and an error here must not hide an earlier one
            with suppress(OSError):
                self._file.close()

    def add(self, first: Marks, values: npt.NDArray[Any]) -> None:
        """Add rows (x, y), which are the columns of `values`. `first` marks the first row of each individual."""
        start, rows = 0, len(first)
        while start < rows:
            block, marks = self._filling
            taken = min(rows - start, len(marks) - self._used)
            into, source = slice(self._used, self._used + taken), slice(start, start + taken)
            # adding zero removes the sign of a zero, which would be lost on disk
            np.add(values[:, source], 0.0, out=block[1:, into])
            marks[into] = first[source]
            self._used += taken
            start += taken
            if self._used == len(marks):
                self._set_aside(block, marks)

    def chunks(self) -> Iterator[FloatArray]:
        """Yield all rows in chunks of shape (columns, rows). A chunk is valid until the next one is requested."""
        for chunk, _ in self.marked_chunks():
            yield chunk

    def whole_persons(self) -> Iterator[tuple[FloatArray, npt.NDArray[np.intp]]]:
        """Yield chunks of complete individuals, with the indices of the first row of each individual."""
        yield from whole_persons(self.marked_chunks())

    def marked_chunks(self) -> Iterator[tuple[FloatArray, Marks]]:
        """Yield all rows in chunks, each with an array that marks the first row of every individual."""
        if self._closed:
            raise ValueError("the buffer of rows is closed")
        yield from self._full
        yield from self._from_disk()
        if self._used:
            block, marks = self._filling
            yield _protected(block[:, : self._used]), marks[: self._used]

    def _fresh(self) -> tuple[FloatArray, Marks]:
        block = np.empty(self._shape)
        block[0] = self._unit
        return block, np.empty(self._shape[1], dtype=np.bool_)

    def _set_aside(self, block: FloatArray, marks: Marks) -> None:
        """Store a full chunk in memory or on disk, and start the next chunk."""
        if (len(self._full) + 1) * block.nbytes <= self._room:
            self._full.append((_protected(block), marks))
            self._filling = self._fresh()
        else:
            cells = block.astype(_CELL)
            # the constant need not be stored, so its row holds the marks instead
            cells[0] = marks
            self._write(cells)
            self._on_disk += 1
        self._used = 0

    def _write(self, cells: npt.NDArray[np.int32]) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="discreet-", dir=self._folder)  # noqa: SIM115
            self._file.seek(self._on_disk * cells.nbytes)
            self._file.write(cells.data)
            self._file.flush()
        except OSError as error:
            raise no_room(error.strerror) from None

    def _from_disk(self) -> Iterator[tuple[FloatArray, Marks]]:
        if self._file is None:
            return
        cells = np.empty(self._shape, dtype=_CELL)
        chunk, _ = self._fresh()
        for index in range(self._on_disk):
            self._file.seek(index * cells.nbytes)
            if self._file.readinto(cells.data) != cells.nbytes:
                raise OSError("the file of buffered rows is shorter than expected")
            chunk[1:] = cells[1:]
            yield _protected(chunk), cells[0] == 1


def whole_persons(
    chunks: Iterable[tuple[FloatArray, Marks]],
) -> Iterator[tuple[FloatArray, npt.NDArray[np.intp]]]:
    """Regroup chunks so that no individual is split between two of them.

    Yield each chunk with the indices of the first row of every individual.

    >>> rows = [(np.array([[5.0, 6.0]]), np.array([True, False])), (np.array([[7.0, 8.0]]), np.array([False, True]))]
    >>> [(chunk.tolist(), starts.tolist()) for chunk, starts in whole_persons(rows)]
    [([[5.0, 6.0, 7.0]], [0]), ([[8.0]], [0])]
    """
    held: list[FloatArray] = []
    for chunk, first in chunks:
        starts = np.flatnonzero(first)
        # rows before the first start, or all rows if there is no start, belong to the previous individual
        before, last = (starts[0], starts[-1]) if starts.size else (len(first), len(first))
        if held:
            held.append(chunk[:, :before].copy())
        if held and starts.size:
            yield np.concatenate(held, axis=1), np.zeros(1, dtype=np.intp)
        if starts.size > 1:
            yield chunk[:, before:last], starts[:-1] - before
        if starts.size:
            # the last individual may continue in the next chunk
            held = [chunk[:, last:].copy()]
    if held:
        yield np.concatenate(held, axis=1), np.zeros(1, dtype=np.intp)


def _protected(block: FloatArray) -> FloatArray:
    """Return a read-only view of a chunk, because later passes read it again."""
    view = block.view()
    view.flags.writeable = False
    return view


# -- buffered parts ----------------------------------------------------------------------------------------------------


class KeptParts:
    """Several buffers, at most one for each worker. All rows of an individual are in the same buffer.

    >>> with KeptParts(lambda: KeptRows(2, 8, 9), count=2) as kept:
    ...     kept.add(np.array([True, False]), np.array([[5, 6]]))
    ...     kept.add(np.array([False, True]), np.array([[7, 8]]))
    ...     [[chunk[1].tolist() for chunk in part.chunks()] for part in kept.parts]
    [[[5.0, 6.0, 7.0]], [[8.0]]]
    """

    def __init__(self, new: Callable[[], KeptRows], count: int) -> None:
        self._new = new
        self._count = count
        self._next = 0
        self.parts: list[KeptRows] = []

    def __enter__(self) -> KeptParts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Discard all buffered rows."""
        for part in self.parts:
            part.close()

    def own(self) -> KeptRows:
        """Create another buffer, to which a single worker adds rows."""
        rows = self._new()
        self.parts.append(rows)
        return rows

    def add(self, first: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> None:
        """Add rows (x, y), which are the columns of `values`. `first` marks the first row of each individual.

        Rows before the first mark continue an individual and go to the current buffer. All other rows go to the next
        buffer.
        """
        starts = np.flatnonzero(first)
        cut = int(starts[0]) if len(starts) else len(first)  # [P:whole-persons]
        if cut:
            self.parts[self._next - 1].add(first[:cut], values[:, :cut])
        if cut < len(first):
            if self._next == self._count:
                self._next = 0
            if self._next == len(self.parts):
                self.own()
            self._next += 1
            self.parts[self._next - 1].add(first[cut:], values[:, cut:])


# -- private folder ----------------------------------------------------------------------------------------------------
# Rows on disk are in a folder that only this user can enter. It is removed on close, and also on SIGTERM and SIGHUP,
# which by default end a program at once. A process that is killed leaves its folder behind, but no longer holds the
# lock, so that the next release removes the folder.

_PREFIX: Final = "discreet-rows-"
_NAME: Final = re.compile(_PREFIX + "[0-9a-f]{16}")
_LOCK: Final = "lock"
_FILES: Final = "files"
_SIGNALS: Final = ("SIGHUP", "SIGINT", "SIGTERM")
# folders that exist or are being created, with the id of their process, because a fork must not remove its parent's
_live: dict[Path, int] = {}


class PrivateFolder:
    """New folder that only this user can enter. Its subfolder `files` is for temporary files.

    >>> with PrivateFolder() as folder:
    ...     folder.files.exists()
    True
    >>> folder.files.exists()
    False
    """

    def __init__(self) -> None:
        # an absolute path, so that the folder can be removed after the working directory changes
        self._path = Path(scratch_folder()).absolute() / f"{_PREFIX}{secrets.token_hex(8)}"
        self.files = self._path / _FILES
        self._lock: int | None = None
        # registered before the folder exists, so that a signal cannot leave it behind
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
        """Remove the folder and its contents."""
        try:
            _remove(self._path)
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
            _give_back(self._signals)


def remove_abandoned() -> None:
    """Remove folders left behind by processes of this user that have ended. Never raise an error.

    A folder is kept if its process may still be running.
    """
    with suppress(DataError, OSError), os.scandir(scratch_folder()) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        # without these locks, nothing shows whether the process is still running
        return
    with suppress(OSError):
        if path.lstat().st_uid != os.getuid():
            return
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            # fails while the process that created the folder is running
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_tree(path)
        finally:
            os.close(lock)


def _locked(path: Path) -> int | None:
    """Lock a new folder. The operating system releases the lock when the process ends."""
    try:
        import fcntl
    except ImportError:
        return None
    new = path / "new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # renamed after locking, so that the lock file is never visible in an unlocked state
        new.rename(path / _LOCK)
    except OSError:
        # the file system has no locks; without a lock file, no process considers the folder abandoned
        os.close(lock)
        return None
    return lock


def _remove(path: Path) -> None:
    if _live.get(path) == os.getpid():
        _remove_tree(path)
    # unregistered last, so that an interrupted removal is repeated at the end of the program
    _live.pop(path, None)


@atexit.register
def _remove_all() -> None:
    for path in list(_live):
        _remove(path)


def _remove_tree(path: Path) -> None:
    # the lock is removed last, so that an interrupted removal can be repeated
    shutil.rmtree(path / _FILES, ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)


def _take_signals() -> tuple[signal.Signals, ...]:
    """Install handlers for signals that end the program, except those that the program handles or ignores."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    # not every system has all of these signals; by default, Python turns SIGINT into an exception
    existing = [number for number in signal.Signals if number.name in _SIGNALS]
    taken = tuple(number for number in existing if signal.getsignal(number) == signal.SIG_DFL)
    for number in taken:
        signal.signal(number, _remove_and_end)
    return taken


def _give_back(taken: tuple[signal.Signals, ...]) -> None:
    # only the main thread can restore handlers; a handler that remains ends the program like the default
    with suppress(ValueError):
        for number in taken:
            if signal.getsignal(number) is _remove_and_end:
                signal.signal(number, signal.SIG_DFL)


def _remove_and_end(number: int, frame: FrameType | None) -> None:
    """Remove all folders of this process, and then perform the default action of the signal."""
    _remove_all()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
