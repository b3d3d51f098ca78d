"""A path of strengths, and what can be done with it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import lasso_path

from discreet.analyst.model import fit
from discreet.analyst.path import Path, path
from discreet.design.design import Design
from discreet.errors import OutputError, SpecError
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee
from discreet.testing import exact_release
from support.made_releases import made

DESIGN = Design("y", {"y": (0, 10), "a": (-1, 1), "b": (0, 4), "g": ["p", "q", "r"], "flag": bool})
PROMISE = Guarantee(1.0, 1e-6, PrivacyUnit(), ("the bounds are public",))
KINDS = [("lasso", None), ("elastic-net", 0.5), ("ridge", None)]


def table(count, seed=0):
    random = np.random.default_rng(seed)
    a, b, flag = random.uniform(-1, 1, count), random.uniform(0, 4, count), random.random(count) < 0.5
    y = np.clip(5 + a + 0.3 * b + flag + random.normal(0, 0.5, count), 0, 10)
    columns = {"y": y, "a": a, "b": b, "g": random.choice(["p", "q", "r"], count), "flag": flag}
    return {name: values.tolist() for name, values in columns.items()}


@pytest.fixture(scope="module")
def release():
    return made(DESIGN, table(200), sigma=2.0, guarantee=PROMISE).release


@pytest.mark.parametrize(("penalty", "l1_ratio"), KINDS)
def test_every_point_of_a_path_is_the_fit_at_its_strength(release, penalty, l1_ratio):
    along = path(release, penalty=penalty, l1_ratio=l1_ratio)
    count = len(along.strengths)
    assert along.criterion.shape == (count,)
    assert 100 <= count <= 200
    assert along.coefficients.shape == (len(along.names), count)
    assert along.names == ("Intercept", "a", "b", "g[q]", "g[r]", "flag")
    np.testing.assert_allclose(along.strengths[[0, 99]] * [1e-3, 1], along.strengths[99], rtol=1e-12)
    for index in (0, 30, 60, -1):
        strength = float(along.strengths[index])
        alone = fit(release, penalty=penalty, strength=strength, l1_ratio=l1_ratio)
        point = along.fit(index)
        np.testing.assert_allclose(alone.coefficients, along.coefficients[:, index], rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(point.coefficients, along.coefficients[:, index])
        assert (point.strength, point.penalty, point.l1_ratio) == (strength, penalty, l1_ratio)
        assert (point.ridge, point.repair, point.selected) == (alone.ridge, alone.repair, False)


@pytest.mark.parametrize(("penalty", "l1_ratio"), KINDS)
def test_the_chosen_fit_is_the_one_that_fit_chooses(release, penalty, l1_ratio):
    along = path(release, penalty=penalty, l1_ratio=l1_ratio)
    chosen = along.fit()
    assert chosen.selected
    assert along.criterion[along.best] == pytest.approx(along.criterion.min(), rel=1e-9)
    assert (along.criterion[: along.best] > along.criterion[along.best]).all()
    assert chosen.strength == along.strengths[along.best]
    same = fit(release, penalty=penalty, l1_ratio=l1_ratio, strength="criterion")
    assert same.to_dict() == chosen.to_dict()


def test_exact_sums_give_the_path_of_scikit_learn():
    design = Design("y", {name: column for name, column in DESIGN.columns.items() if name in ("y", "a", "b")})
    source = made(design, table(100))
    strengths = path(source.release).strengths[:100]
    along = path(source.release, strengths=strengths)
    X = source.matrix(["a", "b"], intercept=False) / [1, 2]
    y = source.matrix(["y"], intercept=False)[:, 0] / 5
    _, slopes, _ = lasso_path(X - X.mean(axis=0), y - y.mean(), alphas=strengths, tol=1e-14, max_iter=10**6)
    np.testing.assert_allclose(along.coefficients[1:], slopes * [[5], [2.5]], atol=1e-7)


def test_strengths_come_from_strong_to_weak(release):
    along = path(release, strengths=(strength for strength in (0.01, 1, np.float64(0.1))))
    assert along.strengths.tolist() == [1.0, 0.1, 0.01]
    sub = path(release, target="flag", features=["a", "g"], intercept=False, strengths=[0.1])
    assert sub.names == ("a", "g[q]", "g[r]")
    assert (sub.model.target, sub.coefficients.shape) == ("flag", (3, 1))


def test_nothing_to_penalise_has_a_path_too(release):
    for penalty in ("lasso", "ridge"):
        along = path(release, features=[], penalty=penalty)
        assert along.strengths[0] == 1.0
        assert np.ptp(along.coefficients) == pytest.approx(0.0, abs=1e-12)
    # of equals the strongest
    assert along.best == 0


def test_a_target_that_nothing_explains_has_a_path_too():
    rows = table(50)
    source = made(DESIGN, {**rows, "y": [5.0] * 50})
    along = path(source.release)
    assert along.strengths[0] == 1.0
    assert not along.coefficients[1:].any()


def test_a_hopeless_release_has_a_finite_path():
    for seed in range(3):
        release = made(DESIGN, table(20), sigma=200.0, seed=seed).release
        for penalty, l1_ratio in KINDS:
            along = path(release, penalty=penalty, l1_ratio=l1_ratio)
            assert np.isfinite(along.coefficients).all()
            assert np.isfinite(along.criterion).all()
            assert along.fit(-1).repair > 0


def test_repeated_columns_without_noise_have_a_path():
    rows = table(60)
    design = Design("y", {**DESIGN.columns, "again": (-1, 1)})
    release = made(design, rows | {"again": rows["a"]}).release
    for penalty, l1_ratio in KINDS:
        along = path(release, penalty=penalty, l1_ratio=l1_ratio)
        assert np.isfinite(along.criterion).all()
        assert np.abs(along.coefficients).max() < 20


def test_a_path_cannot_be_changed(release):
    along = path(release)
    with pytest.raises(dataclasses.FrozenInstanceError):
        along.penalty = "ridge"
    for array in (along.strengths, along.criterion, along.coefficients):
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 1.0


def test_a_path_introduces_itself(release):
    along = path(release, strengths=[0.5])
    assert isinstance(along, Path)
    assert repr(along) == "<Path of y on Intercept, a, b, g[q], g[r], flag: penalty lasso, 1 strengths, best 0.5>"
    assert "NOT PRIVATE" in repr(path(made(DESIGN, table(50)).release, strengths=[0.5]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "none"}, "unknown penalty 'none'; allowed: ridge, lasso, elastic-net"),
        ({"penalty": "elastic-net"}, r"expected a number from 0 \(ridge\) to 1 \(lasso\) for l1_ratio, got None"),
        ({"l1_ratio": 0.5}, "got l1_ratio 0.5 with penalty 'lasso'"),
        ({"strengths": []}, "expected at least one positive number for strengths"),
        ({"strengths": 0.5}, r"expected a list of positive numbers, .* for strengths, got 0.5"),
        ({"strengths": "criterion"}, "list of positive numbers, .* got 'criterion'"),
        ({"strengths": ["criterion"]}, "expected numbers above 0 .* for strengths, got 'criterion'"),
        ({"strengths": [0.1, 0.0]}, "expected numbers above 0 .* for strengths, got 0.0$"),
        ({"features": ["nobody"]}, "unknown feature"),
    ],
)
def test_options_that_mean_nothing_are_refused(release, options, message):
    with pytest.raises(SpecError, match=message) as caught:
        path(release, **options)
    assert caught.value.exit_code == 2


def test_only_a_release_has_a_path():
    with pytest.raises(SpecError, match="Release, got dict"):
        path({})


@pytest.mark.parametrize("index", [3, -4, 1.0, True, "best"])
def test_places_outside_a_path_are_refused(release, index):
    with pytest.raises(SpecError, match="expected an integer from 0 to 2 for index"):
        path(release, strengths=[0.1, 0.2, 0.3]).fit(index)


# -- strengths below the first hundred ---------------------------------------------------------------------------------


def collinear(count, sigma, seed=0):
    """Experience and its square: with 1e-3 of the largest strength a ridge takes away a third of their slopes."""
    random = np.random.default_rng(seed)
    exper = random.integers(0, 51, count)
    y = np.clip(2 + 0.3 * exper - 0.004 * exper**2 + random.normal(0, 1, count), -5, 15)
    design = Design("y", {"y": (-5, 15), "exper": (0, 50), "exper2": (0, 2500)})
    rows = {"y": y.tolist(), "exper": exper.tolist(), "exper2": (exper**2).tolist()}
    return made(design, rows, sigma=sigma, seed=seed, guarantee=PROMISE).release


@pytest.mark.parametrize(("penalty", "l1_ratio"), KINDS)
def test_the_choice_goes_on_below_the_first_hundred_strengths_where_they_shrink_a_good_release(penalty, l1_ratio):
    release = collinear(5000, sigma=0.5)
    along = path(release, penalty=penalty, l1_ratio=l1_ratio)
    assert 100 < len(along.strengths) <= 200
    assert (np.diff(along.strengths) < 0).all()
    assert along.strengths[-1] >= 0.999e-10 * along.strengths[0]
    assert along.criterion[along.best] < along.criterion[:100].min()
    least_squares = fit(release).coefficients
    np.testing.assert_allclose(along.fit().coefficients[1:], least_squares[1:], rtol=0.03)
    same = fit(release, penalty=penalty, l1_ratio=l1_ratio, strength="criterion")
    assert same.to_dict() == along.fit().to_dict()


def test_the_choice_goes_no_further_than_it_must():
    along = path(collinear(5000, sigma=0.5), penalty="ridge")
    # the criterion of a ridge has its minimum at a positive strength
    assert along.edge is None
    assert along.strengths[-1] > 1e-9 * along.strengths[0]
    # nothing but the errors of the rows: a lasso that keeps every slope only loses by shrinking them
    exact = path(collinear(5000, sigma=0.0), penalty="lasso")
    assert exact.strengths[exact.best] < 1e-5 * exact.strengths[0]
    noisy = path(collinear(500, sigma=60.0), penalty="ridge")
    assert len(noisy.strengths) == 100


def test_a_choice_at_the_end_of_its_strengths_says_so(release):
    # strengths that somebody chose are used as they are
    given = path(collinear(5000, sigma=0.5), penalty="ridge", strengths=[1.0, 0.5])
    assert (given.strengths.tolist(), given.edge) == ([1.0, 0.5], "weakest")
    assert "best 0.5, the weakest of them>" in repr(given)
    nothing = path(release, features=[], penalty="ridge")
    assert nothing.edge == "strongest"
    assert path(release, strengths=[0.5]).edge is None


# -- the picture -----------------------------------------------------------------------------------------------------


def test_the_picture_shows_the_slopes_and_marks_the_chosen_strength(release):
    along = path(release)
    figure = along.plot()
    assert isinstance(figure, Figure)
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert axes.get_xscale() == "log"
    for index, name in enumerate(along.model.slopes):
        line = lines[name]
        np.testing.assert_array_equal(line.get_xdata(), along.strengths)
        # in scaled units: half the width of the bounds of the target is 5, that of b is 2
        np.testing.assert_allclose(line.get_ydata() * 5 / (2 if name == "b" else 1), along.coefficients[index + 1])
    marked = [line.get_xdata() for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert [set(places) for places in marked] == [{along.strengths[along.best]}]
    assert axes.get_legend() is None


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_the_picture_is_saved_and_an_existing_file_is_left_alone(release, tmp_path, suffix, start):
    along = path(release, strengths=[0.1, 0.01])
    file = tmp_path / f"path.{suffix}"
    along.plot(file)
    assert file.read_bytes().startswith(start)
    with pytest.raises(OutputError, match="exists"):
        along.plot(file)
    along.plot(str(file), force=True)


def test_a_picture_needs_a_name_that_says_its_format(release, tmp_path):
    with pytest.raises(SpecError, match=r"expected a file name ending in \.svg, \.png or \.pdf"):
        path(release, strengths=[0.1]).plot(tmp_path / "path.txt")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(release, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpecError, match=r"pip install 'discreet\[plots\]'"):
        path(release, strengths=[0.1]).plot()


@pytest.mark.parametrize("copied", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy])
def test_copies_of_a_fit_and_of_a_path_say_the_same(copied):
    release = exact_release(table(200), DESIGN)
    model, many = fit(release), path(release)
    other, others = copied(model), copied(many)
    assert other.release == model.release
    assert other.params == model.params
    assert other.conf_int() == model.conf_int()
    assert other.summary() == model.summary()
    assert others.release == release
    np.testing.assert_array_equal(others.coefficients, many.coefficients)
    np.testing.assert_array_equal(others.criterion, many.criterion)
    assert others.fit().summary() == many.fit().summary()
