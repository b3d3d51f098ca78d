"""Settings in a release file: those that its mechanism declares, each of its type and inside its range."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.accounting.settings import DECLARED
from discreet.errors import ReleaseFileError
from discreet.mechanisms.registry import HOMES, mechanism_named
from discreet.releases import Release
from support.release_edits import DELETE, edited

DESIGN = discreet.Design("y", {"x": (-1, 1), "y": (-1, 1)})
SMALL = {"gradient": {"iterations": 3}, "irls": {"iterations": 3}, "frank-wolfe": {"iterations": 3}}
PURE = ("laplace", "k-norm", "functional", "dpme", "frank-wolfe")


def released(mechanism):
    x = np.linspace(-1, 1, 200)
    delta = 0.0 if mechanism in PURE else 1e-6
    return discreet.release(
        {"x": x, "y": 0.5 * x}, DESIGN, epsilon=1.0, delta=delta, mechanism=mechanism, settings=SMALL.get(mechanism)
    )


def forged(setting):
    """Values that no release can have for this setting."""
    yield from (None, [], {}, DELETE, math.nan, math.inf)
    default = setting.default
    if isinstance(default, bool):
        yield from ("x", "true", 0, 1, 1.0)
    elif isinstance(default, str):
        yield from ("x", "", True, 1, default.upper(), f"{default} ")
    else:
        yield from ("x", str(default), True, setting.low - 1, setting.high * 2 + 1, -1)
        if isinstance(default, int):
            yield from (default + 0.5, float(default))


def test_every_mechanism_declares_its_settings_where_a_reader_of_files_finds_them():
    assert set(DECLARED) == set(HOMES)
    for name in HOMES:
        assert dict(mechanism_named(name).info.settings) == dict(DECLARED[name])


@pytest.mark.parametrize("mechanism", list(HOMES))
def test_no_setting_of_a_release_can_be_forged(mechanism, tmp_path):
    """Wrong types, values out of range, unknown names, and settings that are left out."""
    release = released(mechanism)
    assert set(release.settings) == set(DECLARED[mechanism])
    assert Release.from_json(release.to_json()).settings == release.settings
    discreet.verify(release)
    for name, setting in DECLARED[mechanism].items():
        for value in forged(setting):
            with pytest.raises(ReleaseFileError):
                Release.from_json(edited(release, **{f"mechanism__settings__{name}": value}))
            if value is not DELETE:
                with pytest.raises(ReleaseFileError):
                    discreet.verify(replace(release, settings={**release.settings, name: value}))
    for name in ("colour", "Clip", "iterations "):
        text = edited(release, mechanism__settings={**release.settings, name: 1})
        with pytest.raises(ReleaseFileError, match="setting"):
            Release.from_json(text)
        path = tmp_path / f"{mechanism}.json"
        path.write_text(text)
        with pytest.raises(ReleaseFileError, match="setting"):
            discreet.verify(path)


def test_a_whole_number_in_a_file_may_stand_for_a_float_and_an_unknown_mechanism_is_refused():
    release = released("gradient")
    assert release.settings["step"] == 1.0
    assert Release.from_json(edited(release, mechanism__settings__step=1)).settings["step"] == 1
    with pytest.raises(ReleaseFileError, match="mechanism"):
        Release.from_json(edited(release, mechanism__name="magic"))


@pytest.mark.parametrize(("name", "value"), [("clip", -1), ("average", "x")])
def test_the_settings_that_were_accepted_are_refused(name, value):
    with pytest.raises(ReleaseFileError, match=name):
        Release.from_json(edited(released("gradient"), **{f"mechanism__settings__{name}": value}))
