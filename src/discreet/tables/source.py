"""Define a source of rows, the compute options, and cancellation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, Protocol

from discreet.design.columns import Readable
from discreet.errors import Cancelled, SpecError, shown
from discreet.privacy.checks import is_integer
from discreet.tables.frames import Origin

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# -- cancelling --------------------------------------------------------------------------------------------------------
# A request to stop that another thread can make, and the moment after which it is too late.


class CancelToken:
    """Stops one run of `discreet.release` or `discreet.check` from another thread, as long as nothing is spent.

    Give it to the run as `ComputeOptions(cancel=token)`. The run stops after the batch that it reads, with `Cancelled`.
    A release closes its token at the moment before it spends: who asks first wins, so a cancelled release has spent
    nothing, and one that spends cannot be cancelled any more. A token is for one run. `discreet.plan` and the searches
    of `discreet.planning` take one as `cancel=token`; they spend nothing and never close it.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}
    >>> token = discreet.CancelToken()
    >>> made = discreet.release(table, design, epsilon=1.0, compute=discreet.ComputeOptions(cancel=token))
    >>> token.cancel()
    False
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._cancelled = self._closed = False

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked in time."""
        return self._cancelled

    @property
    def closed(self) -> bool:
        """Whether it is too late to ask."""
        return self._closed

    def cancel(self) -> bool:
        """Ask the run to stop; true if it will, with nothing spent, and false if it is too late.

        >>> token = CancelToken()
        >>> token.cancel(), token.cancelled, token.closed
        (True, True, False)
        """
        with self._lock:
            self._cancelled = not self._closed
            return self._cancelled

    def check(self) -> None:
        """Raise `Cancelled` if somebody asked."""
        if self._cancelled:
            raise Cancelled

    def close(self) -> None:
        """Raise `Cancelled` if somebody asked; from now on it is too late.

        >>> token = CancelToken()
        >>> token.close()
        >>> token.cancel()
        False
        """
        with self._lock:
            self.check()
            self._closed = True


def checking(cancel: object) -> Callable[[], None]:
    """What work calls again and again, and what ends it where somebody asked; nothing without a token.

    >>> checking(None)()
    """
    if cancel is None:
        return lambda: None
    if not isinstance(cancel, CancelToken):
        raise SpecError(f"cancel: expected a CancelToken, got {type(cancel).__name__}")
    return cancel.check


# -- source ------------------------------------------------------------------------------------------------------------
# What a source of rows is, and the options that cannot change a result.

MOST_WORKERS: Final = 256
_USUAL_WORKERS: Final = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands.

    Attributes
    ----------
    number
        The line as an editor shows it, counted from 1, or the position of the row, counted from 0.
    kind
        Which of the two.
    file
        Name of the file, where there are several.

    Examples
    --------
    >>> Place(7, "line", "may.csv").number
    7
    """

    number: int
    kind: Literal["line", "row"]
    file: str | None = None


class Part(Protocol):
    """Rows of a table that one worker reads."""

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Record batches that hold at least the declared columns, in the order of `columns`."""
        ...


class Source(Protocol):
    """A table that yields the declared columns by name, in batches of any size."""

    @property
    def share_read(self) -> float | None:
        """Share of the input, 0 to 1, that the running `batches` has consumed; none where the length is not known."""
        ...

    @property
    def origin(self) -> Origin | None:
        """What the rows themselves depend on: a query, a stream, or right quotes; none for a stored table."""
        ...

    @property
    def read_as(self) -> Mapping[str, object]:
        """How the bytes of files are read, as a ledger keeps it; the same for every table in memory."""
        ...

    @property
    def numbered(self) -> Literal["line", "row"]:
        """What `place` counts."""
        ...

    @property
    def fingerprint(self) -> Callable[[bytes], str] | None:
        """From a secret key to a digest of the whole content; none where only rows that are read can be digested."""
        ...

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Record batches that hold at least the declared columns, in the order of `columns`."""
        ...

    def parts(self, count: int) -> Sequence[Part]:
        """At most so many parts in the order of the table, to be read at once, all of them and each once.

        One part where the table cannot be cut without being read. Together they have every row of `batches` once.
        """
        ...

    def place(self, row: int) -> Place:
        """Where a row of the batch given last stands."""
        ...


def usual_workers() -> int:
    """As many workers as there are cores for this process, and no more than 4.

    >>> 1 <= usual_workers() <= 4
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, _USUAL_WORKERS)


@dataclass(frozen=True, slots=True)
class ComputeOptions:
    """How the work is done; nothing in it can change a result.

    Attributes
    ----------
    batch_rows, chunk_rows
        Rows read at a time, and rows multiplied at a time; the second is lowered where the grid or memory asks for it.
    progress
        Called after each batch with the share of the input read so far, or none where unknown; and once with none when
        all is read and more work follows. Later passes over the rows are not reported: how many a mechanism takes may
        depend on the values.
    workers
        How many threads read and sum at once, 1 to 256; as many as the process has cores, and no more than 4, unless
        given. An error is that of the earliest part of the table, whoever finds one first.
    cancel
        With which another thread can stop the run after any batch, and before anything is spent.

    Examples
    --------
    >>> ComputeOptions(workers=2).workers
    2
    """

    batch_rows: int = 65_536
    chunk_rows: int = 16_384
    progress: Callable[[float | None], None] | None = None
    workers: int = field(default_factory=usual_workers)
    cancel: CancelToken | None = None

    def __post_init__(self) -> None:
        for name in ("batch_rows", "chunk_rows", "workers"):
            value = getattr(self, name)
            if isinstance(value, Integral) and not isinstance(value, bool):
                # an integer of NumPy is one too
                object.__setattr__(self, name, int(value))
        for name in ("batch_rows", "chunk_rows"):
            value = getattr(self, name)
            if not is_integer(value) or not value > 0:
                raise SpecError(f"{name} {shown(value)} is not allowed; choose a positive integer")
        if not is_integer(self.workers) or not 1 <= self.workers <= MOST_WORKERS:
            raise SpecError(f"workers {shown(self.workers)} is not allowed; choose an integer from 1 to {MOST_WORKERS}")
        if self.progress is not None and not callable(self.progress):
            raise SpecError(f"progress: expected a function of one argument, got {type(self.progress).__name__}")
        checking(self.cancel)

    def report_progress(self, source: Source) -> None:
        """Report how far the source is read, unless the run was cancelled."""
        if self.cancel is not None:
            self.cancel.check()
        if self.progress is not None:
            self.progress(source.share_read)

    def report_read(self) -> None:
        """Report that the source is read and that work goes on."""
        if self.progress is not None:
            self.progress(None)

    def close_cancel(self) -> None:
        """Refuse a run that was cancelled; from here on it cannot be."""
        if self.cancel is not None:
            self.cancel.close()


def checked_options(compute: object) -> ComputeOptions:
    """The given options, or those that hold unless others are given.

    >>> checked_options(None) == ComputeOptions()
    True
    """
    if compute is None:
        return ComputeOptions()
    if not isinstance(compute, ComputeOptions):
        raise SpecError(f"compute: expected a ComputeOptions, got {type(compute).__name__}")
    return compute
