"""Derived columns: bounds from declared ones, values from their own row, one encoder for release and predict."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.curator.table import accumulate
from discreet.design.columns import Boolean, Categorical, Numeric, SplineBasis
from discreet.design.declarations import completed, needed, outside_bounds, unclipped
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.tables.cells import write_scaled
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import exact_release

COLUMNS = {
    "wage": {"bounds": [1, 100], "release": False},
    "logwage": {"formula": "log(wage)"},
    "age": (18, 90),
    "exper": (0, 60),
    "exper2": {"formula": "exper ** 2", "bounds": [0, 2500]},
    "senior": {"formula": "age >= 65"},
    "group": {"formula": "cut(age, 30, 50)", "reference": "30 to 50"},
    "curve": {"formula": "spline(age, 40, 60)"},
    "mix": {"formula": "exper2 / 100 - age * senior"},
}


def design(**options) -> Design:
    return Design("logwage", COLUMNS, **options)


def test_derived_columns_become_columns_of_their_kind():
    columns = design().columns
    assert isinstance(columns["logwage"], Numeric)
    assert columns["logwage"].bounds == pytest.approx((0.0, np.log(100)))
    assert columns["exper2"].bounds == (0.0, 2500.0)
    assert isinstance(columns["senior"], Boolean)
    assert isinstance(columns["group"], Categorical)
    assert columns["group"].released("group") == ("group[<30]", "group[>=50]")
    assert isinstance(columns["curve"], SplineBasis)
    assert columns["mix"].bounds == (-90.0, 25.0)


def test_what_is_not_released_is_read_but_not_offered():
    plan = design()
    assert "wage" in plan.table_columns
    assert "wage" not in plan.offered
    assert set(plan.table_columns) == {"wage", "age", "exper"}
    assert plan.released[0] == "1"
    assert plan.released[-1] == "logwage"
    assert "curve[5]" in plan.released
    assert RowDomain.of(plan).blocks == 2


def test_a_design_with_formulas_survives_toml_and_a_release(tmp_path):
    plan = design()
    assert Design.from_toml(plan.to_toml()) == plan
    assert Design("logwage", dict(plan.columns)) == plan
    rng = np.random.default_rng(1)
    table = {"wage": rng.uniform(1, 100, 50), "age": rng.uniform(18, 90, 50), "exper": rng.uniform(0, 60, 50)}
    release = discreet.release(table, plan, epsilon=1.0, delta=1e-6)
    release.save(tmp_path / "r.json")
    assert discreet.Release.load(tmp_path / "r.json") == release


def test_the_release_sums_the_derived_values_of_the_clipped_row():
    plan = Design("y", {"x": (0, 2), "x2": {"formula": "x ** 2"}, "y": (-1, 1)})
    release = exact_release({"x": [1.0, 50.0, -3.0], "y": [0.0, 0.0, 0.0]}, plan)
    # x is clipped to 1, 2, 0 before it is squared: 1, 4, 0, scaled -0.5, 1, -1
    assert release.moments[0].tolist() == pytest.approx([3, 0, -0.5, 0], abs=1e-4)


def test_predict_derives_as_release_does():
    plan = Design("y", {"x": (-1, 1), "x2": {"formula": "x ** 2"}, "g": {"formula": "cut(x, 0)"}, "y": (-3, 3)})
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, 4000)
    y = 0.5 * x - x**2 + (x >= 0)
    fit = discreet.fit(exact_release({"x": x, "y": y}, plan))
    assert fit.params["x2"] == pytest.approx(-1, abs=1e-3)
    new = np.linspace(-2, 2, 9)
    clipped = np.clip(new, -1, 1)
    np.testing.assert_allclose(fit.predict({"x": new}), 0.5 * clipped - clipped**2 + (clipped >= 0), atol=1e-3)
    assert list(fit.table_columns) == ["x"]
    with pytest.raises(SpecError, match="unknown feature 'wage'"):
        discreet.fit(exact_release(table_of(20), design()), features=["wage"])


def table_of(rows, seed=3):
    rng = np.random.default_rng(seed)
    return {"wage": rng.uniform(-50, 200, rows), "age": rng.uniform(0, 120, rows), "exper": rng.uniform(-9, 99, rows)}


def test_order_chunks_and_batches_do_not_change_a_bit():
    plan = design(radius=1.5)
    table = table_of(400)
    domain = RowDomain.of(plan)
    rng = np.random.default_rng(4)
    results = set()
    for _ in range(20):
        order = rng.permutation(400)
        shuffled = {name: values[order] for name, values in table.items()}
        options = ComputeOptions(batch_rows=int(rng.integers(1, 500)), chunk_rows=int(rng.integers(1, 500)))
        results.add(accumulate(open_source(shuffled), plan, domain, options).values)
    assert len(results) == 1


@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 16, 26]))
def test_rows_with_derived_columns_stay_inside_their_domain_after_rounding(seed, grid_bits):
    plan = design()
    domain = RowDomain.of(plan, grid_bits)
    arrays = [np.asarray(values) for values in table_of(50, seed).values()]
    columns = {name: plan.columns[name] for name in (*plan.regressors, plan.target)}
    full = completed(plan.columns, columns, dict(zip(plan.table_columns, arrays, strict=True)))
    out = np.empty((len(plan.released) - 1, 50))
    write_scaled(columns, full, out, unit=float(domain.unit))
    x = np.rint(out)[:-1]
    assert all(sum(int(v) ** 2 for v in row) <= domain.norm2_bound for row in x.T)
    curve = [i - 1 for i, name in enumerate(plan.released) if name.startswith("curve[")]
    assert all(sum(int(v) ** 2 for v in row[curve]) <= domain.unit**2 for row in x.T)
    assert np.abs(out).max() <= domain.unit


def test_spline_values_on_the_grid_keep_their_squares_below_one_unit():
    """Rounding to the grid must not lengthen a row of basis functions: many rows, coarse to fine grids."""
    plan = Design("y", {"x": (0, 1), "s": {"formula": "spline(x, 0.2, 0.4, 0.6, 0.8, degree=2)"}, "y": (0, 1)})
    column = plan.columns["s"]
    x = np.concatenate([np.linspace(0, 1, 20_001), 0.2 * np.arange(6) + np.linspace(-1e-4, 1e-4, 6)]).clip(0, 1)
    for bits in (8, 12, 16, 20, 26):
        values = np.rint(column.formula.basis({"x": x}, dict(column.ranges)) * 2.0**bits)
        squares = (values.astype(object) ** 2).sum(axis=0)
        assert max(squares) <= 4**bits


REFUSED = {
    "unknown name": ({"z": {"formula": "zz + 1"}}, "column 'z': .*unknown numeric or boolean column 'zz'"),
    "cycle": ({"a": {"formula": "b + 1"}, "b": {"formula": "a + 1"}}, "form a cycle"),
    "attribute": ({"z": {"formula": "x.real"}}, "column 'z': formula"),
    "tower": ({"z": {"formula": "x ** 2 ** 2"}}, "column 'z': formula"),
    "domain error": ({"z": {"formula": "log(x)"}}, r"column 'z': .*log\(x\) has no finite value"),
    "category used": ({"g": ["a", "b"], "z": {"formula": "g + 1"}}, "'g' has levels and is not a number"),
    "constant": ({"z": {"formula": "x * 0"}}, "column 'z': bounds .* are equal"),
    "wider bounds": (
        {"z": {"formula": "x ** 2", "bounds": [0, 9]}},
        r"inside the range \[0, 1\] of the formula, got \[0, 9\]",
    ),
    "bounds elsewhere": (
        {"z": {"formula": "x ** 2", "bounds": [30, 50]}},
        r"bounds must be inside the range \[0, 1\] of the formula, got \[30, 50\]",
    ),
    "bounds of a condition": (
        {"z": {"formula": "x > 0", "bounds": [0, 1]}},
        "bounds are not allowed for a formula of kind 'boolean'; remove them",
    ),
    "reference of a number": (
        {"z": {"formula": "x + 1", "reference": "a"}},
        "is allowed only for a column with levels",
    ),
    "unknown reference": ({"z": {"formula": "cut(x, 0)", "reference": "a"}}, "unknown reference level 'a'"),
    "missing rule": (
        {"z": {"formula": "x + 1", "missing": "drop"}},
        "'missing' is not allowed with a formula",
    ),
    "not text": ({"z": {"formula": 3}}, "formula: expected text"),
    "bad pair": ({"z": {"formula": "x + 1", "bounds": [1]}}, "bounds: expected a pair"),
    "useless": ({"h": {"bounds": [0, 1], "release": False}}, "nor used in a formula"),
    "hidden category": ({"h": {"levels": ["a", "b"], "release": False}}, "expected true or false for release"),
    "bad release": ({"h": {"bounds": [0, 1], "release": "no"}}, "expected true or false for release"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_formulas_are_refused_before_any_data(name):
    columns, message = REFUSED[name]
    with pytest.raises(SpecError, match=message) as caught:
        Design("y", {"x": (-1, 1), "y": (0, 1), **columns})
    assert caught.value.exit_code == 2


def test_targets_must_be_released_numbers():
    with pytest.raises(SpecError, match="'y' must be released"):
        Design("y", {"x": (0, 1), "y": {"bounds": [0, 1], "release": False}, "z": {"formula": "y + x"}})
    with pytest.raises(SpecError, match="'s' is categorical"):
        Design("s", {"x": (0, 1), "s": {"formula": "spline(x, 0.5)"}})


def test_only_needed_columns_are_asked_of_a_table():
    plan = design()
    assert list(needed(plan.columns, ["mix"])) == ["exper", "age"]
    assert list(needed(plan.columns, ["age", "curve"])) == ["age"]


def test_arrays_of_a_batch_are_let_go_at_once():
    """Bounded memory: nothing may hold a batch until the garbage collector comes by."""
    plan = design()
    arrays = {name: np.asarray(values) for name, values in table_of(20).items()}
    watched = [weakref.ref(values) for values in arrays.values()]
    gc.disable()
    try:
        made = completed(plan.columns, plan.offered, arrays)
        del made, arrays
        assert [ref() for ref in watched] == [None] * 3
    finally:
        gc.enable()


def test_values_before_the_clip_are_those_that_the_marks_compare():
    columns = Design("y", {"y": (0, 1), "x": (1, 9), "sq": {"formula": "x ** 2", "bounds": (4, 50)}}).columns
    x = np.array([0.0, 1.0, 3.0, 8.0, 20.0])
    found = unclipped(columns, columns["sq"], "sq", {"x": x}, {})
    assert found.tolist() == [1.0, 1.0, 9.0, 64.0, 81.0]
    assert outside_bounds(columns, ["sq", "x"], {"x": x}).tolist() == [
        [True, True, False, True, True],
        [True, False, False, False, True],
    ]
