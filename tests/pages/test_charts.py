"""Drawings: names as text, colours of the page, ends that are cut say so, extras named where they are missing."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from discreet.errors import SpecError
from discreet.pages.charts import NARROW, WIDE, Shape, forest
from discreet.pages.view import Effect
from support.report_cases import PLAIN


@pytest.mark.parametrize("shape", [WIDE, NARROW], ids=lambda shape: shape.key)
def test_a_drawing_is_well_formed_and_refers_to_nothing_outside(shape: Shape) -> None:
    svg = forest(PLAIN.effects, PLAIN.target_width, shape)
    ElementTree.fromstring(svg)
    assert not re.search(r"url\(|http|//|<style|<!--|xmlns|<metadata", svg)
    assert {"age", "region[south]"} <= set(re.findall(r">([^<>]+)</text>", svg))
    assert "not estimable" in svg


def test_colours_are_those_of_the_page() -> None:
    svg = forest(PLAIN.effects, PLAIN.target_width, WIDE)
    assert set(re.findall(r"(?:fill|stroke): ?([^;\"]+)", svg)) <= {
        "none", "var(--ink)", "var(--rule)", "var(--sampling)", "var(--privacy)", "var(--faint)",
    }  # fmt: skip


def test_an_interval_that_goes_on_beyond_the_picture_says_so() -> None:
    far = Effect("far", 5.0, -90.0, 100.0, -1.0, 2.0)
    svg = forest((far, Effect("near", 0.5, 0.4, 0.6, 0.45, 0.55)), 1.0, WIDE)
    marks = re.findall(r">([^<>]+)</text>", svg)
    assert marks.count("…") == 2
    assert not {"&lt;", "&gt;"} & set(marks)


def test_an_interval_for_this_table_is_drawn_in_the_colour_of_privacy_alone() -> None:
    bare = Effect("a", 0.5, None, None, None, None)
    known = replace(bare, table_low=0.25, table_high=0.75)
    assert "var(--privacy)" not in forest((bare,), 1.0, WIDE)
    svg = forest((known,), 1.0, WIDE)
    assert "var(--privacy)" in svg
    assert "var(--sampling)" not in svg
    far = forest((replace(bare, table_low=-90.0, table_high=90.0),), 1.0, WIDE)
    assert re.findall(r">([^<>]+)</text>", far).count("…") == 2


@pytest.mark.parametrize(
    ("effect", "arrows"),
    [
        (Effect("gap", 0.5, -0.5, 0.25, None, None, kind="outside"), {"&lt;", "&gt;"}),
        (Effect("up", 0.5, 0.25, None, None, None, kind="above"), {"&gt;"}),
        (Effect("down", -0.5, None, 0.25, None, None, kind="below"), {"&lt;"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_unbounded_set_goes_on_beyond_the_picture(effect: Effect, arrows: set[str]) -> None:
    svg = forest((effect, Effect("near", 0.5, 0.4, 0.6, 0.45, 0.55, kind="interval")), 1.0, WIDE)
    assert {"&lt;", "&gt;"} & set(re.findall(r">([^<>]+)</text>", svg)) == arrows
    # one bar for each piece, and those of the interval beside it
    bars = 2 if effect.kind == "outside" else 1
    assert svg.count("var(--privacy)") == bars + 1


def test_a_set_that_excludes_nothing_is_an_empty_row_with_words() -> None:
    svg = forest((Effect("a", None, None, None, None, None, kind="everything"),), 1.0, WIDE)
    assert "any value" in svg
    assert "not estimable" not in svg
    assert "var(--privacy)" not in svg


def test_a_long_name_is_cut_in_its_middle() -> None:
    svg = forest((Effect("a" * 100 + "z", 0.1, 0.0, 0.2, 0.05, 0.15),), 1.0, WIDE)
    assert "a" * 17 + "…" + "a" * 15 + "z" in svg
    assert "a" * 30 not in svg


def test_nothing_to_draw_is_drawn_as_nothing_estimable() -> None:
    svg = forest((Effect("a", None, None, None, None, None), Effect("b", 0.0, None, None, None, None)), 1.0, NARROW)
    assert svg.count("not estimable") == 1


def test_without_the_drawing_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpecError, match=r"discreet\[report\]"):
        forest(PLAIN.effects, PLAIN.target_width, WIDE)
