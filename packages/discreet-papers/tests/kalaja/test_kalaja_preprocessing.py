"""Rows in the unit ball by the thesis's recipes, and predictions in one unit."""

from dataclasses import replace

import numpy as np
import pytest

from discreet_papers.kalaja.kalaja_experiment import (
    Recipe,
    Scale,
    prepared,
    prepared_both_sides,
    unstandardised,
    with_intercept,
)

RECIPES = [
    Recipe(mapping, statistics, intercept=intercept, clip=clip, clip_test=clip is not None)
    for mapping in ("row", "row-y", "max")
    for statistics in ("all", "training")
    for intercept in (False, True)
    for clip in (None, 1.3)
]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = np.exp(rng.standard_normal((300, 4))) + 5
    return x, 40 + x @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(300), np.arange(270), np.arange(270, 300)


@pytest.mark.parametrize("recipe", RECIPES)
def test_training_rows_are_in_the_unit_ball(rows, recipe):
    made = prepared(*rows, recipe)
    assert np.linalg.norm(made.x, axis=1).max() <= 1 + 1e-12
    assert np.abs(made.y).max() <= 1 + 1e-12
    assert made.test_x.shape == (30, 4 + recipe.intercept)


@pytest.mark.parametrize("mapping", ["row-y", "max"])
def test_a_linear_target_is_predicted_exactly(rows, mapping):
    x, _, train, test = rows
    y = x @ np.array([1.0, -2.0, 0.5, 3.0])
    made = prepared(x, y, train, test, Recipe(mapping, "all"))
    theta = np.linalg.lstsq(made.x, made.y, rcond=None)[0]
    assert np.allclose(made.test_x @ theta, made.test_y)


def test_row_norms_make_rows_of_length_one_in_the_test_too(rows):
    made = prepared(*rows, Recipe("row", "training"))
    assert np.allclose(np.linalg.norm(made.x, axis=1), 1)
    assert made.largest_test_norm == pytest.approx(1)


def test_the_largest_norm_and_target_are_one(rows):
    made = prepared(*rows, Recipe("max", "training"))
    assert np.linalg.norm(made.x, axis=1).max() == pytest.approx(1)
    assert np.abs(made.y).max() == pytest.approx(1)


def test_statistics_of_the_training_rows_do_not_see_the_test_rows(rows):
    x, y, train, test = rows
    other = x.copy()
    other[test] *= 100
    for recipe, same in ((Recipe(statistics="training"), True), (Recipe(statistics="all"), False)):
        one, two = prepared(x, y, train, test, recipe), prepared(other, y, train, test, recipe)
        assert np.array_equal(one.x, two.x) is same


def test_the_analyst_standardises_test_rows_alone(rows):
    x, y, train, test = rows
    recipe = Recipe(statistics="analyst")
    moved = x.copy()
    moved[train] *= 3
    one, two = prepared(x, y, train, test, recipe), prepared(moved, y, train, test, recipe)
    assert np.allclose(one.test_x, two.test_x)
    assert np.allclose(one.test_y.mean(), 0)


@pytest.mark.parametrize("clip_test", [False, True])
def test_upper_clipping_cuts_above_only_and_recomputes_the_statistics(rows, clip_test):
    x, y, train, test = rows
    first = Scale.of(x[train])
    cut = np.minimum(x, first.mean + 1.3 * first.sd)
    made = prepared(x, y, train, test, Recipe(clip=1.3, clip_test=clip_test))
    second = Scale.of(cut[train])
    z = second.applied(cut[train])
    longest = np.linalg.norm(z, axis=1).max()
    assert np.allclose(made.x, z / longest)
    assert np.allclose(made.test_x, second.applied((cut if clip_test else x)[test]) / longest)
    if not clip_test:
        assert made.largest_test_norm > 1


def test_clipping_on_both_sides_keeps_the_unit_of_the_error(rows):
    x, y, train, test = rows
    plain = prepared(x, y, train, test, Recipe())
    wide = prepared_both_sides(x, y, train, test, (100.0, 100.0), clip_test=True)
    narrow = prepared_both_sides(x, y, train, test, (1.0, 0.5), clip_test=True)
    for one, two in ((plain.x, wide.x), (plain.y, wide.y), (plain.test_x, wide.test_x), (plain.test_y, wide.test_y)):
        assert np.allclose(one, two)
    assert np.allclose(narrow.test_y, plain.test_y)
    top = np.abs(np.clip(y[train] - y[train].mean(), *(0.5 * y[train].std(ddof=1) * np.array([-1, 1])))).max()
    assert np.allclose(narrow.y * top, np.clip(y[train] - y[train].mean(), -top, top))


def test_an_intercept_keeps_rows_in_the_ball():
    made = with_intercept(np.array([[0.6, 0.8], [0.0, 0.0]]))
    assert np.linalg.norm(made, axis=1).max() == pytest.approx(1)
    assert len(set(made[:, 2])) == 1


def test_y_can_be_left_as_it_is(rows):
    made = prepared(*rows, replace(Recipe(), centred=False))
    assert made.y.min() > 0.3


def test_unstandardised_coefficients_predict_the_same(rows):
    x, y, train, _ = rows
    scale = Scale.of(x[train])
    z = scale.applied(x[train])
    longest, y_max = np.linalg.norm(z, axis=1).max(), np.abs(y[train]).max()
    theta, constant = np.array([0.1, -0.3, 0.2, 0.05]), 0.4
    slopes, intercept = unstandardised(theta, constant, scale, longest, y_max)
    assert np.allclose(x[train] @ slopes + intercept, y_max * (constant + z / longest @ theta))
