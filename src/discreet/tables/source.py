"""What a source of rows is, and the options that cannot change a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from discreet.design.columns import Readable
from discreet.errors import SpecError, shown
from discreet.privacy.checks import is_integer
from discreet.tables.frames import Origin

if TYPE_CHECKING:
    from pyarrow import RecordBatch


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

    def place(self, row: int) -> Place:
        """Where a row of the batch given last stands."""
        ...


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
    """

    batch_rows: int = 65_536
    chunk_rows: int = 16_384
    progress: Callable[[float | None], None] | None = None

    def __post_init__(self) -> None:
        for name in ("batch_rows", "chunk_rows"):
            value = getattr(self, name)
            if not is_integer(value) or not value > 0:
                raise SpecError(f"{name} {shown(value)} is not allowed; choose a positive integer")
        if self.progress is not None and not callable(self.progress):
            raise SpecError(f"progress: expected a function of one argument, got {type(self.progress).__name__}")

    def report_progress(self, source: Source) -> None:
        """Report how far the source is read."""
        if self.progress is not None:
            self.progress(source.share_read)

    def report_read(self) -> None:
        """Report that the source is read and that work goes on."""
        if self.progress is not None:
            self.progress(None)


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
