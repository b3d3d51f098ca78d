"""Exact and floating-point sums over a table in memory."""

from __future__ import annotations

import inspect

import numpy as np

import discreet
from benchmarks.jobs import tables
from benchmarks.jobs.timing import Seconds, timed
from discreet.tables.source import ComputeOptions
from discreet.testing import exact_release

CHUNK = 16_384
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def alone() -> ComputeOptions:
    """Return the option for a single worker, if the number of workers can be chosen."""
    return ComputeOptions(**({"workers": 1} if "workers" in inspect.signature(ComputeOptions).parameters else {}))


def exact(rows: int, columns: int, times: int = 3) -> dict[str, Seconds]:
    """Time the exact sums of products of all columns."""
    table = tables.in_memory(rows, columns)
    design = discreet.Design("y", tables.declared(columns))
    return {"sums": timed(lambda: exact_release(table, design, compute=alone()), times, warm=True)}


def plain(rows: int, columns: int, times: int = 3) -> dict[str, Seconds]:
    """Time the same sums in floating point: each chunk of rows multiplied by itself."""
    table = tables.in_memory(rows, columns)
    block = np.concatenate([np.ones((1, rows)), np.stack(list(table.values()))])

    def work() -> np.ndarray:
        total = np.zeros((columns + 2, columns + 2))
        for start in range(0, rows, CHUNK):
            chunk = block[:, start : start + CHUNK]
            total += chunk @ chunk.T
        return total

    return {"sums": timed(work, times, warm=True)}


def levels(rows: int, levels: int, part: str) -> dict[str, Seconds]:
    """Time the exact sums of a table with one category, or a whole release of it."""
    table, columns = tables.of_levels(rows, levels)
    design = discreet.Design("y", columns)
    small, of_small = tables.of_levels(100, 3)
    discreet.release(small, discreet.Design("y", of_small), **BUDGET, mechanism="gaussian")
    if part == "sums":
        return {part: timed(lambda: exact_release(table, design, compute=alone()))}
    return {part: timed(lambda: discreet.release(table, design, **BUDGET, mechanism="gaussian", compute=alone()))}


def persons(rows: int, persons: int, *, by_person: bool) -> dict[str, Seconds]:
    """Time a release of individuals with at most 3 rows each, or of the same rows as independent ones."""
    table = tables.of_persons(rows, persons)
    unit = {"id": "person", "max_rows": 3} if by_person else None
    design = discreet.Design("y", tables.PERSONS_COLUMNS, **({"unit": unit} if unit else {}))
    discreet.release(table.slice(0, 1000), design, **BUDGET, mechanism="gaussian", compute=alone())
    return {"release": timed(lambda: discreet.release(table, design, **BUDGET, mechanism="gaussian", compute=alone()))}


def checked(path: str) -> dict[str, Seconds]:
    """Time a check of a table, read as for a release, and a release."""
    from discreet.tables.arrow import declared_arrays
    from discreet.tables.opening import open_source

    design = discreet.Design("y", tables.MIXED_COLUMNS)

    def read() -> None:
        for batch in open_source(path).batches(design.table_columns, ComputeOptions().batch_rows):
            declared_arrays(batch, design.table_columns)

    return {
        "check": timed(lambda: discreet.check(path, design), warm=True),
        "reading": timed(read, warm=True),
        "release": timed(
            lambda: discreet.release(path, design, **BUDGET, mechanism="gaussian", compute=alone()), warm=True
        ),
    }
