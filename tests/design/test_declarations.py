"""What users write for a column, read or refused with the reason."""

from __future__ import annotations

import math

import pytest

from discreet.design.columns import Boolean, Categorical, Fill, Numeric
from discreet.design.declarations import column_from
from discreet.errors import SpecError

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
    ({"levels": [1, 2**53]}, r"2\*\*53 or more"),
    ((0, True), "a pair of bounds, a list of levels"),
    ((0,), "at least two levels"),
    ((), "a pair of bounds"),
    (7, "a pair of bounds"),
    ([1.5, 2.5, 3.5], "a pair of bounds"),
    (["a"], "at least two levels"),
    (["a", "a"], "listed twice"),
    (["a", "b\x07"], "invisible characters"),
    ({"levels": ["a", 1]}, "all text or all integers"),
    ({"levels": [True, False]}, "all text or all integers"),
    ({"levels": "ab"}, "levels: expected a list"),
    ({"levels": ["a", "b"], "reference": "c"}, "unknown reference level 'c'"),
    ({"levels": ["a", "b"], "reference": True}, "one of the levels"),
    ({"bounds": [0, 1], "reference": "a"}, "is only for a column with levels"),
    ({"bounds": [0, 1, 2]}, "a pair"),
    ({"bounds": 3}, "a pair"),
    ({"bounds": ["0", 1]}, "a pair of numbers"),
    ({"bounds": ["", ""]}, "^bounds are blank; fill in the lowest and highest value from public knowledge$"),
    ({"bounds": [0, ""]}, "bounds are blank"),
    ({"levels": []}, "^levels are blank; fill in every value that can occur from public knowledge$"),
    ({}, "exactly one of bounds, levels, dtype"),
    ({"bounds": [0, 1], "dtype": "bool"}, "got bounds and dtype"),
    ({"dtype": "float"}, "dtype 'float' is not known"),
    ({"bounds": [0, 1], "missing": "ignore"}, "is not known; allowed: 'error', 'drop'"),
    ({"bounds": [0, 1], "missing": {"fill": [1]}}, "is not known"),
    ({"bounds": [0, 1], "missing": {"fill": 2}}, "inside the bounds"),
    ({"bounds": [0, 1], "missing": {"fill": "x"}}, "inside the bounds"),
    ({"bounds": [0, 1], "missing": {"fill": True}}, "inside the bounds"),
    ({"bounds": [0, 1], "missing": {"fill": NAN}}, "inside the bounds"),
    ({"dtype": "bool", "missing": {"fill": 2}}, "neither true nor false"),
    ({"levels": ["a", "b"], "missing": {"fill": "c"}}, "unknown fill level 'c'"),
    ({"bound": [0, 1]}, "unknown key 'bound'; allowed: bounds"),
    ({"bounds": [0, 1], "missing": "x" * 200}, r"\.\.\. is not known"),
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
