"""Rows that pile up at a bound."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from discreet.analyst.model import fit
from discreet.analyst.notes import notes
from discreet.design.design import Design
from discreet.releases import Coefficients
from discreet.testing.not_private import exact_release
from support.diagnosed import ROWS, found, piled, release, table


@pytest.mark.parametrize(
    ("side", "bound", "wrong", "beyond"), [(1, "upper", "low", "above"), (-1, "lower", "high", "below")]
)
def test_d016_rows_that_pile_up_at_a_bound(side: int, bound: str, wrong: str, beyond: str) -> None:
    made_release = release(piled(side))
    finding = found("D016", made_release)
    assert finding.severity == "caution"
    assert f"The mean of y is within 5% of the width of the bounds [-1, 1] from the {bound} bound" in finding.text
    assert f"If values {beyond} {side} were clipped, the {bound} bound is too {wrong}" in finding.text
    assert "The mean of x" not in finding.text
    assert found("D016", made_release, fit(made_release)) == finding
    assert finding.text in notes(fit(made_release)), "the terminal says it too"
    assert not any("bunch" in note for note in notes(fit(release())))
    assert found("D016", release()) is None


@pytest.mark.parametrize(("values", "fires"), [
    ((0.99, 0.01, -0.01), "upper"), ((-1.01, 0.0, 0.0), "lower"), ((0.99, 0.3, 0.0), None), ((0.5, 0.0, 0.0), None),
])  # fmt: skip
def test_d016_coefficients_that_say_the_bound_and_nothing_else(values: tuple[float, ...], fires: str | None) -> None:
    inside = replace(release(), mechanism="steps", totals=(), coefficients=Coefficients(values))
    finding = found("D016", inside, fit(inside))
    if fires is None:
        assert finding is None
        return
    assert (
        f"predicts a value of y beyond the {fires} bound of [-1, 1], or within 5% of the width from it" in finding.text
    )
    assert f"were clipped, the {fires} bound is too" in finding.text
    assert finding.text in notes(fit(inside))
    truth = replace(inside, design=Design("b", {"b": {"dtype": "bool"}, "x": (-1, 1), "z": (-1, 1)}))
    assert found("D016", truth) is None


def test_bounds_of_dates_are_printed_as_dates() -> None:
    days = (date(2019, 1, 1), date(2024, 12, 31))
    design = Design("y", {"y": (-1, 1), "x": {"bounds": days}, "z": (-1, 1)})
    late = table() | {"x": ["2024-12-31"] * ROWS}
    finding = found("D016", exact_release(late, design))
    assert "bounds [2019-01-01, 2024-12-31] from the upper bound" in finding.text
    assert "If values above 2024-12-31 were clipped" in finding.text
    assert "20088" not in finding.text
