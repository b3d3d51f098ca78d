"""The picture of predictions: the fit's own numbers along one column, the others where they are said to be."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import discreet
from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.plots.prediction_plot import predicted_line, prediction_figure
from discreet.analyst.plots.style import LIGHT
from discreet.errors import SpecError
from discreet.testing.not_private import exact_release
from support.picture_cases import nothing, release, texts, weak


def test_the_line_is_what_the_fit_predicts_with_its_sets():
    fit = discreet.fit(release())
    line = predicted_line(fit, "age", {"member": True, "region": "west"}, 0.9, obs=False)
    assert (line.values[0], line.values[-1]) == (0.0, 10.0)
    assert dict(line.at) == {"hours": 5.0, "member": True, "region": "west"}
    frame = {"age": list(line.values), "hours": [5.0] * 101, "member": [True] * 101, "region": ["west"] * 101}
    np.testing.assert_array_equal(line.mean, fit.predict(frame))
    found = fit.get_prediction(frame)
    np.testing.assert_array_equal(np.asarray(line.sets), np.asarray(found.conf_int(0.9)))
    assert ((line.privacy_share > 0) & (line.privacy_share < 1)).all()
    (axes,) = [one for one in prediction_figure(fit, line).axes if one.collections]
    (drawn,) = [one for one in axes.lines if one.get_color() == LIGHT.ink]
    np.testing.assert_array_equal(drawn.get_ydata(), line.mean)
    facts = line.to_dict()
    assert facts["points"][3]["mean"] == line.mean[3]
    assert facts["points"][3]["conf_int"] == line.sets[3].to_dict()


def test_a_new_observation_has_wider_sets_of_which_privacy_is_a_smaller_share():
    fit = discreet.fit(release())
    mean, obs = (predicted_line(fit, "age", None, 0.95, obs=one) for one in (False, True))
    widths = [np.asarray(one.sets)[:, 1] - np.asarray(one.sets)[:, 0] for one in (mean, obs)]
    assert (widths[1] > widths[0]).all()
    assert (obs.privacy_share < mean.privacy_share).all()
    assert any("for a new observation" in text for text in texts(prediction_figure(fit, obs)))


def test_levels_and_booleans_are_lines_of_a_forest():
    fit = discreet.fit(release())
    written = texts(fit.plot_prediction("region", at={"age": 2}))
    assert {"north", "south", "west", "With age = 2, hours = 5, member = no"} <= set(written)
    assert {"no", "yes"} <= set(texts(fit.plot_prediction("member")))


def test_a_column_that_formulas_use_moves_all_of_them():
    rows = {"age": np.linspace(0, 10, 50), "y": np.linspace(0, 10, 50) ** 2 / 10}
    columns = {"age": (0, 10), "square": {"formula": "age ** 2"}, "y": (0, 10)}
    fit = discreet.fit(exact_release(rows, discreet.Design("y", columns)))
    line = predicted_line(fit, "age", None, 0.95, obs=False)
    np.testing.assert_allclose(line.mean, np.array(line.values) ** 2 / 10, atol=1e-3)
    assert line.at == {}


def test_sets_without_ends_go_to_the_edge_with_arrows():
    fit = weak()
    line = predicted_line(fit, "age", None, 0.95, obs=False)
    assert (line.sets.kind != "interval").any()
    figure = prediction_figure(fit, line)
    (axes,) = [one for one in figure.axes if one.collections]
    edges = {float(point) for patch in axes.patches for point in patch.get_xy()[:, 1]}
    assert edges & set(axes.get_ylim())


@pytest.mark.parametrize(
    "options", [{"penalty": "lasso", "strength": 0.01}, {"penalty": "bayes"}], ids=["lasso", "bayes"]
)
def test_without_errors_there_is_a_line_alone(options):
    fit = discreet.fit(release(), **options)
    line = predicted_line(fit, "age", None, 0.95, obs=False)
    assert set(line.sets.kind) == {""}
    written = texts(prediction_figure(fit, line))
    assert "Prediction" in written
    assert any(text.startswith("No intervals:") for text in written)
    assert "sampling error" not in written
    assert [point["conf_int"] for point in line.to_dict()["points"]] == [None] * 101
    assert "north" in texts(fit.plot_prediction("region"))


def test_a_release_of_coefficients_predicts_without_a_band():
    fit = discreet.fit(release(mechanism="irls"))
    assert any(text.startswith("No intervals:") for text in texts(fit.plot_prediction("hours")))


def test_sums_without_noise_and_residuals_have_no_band():
    rows = {"x": [0.0, 1.0, 2.0], "y": [2.0, 4.0, 6.0]}
    fit = discreet.fit(exact_release(rows, discreet.Design("y", {"x": (0, 2), "y": (0, 8)})))
    figure = fit.plot_prediction("x")
    assert "NOT PRIVATE: y by x" in texts(figure)


@pytest.mark.parametrize(
    ("x", "more", "words"),
    [
        ("agee", {}, "unknown column 'agee'.*Did you mean 'age'"),
        ("income", {}, "unknown column"),
        (None, {}, "unknown column"),
        (["age"], {}, "unknown column"),
        ("age", {"at": {"age": 3}}, "which is on the horizontal axis; leave it out"),
        ("age", {"at": {"hour": 3}}, "in at; allowed: hours"),
        ("age", {"at": {"hours": 11}}, "from 0 to 10 for 'hours', got 11"),
        ("age", {"at": {"hours": "5"}}, "expected a number"),
        ("age", {"at": {"hours": float("nan")}}, "expected a number"),
        ("age", {"at": {"member": 2}}, "true or false"),
        ("age", {"at": {"region": "east"}}, "unknown level 'east' of 'region' in at"),
        ("age", {"at": {"region": 1}}, "unknown level"),
        ("age", {"at": [("hours", 3)]}, "expected a mapping from columns to values"),
        ("age", {"obs": 1}, "obs"),
        ("age", {"level": 0.4}, "level"),
        ("age", {"path": "p.gif"}, "expected a file name ending in .svg"),
    ],
)
def test_bad_arguments_are_refused_in_words(x, more, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=words):
        discreet.fit(release()).plot_prediction(x, **more)
    assert list(tmp_path.iterdir()) == []


def test_integer_levels_and_a_reference_of_0_are_held_as_they_are():
    rows = {"grade": [0, 1, 2] * 20, "x": np.linspace(0, 1, 60), "y": np.linspace(0, 1, 60)}
    design = discreet.Design("y", {"grade": {"levels": [1, 0, 2], "reference": 0}, "x": (0, 1), "y": (0, 1)})
    fit = discreet.fit(exact_release(rows, design))
    assert predicted_line(fit, "x", None, 0.95, obs=False).at == {"grade": 0}
    assert predicted_line(fit, "x", {"grade": 2}, 0.95, obs=False).at == {"grade": 2}
    with pytest.raises(SpecError, match="unknown level"):
        predicted_line(fit, "x", {"grade": True}, 0.95, obs=False)


def test_what_cannot_be_predicted_is_an_error_in_words():
    with pytest.raises(NotEstimableError, match="penalty='bayes'"):
        nothing().plot_prediction("age")
    with pytest.raises(SpecError, match="no features"):
        discreet.fit(release(), features=[]).plot_prediction("age")


def dated_fit(last=datetime.date(2024, 12, 31)):
    first = datetime.date(2023, 3, 1)
    columns = {"sales": (0, 500), "day": (first, last), "age": (0, 10)}
    days = [first + datetime.timedelta(number % ((last - first).days + 1)) for number in range(2000)]
    rng = np.random.default_rng(2)
    age = rng.uniform(0, 10, 2000)
    sales = 100 + 0.2 * np.arange(2000) % 640 + 5 * age + rng.normal(size=2000)
    release = exact_release({"sales": sales, "day": days, "age": age}, discreet.Design("sales", columns))
    return discreet.fit(release, features=["day", "age"])


@pytest.mark.parametrize("last", [datetime.date(2024, 12, 31), datetime.date(2023, 3, 20)])
def test_a_line_runs_along_the_days_of_a_date(last):
    fit = dated_fit(last)
    line = predicted_line(fit, "day", {"age": 2}, 0.95, obs=False)
    assert (line.values[0], line.values[-1]) == ("2023-03-01", last.isoformat())
    days = [datetime.date.fromisoformat(day) for day in line.values]
    np.testing.assert_array_equal(line.mean, fit.predict({"day": days, "age": [2.0] * len(days)}))
    figure = prediction_figure(fit, line)
    (axes,) = [one for one in figure.axes if one.collections]
    figure.canvas.draw()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert all(datetime.date.fromisoformat(label) for label in labels)
    assert len(set(labels)) == len(labels) > 2


@pytest.mark.parametrize("day", [datetime.date(2023, 5, 1), "2023-05-01"])
def test_a_date_is_held_in_the_middle_or_where_it_is_stated(day):
    fit = dated_fit()
    assert predicted_line(fit, "age", None, 0.95, obs=False).at == {"day": "2024-01-30"}
    assert predicted_line(fit, "age", {"day": day}, 0.95, obs=False).at == {"day": "2023-05-01"}
    assert any("day = 2023-05-01" in text for text in texts(fit.plot_prediction("age", at={"day": day})))


@pytest.mark.parametrize("day", [19_500.0, "1.5.2023", datetime.date(2022, 1, 1), None])
def test_a_date_that_is_none_or_outside_is_refused(day):
    with pytest.raises(SpecError, match="at: expected a date from 2023-03-01 to 2024-12-31 for 'day'"):
        predicted_line(dated_fit(), "age", {"day": day}, 0.95, obs=False)
