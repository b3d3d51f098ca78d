"""The forest plot: arrows for what has no end, thin intervals magnified, names that fit, and no more lines than fit."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from discreet.analyst.plots.coefficient_plots import (
    MANY,
    MOST_LINES,
    NARROW,
    TALL,
    WIDE,
    Effect,
    Panel,
    forest,
    interval_words,
    layout,
    limits,
    line_name,
    most,
    wide_shape,
)
from discreet.analyst.plots.style import LIGHT, house_style, new_figure, text_width
from support.picture_cases import texts

WIDTH = (-100.0, 100.0)
PLAIN = Effect("age", 50.0, 30.0, 70.0, 40.0, 60.0, kind="interval")


def drawn(*effects, shape=WIDE, window=WIDTH, zero=True):
    panel = Panel("change", effects, window, zero)
    with house_style():
        found = layout([panel], shape, labels=True)
        figure = new_figure(shape.width, found.height)
        forest(figure, [panel], shape, found, labels=True)
    return figure, found


def bars(axes, colour):
    return [tuple(line.get_xdata()) for line in axes.lines if line.get_color() == colour and line.get_linewidth() != 1]


def heads(axes):
    return [patch.get_xy() for patch in axes.patches]


def test_an_interval_is_drawn_to_scale_with_its_part_of_sampling_and_its_estimate():
    figure, found = drawn(PLAIN)
    (axes,) = figure.axes
    assert found.magnified is None
    assert bars(axes, LIGHT.privacy) == [(30.0, 70.0)]
    assert bars(axes, LIGHT.sampling) == [(40.0, 60.0)]
    assert bars(axes, LIGHT.ink) == [(50.0, 50.0)]
    assert heads(axes) == []
    assert {"age", "30.0 to 70.0", "change"} <= set(texts(figure))


@pytest.mark.parametrize(
    ("effect", "pieces", "sides", "words"),
    [
        (Effect("x", 20.0, -50.0, 25.0, None, None, kind="outside"), 2, {-1, 1}, "not between -50.0 and 25.0"),
        (Effect("x", 50.0, 25.0, None, None, None, kind="above"), 1, {1}, "at least 25.00"),
        (Effect("x", -50.0, None, 25.0, None, None, kind="below"), 1, {-1}, "at most 25.00"),
        (Effect("x", None, None, None, None, None, kind="everything"), 1, {-1, 1}, "any value"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_set_without_an_end_is_an_arrow(effect, pieces, sides, words):
    figure, _ = drawn(effect, PLAIN)
    axes = figure.axes[0]
    left, right = axes.get_xlim()
    assert len(bars(axes, LIGHT.privacy)) == pieces + 1
    tips = [point[:, 0] for point in heads(axes)]
    assert {1 if tip.max() > right else -1 for tip in tips} == sides
    assert all(tip.max() > right or tip.min() < left for tip in tips)
    assert words in texts(figure)


def test_an_end_outside_the_picture_is_no_arrow():
    figure, _ = drawn(Effect("far", 5.0, -900.0, 1000.0, -1.0, 2.0, kind="interval"))
    assert heads(figure.axes[0]) == []
    assert texts(figure).count("…") == 2


def test_an_interval_thinner_than_the_eye_sees_is_magnified_with_its_parts():
    thin = Effect("thin", 50.0, 50.0 - 2e-6, 50.0 + 6e-6, 50.0 - 1e-6, 50.0 + 3e-6, kind="interval")
    figure, found = drawn(thin, PLAIN)
    main, beside = figure.axes
    assert found.magnified is not None
    assert beside.get_xlim() == (-1.0, 1.0)
    assert bars(beside, LIGHT.privacy) == [(-1.0, 1.0)] * 2
    low, high = bars(beside, LIGHT.sampling)[0]
    assert (low, high) == pytest.approx((-0.75, 0.25), abs=1e-6)
    assert bars(beside, LIGHT.ink)[0] == pytest.approx((-0.5, -0.5), abs=1e-6)
    assert "magnified" in texts(figure)
    assert "49.99999800 to 50.00000600" in texts(figure)
    assert len(main.lines) > 2


def test_an_interval_of_no_width_is_not_magnified():
    point = Effect("exact", 50.0, 50.0, 50.0, 50.0, 50.0, kind="interval")
    figure, found = drawn(point)
    assert found.magnified is None
    assert "50.0 to 50.0" in texts(figure)


def test_estimates_alone_are_marks_and_what_is_not_estimable_is_words():
    figure, found = drawn(Effect("a", 8.1425, None, None, None, None), Effect("b", None, None, None, None, None))
    (axes,) = figure.axes
    assert bars(axes, LIGHT.ink) == [(8.1425, 8.1425)]
    assert bars(axes, LIGHT.privacy) == []
    assert {"8.143", "not estimable"} <= set(texts(figure))
    assert found.magnified is None


def test_an_interval_for_this_table_is_of_privacy_alone():
    table = Effect("a", 50.0, None, None, None, None, table_low=30.0, table_high=70.0)
    (axes,) = drawn(table)[0].axes
    assert bars(axes, LIGHT.privacy) == [(30.0, 70.0)]
    assert bars(axes, LIGHT.sampling) == []


def test_a_weak_estimate_is_faint():
    figure, _ = drawn(Effect("x", 50.0, 25.0, None, None, None, kind="above"))
    assert bars(figure.axes[0], LIGHT.ink) == []
    assert (50.0, 50.0) in bars(figure.axes[0], LIGHT.faint)


@pytest.mark.parametrize("shape", [WIDE, TALL, NARROW], ids=["wide", "tall", "narrow"])
@pytest.mark.parametrize("letters", [1, 30, 80])
def test_every_text_is_inside_the_figure_and_no_name_meets_a_number(shape, letters):
    effect = replace(PLAIN, name="x" * letters, low=-1234567.25, high=7654321.75, inner_low=-1.0, inner_high=1.0)
    shape = wide_shape([effect.name]) if shape is WIDE else shape
    figure, _ = drawn(effect, replace(effect, name="y"), window=(-1e9, 1e9), shape=shape)
    with house_style():
        figure.draw_without_rendering()
        boxes = [note.get_window_extent() for axes in figure.axes for note in axes.texts]
    assert all(box.x0 >= 0 and box.x1 <= shape.width for box in boxes)
    for index, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[index + 1 :])


def test_lines_through_names_are_left_out():
    figure, _ = drawn(PLAIN, replace(PLAIN, name="b"), shape=NARROW)
    (axes,) = figure.axes
    grid = [line.get_ydata() for line in axes.lines if line.get_color() == LIGHT.rule]
    assert grid
    assert all(abs(end - start) < 0.6 for start, end in grid)


def test_many_lines_have_numbers_above_too_and_most_are_the_largest():
    effects = tuple(replace(PLAIN, name=f"x{i}", estimate=float(i)) for i in range(MANY + 1))
    figure, _ = drawn(*effects)
    assert figure.axes[0].xaxis.get_tick_params()["labeltop"]
    every = tuple(replace(PLAIN, name=f"x{i}", estimate=float(-i)) for i in range(MOST_LINES + 50))
    (kept,) = most([Panel("change", every, WIDTH)])
    assert [effect.name for effect in kept.effects] == [f"x{i}" for i in range(50, MOST_LINES + 50)]
    assert most([Panel("change", effects, WIDTH)])[0].effects == effects


@pytest.mark.parametrize(
    ("effects", "zero", "window", "ends"),
    [
        ((PLAIN,), True, WIDTH, (0.0, 70.0)),
        ((PLAIN,), False, WIDTH, (30.0, 70.0)),
        ((replace(PLAIN, high=900.0),), True, WIDTH, (0.0, 100.0)),
        ((Effect("a", 0.0, None, None, None, None),), True, WIDTH, (-50.0, 50.0)),
        ((Effect("a", 0.0, None, None, None, None),), True, (-math.inf, math.inf), (-0.5, 0.5)),
        ((Effect("a", None, None, None, None, None),), False, WIDTH, WIDTH),
    ],
)
def test_an_axis_holds_what_is_drawn_as_far_as_its_window(effects, zero, window, ends):
    low, high = limits(Panel("change", effects, window, zero))
    margin = 0.04 * (ends[1] - ends[0])
    assert (low, high) == pytest.approx((ends[0] - margin, ends[1] + margin))


def test_a_name_is_cut_in_its_middle_and_only_as_far_as_needed():
    long = replace(PLAIN, name="a" * 100 + "z")
    assert line_name(PLAIN, WIDE) == "age"
    assert line_name(long, WIDE) == "a" * 17 + "…" + "a" * 15 + "z"
    assert text_width(line_name(long, NARROW), NARROW.font) < NARROW.width - text_width(interval_words(long), 11)


def test_one_coefficient_is_a_picture():
    figure, found = drawn(PLAIN)
    assert found.height < 120
    assert "age" in texts(figure)
