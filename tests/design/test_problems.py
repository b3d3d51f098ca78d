"""All problems of a design are reported at once, each with its place."""

from __future__ import annotations

import pickle

import pytest

import discreet
from discreet.design.dates import Problems
from discreet.errors import DesignError, DesignProblem, SpecError

WRONG = """\
# every line with a fault has a number in the test
target = "incom"
radius = -1
intercept = "yes"
wieghts = 3

[columns.income]
bounds = [0, 100]
missing = "ignore"
boundz = 3
[columns.age]
bounds = [90,
  18]
[columns."a b"]
formula = "agee + 1"
[columns.log]
formula = "log(hours - 5)"
[columns.uses_age]
formula = "age + 1"
[columns.hours]
bounds = [0, 80]
release = "no"
reference = "x"
[columns.wide]
bounds = [0, 9]
[columns.root]
formula = "sqrt(wide - 5)"
missing = "drop"
[columns.Intercept]
bounds = [0, 1]
[columns]
r = {levels = ["a", "b"], reference = "c", missing = {fill = "d"}}
[unit]
id = "income"
neighbors = "replace"
max_rows = 0
"""
PLACES = [
    (2, "", "target"), (3, "", "radius"), (4, "", "intercept"), (5, "", "wieghts"), (9, "income", "missing"),
    (10, "income", "boundz"), (12, "age", "bounds"), (15, "a b", "formula"), (17, "log", "formula"),
    (22, "hours", "release"), (23, "hours", "reference"), (27, "root", "formula"), (28, "root", "missing"),
    (29, "Intercept", "name"), (32, "r", "reference"), (32, "r", "missing"),
    (34, "", "unit.id"), (35, "", "unit.neighbors"), (36, "", "unit.max_rows"),
]  # fmt: skip


def refused(*given: object, **more: object) -> tuple[DesignProblem, ...]:
    with pytest.raises(DesignError) as caught:
        discreet.Design(*given, **more)  # type: ignore[arg-type]
    return caught.value.problems


def test_every_problem_of_a_file_has_its_place(tmp_path) -> None:
    path = tmp_path / "d.toml"
    path.write_text(WRONG)
    with pytest.raises(DesignError) as caught:
        discreet.Design.load(path)
    assert [(one.line, one.column, one.key) for one in caught.value.problems] == PLACES
    heading, *details = str(caught.value).split("\n")
    assert heading == f"{path}: {len(PLACES)} problems"
    assert (
        details[6] == "  line 12, column 'age': bounds [90, 18] are reversed; the first bound must be below the second"
    )
    names = "income, hours, wide, Intercept, age, a b, log, root"
    assert details[7].endswith(f"column 'agee'; allowed: {names}. Did you mean 'age'?")
    assert caught.value.exit_code == 2


def test_one_problem_is_told_in_one_line(tmp_path) -> None:
    with pytest.raises(DesignError, match=r"^column 'x': bounds \[2, 1\] are reversed") as caught:
        discreet.Design("y", {"y": (0, 1), "x": (2, 1)})
    assert caught.value.problems[0].line is None
    text = 'target = "y"\n[columns]\ny = {bounds = [0, 1]}\nx = {bounds = [2, 1]}\n'
    with pytest.raises(DesignError, match=r"^line 4, column 'x': bounds \[2, 1\] are reversed"):
        discreet.Design.from_toml(text)
    (tmp_path / "d\x1b.toml").write_text(text)
    with pytest.raises(DesignError, match=r"d\\x1b.toml: line 4, column 'x': bounds"):
        discreet.Design.load(tmp_path / "d\x1b.toml")


def test_text_that_is_not_toml_has_the_line_of_the_parser() -> None:
    with pytest.raises(DesignError, match=r"^line 3: the design is not valid TOML: .* \(at column 5\)$") as caught:
        discreet.Design.from_toml('target = "y"\n\nx = = 3\n')
    assert caught.value.problems[0].line == 3
    with pytest.raises(DesignError, match=r"^the design is not valid TOML: .*end of document") as caught:
        discreet.Design.from_toml('target = "y')
    assert caught.value.problems[0].line is None


def test_formulas_are_judged_where_what_they_use_is_right() -> None:
    columns: dict[str, object] = {
        "y": (0, 1), "x": (2, 1), "z": (1, 2), "h": {"bounds": [0, 1], "release": False},
        "uses x": {"formula": "x + 1"}, "uses that": {"formula": "`uses x` ** 2"}, "lg": {"formula": "log(z - 2)"},
        "uses lg": {"formula": "lg + 1"}, "unknown": {"formula": "q + 1"}, "uses it": {"formula": "unknown + 1"},
        "fine": {"formula": "z ** 2"},
    }  # fmt: skip
    assert [one.column for one in refused("y", columns)] == ["x", "unknown", "lg", "h"]
    columns["x"] = (1, 2)
    assert [one.column for one in refused("y", columns)] == ["unknown", "lg", "h"]
    del columns["lg"], columns["uses lg"]
    cycle = {"a": {"formula": "b + 1"}, "b": {"formula": "a + 1"}}
    found = refused("y", columns | cycle)
    assert [one.column for one in found] == ["unknown", "a", "h"]
    assert "form a cycle" in found[1].message


def test_what_is_missing_is_listed_with_what_is_wrong() -> None:
    with pytest.raises(DesignError) as caught:
        discreet.Design.from_dict({"radius": "1", "unit": 3})
    assert [one.key for one in caught.value.problems] == ["target", "columns", "unit", "radius"]
    with pytest.raises(DesignError) as caught:
        discreet.Design.from_dict({"columns": {"x": (2, 1), 3: (0, 1)}})  # type: ignore[dict-item]
    assert [(one.column, one.key) for one in caught.value.problems] == [
        ("", "target"), ("x", "bounds"), ("3", "name"),
    ]  # fmt: skip
    assert [one.key for one in refused("y", 5, unit={"max_rows": 2}, weights="w")] == [
        "columns", "unit.max_rows", "weights",
    ]  # fmt: skip
    assert [one.key for one in refused("y", {"y": (0, 1)}, radius=0)] == ["radius", "columns"]
    released = {"y": (0, 1), "g": ["a", "b"], "g[b]": (0, 1), "h": ["a", "b"], "h[b]": (0, 1)}
    assert ["'g[b]'" in one.message for one in refused("y", released)] == [True, False]
    assert [one.key for one in refused("g", {"y": (0, 1), "g": ["a", "b"]})] == ["target"]


def test_an_error_survives_a_pickle_and_fits_on_one_line() -> None:
    error = DesignError([DesignProblem("a", line=1), DesignProblem("b", "x", "bounds")], "d.toml")
    again = pickle.loads(pickle.dumps(error))
    assert (again.problems, again.file, str(again)) == (error.problems, error.file, str(error))
    assert error.on_one_line() == "d.toml: 2 problems; line 1: a; column 'x': b"
    assert error.problems[1].to_dict() == {"message": "b", "column": "x", "key": "bounds", "line": None}


def test_a_place_that_is_known_is_kept() -> None:
    problems = Problems()
    with problems.at(column="outer", key="bounds"), problems.at(key="missing"):
        raise SpecError("wrong")
    with problems.at(column="outer", key="bounds"):
        raise DesignError([DesignProblem("wrong", key="missing")])
    assert [(one.column, one.key) for one in problems.found] == [("", "missing"), ("outer", "missing")]
    with pytest.raises(DesignError):
        problems.check()


Y: dict[str, object] = {"y": (0, 1)}
# two or more faults beside each other, and where each is
TOGETHER: dict[str, tuple[tuple[object, object], dict[str, object], list[tuple[str, str]]]] = {
    "a categorical target, bounds": (
        ("g", {"g": {"levels": ["a", "b"]}, "x": {"bounds": [2, 1]}}), {}, [("x", "bounds"), ("", "target")],
    ),
    "a target that is not released, a formula": (
        ("y", {"y": {"bounds": [0, 1], "release": False}, "z": {"formula": "1 / y"}, "w": (0, 1)}), {},
        [("z", "formula"), ("", "target")],
    ),
    "no id, neighbours": (
        ("y", Y | {"x": (0, 1)}), {"unit": {"neighbours": "swap", "max_rows": 3}},
        [("", "unit.neighbours"), ("", "unit.max_rows")],
    ),
    "no id, too many rows": (
        ("y", Y | {"x": (0, 1)}), {"unit": {"max_rows": 20_000}}, [("", "unit.max_rows"), ("", "unit.max_rows")],
    ),
    "a slip for id": (("y", Y | {"x": (0, 1)}), {"unit": {"Id": "p", "max_rows": 3}}, [("", "unit.Id")]),
    "missing, two kinds of which one is wrong": (
        ("y", Y | {"x": {"bounds": [2, 1], "levels": ["a", "b"], "missing": "no", "release": 3}}), {},
        [("x", "release"), ("x", "missing"), ("x", ""), ("x", "bounds")],
    ),
    "missing, a slip for bounds": (
        ("y", Y | {"x": {"bound": [0, 1], "missing": "no"}}), {}, [("x", "bound"), ("x", "missing")],
    ),
    "reference, a level twice, fill": (
        ("y", Y | {"x": {"levels": ["a", "a", "b\x07"], "reference": "c", "missing": {"fill": "d"}}}), {},
        [("x", "levels"), ("x", "levels"), ("x", "reference"), ("x", "missing")],
    ),
    "levels of several kinds, reference": (
        ("y", Y | {"x": {"levels": ["a", 2.5, [1]], "reference": "c"}}), {}, [("x", "levels"), ("x", "reference")],
    ),
    "bounds, a fill value that is no number": (
        ("y", Y | {"x": {"bounds": [2, 1], "missing": {"fill": "d"}}}), {}, [("x", "bounds"), ("x", "missing")],
    ),
    "target, columns": ((5, []), {}, [("", "columns"), ("", "target")]),
    "a blank target, columns": (("", 3), {}, [("", "columns"), ("", "target")]),
    "target, no column": ((5, {}), {}, [("", "target"), ("", "target")]),
    "two cycles, a formula without a value": (
        ("y", Y | {
            "a": {"formula": "b + 1"}, "b": {"formula": "a + 1"}, "c": {"formula": "d + 1"}, "d": {"formula": "c + y"},
            "e": {"formula": "1 / y"}, "f": {"formula": "a + 1"},
        }), {}, [("a", "formula"), ("c", "formula"), ("e", "formula")],
    ),
    "what a formula may not have, no value": (
        ("y", Y | {"x": {"formula": "cut(1 / y, 2)", "bounds": [0, 1], "reference": "a"}}), {},
        [("x", "bounds"), ("x", "reference"), ("x", "formula")],
    ),
    "a formula that takes neither": (
        ("y", Y | {"x": {"formula": "y > 0.5", "bounds": [0, 1], "reference": "a"}}), {},
        [("x", "bounds"), ("x", "reference")],
    ),
    "dtype, a fill value": (
        ("y", Y | {"x": {"dtype": "bool", "missing": {"fill": 2}}, "z": {"bounds": 3}}), {},
        [("x", "missing"), ("z", "bounds")],
    ),
    "a name and its bounds": (("y", Y | {"Intercept": (2, 1)}), {}, [("Intercept", "name"), ("Intercept", "bounds")]),
    "a name twice wrong": (("y", Y | {" \u202e": (0, 1)}), {}, [(" \u202e", "name"), (" \u202e", "name")]),
    "no regressor, bounds": (("y", {"y": (2, 1)}), {}, [("y", "bounds"), ("", "columns")]),
    "two released columns of one name, bounds": (
        ("y", Y | {"x": (2, 1), "g": ["a", "b"], "g[b]": (0, 1)}), {}, [("x", "bounds"), ("", "columns")],
    ),
    "a column that nothing uses, bounds": (
        ("y", Y | {"x": (2, 1), "h": {"bounds": [0, 1], "release": False}}), {}, [("x", "bounds"), ("h", "release")],
    ),
    "a column that a wrong formula uses": (
        ("y", Y | {"x": {"formula": "h +"}, "h": {"bounds": [0, 1], "release": False}}), {}, [("x", "formula")],
    ),
    "a column that a slip for a formula uses": (
        ("y", Y | {"x": {"formla": "h + 1"}, "h": {"bounds": [0, 1], "release": False}}), {}, [("x", "formla")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_no_fault_hides_another(name: str) -> None:
    given, more, places = TOGETHER[name]
    assert [(one.column, one.key) for one in refused(*given, **more)] == places


def test_a_cycle_and_a_name_that_is_empty_have_a_line() -> None:
    columns = ["y = {bounds = [0, 1]}", '"" = {bounds = [2, 1]}', 'a.formula = "b"', 'b.formula = "a + 1"']
    text = "\n".join(['target = "y"', "[columns]", *columns])
    with pytest.raises(DesignError) as caught:
        discreet.Design.from_toml(text)
    assert [(one.line, one.column, one.key) for one in caught.value.problems] == [
        (4, "", "name"), (4, "", "bounds"), (5, "a", "formula"),
    ]  # fmt: skip
    with pytest.raises(DesignError, match="exactly one of bounds") as caught:
        discreet.Design.from_toml(text.replace("bounds = [2, 1]", ""))
    assert [one.line for one in caught.value.problems] == [4, 4, 5]


ODD_VALUES = {
    "y = {bounds = [true, false]}": "bounds: expected a pair of numbers [low, high], got [true, false]",
    "y = {bounds = [2026-11-17, 07:32:00]}": "expected a date such as 2019-01-31, without a time, got 07:32:00",
    "y = {bounds = 2026-11-17T07:32:00Z}": "bounds: expected a pair [low, high], got 2026-11-17T07:32:00+00:00",
    "y = {dtype = true}": "expected dtype = 'bool', got true",
    "y = {bounds = [0, 1], missing = {fill = 2026-11-17}}": (
        "the fill value must be a number inside the bounds [0, 1], got 2026-11-17"
    ),
    "y = {dtype = 'bool', missing = {fil = [{a = false}]}}": "for missing, got {fil = [{a = false}]}",
    "y = 2026-11-17": "a list of levels, bool, 'private' or a table, got 2026-11-17",
    "y = {levels = [1, 2], reference = true}": "reference: expected one of the levels, got true",
    "y = {formula = true}": "formula: expected text, got true",
    "[unit]\nid = 2026-11-17": "unit id: expected the name of a column, without blanks at its ends, got 2026-11-17",
    "[unit]\nid = 'p'\nmax_rows = true": "max_rows: expected an integer of at least 1, got true",
    "[unit]\nneighbours = false": "unknown neighbours false; allowed: add-remove, replace",
}


@pytest.mark.parametrize("line", ODD_VALUES)
def test_a_value_is_repeated_as_the_file_has_it(line: str) -> None:
    with pytest.raises(DesignError) as caught:
        discreet.Design.from_toml(f'target = "x"\n[columns]\nx = {{bounds = [0, 1]}}\n{line}\n')
    assert ODD_VALUES[line] in str(caught.value)


@pytest.mark.parametrize(("line", "said"), [
    ("radius = true", "radius: expected a number, got true"),
    ("intercept = 2026-11-17", "intercept: expected true or false, got 2026-11-17"),
    ("target = 2026-11-17", "unknown target 2026-11-17; allowed: x"),
    ("unit = [true]", "unit: expected a table of named values, got [true]"),
])  # fmt: skip
def test_so_is_one_at_the_top(line: str, said: str) -> None:
    with pytest.raises(DesignError) as caught:
        discreet.Design.from_toml(f"{line}\n[columns]\nx = {{bounds = [0, 1]}}\n")
    assert said in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_a_design(tmp_path) -> None:
    text = 'target = "y"\n[columns]\ny = {bounds = [0, 1]}\nx = {bounds = [0, 1]}\n'
    (tmp_path / "d.toml").write_text(text, encoding="utf-8-sig")
    assert discreet.Design.load(tmp_path / "d.toml") == discreet.Design.from_toml(text)
    (tmp_path / "d.toml").write_text(text.replace("[0, 1]", "[1, 0]", 1), encoding="utf-8-sig")
    with pytest.raises(DesignError, match="line 3, column 'y'"):
        discreet.Design.load(tmp_path / "d.toml")
    (tmp_path / "d.toml").write_text(text, encoding="utf-16")
    with pytest.raises(SpecError, match="is not UTF-8 text; save it as UTF-8"):
        discreet.Design.load(tmp_path / "d.toml")


@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_an_integer_of_too_many_digits_has_its_line(sign: str) -> None:
    nines = "9" * 4000 + "_" + "9" * 1000
    before = f'# {nines}\ntarget = "{nines}"\nradius = {nines}.5\nintercept = {nines}e1\n'
    with pytest.raises(DesignError) as caught:
        discreet.Design.from_toml(f"{before}[columns]\ny = {{bounds = [0,\n {sign}{nines}]}}\n")
    assert [str(one) for one in caught.value.problems] == [
        "line 7: expected integers of at most 309 digits, got one of 5000 digits; write a smaller number"
    ]


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
ALIKE = {
    "columns": (
        ("y", Y | {COMPOSED: (0, 1), DECOMPOSED: (0, 2)}), {}, (DECOMPOSED, "name"),
        r"the columns 'caf\xe9' and 'cafe\u0301' look the same but differ in their Unicode form; rename one of them",
    ),
    "a column and a formula": (
        ("y", Y | {COMPOSED: (0, 1), DECOMPOSED: {"formula": "y + 1"}}), {"unit": {"id": "p"}}, (DECOMPOSED, "name"),
        "look the same",
    ),
    "levels": (
        ("y", Y | {"g": [COMPOSED, DECOMPOSED]}), {}, ("g", "levels"),
        r"the levels 'caf\xe9' and 'cafe\u0301' look the same but differ in their Unicode form; rename one of them",
    ),
    "id and column": (
        ("y", Y | {COMPOSED: (0, 1)}), {"unit": {"id": DECOMPOSED}}, ("", "unit.id"),
        r"the id 'cafe\u0301' and the column 'caf\xe9' look the same but differ in their Unicode form; rename one of "
        r"them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_names_that_look_the_same_are_refused(name: str) -> None:
    given, more, place, said = ALIKE[name]
    (found,) = refused(*given, **more)
    assert (found.column, found.key) == place
    assert said in found.message


def test_names_that_differ_to_the_eye_are_left_to_the_table() -> None:
    design = discreet.Design("y", Y | {"x": (0, 1), "X": (0, 1), "x2": (0, 1), "x²": {"formula": "x ** 2"}})
    assert design.regressors == ("x", "X", "x2", "x²")


@pytest.mark.parametrize("level", ["", " ", "\u00a0"])
def test_a_level_that_is_blank_is_refused(level: str) -> None:
    (found,) = refused("y", Y | {"g": ["a", level]})
    assert (found.column, found.key) == ("g", "levels")
    assert found.message == (
        f"the level {level!r} is blank, but blank cells are read as missing; remove the level and declare a rule for "
        "missing cells"
    )
