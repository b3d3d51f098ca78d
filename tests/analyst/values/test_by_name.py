"""Values by name that compare, index and add up like a Series."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.analyst.confidence_sets import ConfidenceSet, NotEstimableError
from discreet.analyst.values import ByName, Flags, Parameters
from discreet.errors import SpecError
from discreet.releases.reference_law import NotEstimable

WHY = NotEstimable("too much noise")
NAMES = ["Intercept", "age", "height", "region[south]"]
NUMBERS = [0.25, -1.0, 3.0, 0.0]
full = ByName(NAMES, NUMBERS)
SERIES = pd.Series(NUMBERS, index=NAMES)
HOLED = ByName(NAMES, [0.25, WHY, 3.0, 0.0])
OPERATIONS = {
    "add": lambda one, two: one + two,
    "sub": lambda one, two: one - two,
    "mul": lambda one, two: one * two,
    "div": lambda one, two: one / two,
    "pow": lambda one, two: one**two,
}
COMPARISONS = {
    "lt": lambda one, two: one < two,
    "le": lambda one, two: one <= two,
    "gt": lambda one, two: one > two,
    "ge": lambda one, two: one >= two,
    "eq": lambda one, two: one == two,
    "ne": lambda one, two: one != two,
}


@pytest.mark.parametrize("operate", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("other", [2.0, 3, np.float64(4.0), np.array([1.0, 2.0, 3.0, 4.0])], ids=str)
def test_arithmetic_is_that_of_a_series(operate, other):
    found = operate(full, other)
    assert isinstance(found, ByName)
    assert found.to_dict() == operate(SERIES, other).to_dict()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("other", [2.0, np.float64(2.5), np.array([1.0, 2.0, 3.0, 4.0])], ids=str)
def test_so_is_arithmetic_with_values_on_the_right(name, other):
    operate, values = OPERATIONS[name], [0.5, 1.0, 3.0, 2.0]
    found = operate(other, ByName(NAMES, values))
    assert isinstance(found, ByName)
    assert found.to_dict() == operate(other, pd.Series(values, index=NAMES)).to_dict()


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("other", [0.25, np.float64(3.0), np.array([0.25, -2.0, 4.0, 0.0])], ids=str)
def test_comparisons_are_those_of_a_series_and_choose_values(name, other):
    compare = COMPARISONS[name]
    found = compare(full, other)
    assert isinstance(found, Flags)
    assert found.to_dict() == compare(SERIES, other).to_dict()
    assert full[found].to_dict() == SERIES[compare(SERIES, other)].to_dict()
    turned = compare(other, full)
    assert turned.to_dict() == compare(other, SERIES).to_dict()


def test_values_of_the_same_names_combine_in_any_order():
    turned = ByName(NAMES[::-1], NUMBERS[::-1])
    assert (full - turned).to_dict() == dict.fromkeys(NAMES, 0.0)
    assert (full >= turned).all()
    assert full.eq(turned).all()
    assert not full.ne(turned).any()
    assert (full == turned) is True
    assert (full != turned) is False
    assert full == dict(zip(NAMES, NUMBERS, strict=True))
    assert full != {"age": -1.0}
    with pytest.raises(SpecError, match="the names differ"):
        full + ByName(["age"], [1.0])


@pytest.mark.parametrize("compare", COMPARISONS.values(), ids=COMPARISONS)
@pytest.mark.parametrize("other", [-1.0, np.full(4, -1.0), 1e300], ids=str)
def test_no_comparison_holds_for_a_value_that_is_not_estimable(compare, other):
    assert compare(HOLED, other)["age"] is False
    assert compare(HOLED, WHY).any() is False


def test_a_missing_value_stays_missing_with_its_reason():
    assert (2 * HOLED + full)["age"] == WHY
    assert HOLED.eq(full).true_names == ("Intercept", "height", "region[south]")
    assert abs(-full).to_dict() == SERIES.abs().to_dict()
    assert repr(1 / full).splitlines()[-1] == "region[south]  not estimable: a division by 0"
    assert (full**0.5)["age"].reason == "the result is no real number"
    assert (1e308 * full)["height"].reason == "the result leaves double precision"
    assert (full**4e3)["height"].reason == "the result leaves double precision"


def test_indices_are_those_of_a_series():
    assert full.loc["age"] == full.iloc[1] == full["age"] == -1.0
    assert full.iloc[-1] == 0.0
    assert list(full.iloc[1:3]) == ["age", "height"]
    assert list(full.iloc[[2, 0]]) == ["height", "Intercept"]
    assert list(full.loc[["height", "age"]]) == ["height", "age"]
    assert full.loc["age":"height"].to_dict() == SERIES.loc["age":"height"].to_dict()
    assert full.loc[:"age"].to_dict() == SERIES.loc[:"age"].to_dict()
    assert full.loc[full > 0].to_dict() == {"Intercept": 0.25, "height": 3.0}
    assert repr(full[full > 9]) == ""
    for wrong in ("agee", 3, None):
        with pytest.raises(KeyError, match="unknown coefficient"):
            full[wrong]
    with pytest.raises(KeyError, match="Did you mean 'age'"):
        full.loc["agee":]
    with pytest.raises(IndexError):
        full.iloc[9]
    with pytest.raises(SpecError, match="the index has the names"):
        full[ByName(["age"], [1.0]) > 0]


def test_flags_combine_and_have_no_single_truth():
    low, high = full < 0.1, full > 2
    assert (low | high).true_names == ("age", "height", "region[south]")
    assert (low & high).any() is False
    assert (~low).true_names == ("Intercept", "height")
    assert repr(low).splitlines()[0] == "Intercept      False"
    assert isinstance(low[["age"]], Flags)
    assert sum(low.values()) == 2
    with pytest.raises(SpecError, match=r"any\(\) or all\(\)"):
        bool(low)
    with pytest.raises(SpecError, match="expected a number"):
        low & 1j


def test_what_is_no_operand_is_refused():
    with pytest.raises(TypeError):
        full + "1"
    with pytest.raises(TypeError):
        full < "1"  # noqa: B015
    with pytest.raises(SpecError, match="expected a number, an array or values by name, got 'a'"):
        full.eq("a")
    with pytest.raises(SpecError, match=r"shape \(2,\)"):
        full * [1.0, 2.0]
    assert (full == "1") is False


def test_sets_say_how_to_ask_about_them():
    sets = ByName(["a", "b"], [ConfidenceSet("interval", 1.0, 2.0), WHY])
    assert sets.to_dict() == {"a": {"kind": "interval", "lower": 1.0, "upper": 2.0}, "b": None}
    for wrong in (lambda: sets < 0, lambda: sets + 1):
        with pytest.raises(SpecError, match="contains a value"):
            wrong()


def test_functions_of_numpy_take_the_numbers():
    np.testing.assert_array_equal(np.exp(full), np.exp(NUMBERS))
    assert np.add.reduce(full) == sum(NUMBERS)
    with pytest.raises(NotEstimableError, match="age"):
        np.exp(HOLED)
    assert (full * np.array(2.0))["height"] == 6.0


def test_weak_coefficients_stay_in_brackets():
    values = Parameters(["a", "b"], [1.5, 3.14159], weak=["b"])
    assert repr(values * 2) == "a      3\nb  [6.3]"
    assert repr(values[values > 2]) == "b  [3.1]"
    assert repr(values[values > 9]) == ""
