"""The lines of keys are those of the file, however it is written."""

from __future__ import annotations

import tomllib

import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.design import key_lines, not_toml, with_lines
from discreet.errors import DesignProblem

ODD = '''
# [columns.not] = 1
target = "a ] = { # b" # more
[columns . "a.b" ]  # spaced
bounds = [ # two lines
  0, 1 ]
formula = """
[columns.inside]
x = 1""\\""""
'single' = { deep = { fill = 1 }, list = [{ no = 1 }, 2], "q.r".s = 1979-05-27 }
[[many]]
one.two = 'it is # not a comment'
[[many]]
three = 3
[unit]
id = ''
'''


def test_lines_of_text_that_is_written_oddly() -> None:
    tomllib.loads(ODD)
    found = key_lines(ODD)
    assert found == {
        ("target",): 3, ("columns",): 4, ("columns", "a.b"): 4, ("columns", "a.b", "bounds"): 5,
        ("columns", "a.b", "formula"): 7, ("columns", "a.b", "single"): 10, ("columns", "a.b", "single", "deep"): 10,
        ("columns", "a.b", "single", "deep", "fill"): 10, ("columns", "a.b", "single", "list"): 10,
        ("columns", "a.b", "single", "q.r"): 10, ("columns", "a.b", "single", "q.r", "s"): 10, ("many",): 11,
        ("many", "one"): 12, ("many", "one", "two"): 12, ("many", "three"): 14, ("unit",): 15, ("unit", "id"): 16,
    }  # fmt: skip


VALUES = st.one_of(
    st.text(max_size=8),
    st.integers(-9, 9),
    st.booleans(),
    st.floats(allow_nan=False),
    st.lists(st.text(max_size=3) | st.integers(), max_size=3),
)
TABLES = st.recursive(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=4),
    lambda inner: st.dictionaries(st.text(max_size=5), VALUES | inner, max_size=4),
    max_leaves=8,
)


def paths(table: dict[str, object], above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = set()
    for key, value in table.items():
        found.add((*above, key))
        if isinstance(value, dict):
            found |= paths(value, (*above, key))
    return found


@given(TABLES, st.booleans())
def test_every_key_of_any_table_has_a_line_on_which_it_stands(table: dict[str, object], multiline: bool) -> None:
    text = tomli_w.dumps(table, multiline_strings=multiline)
    read = tomllib.loads(text)
    found = key_lines(text)
    assert set(found) == paths(read)
    lines = text.split("\n")
    for path, line in found.items():
        key = path[-1]
        if key.isascii() and key.isalnum():
            assert key in lines[line - 1]


def test_problems_without_a_line_come_last() -> None:
    lines = {("unit",): 4, ("columns", "x"): 2, ("odd.key",): 1}
    problems = [
        DesignProblem("a", key="target"),
        DesignProblem("b", key="unit.id"),
        DesignProblem("c", column="x", key="bounds"),
        DesignProblem("d", key="odd.key"),
    ]
    assert [one.line for one in with_lines(problems, lines)] == [1, 2, 4, None]
    assert not_toml("Cannot do it").line is None


def test_the_last_line_need_not_end() -> None:
    assert key_lines("a = 1") == {("a",): 1}
    assert key_lines("[a]\nb = {c = [1]}") == {("a",): 1, ("a", "b"): 2, ("a", "b", "c"): 2}
