"""Files cut into parts of about the same size, each for one worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from discreet.design.columns import Readable
from discreet.errors import DataError

if TYPE_CHECKING:
    from pyarrow import RecordBatch

File = TypeVar("File")
Item = TypeVar("Item")


class Piece(Protocol):
    """A file, or lines, row groups or record batches of it that follow one another."""

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Record batches, each with the share of the piece read."""
        ...

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[Piece, float] | None]:
        """The file cut near these shares of it, ascending and inside (0, 1).

        One more than there are cuts, in order, each with its share of the file; none where nothing is between two cuts.
        """
        ...


def uncut(file: File, cuts: Sequence[float]) -> Sequence[tuple[File, float] | None]:
    """A file that cannot be cut, as `Piece.pieces` gives it.

    >>> uncut("file", [0.25, 0.5])
    [('file', 1.0), None, None]
    """
    return [(file, 1.0), *(None for _ in cuts)]


def cut_files(files: Sequence[tuple[Piece, int]], count: int) -> list[list[tuple[Piece, float]]]:
    """Files, each with its size in bytes, as at most `count` lists of pieces with theirs, all in order.

    Only files in which one list ends and the next begins are cut.
    """
    total = sum(size for _, size in files)
    lists: list[list[tuple[Piece, float]]] = [[] for _ in range(count)]
    before = current = 0
    for file, size in files:
        inside = [index for index in range(1, count) if before < total * index / count < before + size]
        cuts = [(total * index / count - before) / size for index in inside]
        # an end that is between two files goes with none of them
        current = max(current, sum(total * index / count <= before for index in range(1, count)))
        for piece in file.pieces(cuts) if cuts else [(file, 1.0)]:
            if piece is not None:
                lists[current].append((piece[0], piece[1] * size))
            current += 1
        current -= 1
        before += size
    return [pieces for pieces in lists if pieces]


def unless_changed(items: Iterator[Item], check_unchanged: Callable[[], None]) -> Iterator[Item]:
    """What is read of a file; where it cannot be read, a change meanwhile is the reason before any other.

    >>> list(unless_changed(iter("ab"), lambda: None))
    ['a', 'b']
    """
    try:
        yield from items
    except DataError as error:
        problem = error
    else:
        return
    check_unchanged()
    raise problem


class FilePart:
    """Pieces of files that one worker reads.

    Parameters
    ----------
    pieces
        In order, each with its size in bytes.
    check_names, check_unchanged
        What is checked about all files of the table, before rows are read and after.
    """

    def __init__(
        self,
        pieces: Sequence[tuple[Piece, float]],
        check_names: Callable[[list[str]], None],
        check_unchanged: Callable[[], None],
    ) -> None:
        self._pieces = pieces
        self._check_names = check_names
        self._check_unchanged = check_unchanged
        self.bytes_read = 0.0

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Record batches that hold the declared columns; refuses at its end a file that changed meanwhile."""
        self._check_names(list(columns))
        done = 0.0
        for piece, size in self._pieces:
            for batch, share in unless_changed(piece.batches(columns, batch_rows), self._check_unchanged):
                self.bytes_read = done + share * size
                yield batch
            done += size
            self.bytes_read = done
        self._check_unchanged()
