"""Memory is set by the batch, not by the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from discreet.design.columns import Numeric
from discreet.tables.opening import open_source

WIDTH = 16
COLUMNS = {f"x{number}": Numeric((-5, 5)) for number in range(WIDTH)}
ROWS = 400_000  # 51 MB of doubles
ALLOWED_MB = 40  # what one batch, its page buffers and the allocator's slack may take
READ = "import sys; from test_memory import peak_growth; print(peak_growth(sys.argv[1]))"


def megabytes(kind: str) -> float:
    entry = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(kind + ":"))
    return float(entry.split()[1]) / 1024


def peak_growth(path: str) -> float:
    """Megabytes by which the peak of this process rises while a file is read, pages of mapped files left out."""
    next(open_source({name: [1.0] for name in COLUMNS}).batches(COLUMNS, 10))
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    peak, mapped = megabytes("VmHWM"), megabytes("RssFile")
    most_mapped = max(megabytes("RssFile") for _ in open_source(path).batches(COLUMNS, 8192))
    return megabytes("VmHWM") - peak - (most_mapped - mapped)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.random(ROWS).round(6) for name in COLUMNS})
    pq.write_table(table, folder / "small groups.parquet", row_group_size=8192, use_dictionary=False)
    pq.write_table(table, folder / "one group.parquet", row_group_size=ROWS, use_dictionary=False)
    arrow_csv.write_csv(table, folder / "t.csv")
    with ipc.new_file(str(folder / "t.arrow"), table.schema, options=ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table, max_chunksize=8192)
    return folder


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("name", ["small groups.parquet", "one group.parquet", "t.csv", "t.arrow"])
def test_peak_memory_stays_far_below_the_file(files, name) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, str(files / name)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
    )  # fmt: skip
    assert float(done.stdout) < ALLOWED_MB


def test_a_frame_is_converted_piece_by_piece() -> None:
    numbers = np.ones((ROWS, WIDTH))  # rows in memory: each column must be copied for Arrow
    before = pa.total_allocated_bytes()
    peak = 0
    for _ in open_source(numbers).batches(COLUMNS, 8192):
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert peak < ALLOWED_MB / 4 * 1e6
