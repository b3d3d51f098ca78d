"""The picture of a promise has a line for the definition, one for the noise where more is proved, and guessing."""

from __future__ import annotations

import pytest

import discreet

DESIGN = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})


@pytest.mark.parametrize(("delta", "lines"), [(1e-6, 3), (0.0, 2)])
def test_every_line_lies_above_guessing_and_below_the_definition(delta, lines):
    axes = discreet.cost(DESIGN, epsilon=1.0, delta=delta).plot().axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines if not line.get_label().startswith("_")}
    assert len(drawn) == lines
    assert (drawn["by the definition"] > drawn["guessing"]).all()
    if "by this noise" in drawn:
        assert (drawn["by this noise"] <= drawn["by the definition"]).all()
        assert (drawn["by this noise"] > drawn["guessing"]).all()
