"""Capping rows by person: time, peak memory, and one result over row orders.

Run: python benchmarks/persons.py [--rows N] [--persons N] [--orders K]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.design.model import Design
from discreet.testing.not_private import exact_release

COLUMNS = {"x": (0, 1), "z": (-1, 1), "b": bool, "y": (0, 10)}
UNIT = {"id": "person", "max_rows": 3}
RELEASE = """
import sys, discreet
from discreet.design.model import Design
design = Design.load(sys.argv[2])
discreet.release(sys.argv[1], design, epsilon=1.0, delta=1e-6)
"""


def table_of(rows: int, persons: int) -> pa.Table:
    """Rows of random persons."""
    rng = np.random.default_rng(1)
    return pa.table({
        "person": rng.integers(0, persons, rows),
        "x": rng.random(rows),
        "z": rng.uniform(-1, 1, rows),
        "b": rng.random(rows) < 0.5,
        "y": rng.uniform(0, 10, rows),
    })  # fmt: skip


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--orders", type=int, default=10)
    options = parser.parse_args()
    table = table_of(options.rows, options.persons)
    design = Design("y", COLUMNS, unit=UNIT)
    with tempfile.TemporaryDirectory() as folder:
        data, declared = Path(folder) / "t.parquet", Path(folder) / "design.toml"
        pq.write_table(table, data)
        design.save(declared)
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        child = subprocess.Popen([sys.executable, "-c", RELEASE, str(data), str(declared)], env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit("the release failed")
    seconds, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    print(f"{options.rows:,} rows, {options.persons:,} persons, 3 rows of each count:")
    print(f"  {seconds:.1f} CPU s, {megabytes:.0f} MB peak")
    rng = np.random.default_rng(2)
    results = {exact_release(table.take(rng.permutation(options.rows)), design).totals for _ in range(options.orders)}
    print(f"{options.orders} row orders: {len(results)} distinct result")


if __name__ == "__main__":
    main()
