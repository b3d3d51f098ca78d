"""A picture for a strict page: no style, no script, colours of the page, names escaped, ids of its own."""

from __future__ import annotations

import re

import pytest

import discreet

NASTY = 'x <script>alert(1)</script> "#1b2430" url(#a)'
TABLE = {NASTY: [1.0, 2.0, 3.0] * 400, "y": [2.0, 4.0, 6.0] * 400}


@pytest.fixture(scope="module")
def drawn():
    design = discreet.Design("y", {"y": (0, 10), NASTY: (0, 5)})
    return discreet.fit(discreet.testing.exact_release(TABLE, design)).plot()


def test_it_has_nothing_that_a_strict_policy_forbids(drawn):
    text = discreet.page_svg(drawn, "Slopes")
    assert text.startswith("<svg")
    assert not re.search(r"<style|<script|style=|javascript:|https?://(?!www\.w3\.org)", text)
    assert "alert(1)" in text
    assert "&lt;script&gt;" in text
    for name in ("ink", "paper", "sampling"):
        assert f"var(--{name})" in text
    assert 'aria-label="Slopes"' in text


def test_every_reference_is_to_an_id_of_the_same_picture():
    drawn = discreet.cost(discreet.Design("y", {"y": (0, 10), "x": (0, 5)}), epsilon=1.0).plot()
    for label in ("one", "two"):
        text = discreet.page_svg(drawn, label)
        ids = set(re.findall(r' id="([^"]+)"', text))
        used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r'"url\(#([^)]+)\)"', text))
        assert used <= ids
        assert used
    assert not ids & set(re.findall(r' id="([^"]+)"', discreet.page_svg(drawn, "three")))


def test_the_same_picture_is_the_same_text(drawn):
    assert discreet.page_svg(drawn, "one") == discreet.page_svg(drawn, "one")


@pytest.mark.parametrize(("figure", "label"), [("picture", "x"), (None, "x")])
def test_what_is_no_figure_is_refused(figure, label):
    with pytest.raises(discreet.DiscreetError, match="expected a figure, such as the result of"):
        discreet.page_svg(figure, label)


@pytest.mark.parametrize("label", ["", " ", None, 3])
def test_a_picture_needs_a_label(drawn, label):
    with pytest.raises(discreet.DiscreetError, match="label"):
        discreet.page_svg(drawn, label)
