"""Encode rows as integers on the public grid, and compute digests of them."""

from __future__ import annotations

import hashlib
import hmac
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from discreet.design.declarations import completed
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray, shrink_to_ball
from discreet.exact.elementary import doubles, halves
from discreet.tables.cells import write_scaled

# -- rows --------------------------------------------------------------------------------------------------------------
# Bounded rows: declared columns as integers on the public grid, every row inside its declared domain.
#
# Without bounds there is no grid; a row is then its settled cells, as pairs of integers.


class Rows(ABC):
    """Reusable column-major buffer of rows of integers, stored as doubles.

    The content of a row depends on that row of the table and on public numbers only. Its first integer is the constant.
    """

    def __init__(self, size: int, unit: int, chunk_rows: int) -> None:
        self._unit = unit
        self._buffer: FloatArray = np.empty((size, chunk_rows))
        self._buffer[0] = unit
        self._used = 0

    @abstractmethod
    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Compute the arrays of the columns to write from those of the table's columns."""

    @abstractmethod
    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        """Write all integers of the rows except the constant."""

    @property
    def capacity(self) -> int:
        """Number of rows in a full chunk."""
        return int(self._buffer.shape[1])

    def encoded(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """Encode one batch of settled arrays in a new array."""
        block = np.empty((self._buffer.shape[0], arrays[-1].shape[-1]))
        block[0] = self._unit
        self._write(arrays, block)
        return block

    def add(self, arrays: Sequence[FloatArray]) -> Iterator[FloatArray]:
        """Add the settled arrays of one batch; yield full chunks, each valid until the next one is requested."""
        rows = arrays[-1].shape[-1]
        start = 0
        while start < rows:
            taken = min(rows - start, self.capacity - self._used)
            block = self._buffer[:, self._used : self._used + taken]
            self._write([values[..., start : start + taken] for values in arrays], block)
            self._used += taken
            start += taken
            if self._used == self.capacity:
                yield self._buffer
                self._used = 0

    def rest(self) -> FloatArray:
        """Return the rows after the last full chunk, possibly none."""
        return self._buffer[:, : self._used]


class GridRows(Rows):
    """Rows (1, x, y) in grid steps: integers of absolute value at most `2**grid_bits`.

    In a design with weights, the weight of the row follows, in steps of the largest weight.
    """

    def __init__(self, design: Design, domain: RowDomain, chunk_rows: int, size: int | None = None) -> None:
        check_known(design)
        super().__init__(row_size(design) if size is None else size, domain.unit, chunk_rows)
        self._design = design
        self._columns = {name: design.columns[name] for name in (*design.regressors, design.target)}
        self._domain = domain

    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Compute the arrays of the released columns, regressors first, and of any weights."""
        base = dict(zip(self._design.table_columns, settled, strict=True))
        wanted = [*self._columns, *([] if self._design.weights is None else [self._design.weights])]
        return completed(self._design.columns, wanted, base)

    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        if self._design.weights is not None:
            steps = self._domain.weight_unit
            with np.errstate(over="ignore"):
                block[-1] = np.rint(
                    np.clip(arrays[-1] * (steps / self._design.largest_weight), 0, steps)
                )  # [P:grid-weight]
            arrays, block = arrays[:-1], block[:-1]
        write_scaled(self._columns, arrays, block[1:], unit=float(self._domain.unit), integers=True)
        if self._domain.shrinks:
            shrink_to_ball(block[1:-1], self._domain.norm2_bound)


class SettledRows(Rows):
    """Settled cells of the table's columns before bounds are known, each finite double stored as two integers."""

    def __init__(self, design: Design, domain: RowDomain, chunk_rows: int) -> None:
        super().__init__(settled_size(design), domain.unit, chunk_rows)

    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the cells unchanged."""
        return list(settled)

    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        for place, values in enumerate(arrays):
            block[1 + 2 * place : 3 + 2 * place] = halves(values)  # [P:settled-cells]


def row_size(design: Design) -> int:
    """Return the number of integers in a row: (1, x, y) with any weight, or settled cells while bounds are unknown.

    >>> row_size(Design("y", {"y": (0, 1), "x": (0, 1), "w": (0, 5)}, weights="w"))
    4
    """
    return settled_size(design) if design.searched else len(design.released) + (design.weights is not None)


def check_known(design: Design) -> None:
    """Refuse a design with bounds that are not known yet."""
    if design.searched:
        raise SpecError(
            f"the bounds of {', '.join(map(repr, design.searched))} are private: only discreet.release finds them; "
            "declare them here"
        )


def settled_size(design: Design) -> int:
    """Return the number of integers in a row of settled cells, including the constant."""
    return 1 + 2 * len(design.table_columns)


def settled_cells(chunk: FloatArray) -> list[FloatArray]:
    """Return the settled cells of rows from `SettledRows`, one array for each column of the table.

    >>> design = Design("y", {"y": (0, 1), "x": "private"})
    >>> rows = SettledRows(design, RowDomain.of(design), 4)
    >>> [values.tolist() for values in settled_cells(rows.encoded([np.array([0.5]), np.array([1e9])]))]
    [[0.5], [1000000000.0]]
    """
    return [doubles(chunk[start : start + 2]) for start in range(1, len(chunk), 2)]


# -- row digest --------------------------------------------------------------------------------------------------------
# A fingerprint of the rows that a release reads, for tables that are not files.


class RowDigest:
    """Digest of grid rows in order, however they are divided into batches.

    It depends on the design, so only fingerprints of the same design can be compared, and each names its design. The
    digest is only returned under a key.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> one, two = (RowDigest(design, RowDomain.of(design)) for _ in range(2))
    >>> one.add(np.array([[8.0, 8.0], [1.0, 2.0]]))
    >>> two.add(np.array([[8.0], [1.0]]))
    >>> one.keyed(b"key") == two.keyed(b"key")
    False
    >>> two.add(np.array([[8.0], [2.0]]))
    >>> one.keyed(b"key") == two.keyed(b"key")
    True
    """

    def __init__(self, design: Design, domain: RowDomain) -> None:
        self._kind = digest_kind(design, domain)
        self._rows = hashlib.sha256()
        self._persons = hashlib.sha256()

    def add(self, chunk: FloatArray) -> None:
        """Add rows (1, x, y) in grid steps, one per column; the constant is left out."""
        self._rows.update(np.ascontiguousarray(chunk[1:].T, dtype="<i4").data)

    def add_persons(self, persons: Iterable[str]) -> None:
        """Add the ids of rows."""
        texts = (person.encode() for person in persons)
        self._persons.update(b"".join(len(text).to_bytes(8, "big") + text for text in texts))

    def keyed(self, key: bytes) -> str:
        """Return the fingerprint under a secret key."""
        both = self._rows.digest() + self._persons.digest()
        return f"rows:{self._kind}:{hmac.new(key, both, hashlib.sha256).hexdigest()}"


def digest_kind(design: Design, domain: RowDomain) -> str:
    """Return the key of comparable fingerprints: those of one design on one grid.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> len(digest_kind(design, RowDomain.of(design)))
    16
    """
    read = [design.to_dict(), list(design.columns), domain.grid_bits]
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:16]
