"""The map to original units: columns put together from scaled ones are the columns as the table has them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.design.declarations import completed
from discreet.design.design import Design
from discreet.design.scales import released_columns, scales_of
from discreet.errors import SpecError
from discreet.tables.cells import write_scaled

COLUMNS = {
    "y": (0, 10), "x": (3, 9), "z": {"bounds": (10, 30), "release": False}, "b": bool,
    "g": {"levels": ["a", "b", "c"], "reference": "b"}, "h": ["u", "v"],
    "xg": {"formula": "x:g"}, "zg": {"formula": "g:z"}, "bg": {"formula": "b:g"}, "gh": {"formula": "g:h"},
}  # fmt: skip


def test_scaled_columns_give_the_products_of_the_table():
    design = Design("y", COLUMNS)
    rng = np.random.default_rng(1)
    rows = 60
    base = {
        "y": rng.uniform(0, 10, rows), "x": rng.uniform(3, 9, rows), "z": rng.uniform(10, 30, rows),
        "b": rng.integers(0, 2, rows).astype(float), "g": rng.integers(0, 3, rows).astype(float),
        "h": rng.integers(0, 2, rows).astype(float),
    }  # fmt: skip
    names = ["b", "zg", "x", "xg", "g", "gh", "bg", "h", "y"]
    scaled = np.empty((len(released_columns(design, names)), rows))
    write_scaled({name: design.columns[name] for name in names}, completed(design.columns, names, base), scaled)
    scales = scales_of(design, names)
    original = np.array(scales.half)[:, None] * scaled + np.array(scales.mid)[:, None]
    before = original.copy()
    for column, other, times in scales.taken:
        original[column] += times * before[other]
    a, b, c = (base["g"] == code for code in range(3))
    expected = [
        base["b"], base["z"] * a, base["z"] * b, base["z"] * c, base["x"], base["x"] * a, base["x"] * c, a, c,
        a * base["h"], c * base["h"], base["b"] * a, base["b"] * c, base["h"], base["y"],
    ]  # fmt: skip
    np.testing.assert_allclose(original, np.array(expected, dtype=float), atol=1e-12)
    assert len(scales.taken) == 2 + 2 + 2


def test_an_interaction_without_its_category_is_refused_unless_the_middle_is_zero():
    design = Design("y", COLUMNS)
    with pytest.raises(SpecError, match="add 'g' to the model"):
        scales_of(design, ["x", "xg", "y"])
    assert scales_of(design, ["bg", "gh", "y"]).taken == ()
    centred = Design("y", {**COLUMNS, "x": (-3, 3)})
    assert scales_of(centred, ["xg", "y"]).half == (3.0, 3.0, 5.0)
