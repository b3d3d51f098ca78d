"""The bytes of a text file, unpacked where its name says that they are compressed.

Whatever goes wrong becomes one plain sentence about the file: a stream that is damaged or breaks off is refused as a
whole, since what stands before the damage is not the table.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Final

import pyarrow as pa

from discreet.errors import DataError

# how a file of each ending begins, and Arrow's name of its codec
CODECS: Final = {".gz": (b"\x1f\x8b", "gzip"), ".zst": (b"\x28\xb5\x2f\xfd", "zstd")}


class TextBytes:
    """One file, read from its beginning, or the stored bytes of it from `start` on and before `end`.

    `buffering` is as for `open`, where 0 takes up no byte that was not asked for.
    """

    def __init__(self, path: Path, *, buffering: int = -1, start: int = 0, end: int | None = None) -> None:
        self._path = path
        self._start, self._end = start, end
        codec = CODECS.get(path.suffix.lower())
        self._packed = codec is not None
        try:
            # closed with this object
            self._raw = path.open("rb", buffering=buffering)
            self.size = self._raw.seek(0, 2)
            self._raw.seek(start)
        except OSError as error:
            problem = DataError(f"the file {path.name!r} cannot be opened: {error.strerror}")
        else:
            self._stream = (
                self._raw if codec is None else pa.CompressedInputStream(pa.PythonFile(self._raw, mode="r"), codec[1])
            )
            return
        raise problem

    def __enter__(self) -> TextBytes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raw.close()

    @property
    def share(self) -> float:
        """Share of the stored bytes that were taken up, 0 to 1."""
        length = (self.size if self._end is None else self._end) - self._start
        return min(1.0, (self._raw.tell() - self._start) / length) if length > 0 else 1.0

    @property
    def has_grown(self) -> bool:
        """Whether more was read than the file held at first."""
        return self._raw.tell() > self.size

    def read(self, size: int) -> bytes:
        """At most so many bytes of the text; none at its end."""
        if self._end is not None:
            size = min(size, max(self._end - self._raw.tell(), 0))
        try:
            return bytes(self._stream.read(size))
        except OSError as error:
            # Arrow has no words of the system for a stream that cannot be unpacked
            how = error.strerror if error.strerror or not self._packed else None
            problem = DataError(
                f"the file {self._path.name!r} cannot be unpacked: it is damaged or breaks off; write or copy it again"
                if how is None
                else f"the file {self._path.name!r} cannot be read to its end: {how}"
            )
        raise problem
