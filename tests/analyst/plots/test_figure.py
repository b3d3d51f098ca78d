"""A figure is shown by notebooks, and has the size that was asked for."""

from __future__ import annotations

from discreet.analyst.plots.style import Picture, new_figure


def test_a_notebook_gets_svg():
    figure = new_figure(200, 100)
    assert isinstance(figure, Picture)
    assert figure._repr_svg_().startswith("<?xml")
    assert tuple(figure.get_size_inches() * figure.dpi) == (200, 100)
