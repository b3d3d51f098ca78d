"""Sources of rows, options of the computation, and tokens that cancel a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, Protocol

from discreet.design.columns import Readable
from discreet.errors import Cancelled, OptionError
from discreet.privacy.checks import is_integer
from discreet.tables.frames import Origin

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# -- cancelling --------------------------------------------------------------------------------------------------------


class CancelToken:
    """A token that cancels a run of `discreet.release` or `discreet.check` from another thread.

    Pass it as `ComputeOptions(cancel=token)`. The run stops after the current batch and raises `Cancelled`. A release
    closes its token just before it spends any budget. A cancelled release has therefore spent nothing, and a release
    that spends can no longer be cancelled. Use a token for one run only. `discreet.plan` and the searches of
    `discreet.planning` accept `cancel=token`. They spend no budget and never close the token.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}
    >>> token = discreet.CancelToken()
    >>> release = discreet.release(table, design, epsilon=1.0, compute=discreet.ComputeOptions(cancel=token))
    >>> token.cancel()
    False
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._cancelled = self._closed = False

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled in time."""
        return self._cancelled

    @property
    def closed(self) -> bool:
        """Whether it is too late to cancel."""
        return self._closed

    def cancel(self) -> bool:
        """Cancel the run. Return False if it is too late.

        >>> token = CancelToken()
        >>> token.cancel(), token.cancelled, token.closed
        (True, True, False)
        """
        with self._lock:
            self._cancelled = not self._closed
            return self._cancelled

    def check(self) -> None:
        """Raise `Cancelled` if the run was cancelled."""
        if self._cancelled:
            raise Cancelled

    def close(self) -> None:
        """Raise `Cancelled` if the run was cancelled. Otherwise make it impossible to cancel the run later.

        >>> token = CancelToken()
        >>> token.close()
        >>> token.cancel()
        False
        """
        with self._lock:
            self.check()
            self._closed = True


def checking(cancel: object) -> Callable[[], None]:
    """Return a function that raises `Cancelled` once a token is cancelled."""
    if cancel is None:
        return lambda: None
    if not isinstance(cancel, CancelToken):
        problem = f"cancel: expected a CancelToken, got {type(cancel).__name__}"
        raise OptionError(problem, option="cancel", allowed="a CancelToken")
    return cancel.check


# -- source ------------------------------------------------------------------------------------------------------------
MOST_WORKERS: Final = 256
_USUAL_WORKERS: Final = 4


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a row: a line counted from 1, or a row index counted from 0, as `kind` says.

    `file` is the name of the file if there are several.
    """

    number: int
    kind: Literal["line", "row"]
    file: str | None = None


class Part(Protocol):
    """A part of a table that one worker reads."""

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Yield record batches with at least the declared columns, in the order of `columns`."""
        ...


class Source(Protocol):
    """A table that yields the declared columns by name, in batches of any size."""

    @property
    def share_read(self) -> float | None:
        """Fraction of the input that `batches` has read, or None if the length is unknown."""
        ...

    @property
    def origin(self) -> Origin | None:
        """The computation that produces the rows, such as a query or a stream, or None for a stored table."""
        ...

    @property
    def read_as(self) -> Mapping[str, object]:
        """The reading options that a ledger records. They are the same for all tables in memory."""
        ...

    @property
    def numbered(self) -> Literal["line", "row"]:
        """Whether `place` returns lines or rows."""
        ...

    @property
    def fingerprint(self) -> Callable[[bytes], str] | None:
        """Function from a secret key to a digest of the content, or None if the digest must be computed from rows."""
        ...

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Yield record batches with at least the declared columns, in the order of `columns`."""
        ...

    def parts(self, count: int) -> Sequence[Part]:
        """Split the table into at most `count` parts, in order, which can be read concurrently.

        A table that cannot be split without reading it is returned as one part. Every row is in exactly one part.
        """
        ...

    def place(self, row: int) -> Place:
        """Return the position of a row of the last batch."""
        ...


def usual_workers() -> int:
    """Return the number of processor cores available to this process, but at most 4."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, _USUAL_WORKERS)


@dataclass(frozen=True, slots=True)
class ComputeOptions:
    """Options of the computation that cannot change a result.

    Attributes
    ----------
    batch_rows
        Number of rows that are read at a time.
    chunk_rows
        Number of rows that are multiplied at a time. Chunks may be smaller if exact arithmetic requires it.
    progress
        Function that is called after each batch with the fraction of the input read, or None if unknown. It is also
        called once with None when reading is complete and more work follows. Later passes over the rows are not
        reported, because their number may depend on the data.
    workers
        Number of threads, 1 to 256. The default is the number of processor cores available to the process, but at
        most 4. If several parts of a table have errors, the error in the earliest part is raised.
    cancel
        Token that cancels the run from another thread, between batches and before any budget is spent.

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
                # convert NumPy integers
                object.__setattr__(self, name, int(value))
        for name in ("batch_rows", "chunk_rows"):
            value = getattr(self, name)
            if not is_integer(value) or not value > 0:
                raise OptionError(option=name, given=value, allowed="a positive integer")
        if not is_integer(self.workers) or not 1 <= self.workers <= MOST_WORKERS:
            raise OptionError(option="workers", given=self.workers, allowed=f"an integer from 1 to {MOST_WORKERS}")
        if self.progress is not None and not callable(self.progress):
            problem = f"progress: expected a function of one argument, got {type(self.progress).__name__}"
            raise OptionError(problem, option="progress", allowed="a function of one argument")
        checking(self.cancel)

    def report_progress(self, source: Source) -> None:
        """Report the fraction read, or raise `Cancelled` if the run was cancelled."""
        if self.cancel is not None:
            self.cancel.check()
        if self.progress is not None:
            self.progress(source.share_read)

    def report_read(self) -> None:
        """Report that the source has been read and that more work follows."""
        if self.progress is not None:
            self.progress(None)

    def close_cancel(self) -> None:
        """Raise `Cancelled` if the run was cancelled. Otherwise make it impossible to cancel the run later."""
        if self.cancel is not None:
            self.cancel.close()


def checked_options(compute: object) -> ComputeOptions:
    """Return the options, or the default options for None."""
    if compute is None:
        return ComputeOptions()
    if not isinstance(compute, ComputeOptions):
        problem = f"compute: expected ComputeOptions, got {type(compute).__name__}"
        raise OptionError(problem, option="compute", allowed="a ComputeOptions")
    return compute
