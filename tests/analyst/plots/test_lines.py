"""Lines with their names at their ends."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.plots.line_plots import MOST_NAMES, Line, Words, line_figure
from discreet.analyst.plots.style import LIGHT, house_style
from support.picture_cases import texts

X = np.array([0.1, 1.0, 10.0])
WORDS = Words("Title", ("About",), "epsilon", "foot")


def lines(count):
    return [Line(f"line {index}", X, np.array([3.0, 2.0, 1.0 + index / 100])) for index in range(count)]


@pytest.mark.parametrize("log_y", [False, True])
@pytest.mark.parametrize("count", [1, 3, 24])
def test_names_are_at_the_right_ends_inside_the_figure_and_do_not_touch(count, log_y):
    figure = line_figure(lines(count), WORDS, log_y=log_y)
    (axes,) = figure.axes
    with house_style():
        figure.draw_without_rendering()
        boxes = [note.get_window_extent() for note in axes.texts if note.get_text().startswith("line")]
    assert len(boxes) == count
    assert all(box.x0 > axes.get_window_extent().x1 and box.x1 <= figure.bbox.width for box in boxes)
    for index, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[index + 1 :])
    assert axes.get_legend() is None


def test_of_many_lines_the_largest_have_names_and_the_rest_is_grey():
    figure = line_figure(lines(60), WORDS)
    (axes,) = figure.axes
    named = {text for text in texts(figure) if text.startswith("line")}
    assert named == {f"line {index}" for index in range(60 - MOST_NAMES, 60)}
    assert sum(line.get_color() == LIGHT.rule for line in axes.lines) == 60 - MOST_NAMES
    looks = {
        (line.get_color(), line.get_linestyle(), str(line._dash_pattern)) for line in axes.lines[60 - MOST_NAMES :]
    }
    assert len(looks) >= MOST_NAMES


def test_a_mark_a_falling_axis_and_one_place_alone():
    falling = [Line("a", X[::-1], np.zeros(3))]
    figure = line_figure(falling, WORDS, falling=True, mark=(1.0, "chosen: 1"))
    assert figure.axes[0].get_xlim() == (10.0, 0.1)
    assert {"Title", "About", "epsilon", "foot", "chosen: 1", "a"} <= set(texts(figure))
    one = line_figure([Line("a", np.array([2.0]), np.array([0.0]))], WORDS, markers=True)
    assert one.axes[0].get_xlim() == (1.0, 4.0)
