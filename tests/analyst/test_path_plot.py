"""The picture of a path."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import SpecError


def test_names_with_signs_of_other_languages_are_drawn_as_they_are(tmp_path):
    from discreet.analyst.path_plot import path_figure, save_figure

    names = ["$\\frac$", "_hidden", "plain"]
    figure = path_figure(np.array([1.0, 0.1]), np.zeros((3, 2)), names, 0, "$\\broken$ on x")
    save_figure(figure, tmp_path / "p.svg", force=False)
    labels = [text.get_text().strip() for text in figure.axes[0].get_legend().get_texts()]
    assert labels[:3] == names


@pytest.mark.parametrize("given", [5, b"x.png", ["x.png"]])
def test_what_is_no_path_is_refused(given):
    from discreet.analyst.path_plot import save_figure

    with pytest.raises(SpecError, match="expected a path such as"):
        save_figure(None, given, force=False)
