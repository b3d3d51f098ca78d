"""Single values of a release file: what has another type is refused, and the field is named."""

from __future__ import annotations

import pytest

from discreet.accounting.noise_distribution import integer_of, integers_of, table_of, text_of
from discreet.errors import ReleaseFileError


def test_values_of_the_right_type_are_given_back():
    assert table_of({"a": 1}, "noise") == {"a": 1}
    assert text_of("row", "unit") == "row"
    assert integer_of("-120", "totals") == -120
    assert integers_of({"count": "3", "cross": "0"}, "noise.sigma") == {"count": 3, "cross": 0}


BAD = [None, 3, 3.0, True, "", "1.0", "+1", "--1", " 1", "1 ", "0x1", "1_0", "²", "9" * 101]


@pytest.mark.parametrize("value", BAD)
def test_an_integer_is_decimal_text_of_bounded_length(value):
    with pytest.raises(ReleaseFileError, match=r"the field 'noise.sigma.count' must hold integers as decimal text"):
        integers_of({"count": value}, "noise.sigma")


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_a_table_is_a_table(value):
    with pytest.raises(ReleaseFileError, match="the field 'noise' must be a table"):
        table_of(value, "noise")


@pytest.mark.parametrize("value", [None, "", 1, ["a"]])
def test_text_is_text_and_not_empty(value):
    with pytest.raises(ReleaseFileError, match="the field 'anchor' must be nonempty text"):
        text_of(value, "anchor")
