"""`discreet plot`: a picture, what it shows, or a message that says what to do."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.releases import Release
from discreet.testing.not_private import exact_release
from support.cli_folder import CANARY, SECRET, Call, contents

PATH = "income.release.json"
PREDICTION = ("--prediction", "age", "--at", "region=south", "--penalty", "adaptive")


@pytest.mark.parametrize(("name", "head"), [("C.SVG", b"<?xml"), ("c.png", b"\x89PNG")])
def test_the_suffix_says_the_format_and_an_existing_file_is_replaced_by_force_alone(
    name: str, head: bytes, folder: Path, call: Call
) -> None:
    result = call("plot", PATH, "-o", name)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"Written  {name}\n", "")
    first = (folder / name).read_bytes()
    assert first.startswith(head)
    refused = call("plot", PATH, "-o", name)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert call("plot", PATH, "-o", name, "--force").exit_code == 0
    assert (folder / name).read_bytes() == first


def test_options_reach_the_model_and_json_is_what_is_drawn(folder: Path, call: Call) -> None:
    flags = ("--formula", "income ~ age", "--penalty", "ridge", "--strength", "0.1", "--level", "0.8")
    result = call("plot", PATH, "-o", "c.svg", "--scale", "unit", "--json", *flags)
    assert (result.exit_code, result.stderr) == (0, "")
    drawn = json.loads(result.stdout)
    model = fit(Release.load(PATH), "income ~ age", penalty="ridge", strength=0.1)
    found = {one["name"]: one for panel in drawn["panels"] for one in panel["effects"]}
    assert {name: one["estimate"] for name, one in found.items()} == dict(model.params)
    for name, ends in model.conf_int(0.8).items():
        if ends.bounded:
            assert (found[name]["low"], found[name]["high"]) == tuple(ends)
    assert (drawn["scale"], drawn["level"], drawn["target"]) == ("unit", 0.8, "income")
    svg = (folder / "c.svg").read_text(encoding="utf-8")
    assert set(model.names) <= set(re.findall(r">([^<>]+)</text>", svg))
    assert not [marker for marker in (CANARY, SECRET, "people.csv", str(folder)) if marker in svg]


def test_a_prediction_is_drawn_over_a_column_with_the_others_as_stated(folder: Path, call: Call) -> None:
    result = call("plot", PATH, *PREDICTION, "--obs", "-o", "age.svg", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    drawn = json.loads(result.stdout)
    assert (drawn["column"], drawn["at"], drawn["obs"]) == ("age", {"region": "south"}, True)
    assert [drawn["points"][place]["value"] for place in (0, -1)] == [18.0, 90.0]
    assert "With region = south" in (folder / "age.svg").read_text(encoding="utf-8")
    before = contents(folder)
    assert call("plot", PATH, *PREDICTION, "--json").exit_code == 0
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--output"),
        (["-o", "c.docx"], "expected a file name ending in .svg, .png or .pdf"),
        (["-o", "none/c.svg"], "does not exist"),
        (["-o", f"./{PATH}", "--force"], "is the same file as the input"),
        (["-o", "c.svg", "--level", "2"], "level"),
        (["-o", "c.svg", "--level", "much"], "not a number"),
        (["-o", "c.svg", "--scale", "ranges"], "Did you mean 'range'?"),
        (["-o", "c.svg", "--features", "agee"], "Did you mean 'age'?"),
        (["-o", "c.svg", "--robust"], "robust"),
        (["-o", "c.svg", "--at", "age=30"], "--at requires --prediction"),
        (["-o", "c.svg", "--obs"], "--obs requires --prediction"),
        (["-o", "c.svg", "--prediction", "age", "--scale", "unit"], "--scale cannot be used with --prediction"),
        (["-o", "c.svg", "--prediction", "agee", "--penalty", "adaptive"], "Did you mean 'age'?"),
        (["-o", "c.svg", "--prediction", "region", "--at", "age=30", "--at", "age=31"], "write each column once"),
        (["-o", "c.svg", "--prediction", "region", "--at", "age"], "NAME=VALUE"),
        (["-o", "c.svg", "--prediction", "region", "--at", "age=old"], "not a number"),
        (["-o", "c.svg", "--prediction", "region", "--at", "age=17", "--penalty", "adaptive"], "from 18 to 90"),
        (
            ["-o", "c.svg", "--prediction", "age", "--at", "region=east", "--penalty", "adaptive"],
            "unknown level 'east'",
        ),
        (["-o", "c.svg", "--prediction", "age", "--at", "town=x", "--penalty", "adaptive"], "unknown column 'town'"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(arguments: list[str], told: str, folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call("plot", PATH, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(("word", "value"), [("yes", True), ("0", False), ("TRUE", True), ("maybe", "maybe")])
def test_words_for_booleans_and_levels_are_read_by_their_declaration(word: str, value: object) -> None:
    from discreet.cli.plot import at_table
    from discreet.design.columns import Boolean, Categorical, Numeric

    columns = {"member": Boolean(), "grade": Categorical((1, 2)), "age": Numeric((0, 9))}
    found = at_table((f"member={word}", "grade=2", "age= 3 ", "other=x"), columns)
    assert found == {"member": value, "grade": 2, "age": 3.0, "other": "x"}


def test_without_the_drawing_library_the_extra_is_named(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    before = contents(folder)
    result = call("plot", PATH, "-o", "c.svg")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "discreet[plots]" in result.stderr
    assert contents(folder) == before


def test_a_release_that_is_not_private_says_so(folder: Path, call: Call) -> None:
    rows = {"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, 4.0, 5.0]}
    exact_release(rows, Design("y", {"x": (0, 3), "y": (0, 9)})).save("tiny.NOT-PRIVATE.json")
    result = call("plot", "tiny.NOT-PRIVATE.json", "-o", "c.svg")
    assert result.stdout.startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in (folder / "c.svg").read_text(encoding="utf-8")
