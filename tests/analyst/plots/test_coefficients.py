"""The picture of a fit says what it shows and what it was made from."""

from __future__ import annotations

import sys

import pytest

import discreet
from discreet.analyst.plots import coefficient_plots as coefficients
from discreet.analyst.plots import coefficient_plots as forest
from discreet.errors import OutputError, SpecError
from support.picture_cases import nothing, release, texts, weak


def test_title_level_key_and_promise_are_written():
    figure = discreet.fit(release()).plot(level=0.9)
    written = texts(figure)
    assert "income" in written
    assert "Change over the declared range of each column, with 90% confidence sets" in written
    assert {"estimate", "sampling error", "added by privacy noise"} <= set(written)
    assert any(text.startswith("From a release with epsilon 4, delta 1e-6") for text in written)
    assert figure.axes[0].get_legend() is None


def test_a_release_that_is_not_private_says_so():
    written = texts(discreet.fit(release(mechanism="irls")).plot())
    assert "NOT PRIVATE: income" in written
    assert "NOT PRIVATE: this release carries no privacy guarantee" in written


def test_the_scale_of_units_shows_every_coefficient():
    fit = discreet.fit(release())
    written = texts(fit.plot(scale="unit"))
    assert set(fit.names) <= set(written)
    assert "Coefficients in the units of their columns, with 95% confidence sets" in written


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"penalty": "lasso", "strength": 0.01},
            "No intervals: an L1 penalty has no intervals; fit with the penalty 'none'",
        ),
        ({"penalty": "bayes"}, "No intervals: a posterior mean has no intervals"),
        ({"penalty": "ridge", "strength": 0.1}, "(penalised), with 95% confidence sets"),
    ],
    ids=["lasso", "bayes", "ridge"],
)
def test_a_penalised_fit_says_what_it_has(options, words):
    written = texts(discreet.fit(release(), **options).plot())
    assert words in " ".join(written)
    assert ("sampling error" in written) == (options["penalty"] == "ridge")


def test_intervals_for_the_table_alone_are_called_so():
    written = texts(discreet.fit(release(mechanism="output")).plot())
    assert any("95% intervals for this table" in text for text in written)
    assert "sampling error" not in written
    assert any(text.startswith("No other intervals:") for text in written)


def test_unbounded_sets_are_drawn_and_named():
    assert "any value" in texts(weak().plot()) or any(text.startswith("not between") for text in texts(weak().plot()))
    assert texts(nothing().plot()).count("any value") == 5


def test_of_many_coefficients_the_largest_are_drawn(monkeypatch):
    for module in (forest, coefficients):
        monkeypatch.setattr(module, "MOST_LINES", 2)
    fit = discreet.fit(release())
    written = texts(fit.plot())
    assert "The 2 largest of 5 are shown" in written
    assert [text for text in written if text in fit.names] == ["age", "hours"]


def test_names_are_names_and_not_formulas():
    names = ("$\\frac$", "_hidden<b>&")
    written = texts(discreet.fit(release(400, names=names)).plot())
    assert {"$\\frac$", "_hidden&lt;b&gt;&amp;"} <= set(written)


def test_bad_arguments_are_refused_before_anything_is_written(tmp_path):
    fit = discreet.fit(release())
    for arguments, error, words in (
        ({"level": 95}, SpecError, "level"),
        ({"scale": "units"}, SpecError, "Did you mean 'unit'"),
        ({"path": tmp_path / "p.docx"}, SpecError, "expected a file name ending in .svg"),
        ({"path": tmp_path / "none" / "p.svg"}, OutputError, "does not exist"),
    ):
        with pytest.raises(error, match=words):
            fit.plot(**arguments)
    with pytest.raises(SpecError, match="no slope to plot"):
        discreet.fit(release(), features=[]).plot()
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpecError, match=r"coefficients needs 'matplotlib'.*discreet\[plots\]"):
        discreet.fit(release()).plot()
