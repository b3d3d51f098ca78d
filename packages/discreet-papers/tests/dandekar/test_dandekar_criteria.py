"""Criteria judge what there is when some numbers are missing; `test_dandekar_figures.py` has both verdicts."""

from __future__ import annotations

import numpy as np
from pandas import Series

from discreet_papers.dandekar import dandekar_criteria
from discreet_papers.dandekar.dandekar_experiment import WRITTEN
from support.dandekar_numbers import HIGH, claimed_numbers


def test_a_regression_that_is_refused_at_the_largest_budget_approaches_nothing() -> None:
    numbers = claimed_numbers()
    mask = (numbers["line"] == WRITTEN) & (numbers["regression"] == "LASSO") & (numbers["epsilon"] == HIGH)
    numbers.loc[mask, "value"] = np.nan
    outcome = dandekar_criteria.approaches(numbers)
    assert outcome.holds is False
    assert "inf" in outcome.measured
    assert "LASSO" in outcome.measured


def test_the_largest_ratio_is_named_with_its_place() -> None:
    ratios = Series({("a", 0.1): 0.5, ("b", 1.0): 2.0, ("c", 1.0): np.nan})
    assert dandekar_criteria.largest_of(ratios, 2.0, "ratio").holds is True
    found = dandekar_criteria.largest_of(ratios, 1.9, "ratio")
    assert (found.holds, found.measured) == (False, "largest ratio 2 (b, 1)")


def test_lines_are_picked_with_their_penalty_and_without_refused_runs() -> None:
    numbers = claimed_numbers()
    assert len(dandekar_criteria.lines_of(numbers, WRITTEN, ["ridge"])) == 40
    assert len(dandekar_criteria.lines_of(numbers, WRITTEN, ["ridge"], "cv")) == 20
    numbers.loc[numbers["repeat"] == 0, "value"] = np.nan
    assert len(dandekar_criteria.lines_of(numbers, WRITTEN, ["ridge"], "cv")) == 18
