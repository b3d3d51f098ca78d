"""Define all cases of a run at the sizes of a profile, and the files that they need, without running them."""

from __future__ import annotations

from benchmarks.cases import Case, TableFile
from benchmarks.catalogue.analyst import analysis, solvers
from benchmarks.catalogue.files import WORKERS, baselines, by_rows, checks, large_file, staged, start_up, text
from benchmarks.catalogue.memory import (
    busy,
    by_columns,
    by_levels,
    gram,
    mechanisms,
    noise,
    objective,
    passes,
    persons,
)
from benchmarks.catalogue.sizes import PROFILES, D, Sizes

__all__ = ["PROFILES", "WORKERS", "cases", "tables"]


def tables(sizes: Sizes) -> dict[str, TableFile]:
    """Return every file that the cases need."""
    parquet = {"large": sizes.large, "middle": sizes.middle, **{f"rows{rows}": rows for rows in sizes.rows}}
    return {
        "design": TableFile("tables.design", {"columns": D}, ".toml"),
        "design10": TableFile("tables.design", {"columns": 10}, ".toml"),
        "ten": TableFile("tables.parquet", {"rows": sizes.staged_rows, "columns": 10}, ".parquet"),
        **{name: TableFile("tables.parquet", {"rows": n, "columns": D}, ".parquet") for name, n in parquet.items()},
        **{f"copies{times}": TableFile("tables.copies", {"one": "{large}", "times": times}) for times in sizes.copies},
        "text": TableFile("tables.csv", {"rows": sizes.csv_rows, "columns": D}, ".csv"),
        "mixed_parquet": TableFile("tables.mixed", {"rows": sizes.csv_rows}, ".parquet"),
        "mixed_csv": TableFile("tables.mixed", {"rows": sizes.csv_rows}, ".csv"),
    }


def cases(sizes: Sizes, *, workers: bool = True) -> list[Case]:
    """Return every case of a profile. `workers` tells whether the number of workers can be chosen."""
    one = ("--workers", "1") if workers else ()
    return [
        start_up(), large_file(sizes, one), baselines(sizes, one), *by_rows(sizes, one), staged(sizes, one),
        text(sizes, one),
        *by_columns(sizes), gram(sizes), busy(sizes), by_levels(sizes), persons(sizes), noise(sizes), passes(sizes),
        mechanisms(sizes), objective(sizes), analysis(sizes), solvers(), *checks(sizes),
    ]  # fmt: skip
