"""Files of pictures: the same bytes every time, text as text, no date, and nothing written where it may not be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet
from discreet.analyst.plots.style import checked_destination, figure_bytes, save_figure
from discreet.errors import OutputError, SpecError
from support.picture_cases import release

KINDS = ("svg", "png", "pdf")


@pytest.fixture(scope="module")
def pictures():
    return [discreet.fit(release()).plot() for _ in range(2)]


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_give_the_same_bytes_without_a_date(kind, pictures):
    first, second = (figure_bytes(picture, kind) for picture in pictures)
    assert first == second
    assert not re.search(rb"dc:date|CreationDate|ModDate|Software|20\d\d-\d\d-\d\dT", first)


def test_text_is_text(pictures):
    svg = figure_bytes(pictures[0], "svg").decode()
    assert {"age", "hours", "member", "region[south]"} <= set(re.findall(r">([^<>]+)</text>", svg))


def test_a_font_that_lacks_a_letter_is_no_error(tmp_path):
    figure = discreet.fit(release(400, names=("年齢", "hours"))).plot()
    for kind in ("svg", "png"):
        save_figure(figure, tmp_path / f"p.{kind}", force=False)
    assert "年齢" in (tmp_path / "p.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("given", [5, b"x.png", ["x.png"]])
def test_what_is_no_path_is_refused(given):
    with pytest.raises(SpecError, match="expected a path such as"):
        save_figure(None, given, force=False)


def test_a_place_is_checked_before_anything_is_drawn(tmp_path: Path):
    (tmp_path / "p.svg").write_text("precious")
    with pytest.raises(OutputError, match="exists"):
        checked_destination(tmp_path / "p.svg", force=False)
    with pytest.raises(SpecError, match=r"expected a file name ending in \.svg, \.png or \.pdf"):
        checked_destination(tmp_path / "p.docx", force=True)
    checked_destination(None, force=False)
    checked_destination(tmp_path / "p.svg", force=True)
    assert (tmp_path / "p.svg").read_text() == "precious"
