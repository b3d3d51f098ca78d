"""What every primitive asks of its arguments: a promise that protects, and lists that are lists."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from discreet import primitives
from discreet.errors import DataError, PrivacyNotice, SpecError

# each primitive as a function of epsilon, with data that a huge epsilon leaves as they are
CALLS = {
    "randomised_response": lambda epsilon, **more: (
        primitives.randomised_response([True] * 20, epsilon=epsilon, **more).values
    ),
    "randomised_response by q": lambda epsilon, **more: (
        primitives.randomised_response([True] * 20, q=min(1 - 1e-12, math.tanh(epsilon / 2)), **more).values
    ),
    "laplace": lambda epsilon, **more: primitives.laplace([5.0], changes=1, epsilon=epsilon, **more).values,
    "laplace by scales": lambda epsilon, **more: primitives.laplace([5.0], 1, scales=1.001 / epsilon, **more).values,
    "discrete_laplace": lambda epsilon, **more: primitives.discrete_laplace([5], 1, epsilon, **more).values,
    "gaussian": lambda epsilon, **more: primitives.gaussian([5.0], 1.0, epsilon, 1e-6, **more).values,
    "report_noisy_max": lambda epsilon, **more: primitives.report_noisy_max([1, 5, 2], 1, epsilon, **more).index,
    "exponential_mechanism": lambda epsilon, **more: (
        primitives.exponential_mechanism(["a", "b"], [1, 5], 1, epsilon, **more).index
    ),
    "private_mean": lambda epsilon, **more: primitives.private_mean([5.0] * 100, (0, 10), epsilon, **more).value,
    "private_mean, replace": lambda epsilon, **more: (
        primitives.private_mean([5.0] * 100, (0, 10), epsilon, neighbours="replace", **more).value
    ),
    "counting_queries": lambda epsilon, **more: primitives.counting_queries([5], epsilon, **more).values,
    "counting_queries, delta": lambda epsilon, **more: (
        primitives.counting_queries([5], epsilon, delta=1e-6, **more).values
    ),
}
EXACT = {"randomised_response": (True,) * 20, "randomised_response by q": (True,) * 20, "report_noisy_max": 1,
         "exponential_mechanism": 1, "private_mean": 5.0, "private_mean, replace": 5.0}  # fmt: skip


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, 2e6])
def test_a_refused_epsilon_says_what_is_allowed_and_from_where_on_it_needs_leave(epsilon):
    said = "expected a number from 1e-09 to 1e\\+06, got .*between 0.1 and 8; above 20 weak privacy must be allowed"
    for name in ("laplace", "gaussian", "private_mean", "counting_queries"):
        with pytest.raises(SpecError, match=said):
            CALLS[name](epsilon)


@pytest.mark.parametrize("name", CALLS)
def test_a_weak_promise_is_noticed_and_one_that_hides_nothing_needs_leave(name):
    call = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(1.0)
        call(7.9)
    with pytest.warns(PrivacyNotice, match="WEAK PRIVACY: epsilon = (9|8.99)") as heard:
        call(9.0)
    # the notice names the line that asked
    assert [notice.filename for notice in heard] == [__file__]
    with pytest.raises(SpecError, match="pass allow_weak_privacy=True"):
        call(21.0)
    with pytest.warns(PrivacyNotice):
        call(21.0, allow_weak_privacy=True)
    for leave in ("no", 1, None):
        with pytest.raises(SpecError, match="expected True or False for allow_weak_privacy"):
            call(1.0, allow_weak_privacy=leave)


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("name", CALLS)
def test_as_epsilon_grows_the_answer_is_the_exact_one(name):
    answer = CALLS[name](1e6, allow_weak_privacy=True)
    # noise of 40 scales has a probability below 1e-17; the Gaussian sd at this epsilon is 7.1e-4
    assert np.ravel(answer) == pytest.approx(np.ravel(EXACT.get(name, 5.0)), abs=0.01)


def test_a_large_delta_needs_leave_too():
    for call in (
        lambda delta, **more: primitives.gaussian([1.0], 1.0, 1.0, delta, **more),
        lambda delta, **more: primitives.counting_queries([1], 1.0, delta=delta, **more),
    ):
        with pytest.warns(PrivacyNotice, match="delta"):
            call(1e-4)
        with pytest.raises(SpecError, match="allow_weak_privacy=True"):
            call(0.01)
        with pytest.warns(PrivacyNotice, match="delta"):
            call(0.01, allow_weak_privacy=True)


LISTS = {
    "randomised_response": lambda values: primitives.randomised_response(values, q=0.5),
    "laplace": lambda values: primitives.laplace(values, changes=[1, 1], epsilon=1.0),
    "discrete_laplace": lambda values: primitives.discrete_laplace(values, 1, 1.0),
    "gaussian": lambda values: primitives.gaussian(values, 1.0, 1.0, 1e-6),
    "report_noisy_max": lambda values: primitives.report_noisy_max(values, 1, 1.0),
    "exponential_mechanism": lambda values: primitives.exponential_mechanism([1, 2], values, 1, 1.0),
    "the candidates": lambda values: primitives.exponential_mechanism(values, [1, 2], 1, 1.0),
    "private_mean": lambda values: primitives.private_mean(values, (0, 1), 1.0),
    "private_mean, replace": lambda values: primitives.private_mean(values, (0, 1), 1.0, neighbours="replace"),
    "counting_queries": lambda values: primitives.counting_queries(values, 1.0),
}
TAKE_ONE = ("randomised_response", "laplace", "discrete_laplace", "gaussian", "counting_queries")
NO_LISTS = [
    ({0, 1}, "must be a list or a one-dimensional array"),
    ({0: 1, 1: 0}, "must be a list or a one-dimensional array"),
    (b"\x00\x01", "must be a list or a one-dimensional array"),
    (bytearray(2), "must be a list or a one-dimensional array"),
    (None, "must be a list or a one-dimensional array"),
    (iter([0, 1]), "must be a list or a one-dimensional array"),
    (np.array(1), "must be a list or a one-dimensional array"),
    (np.ones((2, 2), dtype=int), "must have one dimension, but has more"),
    (np.ma.array([0, 1], mask=[False, True]), "must not be a masked array"),
]


@pytest.mark.parametrize("name", LISTS)
def test_what_is_no_list_is_refused_by_its_shape(name):
    for values, message in NO_LISTS:
        with pytest.raises(DataError, match=message):
            LISTS[name](values)
    LISTS[name]([0, 1])
    LISTS[name](np.array([0, 1]))


@pytest.mark.parametrize("name", [name for name in LISTS if name not in TAKE_ONE])
def test_a_number_alone_is_refused_where_there_is_nothing_to_choose_or_add_up(name):
    with pytest.raises(DataError, match="must be a list or a one-dimensional array"):
        LISTS[name](1)


@pytest.mark.parametrize("name", [name for name in LISTS if name != "the candidates"])
def test_entries_that_are_no_numbers_are_refused_and_whole_numbers_have_no_limit(name):
    for entry in (math.nan, math.inf, None, "7777", 1j, [7777], np.datetime64(7777, "s")):
        with pytest.raises(DataError) as refused:
            LISTS[name]([0, entry])
        assert "7777" not in str(refused.value)
    if name.startswith(("randomised", "private_mean")):
        with pytest.raises(DataError):
            LISTS[name]([0, 10**400])
    else:
        LISTS[name]([0, 10**400])


def test_a_long_double_beyond_the_doubles_is_no_finite_number():
    with pytest.raises(DataError, match="must contain only finite numbers"):
        primitives.private_mean(np.array([1, np.finfo(np.longdouble).max]), (0, 1), 1.0)


@pytest.mark.parametrize(
    ("page", "picture"), [("reference/primitives.md", "counts"), ("tutorials/primitives.md", "deniability")]
)
def test_each_page_shows_its_picture(page, picture):
    """An unknown picture fails when the pages are built."""
    docs = Path(__file__).parents[2] / "docs"
    assert f"```{{primitive-picture}} {picture}\n```\n" in (docs / page).read_text()
