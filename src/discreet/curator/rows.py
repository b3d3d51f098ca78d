"""Encode rows as integers on the public grid, and compute digests of rows."""

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
# Declared columns become integers on the public grid, and every row is inside its declared domain. While bounds are
# unknown there is no grid, and a row consists of its imputed cells, each stored as a pair of integers.


class Rows(ABC):
    """Encoder of rows as integers, with a reusable column-major buffer. The integers are stored as doubles.

    An encoded row depends only on the same row of the table and on public numbers. Its first integer is the constant.
    """

    def __init__(self, size: int, unit: int, chunk_rows: int) -> None:
        self._unit = unit
        self._buffer: FloatArray = np.empty((size, chunk_rows))
        self._buffer[0] = unit
        self._used = 0

    @abstractmethod
    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Compute the arrays that are encoded from the imputed arrays of the table columns."""

    @abstractmethod
    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        """Write all integers of the rows, except the constant, to a block."""

    @property
    def capacity(self) -> int:
        """Number of rows in a full chunk."""
        return int(self._buffer.shape[1])

    def encoded(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """Encode the imputed arrays of a batch in a new block."""
        block = np.empty((self._buffer.shape[0], arrays[-1].shape[-1]))
        block[0] = self._unit
        self._write(arrays, block)
        return block

    def add(self, arrays: Sequence[FloatArray]) -> Iterator[FloatArray]:
        """Encode the imputed arrays of a batch, and yield the chunks that are full.

        A chunk is valid until the next one is requested.
        """
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
        """Return the rows that follow the last full chunk. There may be none."""
        return self._buffer[:, : self._used]


class GridRows(Rows):
    """Encoder of rows (1, x, y) in grid steps, which are integers of absolute value at most `2**grid_bits`.

    In a design with weights, the last entry of a row is its weight, where `2**weight_bits` is the largest weight.
    """

    def __init__(self, design: Design, domain: RowDomain, chunk_rows: int, size: int | None = None) -> None:
        check_known(design)
        super().__init__(row_size(design) if size is None else size, domain.unit, chunk_rows)
        self._design = design
        self._columns = {name: design.columns[name] for name in (*design.regressors, design.target)}
        self._domain = domain

    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Compute the arrays of the regressors, of the target and, if the design has weights, of the weights."""
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
    """Encoder of imputed cells while bounds are unknown. Each cell is a double, stored as two integers."""

    def __init__(self, design: Design, domain: RowDomain, chunk_rows: int) -> None:
        super().__init__(settled_size(design), domain.unit, chunk_rows)

    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the imputed arrays unchanged."""
        return list(settled)

    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        for place, values in enumerate(arrays):
            block[1 + 2 * place : 3 + 2 * place] = halves(values)  # [P:settled-cells]


def row_size(design: Design) -> int:
    """Return the number of integers in an encoded row.

    A row holds (1, x, y) and any weight, or imputed cells while bounds are unknown.
    """
    return settled_size(design) if design.searched else len(design.released) + (design.weights is not None)


def check_known(design: Design) -> None:
    """Raise SpecError if a column has private bounds that have not been estimated yet."""
    if design.searched:
        raise SpecError(
            f"the bounds of {', '.join(map(repr, design.searched))} are private, which only discreet.release supports; "
            "declare these bounds"
        )


def settled_size(design: Design) -> int:
    """Return the number of integers in a row of imputed cells, including the constant."""
    return 1 + 2 * len(design.table_columns)


def settled_cells(chunk: FloatArray) -> list[FloatArray]:
    """Decode the rows of `SettledRows`, and return an array for each column of the table."""
    return [doubles(chunk[start : start + 2]) for start in range(1, len(chunk), 2)]


# -- row digest --------------------------------------------------------------------------------------------------------
# Tables that are not files have a fingerprint of the rows that a release reads.


class RowDigest:
    """Digest of a sequence of encoded rows, which does not depend on how they are divided into batches.

    Encoded rows depend on the design, so only fingerprints for the same design can be compared, and each fingerprint
    names its design. The digest is returned only as a keyed hash.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> first, second = (RowDigest(design, RowDomain.of(design)) for _ in range(2))
    >>> first.add(np.array([[8.0, 8.0], [1.0, 2.0]]))
    >>> second.add(np.array([[8.0], [1.0]]))
    >>> second.add(np.array([[8.0], [2.0]]))
    >>> first.keyed(b"key") == second.keyed(b"key")
    True
    """

    def __init__(self, design: Design, domain: RowDomain) -> None:
        self._kind = digest_kind(design, domain)
        self._rows = hashlib.sha256()
        self._persons = hashlib.sha256()

    def add(self, chunk: FloatArray) -> None:
        """Add rows (1, x, y) in grid steps, which are the columns of `chunk`. The constant is ignored."""
        self._rows.update(np.ascontiguousarray(chunk[1:].T, dtype="<i4").data)

    def add_persons(self, persons: Iterable[str]) -> None:
        """Add the id of each row."""
        texts = (person.encode() for person in persons)
        self._persons.update(b"".join(len(text).to_bytes(8, "big") + text for text in texts))

    def keyed(self, key: bytes) -> str:
        """Return the fingerprint, which is a hash of the digest with a secret key."""
        both = self._rows.digest() + self._persons.digest()
        return f"rows:{self._kind}:{hmac.new(key, both, hashlib.sha256).hexdigest()}"


def digest_kind(design: Design, domain: RowDomain) -> str:
    """Return a short hash of the design and the grid. Only fingerprints with equal hashes can be compared."""
    read = [design.to_dict(), list(design.columns), domain.grid_bits]
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:16]
