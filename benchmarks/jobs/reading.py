"""Reading files without a release, and the minimum that a regression adds to reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

BATCH = 65_536
BUFFER = 1 << 16


def batches(path: str, *, threads: int = 1, buffered: bool = False) -> Iterator[object]:
    """Yield record batches of a Parquet file, or of a folder of files in order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(threads)
    files = sorted(Path(path).glob("*.parquet")) if Path(path).is_dir() else [Path(path)]
    for file in files:
        opened = pq.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER if buffered else 0)
        yield from opened.iter_batches(batch_size=BATCH, use_threads=threads > 1)


def parquet(path: str, threads: int = 1, *, buffered: bool = False) -> int:
    """Read all columns in batches without keeping them, and return the number of rows."""
    return sum(batch.num_rows for batch in batches(path, threads=threads, buffered=buffered))


def whole(path: str, threads: int = 1) -> int:
    """Read all columns into one table, as most people do, and return the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(threads)
    return pq.read_table(path, use_threads=threads > 1).num_rows


def gram(path: str) -> int:
    """Sum products in floating point batch by batch with NumPy, and solve."""
    import numpy as np

    total: np.ndarray | float = 0.0
    for batch in batches(path, buffered=True):
        block = np.stack([np.ones(batch.num_rows), *(column.to_numpy() for column in batch.columns)])
        total = total + block @ block.T
    assert isinstance(total, np.ndarray)
    return len(np.linalg.solve(total[:-1, :-1], total[:-1, -1]))


def whole_csv(path: str) -> int:
    """Read a CSV file into one table with pyarrow on one thread, and return the number of rows."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    pa.set_cpu_count(1)
    return arrow_csv.read_csv(path, read_options=arrow_csv.ReadOptions(use_threads=False)).num_rows


def csv(path: str) -> int:
    """Read a CSV file in blocks with pyarrow on one thread without keeping them, and return the number of rows."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    pa.set_cpu_count(1)
    options = arrow_csv.ReadOptions(use_threads=False)
    return sum(batch.num_rows for batch in arrow_csv.open_csv(path, read_options=options))
