"""The picture of a path."""

from __future__ import annotations

import discreet
from support.picture_cases import release, texts


def test_it_says_penalty_strength_and_promise_and_runs_from_strong_to_weak():
    path = discreet.path(release(), strengths=[0.1, 0.01, 0.001])
    figure = path.plot()
    written = texts(figure)
    assert "income: lasso" in written
    assert "From a release with epsilon 4, delta 1e-6" in written
    assert any(text.startswith("chosen: ") for text in written)
    assert figure.axes[0].get_xlim() == (0.1, 0.001)


def test_many_slopes_say_how_many_have_names():
    names = tuple(f"x{index}" for index in range(30))
    path = discreet.path(release(1500, 4.0, names), penalty="ridge", strengths=[1.0, 0.1])
    assert "Named: the 24 largest of 33 at the weakest penalty" in texts(path.plot())


def test_names_with_signs_of_other_languages_are_drawn_as_they_are():
    names = ("$\\frac$", "_hidden")
    path = discreet.path(release(400, names=names), strengths=[0.1, 0.01])
    assert set(names) <= set(texts(path.plot()))


def test_one_strength_and_no_choice_are_pictures_too():
    assert "strength" in texts(discreet.path(release(), strengths=[0.1]).plot())
    ssp = release(mechanism="ssp")
    assert not any(text.startswith("chosen") for text in texts(discreet.path(ssp, strengths=[0.1, 0.01]).plot()))
