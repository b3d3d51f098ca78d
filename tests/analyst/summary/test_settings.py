"""Settings of a release in words, with what an automatic one stood for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.analyst.model import fit
from discreet.analyst.summary import settings_used
from discreet.pages.provenance import provenance
from discreet.pages.view import report_view
from support.report_pages import inside


@pytest.mark.parametrize(
    ("mechanism", "settings", "parameters", "told"),
    [
        ("steps", {"iterations": 0, "passes": 0}, {}, (("iterations", "0 (here 3)"), ("passes", "0"))),
        ("steps", {"iterations": 3}, {}, (("iterations", "3"),)),
        ("cells", {"bins": 0, "bound": 0.0}, {"bins": 12, "cells": 144}, (("bins", "0 (here 12)"), ("bound", "0"))),
        ("pull", {"strength": 0.0}, {"strength": 5 * 2**31}, (("strength", "0 (here 2.5)"),)),
        ("pull", {"strength": 7.0}, {"strength": 7 * 2**32}, (("strength", "7"),)),
    ],
)  # fmt: skip
def test_what_an_automatic_setting_stood_for_is_told(
    mechanism: str, settings: dict[str, float], parameters: dict[str, int], told: tuple[tuple[str, str], ...]
) -> None:
    made = inside()
    release = replace(made, mechanism=mechanism, settings=settings, noise=replace(made.noise, parameters=parameters))
    assert settings_used(release) == provenance(release).settings == told
    here = [f"{name} {text}" for name, text in told if "here" in text]
    line = report_view(release, fit(release)).model.penalty
    assert line == ", ".join([f"fitted by the mechanism {mechanism!r}", *here])
    summary = " ".join(fit(release).summary().split())
    assert all(words in summary for words in here)


def test_no_off_switch_is_taken_for_an_automatic_setting() -> None:
    assert settings_used(replace(inside(), settings={"iterations": False})) == (("iterations", "no"),)
