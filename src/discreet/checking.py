"""Before anything is spent: what a table holds against its design, for the curator's own eyes."""

from __future__ import annotations

import warnings

from discreet.curator.inspection.reading import inspected
from discreet.curator.inspection.result import CheckNotForPublication
from discreet.design.model import Design
from discreet.errors import ColumnNotice, SpecError
from discreet.tables.files.opening import open_source
from discreet.tables.files.reading import ReadOptions
from discreet.tables.frames import position_notice
from discreet.tables.source import ComputeOptions, checked_options


def check(
    data: object,
    design: Design,
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    quoted_line_breaks: bool = False,
    compute: ComputeOptions | None = None,
) -> CheckNotForPublication:
    """Count exactly how a table fits its design, before anything is spent; NOT FOR PUBLICATION.

    The table is read as `discreet.release` reads it, in one pass and in memory that does not grow with the rows. All
    problems are found at once: a cell that would stop a release is counted like any other. No cell is quoted and no
    bound is proposed. The counts are exact, so they must not leave the curator.

    Parameters
    ----------
    data
        Everything that `discreet.release` reads.
    design
        Bounds, levels and rules, declared without looking at the data. Spelling, units, separators and types may be
        fixed after a check; a bound that is changed because of what the table holds leaks it without paying.
    encoding, delimiter, decimal, thousands, quoted_line_breaks
        How CSV files are written, as for `discreet.release`.
    compute
        How the work is done; cannot change the result.

    Returns
    -------
    CheckNotForPublication
        Rows read, rows that would count in a release, and by column the cells that are missing, not a number, no
        declared level or clipped, with the lines (of a CSV file) or positions of the first five.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": {"bounds": (0, 5), "missing": "drop"}})
    >>> found = check({"x": [1.0, None, "2,5", 3.0], "y": [2.0, 4.0, 6.0, 11.0]}, design)
    >>> found.rows_read, found.rows_fit
    (4, 2)
    >>> found.column("x").not_a_number.count, found.column("y").clipped_high.count
    (1, 1)
    """
    if not isinstance(design, Design):
        raise SpecError(f"expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")
    options = checked_options(compute)
    positions = position_notice(data, [*design.table_columns, *filter(None, [design.unit.id])])
    if positions is not None:
        warnings.warn(positions, ColumnNotice, stacklevel=2)
    reading = ReadOptions(encoding, delimiter, decimal, thousands, quoted_line_breaks)
    return inspected(open_source(data, reading=reading), design, options)
