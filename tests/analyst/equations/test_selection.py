"""Which models a release answers, and which requests are refused."""

from __future__ import annotations

import pytest

from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.errors import SpecError
from support.made_releases import made

DESIGN = Design(
    "income",
    {"age": (18, 90), "region": ["north", "south", "east"], "income": (0, 100), "member": bool},
)
RELEASE = made(
    DESIGN, {"age": [20, 30], "region": ["north", "east"], "income": [1, 2], "member": [True, False]}
).release


def test_without_a_wish_the_design_decides():
    model = model_of(RELEASE.design)
    assert model.target == "income"
    assert model.features == ("age", "region", "member")
    assert model.names == ("Intercept", "age", "region[south]", "region[east]", "member")
    assert model.positions == (1, 2, 3, 4)
    assert model.target_position == 5
    assert model.slopes == model.names[1:]


def test_features_keep_the_order_in_which_they_are_named():
    model = model_of(RELEASE.design, features=["member", "region"], intercept=False)
    assert model.names == model.slopes == ("member", "region[south]", "region[east]")
    assert model.positions == (4, 2, 3)


def test_another_target_takes_every_other_column_as_a_feature():
    model = model_of(RELEASE.design, target="member")
    assert model.features == ("age", "region", "income")
    assert [RELEASE.columns[position] for position in model.positions] == list(model.slopes)
    assert RELEASE.columns[model.target_position] == "member"


def test_any_iterable_names_the_features():
    assert model_of(RELEASE.design, features=(name for name in ["age"])).features == ("age",)


def test_a_mean_is_a_model():
    assert model_of(RELEASE.design, features=[]).names == ("Intercept",)


def test_the_design_may_leave_out_the_intercept():
    release = made(Design("y", {"y": (0, 1), "x": (0, 1)}, intercept=False), {"y": [0, 1], "x": [0, 1]}).release
    assert model_of(release.design).names == ("x",)
    assert model_of(release.design, intercept=True).names == ("Intercept", "x")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"target": "incme"}, "unknown target 'incme'.*Did you mean 'income'"),
        ({"target": "nobody"}, "unknown target 'nobody'; allowed: age, income, member$"),
        ({"target": "region"}, "'region' is categorical"),
        ({"target": 3}, "unknown target 3"),
        ({"features": ["agee"]}, "unknown feature 'agee'.*Did you mean 'age'"),
        ({"features": ["region[nowhere]"]}, "unknown feature"),
        ({"features": ["region", "region[south]"]}, "included twice, by its own name and by its category"),
        ({"features": [["age"]]}, "unknown feature"),
        ({"features": "age"}, "expected a list of declared names such as .* for features"),
        ({"features": 7}, "expected a list of declared names"),
        ({"features": ["age", "age"]}, "'age' is named twice"),
        ({"features": ["income"]}, "both the target and a feature"),
        ({"features": [], "intercept": False}, "neither features nor an intercept"),
        ({"intercept": "yes"}, "expected true or false for intercept, got 'yes'"),
        ({"intercept": 1}, "true or false for intercept, got 1"),
    ],
)
def test_a_wish_that_makes_no_model_is_refused(spec, message):
    with pytest.raises(SpecError, match=message):
        model_of(RELEASE.design, **spec)
