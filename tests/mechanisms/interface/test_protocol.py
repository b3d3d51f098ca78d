"""The card of a mechanism says whether it reads again, and published counts get the names of their columns."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from discreet.design.design import Design
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, clipped_by_name
from discreet.mechanisms.registry import mechanisms
from discreet.releases import Coefficients

INFO = MechanismInfo("a summary", "none", "both", "box", (), "exact", ("Author 2000",))
DESIGN = Design("y", {"y": (0, 1), "b": bool, "x": (0, 5)})


def test_a_mechanism_reads_again_always_never_or_with_one_value_of_a_setting():
    assert not INFO.rereads({})
    assert replace(INFO, reads_again=True).rereads({})
    by_setting = replace(INFO, reads_again=("form", "score"))
    assert by_setting.rereads({"form": "score"})
    assert not by_setting.rereads({"form": "moment"})


@pytest.mark.parametrize("name", mechanisms())
def test_every_card_names_a_setting_and_a_value_that_exist(name):
    mechanism = mechanisms()[name]
    info = mechanism.info
    if isinstance(info.reads_again, tuple):
        setting, value = info.reads_again
        assert value in info.settings[setting].choices
    assert mechanism.name == name
    assert mechanism.kind in ("moments", "coefficients")
    with pytest.raises(FrozenInstanceError):
        info.summary = "another"


def test_counts_are_named_in_the_order_of_the_design():
    assert DESIGN.clippable == ("y", "x")
    assert clipped_by_name(DESIGN, NoisyMoments((1, 2), clipped=(7, -1))) == {"y": 7, "x": -1}


def test_nothing_is_named_where_nothing_was_counted_and_a_count_too_few_is_a_mistake():
    assert clipped_by_name(DESIGN, NoisyMoments((1, 2))) == {}
    assert clipped_by_name(DESIGN, Coefficients((0.5,), ())) == {}
    with pytest.raises(ValueError, match="shorter"):
        clipped_by_name(DESIGN, NoisyMoments((1, 2), clipped=(7,)))
