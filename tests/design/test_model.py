"""The design: names, order, TOML in and out, public geometry."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import OutputError, SpecError
from discreet.privacy.budget import PrivacyUnit
from support.tables import random_design

COLUMNS = {"y": (0, 10), "x": (-1, 1), "b": bool, "g": ["a", "b", "c"]}

REFUSED = [
    (("y", {"y": (0, 1)}), {}, "no regressor"),
    (("z", COLUMNS), {}, "unknown target 'z'; allowed: y, x, b, g"),
    (("y", {}), {}, "^no columns are declared; declare the target 'y' and at least one regressor$"),
    (("y", COLUMNS), {"weights": "w"}, "unknown weights 'w'"),
    (("y", COLUMNS), {"weights": 3}, "unknown weights 3"),
    (("y", COLUMNS), {"weights_are": "sampling"}, "weights_are requires weights"),
    (("y", COLUMNS | {"w": (0, 5)}), {"weights": "w", "weights_are": "survey"}, "unknown weights_are 'survey'"),
    (("y", COLUMNS | {"w": (0, 5)}), {"weights": "y"}, "is the target"),
    (("y", COLUMNS | {"w": (1, 5)}), {"weights": "w"}, r"must have bounds \[0, W\], where .*, got \[1, 5\]"),
    (("y", COLUMNS | {"w": bool}), {"weights": "w"}, "must be numeric"),
    (("y", COLUMNS | {"w": (5, 0)}), {"weights": "w"}, "^column 'w': bounds"),
    (
        ("y", COLUMNS | {"w": "private"}),
        {"weights": "w"},
        "cannot have private bounds, because the noise depends on these bounds",
    ),
    (("y", {"y": (0, 1), "w": (0, 5)}), {"weights": "w"}, "no regressor"),
    (
        ("y", COLUMNS | {"w": {"bounds": (0, 5), "release": False}, "v": {"formula": "w * 2"}}),
        {"weights": "w"},
        "release = false is not allowed for the weights 'w'; remove it",
    ),
    (("y", COLUMNS), {"weights": np.ones(3)}, "unknown weights"),
    (("y", {**COLUMNS, "w": np.array([[0, 1]])}), {}, "column 'w': expected a pair of bounds"),
    (("y", {**COLUMNS, "w": np.float64}), {}, "column 'w': expected a pair of bounds"),
    (("y", {**COLUMNS, "w": np.array(3)}), {}, "column 'w': expected a pair of bounds"),
    (("y", {**COLUMNS, "w": np.array([2.0, 1.0])}), {}, "column 'w': bounds .* reversed"),
    ((None, COLUMNS), {}, "unknown target"),
    (("", COLUMNS), {}, "^target is blank; name the outcome column$"),
    (("", {**COLUMNS, "w": {"bounds": ["", ""]}}), {}, "^the design has 2 problems\n  column 'w': bounds are blank"),
    (("g", COLUMNS), {}, "categorical; it must be a numeric or boolean column"),
    (("y", [("y", (0, 1))]), {}, "columns: expected a mapping from names to declarations"),
    (("y", {**COLUMNS, "": (0, 1)}), {}, "without surrounding blanks"),
    (("y", {**COLUMNS, " x": (0, 1)}), {}, "without surrounding blanks"),
    (("y", {**COLUMNS, 3: (0, 1)}), {}, "a column name that is nonempty text"),
    (("y", {**COLUMNS, "a\u202eb": (0, 1)}), {}, "invisible characters"),
    (("y", {**COLUMNS, "a\x1b[31m": (0, 1)}), {}, "invisible characters"),
    (("y", {**COLUMNS, "1": (0, 1)}), {}, "is reserved"),
    (("y", {**COLUMNS, "Intercept": (0, 1)}), {}, "is reserved"),
    (("y", {**COLUMNS, "g[b]": (0, 1)}), {}, r"two released columns would be called 'g\[b\]'"),
    (("y", {**COLUMNS, "w": (3, 2)}), {}, "column 'w': bounds .* reversed"),
    (("y", COLUMNS), {"intercept": "yes"}, "intercept: expected true or false"),
    (("y", COLUMNS), {"radius": 0.0}, "finite radius of at least 1/256, got 0.0"),
    (("y", COLUMNS), {"radius": float("nan")}, "finite radius of at least 1/256, got nan"),
    (("y", COLUMNS), {"radius": float("inf")}, "finite radius of at least 1/256, got inf"),
    (("y", COLUMNS), {"radius": "1"}, "radius: expected a number"),
    (("y", COLUMNS), {"radius": True}, "radius: expected a number"),
    (("y", COLUMNS), {"unit": {"neighbours": "swap"}}, "swap"),
    (("y", COLUMNS), {"unit": {"neighbors": "replace"}}, "neighbors"),
    (("y", COLUMNS), {"unit": {"max_rows": 3}}, "needs an id column"),
    (("y", COLUMNS), {"unit": {"id": "x"}}, "an id is never released"),
]


@pytest.mark.parametrize(("args", "options", "message"), REFUSED)
def test_a_wrong_design_is_refused_with_the_reason(args, options, message):
    with pytest.raises(SpecError, match=message):
        Design(*args, **options)


def test_released_columns_are_the_constant_the_regressors_and_the_target_last():
    design = Design("y", COLUMNS)
    assert design.released == ("1", "x", "b", "g[b]", "g[c]", "y")
    assert design.regressors == ("x", "b", "g")


@given(st.integers(0, 2**32 - 1))
def test_a_design_survives_toml_dict_and_pickle(seed):
    rng = np.random.default_rng(seed)
    missing = ["error", "drop"][seed % 2]
    design = random_design(rng, neighbours=["add-remove", "replace"][seed % 2], missing=missing)
    for copy in (
        Design.from_toml(design.to_toml()),
        Design.from_dict(design.to_dict()),
        pickle.loads(pickle.dumps(design)),
    ):
        assert copy == design
        assert hash(copy) == hash(design)
        assert copy.released == design.released


def test_a_design_file_is_read_and_written(tmp_path):
    design = Design("y", COLUMNS, radius=1.5, intercept=False, unit=PrivacyUnit(neighbours="replace"))
    design.save(tmp_path / "design.toml")
    assert Design.load(tmp_path / "design.toml") == design


BAD_FILES = {
    "not toml": (b"target = = 3", "not valid TOML"),
    "not text": (b"\xff\xfe\x00", "not UTF-8"),
    "unknown key": (b'target = "y"\ntraget = "x"\n[columns]\ny = {bounds = [0, 1]}\n', "unknown key 'traget'"),
    "no target": (b"[columns]\ny = {bounds = [0, 1]}\n", "no 'target'"),
    "no columns": (b'target = "y"\n', "no 'columns'"),
    "duplicate key": (b'target = "y"\ntarget = "x"\n', "not valid TOML"),
    "infinite bound": (b'target = "y"\n[columns]\ny = {bounds = [0, inf]}\nx = {dtype = "bool"}\n', "not finite"),
    "bound too long": (b'target = "y"\n[columns]\ny = {bounds = [0, 1e400]}\nx = {dtype = "bool"}\n', "not finite"),
    "deep": (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply|not valid TOML"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_design_file_is_refused(tmp_path, name):
    content, message = BAD_FILES[name]
    path = tmp_path / "design.toml"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=message):
        Design.load(path)


def test_a_missing_design_file_is_refused(tmp_path):
    with pytest.raises(SpecError, match="cannot read the design"):
        Design.load(tmp_path / "none.toml")


def test_a_design_from_something_else_is_refused():
    with pytest.raises(SpecError, match="design: expected a mapping"):
        Design.from_dict([1])


def test_rules_decide_whether_rows_may_be_dropped_and_whether_every_table_is_fine():
    plain = Design("y", COLUMNS, unit={"neighbours": "replace"})
    assert plain.count_public
    assert not plain.total
    assert not Design("y", COLUMNS).count_public
    assert not Design("y", COLUMNS, unit={"neighbours": "replace", "id": "person"}).count_public
    rules = {"y": {"bounds": [0, 1], "missing": "drop"}, "x": {"dtype": "bool", "missing": {"fill": True}}}
    dropping = Design("y", rules, unit={"neighbours": "replace"})
    assert not dropping.count_public
    assert dropping.total


def test_columns_cannot_be_changed_after_the_fact():
    design = Design("y", COLUMNS)
    with pytest.raises(TypeError):
        design.columns["x"] = (0, 2)


def test_a_one_hot_block_counts_once_and_a_single_indicator_as_a_boolean():
    design = Design("y", {"y": bool, "x": (0, 1), "b": bool, "g": ["a", "b", "c"], "h": ["a", "b"]})
    domain = RowDomain.of(design)
    assert (domain.numeric, domain.boolean, domain.blocks, domain.target_nonnegative) == (1, 2, 1, True)
    assert domain.norm2_bound == 4 * 2**32
    assert domain.ball_norm2 is None


def test_the_ball_is_rounded_down_to_the_grid():
    design = Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1)}, radius=1.1)
    domain = RowDomain.of(design, 8)
    assert domain.norm2_bound == domain.ball_norm2 == int(1.1**2 * 2**16)
    wide = RowDomain.of(Design("y", {"y": (0, 1), "x": (0, 1)}, radius=9.0))
    assert wide.norm2_bound == wide.box_norm2


@pytest.mark.parametrize("bits", [7, 27, 16.0, True, "16"])
def test_grid_bits_out_of_range_are_refused(bits):
    with pytest.raises(SpecError, match="grid_bits"):
        RowDomain.of(Design("y", COLUMNS), bits)


def test_a_ball_over_too_many_columns_for_64_bit_norms_is_refused():
    design = Design("y", {"y": (0, 1), **{f"x{j}": (0, 1) for j in range(2048)}}, radius=2.0)
    with pytest.raises(SpecError, match="lower grid_bits"):
        RowDomain.of(design, 26)
    RowDomain.of(design, 24)


def test_weights_are_no_regressor_and_fine_as_the_name_of_a_column():
    columns = {"y": (0, 1), "x": (0, 1), "w": (0, 5)}
    design = Design("y", columns, weights="w", unit={"neighbours": "replace"})
    assert (design.released, design.weights_are) == (("1", "x", "y"), "inverse-variance")
    assert (design.rows_public, design.count_public) == (True, False)
    assert list(design.table_columns) == ["y", "x", "w"]
    assert Design.from_toml(design.to_toml()) == design == pickle.loads(pickle.dumps(design))
    other = Design("y", columns, weights="w", weights_are="sampling", unit={"neighbours": "replace"})
    assert other != design
    assert hash(other) != hash(design)
    assert "weights (sampling)" in other._repr_html_()
    found = Design("y", columns | {"x": "private"}, weights="w").with_found({"x": (0.0, 1.0)}).redeclared()
    assert found == Design("y", columns, weights="w")
    assert Design("y", {"y": (0, 1), "weights": (0, 1)}).regressors == ("weights",)


@pytest.mark.parametrize(
    "pair",
    [
        np.array([0, 1]), np.array([0.0, 1.0]), np.array([0, 1], dtype=np.int8), (np.int64(0), np.float32(1)),
        [np.int64(0), np.int64(1)], {"bounds": np.array([0, 1])}, {"bounds": (np.int64(0), 1)},
    ],
)  # fmt: skip
def test_a_pair_of_numpy_is_a_pair_of_bounds(pair):
    assert Design("y", {"y": (0, 1), "x": pair}) == Design("y", {"y": (0, 1), "x": (0, 1)})


@pytest.mark.parametrize("levels", [np.array(["a", "b"]), {"levels": np.array(["a", "b"])}])
def test_levels_may_come_as_an_array(levels):
    assert Design("y", {"y": (0, 1), "x": levels}) == Design("y", {"y": (0, 1), "x": ["a", "b"]})


def test_two_whole_numbers_are_bounds_and_as_levels_they_come_in_a_table():
    assert Design("y", {"y": (0, 1), "x": [1, 2]}).columns["x"].bounds == (1.0, 2.0)
    assert Design("y", {"y": (0, 1), "x": {"levels": [1, 2]}}).columns["x"].levels == (1, 2)
    assert Design("y", {"y": (0, 1), "x": np.array([1, 2, 3])}).columns["x"].levels == (1, 2, 3)


@pytest.mark.parametrize("odd", ["a]\\", '",', "[x]", "# a", "a = [", "ü"])
def test_levels_and_names_of_any_text_survive_toml(odd):
    design = Design("y", {"y": (0, 1), odd: ["one", odd, "two"]})
    assert Design.from_toml(design.to_toml()) == design


def test_a_design_that_cannot_be_written_is_refused_in_words(tmp_path):
    design = Design("y", {"y": (0, 1), "x": (0, 1)})
    for target, reason in ((tmp_path / "none" / "d.toml", "does not exist"), (tmp_path, "a link or a folder")):
        with pytest.raises(OutputError, match=reason):
            design.save(target)


def test_a_design_replaces_a_file_only_if_asked_to(tmp_path):
    design, path = Design("y", {"y": (0, 1), "x": (0, 1)}), tmp_path / "d.toml"
    path.write_text("precious")
    with pytest.raises(OutputError, match="exists; choose another name, or pass force=True"):
        design.save(path)
    assert path.read_text() == "precious"
    design.save(path, force=True)
    assert Design.load(path) == design


def test_factors_are_blocks_of_several_indicators():
    columns = {
        "a": (0, 4), "g": ["k", "l", "m"], "y": (0, 1), "b": bool, "h": ["u", "v"], "c": {"formula": "cut(a, 1, 2, 3)"},
        "s": {"formula": "spline(a, 2)"},
    }  # fmt: skip
    design = Design("y", columns)
    found = [design.released[first : last + 1] for first, last in design.factors]
    assert [len(one) for one in found] == [2, 3]
    assert [one[0].partition("[")[0] for one in found] == ["g", "c"]
    assert Design("y", {"y": (0, 1), "x": (0, 1), "b": bool}).factors == ()
    found = [design.released[first].partition("[")[0] for first, _ in design.indicators]
    assert found == ["g", "b", "h", "c"]
    assert Design("y", columns, radius=1.0).indicators == ()


# -- bounds that a release finds ---------------------------------------------------------------------------------------


SEARCHED = {"y": "private", "x": {"bounds": "private", "within": (0, 9), "missing": {"fill": 7}}, "z": (0, 1)}


def test_a_design_with_private_bounds_travels_and_becomes_one_without():
    design = Design("y", SEARCHED, unit={"neighbours": "replace"})
    assert design.searched == ("y", "x")
    assert Design.from_toml(design.to_toml()) == pickle.loads(pickle.dumps(design)) == design
    found = design.with_found({"y": (-4.0, 4.0), "x": (1.0, 2.0)})
    assert (found.searched, dict(found.ranges)) == ((), dict(design.ranges))
    assert Design.from_toml(found.to_toml()) == pickle.loads(pickle.dumps(found)) == found
    plain = found.redeclared()
    assert plain == Design(
        "y", {**SEARCHED, "y": (-4, 4), "x": {"bounds": (1, 2), "missing": {"fill": 2.0}}}, unit=design.unit
    )
    assert plain.redeclared() is plain


def test_the_geometry_of_a_row_does_not_depend_on_bounds_that_are_found():
    design = Design("y", SEARCHED, radius=0.5)
    for ends in ((0.0, 1.0), (-8.0, 8.0)):
        assert RowDomain.of(design.with_found({"y": ends, "x": ends})) == RowDomain.of(design)


def test_a_model_without_intercept_and_formulas_need_bounds_that_are_known():
    with pytest.raises(SpecError, match="the bounds of 'y' are private; keep the intercept, or declare these bounds"):
        Design("y", SEARCHED, intercept=False)
    assert not Design("y", SEARCHED).with_found({"y": (0.0, 1.0), "x": (0.0, 1.0)}).searched
    for formula in ("x ** 2", "x > 3", "cut(x, 2)", "z + x"):
        with pytest.raises(SpecError, match="the formula uses 'x', whose bounds are private"):
            Design("y", {**SEARCHED, "f": {"formula": formula}})


def test_problems_of_a_half_filled_design_are_values():
    columns = {"income": {"bounds": ["", ""]}, "age": {"levels": []}, "log": {"formula": "lg(age)"}}
    found = discreet.design_problems({"target": "income", "columns": columns})
    assert {(one.column, one.key) for one in found} >= {("income", "bounds"), ("age", "levels"), ("log", "formula")}
    assert discreet.design_problems({}) != ()
    assert [one.message for one in discreet.design_problems(3)] == ["design: expected a mapping, got int"]
    assert discreet.design_problems("target = ?\n")[0].line == 1
    fine = {"target": "y", "columns": {"y": {"bounds": [0, 1]}, "x": {"dtype": "bool"}}}
    assert discreet.design_problems(fine) == ()
    assert discreet.design_problems(Design.from_dict(fine).to_toml()) == ()
