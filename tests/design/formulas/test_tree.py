"""The canonical text of a tree reads back as the same tree, and as no other."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.formula import parse
from discreet.design.formula_syntax import (
    Binary,
    Call,
    Clip,
    Compare,
    Cut,
    Logic,
    Name,
    Negate,
    Not,
    Number,
    Power,
    Spline,
    is_reserved,
    name_text,
    names_in,
    text_of,
    tree_of,
)
from support.random_formulas import random_text


@pytest.mark.no_cover
@pytest.mark.parametrize("letter", range(25))
def test_canonical_texts_of_random_formulas_read_back_the_same(letter):
    generator = random.Random(letter)
    for _ in range(40):
        formula = parse(f"age + {random_text(generator, 3)}")
        assert parse(str(formula)) == formula


def test_the_generator_reaches_every_kind_of_node():
    texts = " ".join(random_text(random.Random(letter), 3) for letter in range(200))
    assert all(word in texts for word in ("clip(", "min(", "** 0.5", "!=", "log1p(", "-(", "`years at school`"))


LEAVES = st.sampled_from([Name("a"), Name("gross income"), Name("log"), Number(2.0), Number(0.1)])


def grown(part):
    conditions = st.builds(Compare, st.sampled_from(["<", ">=", "!="]), part, part)
    return (
        st.builds(Binary, st.sampled_from("+-*/"), part, part)
        | st.builds(Power, part, st.sampled_from([0.0, 2.0, 0.5]))
        | st.builds(Negate, part)
        | st.builds(Call, st.just("max"), st.tuples(part, part))
        | st.builds(Clip, part, st.just(-1.0), st.just(2.5))
        | conditions
        | st.builds(Logic, st.sampled_from(["and", "or"]), conditions, conditions)
        | st.builds(Not, conditions)
    )


@given(st.recursive(LEAVES, grown, max_leaves=8))
def test_the_text_of_any_tree_reads_back_as_that_tree(tree):
    whole = Binary("+", Name("a"), tree)
    assert tree_of(text_of(whole)) == whole


def test_brackets_stand_only_where_the_meaning_needs_them():
    a, b, c = Name("a"), Name("b"), Name("c")
    assert text_of(Binary("-", Binary("-", a, b), c)) == "a - b - c"
    assert text_of(Binary("-", a, Binary("-", b, c))) == "a - (b - c)"
    assert text_of(Power(Negate(a), 2.0)) == "(-a) ** 2"
    assert text_of(Negate(Power(a, 2.0))) == "-a ** 2"


def test_names_come_in_order_with_repetitions_and_from_every_part():
    tree = Cut(Call("min", (Name("b"), Binary("*", Name("a"), Name("b")), Number(1.0))), (2.0,))
    assert list(names_in(tree)) == ["b", "a", "b"]
    assert list(names_in(Spline(Number(1.0), (0.5,), 3))) == []


@pytest.mark.parametrize("word", ["log", "cut", "and", "lambda", "NaN", "infinity"])
def test_a_word_with_a_meaning_of_its_own_is_quoted(word):
    assert is_reserved(word)
    assert name_text(word) == f"`{word}`"
    assert name_text(f"{word}_1") == f"{word}_1"
    assert not is_reserved(f"{word}_1")
