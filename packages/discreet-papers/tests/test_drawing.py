"""Lines can be told apart without colour, and the legend is outside the panels."""

import pytest

from discreet.analyst.plots.style import COLOURS
from discreet_papers.drawing import legend, lines, nested, panels, plain_scales, style

pandas = pytest.importorskip("pandas")


def test_no_two_of_56_lines_look_alike():
    looks = {(look["color"], str(look["linestyle"]), look["marker"]) for look in map(style, range(56))}
    assert len(looks) == 56


def test_neighbouring_lines_differ_in_print():
    looks = [(str(style(one)["linestyle"]), style(one)["marker"]) for one in range(len(COLOURS))]
    assert len(set(looks)) == len(COLOURS)


@pytest.mark.parametrize("layers", [1, 2, 7, 16])
def test_a_line_is_narrower_than_every_line_behind_it(layers):
    looks = [nested(style(layer), layer, layers) for layer in range(layers)]
    for size in ("linewidth", "markersize"):
        sizes = [look[size] for look in looks]
        assert sizes == sorted(set(sizes), reverse=True)
        assert min(sizes) >= 1
    assert [look["color"] for look in looks] == [style(layer)["color"] for layer in range(layers)]


def test_panels_without_a_title_are_hidden():
    picture, grid = panels(["a", "b", "c", "d"], across=3)
    assert [axes.get_title() for axes in grid] == ["a", "b", "c", "d"]
    assert [axes.axison for axes in picture.axes] == [True] * 4 + [False] * 2


@pytest.mark.parametrize(("centre", "expected"), [("mean", 2.0), ("median", 1.0)])
def test_a_line_goes_through_the_centre_of_its_repetitions(centre, expected):
    numbers = pandas.DataFrame({"panel": "p", "line": "a", "epsilon": [1, 1, 1], "value": [0.0, 1.0, 5.0]})
    picture = lines(
        numbers, order=("a", "b"), x_label="epsilon", y_label="error", log_y=True, centre=centre, band=(0.2, 0.8)
    )
    (axes,) = picture.axes
    assert axes.lines[0].get_ydata().tolist() == [expected]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["a"]


def test_linear_axes_can_be_had_and_the_legend_never_covers_a_panel():
    numbers = pandas.DataFrame({"panel": "p", "line": ["a", "b"], "epsilon": [1, 2], "value": [1.0, 2.0]})
    picture = lines(numbers, order=("a", "b"), x_label="x", y_label="y", log_x=False)
    picture.draw_without_rendering()
    below = picture.legends[0].get_window_extent()
    assert not below.overlaps(picture.axes[0].get_window_extent())
    assert picture.axes[0].get_xscale() == "linear"
    legend(picture, picture.axes, columns=1)


def test_plain_scales_have_plain_numbers_at_the_given_places():
    picture, (axes,) = panels(["one"])
    axes.plot([0.3, 1, 3], [0.2, 0.4, 0.9])
    plain_scales(axes, (0.3, 1, 3))
    picture.canvas.draw()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.3", "1", "3"]
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert {"0.2", "0.4", "0.8"} <= set(shown)
    assert not any("10^" in text for text in shown)
