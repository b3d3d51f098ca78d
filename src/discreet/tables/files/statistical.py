"""Stata, SPSS and SAS files as record batches, read in parts by `pyreadstat`, one cell at a time.

The file states the type of each column. The reader hands on one Python object for each cell, and missing ones as none;
labels and formats decide nothing, so a date is the number that the file stores. What the reader says about a damaged
file may quote it, so every fault becomes one plain sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from discreet.design.columns import Readable
from discreet.errors import DataError, missing_extra
from discreet.tables.files.arrow import check_file_names
from discreet.tables.files.pieces import uncut

if TYPE_CHECKING:
    from pyarrow import DataType, RecordBatch

_READERS: Final = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
# all other types are numbers that doubles hold
_TYPES: Final = {"string": pa.string(), "string_ref": pa.string(), "float": pa.float32()}
_PART_ROWS: Final = 65_536
# a transport file is filled up with blanks, and its reader leaves out rows of nothing else at its end
_PADDED: Final = ".xpt"


class StatisticalFile:
    """One file of a statistics program, which states its own columns and their types."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = _reader(path)

    def all_types(self) -> Mapping[str, DataType]:
        """Every column in its order, as text or numbers."""
        _, about = self._read(metadataonly=True)
        stored = about.readstat_variable_types
        return {name: _TYPES.get(stored[name], pa.float64()) for name in about.column_names}

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Types of the declared columns; refuse a file that lacks one."""
        types = self.all_types()
        check_file_names(self.path, names, list(types))
        return {name: types[name] for name in names}

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[tuple[RecordBatch, float]]:
        """Yield the declared columns in batches of rows, each with the share of the file that is read."""
        names = list(columns)
        types = self.column_types(names)
        done, rows = 0, _PART_ROWS
        while rows == _PART_ROWS:
            found, about = self._read(usecols=names, row_offset=done, row_limit=_PART_ROWS)
            part = pa.record_batch([_cells(found[name], types[name]) for name in names], names=names)
            rows, first = part.num_rows, done == 0
            if self.path.suffix.lower() == _PADDED:
                part = self._without_blank_rows(part, done)
            done += rows
            # some of these files do not say how many rows they have
            share = min(1.0, done / about.number_rows) if about.number_rows else float(rows < _PART_ROWS)
            # types are checked in every table, also in one without rows
            for start in range(0, part.num_rows or first, batch_rows):
                yield part.slice(start, batch_rows), share

    def _without_blank_rows(self, part: RecordBatch, start: int) -> RecordBatch:
        """Leave out rows of blanks wherever they are, since at the end of the file they look like filling.

        Otherwise the last row that is not blank would decide whether all those before it are there.
        """
        if not _blank_rows(part).true_count:
            return part
        types = self.all_types()
        found, _ = self._read(row_offset=start, row_limit=_PART_ROWS)
        whole = pa.record_batch([_cells(found[name], kind) for name, kind in types.items()], names=list(types))
        return part.filter(pc.invert(_blank_rows(whole)))

    def pieces(self, cuts: Sequence[float]) -> Sequence[tuple[StatisticalFile, float] | None]:
        """The whole file: its reader finds no row without those before it; see `TableFile.pieces`."""
        return uncut(self, cuts)

    def line(self, row: int) -> int | None:
        """None: rows of such a file have no lines."""
        return None

    def _read(self, **part: object) -> tuple[Mapping[str, list[object]], Any]:
        try:
            return self._reader(str(self.path), output_format="dict", disable_datetime_conversion=True, **part)
        except Exception:  # whatever the reader says, it may quote the file
            problem = DataError(
                f"the file {self.path.name!r} cannot be read: it is damaged, not in the format that its name says, or "
                "has text in another encoding than it states; write it again, or save it as CSV or Parquet"
            )
        raise problem


def _reader(path: Path) -> Callable[..., tuple[Mapping[str, list[object]], Any]]:
    try:
        import pyreadstat
    except ImportError:
        problem = missing_extra("stata", "pyreadstat", what=f"the file {path.name!r}")
    else:
        reader: Callable[..., tuple[Mapping[str, list[object]], Any]] = getattr(
            pyreadstat, _READERS[path.suffix.lower()]
        )
        return reader
    raise problem


def _blank_rows(part: RecordBatch) -> pa.BooleanArray:
    """Which rows may be made of blanks alone, by the columns at hand."""
    blank = pa.repeat(True, part.num_rows)
    for values in part.columns:
        text = pa.types.is_string(values.type)
        blank = pc.and_(blank, values.is_null() if text else pc.is_in(values, value_set=_blank_numbers()))
    return blank


@cache
def _blank_numbers() -> pa.Array:
    """What blanks are as a number of 2 to 8 bytes: an exponent, and a mantissa that ends in zeros.

    Only where a transport file is read: an Arrow array of Python objects loads pandas.
    """
    return pa.array(
        int.from_bytes((b" " * (width - 1)).ljust(7, b"\0"), "big") * 2.0**-56 * 16.0 ** (ord(" ") - 64)
        for width in range(2, 9)
    )


def _cells(cells: list[object], kind: DataType) -> pa.Array:
    """One Arrow array of the type that the file states; text without a character is a missing cell, as in CSV."""
    if pa.types.is_string(kind):
        return pa.array([cell or None for cell in cells], pa.string())
    return pa.array(cells, kind)
