"""CPU and peak memory of `discreet release` against scikit-learn's LinearRegression on the same Parquet file.

Both start from fresh processes in one run and are interleaved; the figures to quote are the ratios of medians.
Run: make bench, or python benchmarks/release_against_sklearn.py [--rows N] [--large N] [--repeat K]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 20
RIVAL = """
import sys, pandas
from sklearn.linear_model import LinearRegression
frame = pandas.read_parquet(sys.argv[1])
model = LinearRegression().fit(frame.drop(columns="y"), frame["y"])
print(model.coef_[0])
"""


def write_table(path: Path, rows: int) -> None:
    """A synthetic table in row groups of 2**17 rows, half of the columns rounded so that they compress."""
    rng = np.random.default_rng(1)
    beta = np.linspace(-1, 1, COLUMNS)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(COLUMNS)] + [("y", pa.float64())])
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for start in range(0, rows, 2**17):
            X = rng.uniform(-1, 1, (min(2**17, rows - start), COLUMNS))
            X[:, ::2] = X[:, ::2].round(2)
            y = X @ beta + rng.normal(0, 0.5, len(X))
            arrays = [*(np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)), y]
            writer.write_table(pa.table([pa.array(values) for values in arrays], schema=schema))


def write_design(path: Path) -> None:
    """Declared bounds of the synthetic table."""
    lines = ['target = "y"', "[columns]", "y = {bounds = [-8, 8]}"]
    path.write_text("\n".join(lines + [f"x{j} = {{bounds = [-1, 1]}}" for j in range(COLUMNS)]))


def cost(command: list[str]) -> tuple[float, float]:
    """CPU seconds (user and system) and peak memory in MB of a fresh process."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[:3]} failed with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Print a table of medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_100_000)
    parser.add_argument("--large", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, design, out = (Path(folder) / name for name in ("t.parquet", "design.toml", "r.json"))
        write_table(data, options.rows)
        write_design(design)
        ours = [sys.executable, "-m", "discreet", "release", str(data), "--design", str(design), "--epsilon", "1",
                "--delta", "1e-6", "--force", "-o", str(out)]  # fmt: skip
        rival = [sys.executable, "-c", RIVAL, str(data)]
        runs = [(cost(ours), cost(rival)) for _ in range(options.repeat)]
        medians = [[statistics.median(run[who][what] for run in runs) for what in (0, 1)] for who in (0, 1)]
        print(f"{options.rows:,} rows x {COLUMNS} columns, Parquet, {options.repeat} interleaved runs, medians")
        for name, (seconds, megabytes) in zip(("discreet release", "scikit-learn"), medians, strict=True):
            print(f"  {name:18} {seconds:6.2f} CPU s   {megabytes:7.0f} MB peak")
        cpu, memory = (medians[0][what] / medians[1][what] for what in (0, 1))
        print(f"  discreet / scikit-learn: {cpu:.3f} of the CPU, {memory:.3f} of the memory")
        if options.large:
            write_table(data, options.large)
            seconds, megabytes = cost(ours)
            print(f"{options.large:,} rows: discreet release {seconds:.2f} CPU s, {megabytes:.0f} MB peak")


if __name__ == "__main__":
    main()
