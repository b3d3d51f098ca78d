"""Settings of a mechanism: checked by name, type and range, from Python values and from words of a command line."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.accounting.settings import Setting, checked_settings
from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanism_named, mechanisms

DECLARED = {
    "passes": Setting(10, "how often", 1, 100),
    "threshold": Setting(0.5, "where", 0.01, 4.0),
    "form": Setting("score", "which", choices=("score", "moment")),
    "squares": Setting(False, "whether"),
}


def test_what_is_left_out_has_its_default():
    assert dict(checked_settings("m", DECLARED, None)) == {
        "passes": 10,
        "threshold": 0.5,
        "form": "score",
        "squares": False,
    }


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("passes", 3, 3),
        ("passes", "100", 100),
        ("passes", 7.0, 7),
        ("threshold", 2, 2.0),
        ("threshold", "1e-2", 0.01),
        ("form", "moment", "moment"),
        ("squares", True, True),
        ("squares", "true", True),
        ("squares", "false", False),
        ("squares", "True", True),
        ("squares", np.True_, True),
        ("passes", np.int64(4), 4),
        ("threshold", np.float32(0.5), 0.5),
    ],
)
def test_values_and_words_are_taken(name, given, kept):
    value = checked_settings("m", DECLARED, {name: given})[name]
    assert value == kept
    assert type(value) is type(DECLARED[name].default)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        (
            "passes",
            0,
            r"expected an integer from 1 to 100, got 0; choose a number in this range, or leave out passes to use 10$",
        ),
        ("passes", 101, "expected an integer from 1 to 100"),
        ("passes", 2.5, "'passes': expected an integer from 1 to 100, got 2.5"),
        ("passes", "many", "integer"),
        ("passes", True, "integer"),
        ("passes", None, "integer"),
        ("passes", 10**400, "integer"),
        ("passes", float("inf"), "integer"),
        ("threshold", float("nan"), "expected a number"),
        ("threshold", "-inf", "expected a number"),
        ("threshold", 5.0, r"expected a number from 0.01 to 4"),
        ("form", "scores", "Did you mean 'score'"),
        ("form", "MOMENT", "Did you mean 'moment'"),
        ("form", 3, "score, moment"),
        ("squares", 1, "true or false"),
        ("squares", "yes", "true or false"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(name, given, words):
    with pytest.raises(SpecError, match=words):
        checked_settings("m", DECLARED, {name: given})


DEPENDENT = {
    "loss": Setting("squares", "which", choices=("squares", "huber")),
    "threshold": Setting(0.25, "where", 0.01, 4.0, only_with=("loss", "huber")),
    "bins": Setting(0, "how many; 0: by rule", 0, 100),
    "expected": Setting(1000, "for the rule", 1, 10**6, only_with=("bins", 0)),
    "wide": Setting(False, "whether"),
    "sides": Setting("two", "which", choices=("one", "two"), only_with=("wide", True)),
}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"threshold": 0.5}, r"'threshold' needs loss = huber; leave out threshold or set loss = huber$"),
        ({"threshold": "0.5", "loss": "squares"}, "'threshold' needs loss = huber"),
        ({"bins": 5, "expected": 10}, "'expected' needs bins = 0; leave out expected or set bins = 0$"),
        ({"sides": "one"}, "'sides' needs wide = true; leave out sides or set wide = true$"),
    ],
)
def test_a_setting_without_effect_is_refused(given, words):
    with pytest.raises(SpecError, match=words):
        checked_settings("m", DEPENDENT, given)


@pytest.mark.parametrize(
    "given",
    [
        {"threshold": 0.5, "loss": "huber"},
        {"threshold": 0.25},
        {"threshold": "0.25", "loss": "squares"},
        {"expected": 10},
        {"bins": 5, "expected": 1000},
        {"sides": "one", "wide": True},
    ],
)
def test_a_setting_that_counts_and_a_default_that_does_not_are_taken(given):
    whole = checked_settings("m", DEPENDENT, given)
    # those of a release are passed on whole
    assert checked_settings("m", DEPENDENT, whole) == whole


@pytest.mark.parametrize("name", sorted(mechanisms()))
def test_what_a_setting_counts_with_is_a_setting_and_a_value_it_can_have(name):
    declared = mechanism_named(name).info.settings
    for setting in declared.values():
        if setting.only_with is not None:
            other, value = setting.only_with
            assert checked_settings(name, declared, {other: value})[other] == value


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("dpme", {"threshold": 0.1}, "'threshold' needs loss = huber"),
        ("dpme", {"bins": 4, "expected_rows": 50}, "'expected_rows' needs bins = 0"),
        ("objective", {"bound": 2.0}, "'bound' needs loss = squared"),
        ("objective", {"loss": "squared", "threshold": 0.2}, "'threshold' needs loss = huber"),
    ],
)
def test_mechanisms_refuse_settings_without_effect_before_data(name, given, words):
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match=words):
        discreet.release("no such file.csv", design, epsilon=1.0, delta=1e-6, mechanism=name, settings=given)


@pytest.mark.parametrize("given", ["passes=4", 5, ["passes"]])
def test_settings_that_are_no_table_are_refused(given):
    with pytest.raises(SpecError, match="settings: expected a table"):
        checked_settings("m", DECLARED, given)


def test_a_long_value_is_not_repeated_without_end():
    with pytest.raises(SpecError, match="integer") as caught:
        checked_settings("m", DECLARED, {"passes": 10**5000})
    assert len(str(caught.value)) < 150


def test_unknown_settings_are_refused():
    with pytest.raises(SpecError, match=r"unknown setting 'pases' of the mechanism 'm'.*Did you mean 'passes'"):
        checked_settings("m", DECLARED, {"pases": 1})
    with pytest.raises(SpecError, match="the mechanism 'm' has no settings; leave out 'passes'"):
        checked_settings("m", {}, {"passes": 1})
