"""The encoder: declared columns to scaled rows."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.design.columns import Boolean, Categorical, Fill, Numeric
from discreet.errors import DataError
from discreet.tables.cells import settle_missing, write_scaled


def test_scaling_follows_the_declaration():
    columns = {"x": Numeric((0, 10)), "b": Boolean(), "g": Categorical(("u", "v", "w"), "v")}
    arrays = [np.array([0.0, 5.0, 25.0]), np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0])]
    out = np.empty((4, 3))
    write_scaled(columns, arrays, out)
    assert out.tolist() == [[-1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1]]


@pytest.mark.filterwarnings("error")
def test_enormous_values_are_clipped_without_a_word():
    out = np.empty((1, 4))
    write_scaled({"x": Numeric((-1.0, 1e300))}, [np.array([1.7e308, -1.7e308, 5e-324, -0.0])], out, unit=65536.0)
    assert out[0, :2].tolist() == [65536.0, -65536.0]


def test_the_bits_of_a_scaled_value_do_not_depend_on_the_rows_beside_it():
    rng = np.random.default_rng(3)
    columns = {"x": Numeric((-0.3, 1.7)), "b": Boolean(), "g": Categorical(("u", "v", "w"), "v")}
    numbers = rng.normal(size=257) * 10.0 ** rng.integers(-6, 7, 257)
    arrays = [numbers, rng.integers(0, 2, 257).astype(float), rng.integers(0, 3, 257).astype(float)]
    together = np.empty((4, 257))
    write_scaled(columns, arrays, together, unit=2.0**26)
    assert np.abs(together).max() == 2.0**26
    alone = np.empty((4, 1))
    for row in range(257):
        write_scaled(columns, [values[row : row + 1] for values in arrays], alone, unit=2.0**26)
        assert (alone[:, 0] == together[:, row]).all()


@pytest.mark.parametrize("rows", [1, 3, 70_000])
def test_numbers_clipped_together_are_those_clipped_one_by_one(rows):
    rng = np.random.default_rng(rows)
    numbers = {f"x{j}": Numeric((-1.0, 1.0 + j % 3)) for j in range(5)}
    columns = {**numbers, "b": Boolean(), "z": Numeric((0, 4)), "g": Categorical(("u", "v", "w"), "v")}
    arrays = [*(rng.normal(0, 3, rows) for _ in numbers), rng.integers(0, 2, rows).astype(float),
              rng.normal(0, 9, rows), rng.integers(0, 3, rows).astype(float)]  # fmt: skip
    together, one = np.empty((9, rows)), np.empty((9, rows))
    write_scaled(columns, arrays, together, unit=256.0, integers=True)
    for row, (name, column) in enumerate(columns.items()):
        write_scaled({name: column}, [arrays[row]], one[row : row + 1 + (name == "g")], unit=256.0, integers=True)
    assert (together == one).all()
    assert np.abs(together[:7]).max() == 256


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cells", [[1e308] * 4, [1e308, 1e308, -1e308, -1e308], [-1.7e308, -1.7e308, 0.5]])
def test_finite_cells_whose_sum_overflows_are_not_missing(cells):
    arrays, keep = settle_missing({"x": Numeric((0, 1), "drop")}, [np.array(cells)])
    assert keep is None
    assert arrays[0].tolist() == cells


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cells", [[np.inf, -np.inf, 1.0], [1.0, np.inf], [-np.inf], [np.nan, 1e308, 1e308]])
def test_cells_that_are_not_finite_are_found_whatever_is_added_to_them(cells):
    _, keep = settle_missing({"x": Numeric((0, 1), "drop")}, [np.array([0.5, *cells])])
    assert keep is not None
    assert keep.tolist() == [True, *np.isfinite(cells)]


def test_input_arrays_are_never_modified():
    values = np.array([3.0, np.nan, 2.0])
    values.flags.writeable = False
    columns = {"x": Numeric((0, 1), Fill(0.5))}
    settled, keep = settle_missing(columns, [values])
    assert keep is None
    write_scaled(columns, settled, np.empty((1, 3)))
    assert np.isnan(values[1])


def test_several_drop_rules_keep_only_complete_rows():
    columns = {"x": Numeric((0, 1), "drop"), "z": Numeric((0, 1), "drop")}
    arrays, keep = settle_missing(columns, [np.array([np.nan, 0.5, 0.2]), np.array([0.1, np.inf, 0.3])])
    assert keep.tolist() == [False, False, True]
    assert [values.tolist() for values in arrays] == [[0.2], [0.3]]


@pytest.mark.parametrize(
    ("column", "cell", "remedy"),
    [
        (
            Numeric((0, 1)),
            "missing or not a finite number",
            "if the column holds text, declare levels instead of bounds",
        ),
        (
            Boolean(),
            "missing or none of true, false, 1 and 0",
            'declare levels = ["no", "yes"] with the two words that can occur',
        ),
        (Categorical(("a", "b")), "missing or none of the declared levels", "declare every level that can occur"),
    ],
)
def test_the_error_rule_names_the_column_and_what_to_do(column, cell, remedy):
    with pytest.raises(DataError) as caught:
        settle_missing({"x": column}, [np.array([np.nan])])
    message = str(caught.value)
    assert message.startswith(f"column 'x' has a cell that is {cell}; fix the table")
    # dropping is the last thing to think of, and its price is told
    assert message.index(remedy) < message.index('or missing = "drop" to drop their rows')
    assert "{fill" not in message
    assert "discreet.check" in message
