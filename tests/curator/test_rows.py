"""Rows on the public grid: integers inside their domain, the same whatever the batches and chunks."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.rows import GridRows
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError

DESIGN = Design("y", {"x": (0, 10), "b": bool, "g": ["u", "v", "w"], "y": (-1, 1)})
# values of x, b, codes of g, and y
CELLS = (
    np.array([0.0, 10.0, 5.0, 2.5, 99.0, -1e300, 3.3]),
    np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]),
    np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0]),
    np.array([-1.0, 1.0, 0.0, 0.5, 7.0, -7.0, 0.1]),
)
UNIT = 2**16


def by_hand(x: float, b: float, g: float, y: float) -> list[float]:
    inside = min(max(x, 0.0), 10.0)
    scaled = [1, (inside - 5) / 5, b, g == 1, g == 2, min(max(y, -1.0), 1.0)]
    return [round(value * UNIT) for value in scaled]


def test_every_cell_is_clipped_scaled_and_rounded_to_an_integer():
    rows = GridRows(DESIGN, RowDomain.of(DESIGN, 16), chunk_rows=4).encoded(CELLS)
    assert rows.T.tolist() == [by_hand(*cells) for cells in zip(*CELLS, strict=True)]
    assert np.abs(rows).max() == UNIT
    # 3.3 lies between two steps of the grid, so a row that is not rounded would be another
    assert (3.3 - 5) / 5 * UNIT % 1 != 0


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("cut", [0, 1, 4, 7])
def test_chunks_hold_the_rows_in_order_wherever_batches_end(chunk_rows, cut):
    rows = GridRows(DESIGN, RowDomain.of(DESIGN, 16), chunk_rows)
    assert rows.capacity == chunk_rows
    given = []
    for part in (slice(0, cut), slice(cut, None)):
        # a chunk is valid until the next one is asked for
        given += [chunk.copy() for chunk in rows.add([values[part] for values in CELLS])]
    assert all(chunk.shape[1] == chunk_rows for chunk in given)
    found = np.concatenate([*given, rows.rest()], axis=1)
    assert found.tolist() == rows.encoded(CELLS).tolist()


def test_no_row_is_longer_than_a_declared_ball():
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}, radius=0.7)
    domain = RowDomain.of(design, 16)
    corners = [np.array([1.0, -1.0, 0.1]), np.array([1.0, 1.0, 0.2]), np.zeros(3)]
    x = GridRows(design, domain, 8).encoded(corners)[1:-1].astype(np.int64)
    norms = (x * x).sum(axis=0)
    assert norms.max() <= domain.ball_norm2 < domain.box_norm2
    # a row that was inside is left as it was
    assert x[:, 2].tolist() == [round(0.1 * UNIT), round(0.2 * UNIT)]
    free = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)})
    assert GridRows(free, RowDomain.of(free, 16), 8).encoded(corners)[1:-1, 0].tolist() == [UNIT, UNIT]


def test_formulas_see_cells_inside_their_bounds():
    design = Design("y", {"x": (0, 10), "square": {"formula": "x ** 2"}, "y": (0, 1)})
    rows = GridRows(design, RowDomain.of(design, 16), 4)
    x, square, y = rows.completed([np.array([3.0, 20.0]), np.array([0.0, 1.0])])
    assert square.tolist() == [9.0, 100.0]
    assert (x.tolist(), y.tolist()) == ([3.0, 20.0], [0.0, 1.0])


def test_a_weight_becomes_steps_of_the_largest_one_by_itself():
    design = Design("y", {"y": (0, 1), "x": (0, 1), "w": (0, 4)}, weights="w", radius=0.5)
    domain = RowDomain.of(design)
    rows = GridRows(design, domain, 8)
    cells = np.array([-3.0, 0.0, 1.0, 2.00001, 4.0, 1e308])
    settled = [np.full(6, 0.5), np.ones(6), cells]
    block = rows.encoded(rows.completed(settled))
    assert block.shape == (4, 6)
    assert block[-1].tolist() == [0, 0, 2**12, 2**13, 2**14, 2**14]
    for index in range(6):
        alone = rows.encoded(rows.completed([values[index : index + 1] for values in settled]))
        assert (alone[:, 0] == block[:, index]).all()
    with pytest.raises(SpecError, match="a design with weights requires grid_bits from 8 to 16, got 17"):
        RowDomain.of(design, 17)
