"""Words, numbers, quoted names and operators of a formula, and errors that name their position."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.formula_syntax import MAX_LENGTH, Cursor, problem, shown, tokens_of
from discreet.errors import SpecError


def test_kinds_texts_and_positions_are_those_of_the_text():
    found = [(token.kind, token.text, token.position) for token in tokens_of("log( `gross income`)>=2.5 ")]
    assert found == [
        ("word", "log", 0),
        ("sign", "(", 3),
        ("name", "gross income", 5),
        ("sign", ")", 19),
        ("sign", ">=", 20),
        ("number", "2.5", 22),
        ("end", "", 26),
    ]


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_a_number_is_the_double_that_python_reads(value):
    first, end = tokens_of(repr(value))
    assert (first.kind, first.value, end.kind) == ("number", value, "end")


@given(st.text("a`b +*(", min_size=1, max_size=8).filter(lambda name: name == name.strip()))
def test_a_quoted_name_may_hold_operators_and_back_quotes(name):
    (token, _) = tokens_of("`" + name.replace("`", "``") + "`")
    assert (token.kind, token.text) == ("name", name)


def test_the_longest_text_is_read_and_one_character_more_is_refused():
    assert len(tokens_of("a" * MAX_LENGTH)) == 2
    with pytest.raises(SpecError, match=f"expected at most {MAX_LENGTH} characters, got {MAX_LENGTH + 1}"):
        tokens_of("a" * (MAX_LENGTH + 1))


def test_a_quoted_operator_is_no_operator():
    quoted, plain = Cursor("`+` 1"), Cursor("+ 1")
    assert not quoted.accept("+")
    assert plain.accept("+")
    assert plain.advance().value == 1
    assert plain.at_end()
    with pytest.raises(SpecError, match=r"unexpected '\+' at position 0; write a number"):
        quoted.expect("(", "write a number")


def test_an_error_shows_the_end_of_what_was_read_and_no_invisible_character():
    text = "a + " * 10 + "\x07"
    said = str(problem(text, 40, "a bell", "remove it"))
    assert said.endswith("a bell at position 40, after '...+ a + a + a + a +'; remove it")
    assert "\x07" not in said
    assert "<U+0007>" in said
    assert len(shown("x" * 400)) == len('formula ""') + 60


@pytest.mark.parametrize(("text", "here"), [("day >= 2024-01-01", ", here 19723"), ("2024-13-31 < day", "")])
def test_a_date_is_not_read_as_a_subtraction(text, here):
    with pytest.raises(SpecError, match=f"is not a number; write the number of days since 1970-01-01{here}, or"):
        tokens_of(text)


@pytest.mark.parametrize(
    "text", ["x - 2024 - 12 - 31", "2024-1-1 + x", "x > 12024-01-010", '"2024-01-01"', "`2024-01-01`"]
)
def test_other_subtractions_and_quoted_dates_stay(text):
    assert tokens_of(text)
