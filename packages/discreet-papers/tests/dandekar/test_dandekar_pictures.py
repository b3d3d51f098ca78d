"""The pictures: a panel for each table and kind, stand-ins named, true epsilon in the legend."""

from __future__ import annotations

import pytest
from pandas import DataFrame

from discreet_papers.dandekar.dandekar_figures import FIGURES, comparison
from discreet_papers.figure import Figure, Run
from support.dandekar_numbers import PANEL, claimed_numbers

PANELS = {"dandekar-1": 2, "dandekar-2": 6, "dandekar-3": 6, "dandekar-4": 2, "dandekar-5": 3}


@pytest.mark.no_cover
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_picture_names_its_stand_in_and_the_true_epsilon(figure: Figure) -> None:
    picture = figure.draw(claimed_numbers(), Run())
    shown = [axes for axes in picture.axes if axes.get_title()]
    assert len(shown) == PANELS[figure.name]
    assert all(axes.get_title().startswith(PANEL) for axes in shown)
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in shown)
    words = [text.get_text() for one in picture.legends for text in one.get_texts()]
    words.append(picture.get_suptitle())
    assert any("true ε" in word for word in words)
    assert any("discreet" in word for word in words) or any("discreet" in axes.get_title() for axes in shown)


def test_a_figure_without_wine_says_so() -> None:
    picture = comparison(DataFrame(), Run())
    assert picture.axes[0].get_title() == "white wine: not run"


def test_two_tables_have_their_own_panels() -> None:
    one = claimed_numbers()
    other = one.assign(panel="white wine")
    both = DataFrame([*one.to_dict("records"), *other.to_dict("records")])
    for figure in (FIGURES[0], FIGURES[4]):
        titles = [axes.get_title() for axes in figure.draw(both, Run()).axes if axes.get_title()]
        assert len(titles) == len(set(titles)) == 2 * PANELS[figure.name]
