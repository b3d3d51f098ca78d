"""What users write for a column, read or refused with the reason."""

from __future__ import annotations

import math

import pytest

from discreet.design.columns import WIDEST, Boolean, Categorical, Fill, Numeric
from discreet.design.declarations import column_from
from discreet.errors import DesignError, SpecError

INF, NAN = math.inf, math.nan
REFUSED = [
    ((5, 5), "equal"),
    ((6, 5), "reversed"),
    ((0, INF), "not finite"),
    ((-INF, 0), "not finite"),
    ((NAN, 1), "not finite"),
    ((-1.7e308, 1.7e308), "too wide or too narrow"),
    ((1e12, 1e12 + 1), "too wide or too narrow"),
    ((0, 1e-260), "too wide or too narrow"),
    ({"levels": [1, 2**53]}, r"must be below 2\*\*53 in absolute value"),
    ((0, True), "a pair of bounds, a list of levels"),
    ((0,), "at least 2 levels"),
    ((), "a pair of bounds"),
    (7, "a pair of bounds"),
    ([1.5, 2.5, 3.5], "a pair of bounds"),
    (["a"], "at least 2 levels"),
    (["a", "a"], "listed twice"),
    (["a", "b\x07"], "invisible characters"),
    ({"levels": ["a", 1]}, "all text or all integers"),
    ({"levels": [True, False]}, "all text or all integers"),
    ({"levels": "ab"}, "levels: expected a list"),
    ({"levels": ["a", "b"], "reference": "c"}, "unknown reference level 'c'"),
    ({"levels": ["a", "b"], "reference": True}, "one of the levels"),
    ({"bounds": [0, 1], "reference": "a"}, "is allowed only for a column with levels"),
    ({"bounds": [0, 1, 2]}, "a pair"),
    ({"bounds": 3}, "a pair"),
    ({"bounds": ["0", 1]}, "a pair of numbers"),
    (
        {"bounds": ["", ""]},
        "^bounds are blank; declare the lowest and highest possible value, using public knowledge only$",
    ),
    ({"bounds": [0, ""]}, "bounds are blank"),
    ({"levels": []}, "^levels are blank; list every value that can occur, using public knowledge only$"),
    ({}, "exactly one of bounds, levels, dtype"),
    ({"bounds": [0, 1], "dtype": "bool"}, "got bounds and dtype"),
    ({"dtype": "float"}, "expected dtype = 'bool', got 'float'"),
    ({"bounds": [0, 1], "missing": "ignore"}, "expected 'error', 'drop'"),
    ({"bounds": [0, 1], "missing": {"fill": [1]}}, "for missing, got"),
    ({"bounds": [0, 1], "missing": {"fill": 2}}, "inside the bounds"),
    ({"bounds": [0, 1], "missing": {"fill": "x"}}, "inside the bounds"),
    ({"bounds": [0, 1], "missing": {"fill": True}}, "inside the bounds"),
    ({"bounds": [0, 1], "missing": {"fill": NAN}}, "inside the bounds"),
    ({"dtype": "bool", "missing": {"fill": 2}}, "the fill value of a boolean column must be true or false"),
    ({"levels": ["a", "b"], "missing": {"fill": "c"}}, "unknown fill level 'c'"),
    ({"bound": [0, 1]}, "unknown key 'bound'; allowed: bounds"),
    ({"bounds": [0, 1], "missing": "x" * 200}, r"got .*\.\.\.$"),
]


@pytest.mark.parametrize(("declaration", "message"), REFUSED, ids=repr)
def test_a_wrong_declaration_is_refused_with_the_reason(declaration, message):
    with pytest.raises(SpecError, match=message):
        column_from(declaration)


ROUND_TRIPS = [
    Numeric((0, 1)), Numeric((-3.5, 1e6), "drop"), Numeric((0, 1), Fill(0.5)), Boolean(), Boolean(Fill(True)),
    Categorical(("a", "b", "c")), Categorical(("a", "b", "c"), "b", "drop"), Categorical((1, 2), 2, Fill(1)),
]  # fmt: skip


@pytest.mark.parametrize("column", ROUND_TRIPS, ids=repr)
def test_a_column_survives_its_table(column):
    assert column_from(column.to_dict()) == column
    assert column_from(column) is column


def test_short_forms_mean_what_they_look_like():
    assert column_from((0, 1)) == column_from([0, 1]) == Numeric((0.0, 1.0))
    assert column_from(bool) == column_from("bool") == Boolean()
    assert column_from([1, 2, 3]) == Categorical((1, 2, 3))
    assert column_from({"bounds": [0, 1], "missing": Fill(0.5)}).fill == 0.5


# -- bounds that a release finds ---------------------------------------------------------------------------------------


def test_private_bounds_have_a_range_and_keep_it_once_they_are_found():
    short, table = column_from("private"), column_from({"bounds": "private", "within": [0, 8]})
    assert (short.is_searched, short.within, table.within, table.bounds) == (True, WIDEST, (0.0, 8.0), (0.0, 8.0))
    found = column_from({"bounds": [1, 2], "within": [0, 8], "found": True})
    assert (found.bounds, found.is_searched, found.within) == ((1.0, 2.0), False, (0.0, 8.0))
    for column in (short, table, found, column_from({"bounds": [1, 2], "found": True})):
        assert column_from(column.to_dict()) == column
    assert short.to_dict() == {"bounds": "private"}


@pytest.mark.parametrize(
    ("declaration", "key", "words"),
    [
        ({"bounds": "private", "within": [3, 1]}, "within", "reversed"),
        ({"bounds": "private", "within": 3}, "within", "within: expected a pair [low, high], got 3"),
        (
            {"bounds": [0, 1], "within": [0, 2]},
            "within",
            "'within' is allowed only with bounds = 'private'; leave it out",
        ),
        ({"bounds": "private", "found": True}, "found", "true is allowed only with bounds that a release estimated"),
        ({"bounds": [0, 1], "found": 1}, "found", "expected true or false for found"),
        ({"dtype": "bool", "within": [0, 1]}, "within", "only for a number with private bounds"),
        ({"levels": ["a", "b"], "found": True}, "found", "only for a number with private bounds"),
        ({"bounds": "private", "missing": {"fill": 2e6}}, "missing", "must be a number inside the range [-1.04858e+06"),
        ({"bounds": "privat"}, "bounds", "expected a pair [low, high], or 'private', got 'privat'"),
        ({"formula": "a + 1", "bounds": "private"}, "bounds", "cannot have private bounds; leave them out"),
    ],
)
def test_what_does_not_go_with_private_bounds_is_refused_in_words(declaration, key, words):
    with pytest.raises(DesignError) as refused:
        column_from(declaration)
    assert [problem.key for problem in refused.value.problems] == [key]
    assert words in str(refused.value)


def test_of_two_kinds_both_are_judged_also_where_bounds_are_private():
    with pytest.raises(DesignError, match="got bounds and levels") as refused:
        column_from({"bounds": "private", "levels": []})
    assert len(refused.value.problems) == 2
