"""The house style: its own settings whatever the reader's are, names apart, text that fits."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.analyst.plots import style
from discreet.analyst.plots.style import COLOURS, LIGHT, apart, house_style, shortened, text_width
from discreet.errors import SpecError
from discreet.pages.page import environment


def test_the_readers_settings_do_not_count_inside_and_are_back_outside():
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 40, "svg.fonttype": "path"}):
        with house_style():
            assert (mpl.rcParams["font.size"], mpl.rcParams["svg.fonttype"]) == (style.FONT, "none")
        assert (mpl.rcParams["font.size"], mpl.rcParams["svg.fonttype"]) == (40, "path")


def test_without_the_library_what_needs_it_and_the_extra_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with (
        pytest.raises(SpecError, match=r"a chart needs 'matplotlib'.*pip install 'discreet\[report\]'"),
        house_style("a chart", "report"),
    ):
        pass


places = st.lists(st.floats(0, 100), min_size=1, max_size=10)


@given(places)
def test_names_keep_their_order_their_distance_and_the_picture(wanted):
    found = apart(wanted, 7.0, 0.0, 100.0)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(np.array(found)[order]) >= 7.0 - 1e-9).all()
    assert min(found) >= -1e-9
    assert max(found) <= 100 + 1e-9


@given(places)
def test_names_that_do_not_touch_stay_where_they_are(wanted):
    free = [10.0 * index for index in range(len(wanted))]
    assert apart(free, 9.0, 0.0, 100.0) == pytest.approx(free)


@given(st.text("abc ", max_size=40), st.integers(3, 30))
def test_shortened_text_fits_and_keeps_both_ends(text: str, letters: int) -> None:
    short = shortened(text, letters)
    assert len(short) <= letters
    if len(text) <= letters:
        assert short == text
    else:
        first, last = short[: letters - 1 - (letters - 1) // 2], short[letters - (letters - 1) // 2 :]
        assert text.startswith(first)
        assert text.endswith(last)
        assert len(short) == letters


def test_characters_that_command_are_shown_and_wide_letters_count_twice():
    assert shortened("a\x1b\u202eb", 20) == "a\\x1b\\u202eb"
    assert text_width("東京", 10.0) > 1.5 * text_width("ab", 10.0)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_the_parts_of_an_interval_differ_in_lightness_and_text_is_dark_enough():
    ratio = (luminance(LIGHT.privacy) + 0.05) / (luminance(LIGHT.sampling) + 0.05)
    assert ratio > 2  # so they differ in grey too
    for text in (LIGHT.ink, LIGHT.faint):
        assert 1.05 / (luminance(text) + 0.05) > 4.5
    assert len(set(COLOURS)) == len(COLOURS)


def test_the_page_has_the_same_colours():
    css = environment().loader.get_source(environment(), "style.css")[0]
    for name, colour in (("sampling", LIGHT.sampling), ("privacy", LIGHT.privacy), ("ink", LIGHT.ink)):
        assert f"--{name}: {colour};" in css


def test_no_other_module_has_colours_of_its_own():
    source = Path(discreet.__file__).parent
    own = re.compile(r"""["']#[0-9A-Fa-f]{6}["']""")
    found = [path for path in source.rglob("*.py") if own.search(path.read_text(encoding="utf-8"))]
    # the chart of the report has marks that the page's own colours take the place of
    known = {"analyst/plots/style.py", "pages/page.py"}
    assert {path.relative_to(source).as_posix() for path in found} == known
