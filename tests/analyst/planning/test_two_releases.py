"""Two releases of one table."""

from __future__ import annotations

import pytest

from discreet.analyst.planning.expected import both_distributions
from discreet.design.design import Design
from discreet.planning import noise_distribution_for

COLUMNS = {
    "x": (-1, 1), "b": bool, "g": ["u", "v", "w"], "hidden": {"bounds": [-1, 1], "release": False},
    "s": {"formula": "spline(hidden, 0, degree=2)"}, "y": (-2, 2),
}  # fmt: skip
DESIGN = Design("y", COLUMNS)


def test_a_mean_of_two_distributions_keeps_the_heavier_tails():
    first = noise_distribution_for(DESIGN, 1.0, 0.0, mechanism="laplace")
    second = noise_distribution_for(DESIGN, 1.0, 1e-6)
    assert both_distributions(second, second).family == "discrete-gaussian"
    for pair in ((first, second), (second, first)):
        distribution = both_distributions(*pair)
        assert distribution.family == "discrete-laplace"
        assert distribution.sd("cross") == pytest.approx((first.sd("cross") ** -2 + second.sd("cross") ** -2) ** -0.5)
