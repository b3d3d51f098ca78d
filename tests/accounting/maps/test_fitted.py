"""One model from one pass, forwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.fitted_models import cell_count
from discreet.curator.sums.cell_counts import Partition
from discreet.design.design import Design
from discreet.errors import SpecError
from support.loss_cases import COLUMNS, one_case


def test_cells_are_those_of_the_design():
    case = one_case("dpme", delta=0.0, bins=4)
    assert case.distribution.parameters["cells"] == Partition.of(case.design, 4).cells == cell_count(case.design, 4)
    for wrong in ({"bins": 4, "cells": 63}, {"bins": 5, "cells": 125}):
        with pytest.raises(SpecError, match="bins and cells"):
            case.loss_with(replace(case.distribution, parameters=wrong))
    assert cell_count(Design("y", COLUMNS), 3) == Partition.of(Design("y", COLUMNS), 3).cells


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"y": (0, 1), "x": (0, 1)}, {"radius": 0.5}, "the mechanism 'dpme' takes no radius"),
        ({"y": (0, 1), "x": (0, 1), "s": {"formula": "spline(x, 0.5)"}}, {}, "the mechanism 'dpme' takes no splines"),
    ],
)
def test_what_a_histogram_refuses_is_refused(columns, options, message):
    case = one_case("dpme", delta=0.0, bins=4)
    with pytest.raises(SpecError, match=message):
        replace(case, design=Design("y", columns, **options)).loss  # noqa: B018


@pytest.mark.parametrize("change", [{"strength": 10.0}, {"bound": 10.0}])
def test_a_weaker_penalty_or_a_larger_ball_breaks_the_promise_of_output(change):
    case = one_case("output")
    assert case.kept
    assert case.loss_with(case.distribution, **change).mu > 1.2 * case.loss.mu


def test_every_part_of_objective_counts():
    case = one_case("objective", loss="squared", strength=500.0)
    assert case.kept
    assert not case.kept_with_half("linear")
    assert not case.kept_with_half("coefficients")
    assert case.loss_with(case.distribution, bound=3.0).delta > 2 * case.delta
    with pytest.raises(SpecError, match="the penalty strength stated with the noise must match the setting 'strength'"):
        case.loss_with(replace(case.distribution, parameters={"strength": 5}))
    weak = one_case("objective", loss="squared")
    assert weak.loss_with(replace(weak.distribution, parameters={"strength": 5})).delta > 0.9
    assert weak.loss_with(replace(weak.distribution, sigma={"linear": 5, "coefficients": 5})).delta > 0.9
