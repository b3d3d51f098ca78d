"""Options of a release: one value, the same keywords at every public function, one place that checks them."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import get_type_hints

import pytest
from sklearn.base import clone

import discreet
from discreet import planning
from discreet.cli.options import release_options
from discreet.errors import SpecError
from discreet.options import ADDITIONS, ReleaseKeywords, ReleaseOptions, RobustErrors, documented, front_ends
from discreet.tables.csv_format import ReadOptions

DESIGN = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
FIELDS = {each.name: each.default for each in fields(ReleaseOptions)}
# what a function cannot take, with the reason
WITHOUT = {
    "release": (),
    "cost": (),
    "plan": (),
    "noise_distribution_for": (),
    "PrivateLinearRegression": (),
    # every mechanism is a choice
    "mechanism_choices": ("mechanism", "settings"),
    # the grid is that of the first release
    "second_release": ("grid_bits",),
    # nothing is private, and there is no ledger
    "seeded_release": ("guard", "allow_weak_privacy"),
}
DOORS = {
    "release": discreet.release,
    "cost": discreet.cost,
    "plan": discreet.plan,
    "noise_distribution_for": planning.noise_distribution_for,
    "PrivateLinearRegression": discreet.PrivateLinearRegression,
    "mechanism_choices": discreet.mechanism_choices,
    "second_release": planning.second_release,
    "seeded_release": discreet.testing.seeded_release,
}


@pytest.mark.parametrize("name", DOORS)
def test_public_functions_list_the_options_as_keywords_with_their_defaults(name):
    keywords = {key: one.default for key, one in inspect.signature(DOORS[name]).parameters.items()}
    wanted = {key: default for key, default in FIELDS.items() if key not in WITHOUT[name]}
    assert {key: keywords.get(key, "missing") for key in wanted} == wanted
    assert not set(WITHOUT[name]) & set(keywords)


def test_type_checkers_see_the_options_with_the_types_of_their_fields():
    assert get_type_hints(ReleaseKeywords) == get_type_hints(ReleaseOptions)
    for door in DOORS.values():
        function = door.__init__ if isinstance(door, type) else door
        assert function.__annotations__["options"] == "Unpack[ReleaseKeywords]"
        assert function.__code__.co_flags & inspect.CO_VARKEYWORDS


@pytest.mark.parametrize("name", DOORS)
def test_help_documents_every_option_once(name):
    documented = [
        word for line in DOORS[name].__doc__.splitlines() if re.fullmatch(r"\w+(, \w+)*", line)
        for word in line.split(", ")
    ]  # fmt: skip
    wanted = [key for key in FIELDS if key not in WITHOUT[name]]
    assert sorted(word for word in documented if word in FIELDS) == sorted(wanted)
    assert "**options" not in DOORS[name].__doc__


def test_release_explains_every_option_in_the_words_of_the_class():
    for key in FIELDS:
        (text,) = re.findall(rf"^{key}\n((?: .*\n)+)", inspect.cleandoc(ReleaseOptions.__doc__), re.MULTILINE)
        assert f"{key}\n{text}" in discreet.release.__doc__


def test_docstrings_that_python_left_out_stay_empty(monkeypatch):
    assert documented(None, ["guard"]) is None
    monkeypatch.setattr(ReleaseOptions, "__doc__", None)
    assert documented("**options\n    Text.", ["guard"]) == "**options\n    Text."


@pytest.mark.parametrize("name", DOORS)
def test_a_wrong_keyword_is_the_error_of_python_with_a_close_match(name):
    required = {"epsilon": 1.0, "delta": 1e-6, "rows": 100, "seed": 1, "data": {}, "design": DESIGN, "release": None}
    needed = {key: required[key] for key, one in inspect.signature(DOORS[name]).parameters.items()
              if one.default is one.empty}  # fmt: skip
    with pytest.raises(TypeError, match=rf"{name}.*\(\) got an unexpected keyword argument 'nothing_like_it'$"):
        DOORS[name](**needed, nothing_like_it=True)
    with pytest.raises(TypeError, match=r"'clip_count'\. Did you mean 'clip_counts'\?$"):
        DOORS[name](**needed, clip_count=True)
    for excluded in WITHOUT[name]:
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{excluded}'"):
            DOORS[name](**needed, **{excluded: FIELDS[excluded]})


def test_the_estimator_has_every_option_as_a_parameter_that_can_be_set():
    model = discreet.PrivateLinearRegression(epsilon=1.0, clip_counts=True)
    assert {key: model.get_params()[key] for key in FIELDS} == {**FIELDS, "clip_counts": True}
    changed = {key: object() for key in FIELDS}
    assert clone(model).set_params(**changed).get_params() == model.get_params() | changed


@pytest.mark.parametrize("command", ["release", "plan"])
def test_every_option_is_a_flag_of_the_commands_that_release_and_plan(command):
    module = __import__(f"discreet.cli.{command}", fromlist=["command"])
    flags = {flag for parameter in module.command.params for flag in parameter.opts}
    wanted = {each.flag for options in (ReleaseOptions, RobustErrors) for each in front_ends(options).values()}
    assert wanted <= flags
    assert callable(release_options)


@pytest.mark.parametrize("options", [ReleaseOptions, RobustErrors, ReadOptions])
def test_every_field_says_how_front_ends_offer_it(options):
    assert set(front_ends(options)) == {each.name for each in fields(options)}
    for each in front_ends(options).values():
        assert each.flag.startswith("--")
        assert each.help
        assert (each.metavar is None) == (each.kind == "switch")


def test_equal_options_are_equal_however_they_are_written():
    assert ReleaseOptions(robust=True) == ReleaseOptions(robust=RobustErrors(models=[]))
    assert ReleaseOptions().robust_errors is None
    assert ReleaseOptions().additions == ()
    assert ReleaseOptions(robust=True, clip_counts=True, guard=True).additions == ADDITIONS
    assert ReleaseOptions(**ReleaseOptions(robust=True, guard=True).keywords()) == ReleaseOptions(
        robust=True, guard=True
    )
    assert hash(ReleaseOptions(settings={"bins": 3})) == hash(ReleaseOptions(settings={"bins": 4}))


@pytest.mark.parametrize(
    "given",
    [
        {"robust": None}, {"robust": "yes"}, {"clip_counts": 1}, {"guard": "no"}, {"allow_weak_privacy": None},
        {"grid_bits": 7}, {"grid_bits": 27}, {"grid_bits": True},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values_are_refused_where_options_are_made(given):
    with pytest.raises(SpecError) as caught:
        ReleaseOptions(**given)
    assert next(iter(given)) in str(caught.value)
    with pytest.raises(SpecError) as released:
        discreet.release("no-such-file.csv", discreet.Design("y", {"y": (0, 1), "x": (0, 1)}), epsilon=1.0, **given)
    assert str(released.value) == str(caught.value)


def test_requests_that_publish_the_same_have_the_same_specification():
    from discreet.privacy.budget import PrivacyBudget
    from discreet.release_request import ReleaseRequest

    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1)})

    def asked(**options):
        return ReleaseRequest.checked(design, PrivacyBudget(1.0, 1e-6), ReleaseOptions(**options)).specification

    plain = asked()
    assert plain == asked(mechanism="staged", settings={}, allow_weak_privacy=True)
    changed = [
        asked(robust=True), asked(robust=RobustErrors(residual_bound=0.5)),
        asked(robust=RobustErrors(models=["y ~ x"])),
        asked(clip_counts=True), asked(mechanism="staged"), asked(guard=True), asked(grid_bits=17),
    ]  # fmt: skip
    assert all(one != plain for one in changed)
    assert len({repr(one) for one in changed}) == len(changed)
    first, second = (asked(robust=RobustErrors(models=models)) for models in (["y ~ x", "y ~ z"], ["y ~ z", "y~x"]))
    assert first == second
