"""Interactions: their columns, their values, and that a row has at most one entry of a block that is not 0."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.rows import GridRows
from discreet.design.columns import Interaction
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DesignError

BASE = {
    "y": (0, 1), "age": (20, 80), "old": {"bounds": (20, 80), "release": False}, "b": bool,
    "g": {"levels": ["n", "s", "e"], "reference": "s"}, "h": ["u", "v"], "k": {"levels": [1, 2, 3]},
    "part": {"formula": "cut(age, 40, 60)"},
}  # fmt: skip


def made(formula: str, **more: object) -> Design:
    unused = {} if "old" in formula else {"keep": {"formula": "old > 50"}}
    return Design("y", {**BASE, **unused, "c": {"formula": formula, **more}})


@pytest.mark.parametrize(("formula", "names"), [
    ("age:g", ["c[n]", "c[e]"]),
    ("g:age", ["c[n]", "c[e]"]),
    ("old:g", ["c[n]", "c[s]", "c[e]"]),
    ("b:g", ["c[n]", "c[e]"]),
    ("age:h", ["c[v]"]),
    ("g:h", ["c[n,v]", "c[e,v]"]),
    ("k:h", ["c[2,v]", "c[3,v]"]),
    ("age:part", ["c[40 to 60]", "c[>=60]"]),
    ("age:`part`", ["c[40 to 60]", "c[>=60]"]),
])  # fmt: skip
def test_the_reference_is_left_out_where_the_number_is_released(formula, names):
    column = made(formula).columns["c"]
    assert isinstance(column, Interaction)
    assert list(column.released("c")) == names


def test_values_are_the_scaled_number_in_the_rows_of_its_level():
    design = made("old:g")
    rows = {"y": [0.5] * 5, "age": [50] * 5, "old": [20, 35, 80, 999, 50], "b": [0] * 5, "g": [0, 1, 2, 2, 0]}
    rows |= {"h": [0] * 5, "k": [0] * 5}
    grid = GridRows(design, RowDomain.of(design, 8), 8)
    block = grid.encoded(grid.completed([np.array(rows[name], dtype=float) for name in design.table_columns]))
    where = [design.released.index(f"c[{level}]") for level in "nse"]
    assert block[where].tolist() == [[-256, 0, 0, 0, 0], [0, -128, 0, 0, 0], [0, 0, 256, 256, 0]]


def test_an_indicator_by_formula_and_a_design_that_reads_back():
    design = Design(
        "y",
        {
            "y": (0, 1), "g": ["it's", 'a "b"', "c"], "k": {"levels": [3, 5, 7]}, "x": (0, 9),
            "one": {"formula": "g == \"it's\" or x > 5"}, "two": {"formula": 'g != "a ""b"""'},
            "three": {"formula": "k == 5"}, "four": {"formula": 'x * (g == "c")'}, "xk": {"formula": "x:k"},
        },
    )  # fmt: skip
    codes = {"g": np.array([0.0, 1.0, 2.0]), "k": np.array([0.0, 1.0, 2.0]), "x": np.array([1.0, 2.0, 3.0])}
    found = {name: design.columns[name].formula.evaluate(codes).tolist() for name in ("one", "two", "three", "four")}
    assert found == {"one": [1, 0, 0], "two": [1, 0, 1], "three": [0, 1, 0], "four": [0, 0, 3]}
    again = Design.from_toml(design.to_toml())
    assert again == design
    assert hash(again) == hash(design)
    # a column taken to another design is read by the levels of that one
    other = Design("y", {**design.columns, "g": ["c", "it's", 'a "b"']})
    assert other.columns["one"].formula.evaluate(codes).tolist() == [0, 1, 0]


@pytest.mark.parametrize(("formula", "said"), [
    ("age:b", "an interaction must include a column with levels"),
    ("age:age", "two different columns"),
    ("age:g:h", "an interaction must have exactly two columns"),
    ("log(age):g", "must join two column names"),
    ("age:cut(age, 30)", "cannot be part of an expression"),
    ("age:", "the formula ends"),
    ("age:nowhere", "unknown number, boolean or column with levels 'nowhere'"),
    ("g:y2", "unknown number"),
    ("g + 1", "has levels and is not a number"),
    ('g == "west"', "unknown level of 'g' 'west'; allowed: n, s, e"),
    ('age == "n"', "unknown column with levels 'age'"),
    ('g < "n"', "a level may only be compared with its column"),
    ('"n" == g', "write a level after its column"),
    ('g == "n', "the quotation mark at position 5 is never closed"),
    ("k == 9", "unknown level of 'k' 9"),
    ("k < 2", "has levels and is not a number"),
])  # fmt: skip
def test_what_is_no_interaction_is_refused_with_the_reason(formula, said):
    with pytest.raises(DesignError, match="column 'c'") as caught:
        made(formula)
    assert said in str(caught.value)


@pytest.mark.parametrize(("more", "said"), [
    ({"bounds": [0, 1]}, "bounds are not allowed"), ({"reference": "n"}, "only for a column with levels"),
])  # fmt: skip
def test_an_interaction_takes_neither_bounds_nor_a_reference(more, said):
    with pytest.raises(DesignError, match=said):
        made("age:g", **more)


def test_nothing_is_made_of_an_interaction_and_none_of_private_bounds():
    with pytest.raises(DesignError, match="is an interaction, not a number"):
        Design("y", {**BASE, "o": {"formula": "old:g"}, "c": {"formula": "o + 1"}})
    with pytest.raises(DesignError, match="unknown number, boolean or column with levels 'o'"):
        Design("y", {**BASE, "o": {"formula": "old:g"}, "c": {"formula": "o:h"}})
    with pytest.raises(DesignError, match="whose bounds are private"):
        Design("y", {"y": (0, 1), "x": "private", "g": ["a", "b"], "c": {"formula": "x:g"}})
    with pytest.raises(DesignError, match="categorical"):
        Design("c", {**BASE, "o": {"formula": "old:g"}, "c": {"formula": "age:g"}})


def test_an_interaction_is_one_block_whatever_its_levels():
    levels = [f"l{k}" for k in range(50)]
    columns = {"y": (0, 1), "x": {"bounds": (5, 9), "release": False}, "g": levels, "xg": {"formula": "x:g"}}
    design = Design("y", columns)
    domain = RowDomain.of(design, 10)
    assert len(design.released) == 1 + 49 + 50 + 1
    assert domain.norm2_bound == 2 * 2**20
    assert design.factors == ((1, 49), (50, 99))
    rng = np.random.default_rng(4)
    grid = GridRows(design, domain, 512)
    values = {"y": rng.random(500), "x": rng.uniform(0, 12, 500), "g": rng.integers(0, 50, 500).astype(float)}
    block = grid.encoded(grid.completed([values[name] for name in design.table_columns]))[50:100]
    assert ((block != 0).sum(axis=0) <= 1).all()
    assert (block**2).sum(axis=0).max() == 2**20
    assert block.min() == -(2**10)
