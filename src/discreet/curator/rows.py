"""Bounded rows: declared columns to integers on the public grid, every row inside its declared domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.design.derived import completed
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.exact.ball import shrink_to_ball
from discreet.tables.encoder import write_scaled


class GridRows:
    """Fills a reusable column-major buffer with rows (1, x, y) in grid steps and gives it away when full.

    Every element is an integer of at most `2**grid_bits` in size, stored as a double. What is in a row depends
    on that row of the table and on public numbers only.
    """

    def __init__(self, design: Design, domain: RowDomain, chunk_rows: int) -> None:
        self._design = design
        self._columns = {name: design.columns[name] for name in (*design.regressors, design.target)}
        self._domain = domain
        self._buffer: FloatArray = np.empty((len(design.released), chunk_rows))
        self._buffer[0] = domain.unit
        self._used = 0

    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Arrays of the released columns, regressors first, from those of the table's columns."""
        base = dict(zip(self._design.table_columns, settled, strict=True))
        return completed(self._design.columns, self._columns, base)

    @property
    def capacity(self) -> int:
        """Rows in a full chunk."""
        return int(self._buffer.shape[1])

    def encoded(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """The rows (1, x, y) of one batch of settled arrays, in an array of their own."""
        block = np.empty((self._buffer.shape[0], arrays[-1].shape[-1]))
        block[0] = self._domain.unit
        self._write(arrays, block)
        return block

    def add(self, arrays: Sequence[FloatArray]) -> Iterator[FloatArray]:
        """Take settled arrays of one batch; give each chunk as it fills, valid until the next one is asked for."""
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
        """The rows left over after the last full chunk, perhaps none."""
        return self._buffer[:, : self._used]

    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        write_scaled(self._columns, arrays, block[1:], unit=float(self._domain.unit))
        np.rint(block[1:], out=block[1:])  # [P:grid-rounding]
        ball = self._domain.ball_norm2
        if ball is not None and ball < self._domain.box_norm2:
            shrink_to_ball(block[1:-1], ball)
