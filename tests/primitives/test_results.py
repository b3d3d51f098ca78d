"""What every result has: a value where there is one, a text of one line, and both spellings of an argument."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import primitives
from discreet.errors import DiscreetError, SpecError
from discreet.primitives.arguments import only_value, result_repr, short_number

BUDGET = {"epsilon": 1.0}
ONE = {
    "laplace": lambda value: primitives.laplace(value, sensitivity=1, **BUDGET),
    "laplace by changes": lambda value: primitives.laplace(value, 1, **BUDGET),
    "discrete_laplace": lambda value: primitives.discrete_laplace(value, sensitivity=1, **BUDGET),
    "gaussian": lambda value: primitives.gaussian(value, sensitivity=1, delta=1e-6, **BUDGET),
    "counting_queries": lambda value: primitives.counting_queries(value, sensitivity=1, **BUDGET),
}
RESULTS = {
    "NoisyValues": lambda: primitives.laplace([4.5] * 50, sensitivity=1, **BUDGET),
    "NoisyIntegers": lambda: primitives.discrete_laplace([4] * 50, sensitivity=1, **BUDGET),
    "GaussianValues": lambda: primitives.gaussian([4.5] * 50, sensitivity=1, delta=1e-6, **BUDGET),
    "NoisyCounts": lambda: primitives.counting_queries([4] * 50, **BUDGET),
    "NoisyMax": lambda: primitives.report_noisy_max([4, 900], sensitivity=1, **BUDGET),
    "Choice": lambda: primitives.exponential_mechanism(["a", "b"], [4, 900], sensitivity=1, **BUDGET),
    "PrivateMean": lambda: primitives.private_mean([4.0] * 50, (0, 9), **BUDGET),
    "Responses": lambda: primitives.randomized_response([True] * 50, **BUDGET),
}
RELATED = {
    "laplace": lambda **how: primitives.laplace(5, sensitivity=1, **BUDGET, **how),
    "discrete_laplace": lambda **how: primitives.discrete_laplace(5, sensitivity=1, **BUDGET, **how),
    "gaussian": lambda **how: primitives.gaussian(5, sensitivity=1, delta=1e-6, **BUDGET, **how),
    "counting_queries": lambda **how: primitives.counting_queries(5, **BUDGET, **how),
    "report_noisy_max": lambda **how: primitives.report_noisy_max([1, 2], sensitivity=1, **BUDGET, **how),
    "exponential_mechanism": lambda **how: primitives.exponential_mechanism(
        ["a", "b"], [1, 2], sensitivity=1, **BUDGET, **how
    ),
    "private_mean": lambda **how: primitives.private_mean([1, 2], (0, 9), **BUDGET, **how),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("value", [7, np.int64(7), [7], np.array([7])], ids=repr)
def test_a_number_goes_in_and_a_number_comes_out(name, value):
    noisy = ONE[name](value)
    assert type(noisy.value) in (int, float)
    assert noisy.values == (noisy.value,)


@pytest.mark.parametrize("answer", [True, np.bool_(False), 1])
def test_one_answer_goes_in_and_one_response_comes_out(answer):
    assert type(primitives.randomized_response(answer, q=0.5).value) is bool


@pytest.mark.parametrize("value", [np.array(7.0), "7", None, {7}, {"a": 7}, 7j], ids=repr)
def test_what_is_neither_a_number_nor_a_list_is_refused(value):
    for call in ONE.values():
        with pytest.raises(DiscreetError):
            call(value)


def test_several_values_have_no_single_one():
    with pytest.raises(SpecError, match=r"expected a result with one value, got 50 values; use \.values"):
        _ = RESULTS["NoisyValues"]().value
    with pytest.raises(SpecError, match=r"use \.values instead"):
        _ = RESULTS["Responses"]().value
    with pytest.raises(SpecError, match="half_widths"):
        RESULTS["NoisyValues"]().half_width()
    assert only_value("a") == "a"


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_one_short_line(name):
    text = repr(RESULTS[name]())
    assert text.startswith(f"<{name} ")
    assert len(text) < 150
    assert "\n" not in text
    assert "epsilon=1" in text


def test_the_line_has_the_noise_and_the_promise():
    assert repr(ONE["gaussian"](5)).endswith("Gaussian noise of sigma 4.22468: epsilon=1, delta=1e-06, add-remove>")
    assert repr(RESULTS["Choice"]()) == "<Choice 'b', at 1: epsilon=1, add-remove>"
    assert repr(RESULTS["NoisyMax"]()) == "<NoisyMax 1, Laplace noise of scale 2: epsilon=1, add-remove>"
    assert short_number(2) == "2"
    share = primitives.randomised_response([True] * 900, q=0.5).estimate()
    assert repr(share).startswith("<Proportion ")
    assert "0.95 interval" in repr(share)
    several = primitives.laplace([1, 2], changes=[10, 1], epsilon=1.0)
    assert "Laplace noise of scale 20, 2" in repr(several)
    nobody = result_repr("PrivateMean", (None,), "no entries", several.guarantee)
    assert nobody == "<PrivateMean None, no entries: epsilon=1, add-remove>"


def test_values_of_selections_are_what_was_selected():
    choice, winner = RESULTS["Choice"](), RESULTS["NoisyMax"]()
    assert (choice.value, winner.value) == (choice.candidate, winner.index)


@pytest.mark.parametrize("name", RELATED)
def test_both_spellings_of_a_relation_are_one(name):
    call = RELATED[name]
    assert call(neighbors="replace").guarantee.neighbours == "replace"
    assert call(neighbours="replace", neighbors="replace").guarantee.neighbours == "replace"
    assert call().guarantee.neighbours == "add-remove"
    with pytest.raises(SpecError, match="the same value for both spellings"):
        call(neighbours="replace", neighbors="add-remove")
    for wrong in ("nobody", 5, ["replace"]):
        with pytest.raises(SpecError, match="neighbours"):
            call(neighbors=wrong)


def test_randomised_response_has_both_spellings():
    assert primitives.randomized_response is primitives.randomised_response
