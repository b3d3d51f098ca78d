"""Drawings: names as text, colours of the page, and nothing that a page may not hold."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from discreet.analyst.plots.coefficient_plots import NARROW, TALL, WIDE, Effect, Shape
from discreet.errors import SpecError
from discreet.pages.page import chart, is_magnified
from discreet.pages.page import chart_shapes as shapes
from support.report_cases import PLAIN

THIN = Effect("thin", 0.5, 0.5 - 1e-7, 0.5 + 1e-7, 0.5 - 5e-8, 0.5 + 5e-8, kind="interval")


@pytest.mark.parametrize("shape", [WIDE, NARROW], ids=lambda shape: shape.key)
def test_a_drawing_is_well_formed_and_refers_to_nothing_outside(shape: Shape) -> None:
    svg = chart(PLAIN.effects, PLAIN.target_width, shape)
    ElementTree.fromstring(svg)
    assert not re.search(r"url\(|http|//|<style|<!--|xmlns|<metadata|href| id=", svg)
    assert {"age", "region[south]"} <= set(re.findall(r">([^<>]+)</text>", svg))
    assert "not estimable" in svg
    assert svg == chart(PLAIN.effects, PLAIN.target_width, shape)


@pytest.mark.parametrize("effects", [PLAIN.effects, (THIN,)], ids=["plain", "magnified"])
def test_colours_and_fonts_are_those_of_the_page(effects: tuple[Effect, ...]) -> None:
    svg = chart(effects, PLAIN.target_width, WIDE)
    assert set(re.findall(r"(?:fill|stroke): ?([^;\"]+)", svg)) <= {
        "none", "var(--ink)", "var(--rule)", "var(--sampling)", "var(--privacy)", "var(--faint)",
    }  # fmt: skip
    assert not re.search(r"#[0-9a-f]{6}", svg)
    assert set(re.findall(r"(?:font-family:|px) ([^;\"0-9]+)[;\"]", svg)) == {"system-ui, sans-serif"}


@pytest.mark.no_cover
def test_an_unbounded_set_is_an_arrow_in_the_colour_of_privacy() -> None:
    bounded, above = replace(THIN, low=0.4, high=0.6), Effect("up", 0.5, 0.25, None, None, None, kind="above")
    heads = [chart((one,), 1.0, WIDE).count("fill: var(--privacy)") for one in (bounded, above)]
    assert heads == [0, 1]


def test_names_are_escaped_after_the_drawing() -> None:
    names = ("<script>", "#010101", "name-0-", "a" * 200)
    effects = tuple(replace(THIN, name=name) for name in names)
    svg = chart(effects, 1.0, shapes(effects)[0])
    found = re.findall(r">([^<>]+)</text>", svg)
    assert {"&lt;script&gt;", "#010101", "name-0-"} <= set(found)
    assert "<script>" not in svg
    assert not any(len(text) > TALL.letters for text in found)


def test_wide_pages_have_the_shape_that_their_names_need() -> None:
    assert shapes(PLAIN.effects) == (WIDE, NARROW)
    assert shapes((replace(THIN, name="a" * 80),)) == (TALL, NARROW)
    assert not is_magnified((replace(THIN, low=0.0, high=1.0),), 1.0)
    assert is_magnified((THIN,), 1.0)


def test_without_the_drawing_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpecError, match=r"discreet\[report\]"):
        chart(PLAIN.effects, PLAIN.target_width, WIDE)
