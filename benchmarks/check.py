"""A check against reading the same table by the release's reader, and against a release, as ratios in one run.

Run: python benchmarks/check.py [--rows N] [--repeats K]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

import discreet
from discreet.design.model import Design
from discreet.tables.arrow import declared_arrays
from discreet.tables.files.opening import open_source
from discreet.tables.source import ComputeOptions

NUMBERS = {f"x{index}": {"bounds": (-2, 2), "missing": "drop"} for index in range(6)}
DESIGN = Design("y", {"y": (-4, 4), **NUMBERS, "b": bool, "g": ["a", "b", "c"]})


def table_of(rows: int) -> pa.Table:
    """Rows of which some are clipped and some have no number in one column."""
    rng = np.random.default_rng(1)
    numbers = {name: rng.normal(size=rows).round(4) for name in NUMBERS}
    numbers["x0"][rng.random(rows) < 0.01] = np.nan
    return pa.table({
        "y": rng.normal(size=rows).round(4),
        **{name: pa.array(values, from_pandas=True) for name, values in numbers.items()},
        "b": rng.random(rows) < 0.5,
        "g": rng.choice(["a", "b", "c"], rows),
    })  # fmt: skip


def read(path: Path) -> None:
    """What a release does before it sums: every declared cell as a number."""
    for batch in open_source(path).batches(DESIGN.table_columns, ComputeOptions().batch_rows):
        declared_arrays(batch, DESIGN.table_columns)


def fastest(work: Callable[[], object], repeats: int) -> float:
    """CPU seconds of the fastest run."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    table = table_of(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "t.csv"), Path(folder, "t.parquet")]
        arrow_csv.write_csv(table, paths[0])
        pq.write_table(table, paths[1])
        print(f"{options.rows:,} rows, {len(table.column_names)} columns, CPU seconds, fastest of {options.repeats}")
        for path in paths:
            reading = fastest(lambda path=path: read(path), options.repeats)
            check = fastest(lambda path=path: discreet.check(path, DESIGN), options.repeats)
            release = fastest(
                lambda path=path: discreet.release(path, DESIGN, epsilon=1.0, delta=1e-6), options.repeats
            )
            print(
                f"{path.suffix:<9} reading {reading:.3f}  check {check:.3f} ({check / reading:.2f} of reading)  "
                f"release {release:.3f} ({check / release:.2f} of release)"
            )


if __name__ == "__main__":
    main()
