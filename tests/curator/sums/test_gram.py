"""Exact moments: the same integers whatever the order, chunks, grid, threads or source."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from discreet.curator.sums.gram import ExactGram, Totals, chunk_rows, product_rows
from discreet.curator.table import accumulate
from discreet.design.columns import Boolean, Categorical, Fill, Numeric
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError, SpecError
from discreet.exact.arrays import shrink_to_ball
from discreet.options import MAX_GRID_BITS
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.tables import random_design, random_table

PERMUTATIONS = 60


def moments_of(table, design, grid_bits=16, **options) -> Totals:
    domain = RowDomain.of(design, grid_bits)
    return accumulate(open_source(table), design, domain, ComputeOptions(**options))


def by_hand(table, design, grid_bits=16) -> tuple[int, ...]:
    """Sums of products in Python integers, one row at a time, without NumPy sums or BLAS."""
    domain = RowDomain.of(design, grid_bits)
    rows = [
        _row_by_hand(dict(zip(table, cells, strict=True)), design, domain)
        for cells in zip(*table.values(), strict=True)
    ]
    size = len(design.released)
    return tuple(sum(row[i] * row[j] for row in rows) for i in range(size) for j in range(i, size))


def _row_by_hand(cells, design, domain) -> list[int]:
    out = [domain.unit]
    for name in (*design.regressors, design.target):
        column, cell = design.columns[name], cells[name]
        if isinstance(column, Numeric):
            scaled = (cell - column.mid) * (domain.unit / column.half)
            out.append(round(min(max(scaled, -domain.unit), domain.unit)))
        elif isinstance(column, Boolean):
            out.append(int(cell) * domain.unit)
        else:
            out += [int(cell == column.levels[code]) * domain.unit for code in column.indicator_codes]
    x = np.array(out[1:-1], dtype=float)[:, None]
    if domain.ball_norm2 is not None and domain.ball_norm2 < domain.box_norm2:
        shrink_to_ball(x, domain.ball_norm2)
    out[1:-1] = [int(value) for value in x[:, 0]]
    return out


@pytest.mark.parametrize("grid_bits", [8, 16, 17, 20, 21, 24, 26])
def test_moments_equal_integer_arithmetic_row_by_row(grid_bits):
    rng = np.random.default_rng(grid_bits)
    for _ in range(10):
        design = random_design(rng)
        table = random_table(design, 40, rng)
        assert moments_of(table, design, grid_bits).values == by_hand(table, design, grid_bits)


@pytest.mark.no_cover
@pytest.mark.parametrize("grid_bits", [16, 26])
def test_order_chunks_and_batches_do_not_change_a_bit(grid_bits):
    rng = np.random.default_rng(7)
    design = random_design(rng, ball=True)
    table = random_table(design, 700, rng)
    expected = moments_of(table, design, grid_bits).values
    for _ in range(PERMUTATIONS):
        order = rng.permutation(700)
        shuffled = {name: [values[i] for i in order] for name, values in table.items()}
        options = {"batch_rows": int(rng.integers(1, 800)), "chunk_rows": int(rng.integers(1, 800))}
        assert moments_of(shuffled, design, grid_bits, **options).values == expected


def test_every_source_type_gives_the_same_integers(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")

    rng = np.random.default_rng(11)
    design = Design("y", {"x": (-3, 3), "b": bool, "g": ["a", "b", "c"], "y": (0, 10)}, radius=1.2)
    columns = {"x": rng.normal(size=500), "b": rng.random(500) < 0.5, "g": rng.choice(["a", "b", "c"], 500)}
    columns["y"] = rng.normal(5, 3, 500)
    table = pa.table(columns)
    arrow_csv.write_csv(table, tmp_path / "t.csv")
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=37)
    folder = tmp_path / "parts"
    folder.mkdir()
    for start in range(0, 500, 130):
        pa.parquet.write_table(table.slice(start, 130), folder / f"part{start}.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    arrow = table  # noqa: F841  DuckDB finds it by name
    sources = [
        columns, table, table.to_reader(max_chunksize=9), pd.DataFrame(columns), pl.DataFrame(columns),
        duckdb.sql("select * from arrow"), tmp_path / "t.csv", str(tmp_path / "t.parquet"), folder,
        str(folder / "*.parquet"), tmp_path / "t.arrow",
    ]  # fmt: skip
    results = {moments_of(source, design).values for source in sources}
    assert len(results) == 1


def test_blas_threads_do_not_change_a_bit():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    rng = np.random.default_rng(3)
    design = Design("y", {**{f"x{j}": (-1, 1) for j in range(150)}, "y": (-1, 1)})
    data = rng.uniform(-1, 1, size=(5000, 151))
    results = set()
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            results.add(moments_of(data, design).values)
    assert len(results) == 1


def test_moments_of_two_halves_add_up_to_the_whole():
    rng = np.random.default_rng(4)
    design = random_design(rng)
    table = random_table(design, 30, rng)
    halves = [{name: values[part] for name, values in table.items()} for part in (slice(0, 11), slice(11, None))]
    merged = moments_of(halves[0], design) + moments_of(halves[1], design)
    whole = moments_of(table, design)
    assert merged.values == whole.values
    assert merged.counts.units == whole.counts.units == 30


def test_wide_integers_take_over_before_int64_overflows():
    gram = ExactGram(2, 16)
    gram._flush_after = gram._rows_until_flush = 10
    chunk = np.full((2, 4), 2.0**16)
    for _ in range(9):
        gram.add(chunk)
    assert gram.totals() == (36 * 2**32,) * 3


def test_the_flush_comes_before_the_largest_possible_sum_leaves_int64():
    for grid_bits in range(8, MAX_GRID_BITS + 1):
        gram = ExactGram(2, grid_bits)
        # a limb is at most 2**shift, a whole value at most 2**grid_bits
        largest = 2 ** (2 * (gram._shift or grid_bits))
        assert gram._flush_after * largest <= 2**62
        rows = chunk_rows(10**9, 2, grid_bits)
        assert rows * largest <= 2**53
        assert rows <= gram._flush_after


@pytest.mark.parametrize("size", [1, 2, 3, 22, 32, 33])
@pytest.mark.parametrize("grid_bits", [16, 24])
def test_products_by_halves_are_the_products(size, grid_bits):
    rng = np.random.default_rng(size)
    top, most = 2**grid_bits, product_rows(10**9, size, 16)
    for rows in (1, 5, min(most, 3000)):
        chunk = rng.integers(-top, top, (size, rows), endpoint=True)
        gram = ExactGram(size, grid_bits)
        gram.add(chunk.astype(float))
        wide = chunk.astype(object)
        assert (gram.matrix() == wide @ wide.T).all()


def test_few_columns_are_multiplied_in_smaller_chunks_that_stay_exact():
    assert product_rows(16_384, 22, 16) == 4096
    assert product_rows(16_384, 32, 16) == 1024
    assert product_rows(16_384, 33, 16) == product_rows(16_384, 2, 16) == 16_384
    assert product_rows(100, 22, 16) == 100
    assert all(product_rows(10**9, size, 20) <= chunk_rows(10**9, size, 20) for size in range(1, 40))


def test_a_wide_design_gets_smaller_chunks():
    assert chunk_rows(16_384, 3000, 16) == 1398
    assert chunk_rows(16_384, 10**6, 16) == 256


def test_too_many_columns_are_refused_before_reading():
    design = Design("y", {"g": {"levels": list(range(12_000))}, "y": (0, 1)})
    with pytest.raises(
        SpecError,
        match=r"the products of 12001 released columns need about .* MB; the limit is 4096 MB, or 9459 columns;",
    ):
        RowDomain.of(design)
    for columns, fits in ((9459, True), (9460, False)):
        # the constant, the target, and an indicator for every level but the first
        design = Design("y", {"g": {"levels": list(range(columns - 1))}, "y": (0, 1)})
        assert len(design.released) == columns
        with nullcontext() if fits else pytest.raises(SpecError, match="9460 released columns"):
            RowDomain.of(design)


def test_cells_at_the_end_of_double_precision_are_clipped_without_a_warning():
    design = Design("y", {"x": Numeric((-1e307, 1e308), "drop"), "z": Numeric((-1e-240, 1e-240), "drop"), "y": (0, 1)})
    cells = [1.7e308, -1.7e308, 5e-324, 0.0, 1e-240]
    moments = moments_of({"x": cells, "z": cells, "y": [0.5] * 5}, design)
    bound = 5 * 4**16
    assert all(abs(total) <= bound for total in moments.values)


def test_a_row_is_encoded_alike_wherever_it_stands():
    rng = np.random.default_rng(6)
    design = random_design(rng, ball=True)
    row = random_table(design, 1, rng)
    alone = moments_of(row, design).values
    others = random_table(design, 33, rng)
    without = moments_of(others, design).values
    for index in (0, 7, 8, 33):
        table = {name: [*values[:index], *row[name], *values[index:]] for name, values in others.items()}
        with_row = moments_of(table, design, chunk_rows=8).values
        assert tuple(a - b for a, b in zip(with_row, without, strict=True)) == alone


NASTY = [float("nan"), float("inf"), float("-inf"), None]


@pytest.mark.parametrize("cell", NASTY)
def test_missing_cells_are_an_error_that_names_only_the_column(cell):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(DataError, match="column 'x' has a cell that is missing") as caught:
        moments_of({"x": [0.25, cell], "y": [0.5, 0.5]}, design)
    assert "0.25" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("cell", NASTY)
def test_dropped_rows_leave_no_trace(cell):
    design = Design("y", {"x": Numeric((0, 1), "drop"), "y": (0, 1)})
    with_bad = moments_of({"x": [0.25, cell, 0.75], "y": [0.5, 0.5, 1.0]}, design)
    without = moments_of({"x": [0.25, 0.75], "y": [0.5, 1.0]}, design)
    assert with_bad.values == without.values


@pytest.mark.parametrize("cell", NASTY)
def test_filled_cells_equal_the_declared_value(cell):
    design = Design("y", {"x": Numeric((0, 1), Fill(0.125)), "y": (0, 1)})
    filled = moments_of({"x": [0.25, cell], "y": [0.5, 0.5]}, design)
    assert filled.values == moments_of({"x": [0.25, 0.125], "y": [0.5, 0.5]}, design).values


def test_unknown_levels_and_impossible_booleans_follow_the_missing_rule():
    design = Design("y", {"g": Categorical(("a", "b"), None, "drop"), "b": Boolean(Fill(True)), "y": (0, 1)})
    table = {"g": ["a", "zebra", "b"], "b": [0, 1, 2], "y": [0.0, 0.5, 1.0]}
    kept = {"g": ["a", "b"], "b": [False, True], "y": [0.0, 1.0]}
    assert moments_of(table, design).values == moments_of(kept, design).values


def test_an_empty_table_is_an_error_unless_every_rule_is_total():
    table = {"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}
    with pytest.raises(DataError, match="has no rows"):
        moments_of(table, Design("y", {"x": (0, 1), "y": (0, 1)}))
    total = Design("y", {"x": Numeric((0, 1), "drop"), "y": Numeric((0, 1), "drop")})
    assert set(moments_of(table, total).values) == {0}


def test_progress_is_told_the_share_read_and_changes_nothing():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    seen = []
    table = {"x": np.linspace(0, 1, 10), "y": np.linspace(0, 1, 10)}
    watched = moments_of(table, design, batch_rows=5, progress=seen.append)
    assert len(seen) == 2
    assert watched.values == moments_of(table, design).values
