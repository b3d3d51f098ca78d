"""Fields of the plan as arguments, each refused beside itself."""

from __future__ import annotations

from datetime import date

import pytest

import discreet
from discreet_studio.forms import Form
from discreet_studio.studio_folder import FieldError
from discreet_studio.views.release_settings import OPTIONS, settings_of, width_of


def settings(**fields):
    return settings_of(Form([("rows", "1000"), *fields.items()]))


def test_blank_fields_have_their_defaults():
    made = settings()
    assert (made.epsilon, made.delta, made.rows) == (1.0, 1e-6, 1000.0)
    assert made.released == {"mechanism": "auto", "robust": False}
    assert made.options["assume"] is None


def test_options_of_a_release_come_from_the_form():
    made = settings(clip_counts="yes", guard="yes", grid_bits="18", settings="a=1; b = x")
    assert made.released == {
        "mechanism": "auto", "robust": False, "clip_counts": True, "guard": True, "grid_bits": 18,
        "settings": {"a": "1", "b": "x"},
    }  # fmt: skip
    robust = settings(robust="yes", models="pay ~ age; pay ~ region", residual_bound="100").released["robust"]
    assert robust == discreet.RobustErrors(models=["pay ~ age", "pay ~ region"], residual_bound=100.0)
    # without robust errors their options have no effect
    assert settings(models="pay ~ age").released == {"mechanism": "auto", "robust": False}


def test_the_form_offers_every_option_of_a_release():
    assert {"mechanism", "robust", "allow_weak_privacy", *OPTIONS} == set(discreet.ReleaseOptions().keywords())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("grid_bits", "27"),
        ("grid_bits", "16.5"),
        ("grid_bits", "fine"),
        ("settings", "a"),
        ("settings", "a=1; a=2"),
        ("residual_bound", "-1"),
        ("models", ";".join(["pay ~ age"] * 11)),
    ],
)
def test_a_bad_option_is_refused_beside_its_field(field, value):
    with pytest.raises(FieldError) as refused:
        settings(robust="yes", **{field: value})
    assert refused.value.field == field


def test_what_is_supposed_of_single_columns():
    made = settings(**{"mean:day": "2021-06-30", "sd:age": "3", "share:code": "1=0.25, 2=0.75", "share:old": "0.1"})
    assert made.options["assume"] == {
        "day": {"mean": date(2021, 6, 30)}, "age": {"sd": 3.0}, "code": {"share": {1: 0.25, 2: 0.75}},
        "old": {"share": 0.1},
    }  # fmt: skip
    with pytest.raises(FieldError) as refused:
        settings(**{"share:code": "1=half"})
    assert refused.value.field == "share:code"


def test_a_wanted_width():
    assert width_of(Form([("coefficient", "age"), ("width", "0.5")])) == ("age", 0.5)
    for wrong in ("", "0", "-1", "wide"):
        with pytest.raises(FieldError) as refused:
            width_of(Form([("coefficient", "age"), ("width", wrong)]))
        assert refused.value.field == "width"
