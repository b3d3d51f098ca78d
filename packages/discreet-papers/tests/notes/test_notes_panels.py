"""Panels of lines."""

from __future__ import annotations

import pytest
from pandas import DataFrame

from discreet_papers.notes.notes_panels import Panel, drawn, mean_of, row


def test_a_point_is_the_mean_or_the_root_of_the_mean_of_squares():
    numbers = DataFrame([row("a", "one", 1, 4.0), row("a", "one", 1, 14.0, 1), row("b", "one", 1, 9.0)])
    picture = drawn(numbers, [Panel("a", "x", "y", squares=True), Panel("b", "x", "y", "xy")], {"one": "One"})
    first, second = (axes.lines[0].get_ydata() for axes in picture.axes)
    assert first.tolist() == [3.0]
    assert second.tolist() == [9.0]
    assert [axes.get_yscale() for axes in picture.axes] == ["linear", "log"]
    assert mean_of(numbers, "a", "one", 1) == pytest.approx(9.0)
    assert mean_of(numbers, "a", "two", 1) is None
