"""Wishart noise: the fewest degrees of freedom, and very weak promises."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

import discreet
from discreet.accounting.chi_square import added_delta, exchanged_delta, present_delta
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.registry import chosen_mechanism
from discreet.mechanisms.wishart import Scales
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget


@pytest.mark.parametrize("epsilon", [30.5, 100.0, 1e6])
def test_under_replace_a_weak_promise_is_served_by_that_of_30_at_once(epsilon):
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": "replace"})
    distributions = [
        chosen_mechanism(design, PrivacyBudget(one, 1e-6), ReleaseOptions(mechanism="wishart"))[2]
        for one in (30, epsilon)
    ]
    assert distributions[0] == distributions[1]


def test_where_the_distribution_function_is_1_to_all_digits_a_rest_is_still_charged():
    assert present_delta(400, Fraction(300), Fraction(149)) >= Decimal("1e-100")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
def test_the_fewest_degrees_keep_the_budget_and_one_less_does_not(neighbours, epsilon):
    design = Design("y", {**{f"x{j}": (-1, 1) for j in range(3)}, "y": (-1, 1)}, unit={"neighbours": neighbours})
    domain, budget = RowDomain.of(design), PrivacyBudget(epsilon, 1e-6)
    distribution = chosen_mechanism(design, budget, ReleaseOptions(mechanism="wishart", settings={"fewest": True}))[2]
    shift, exact = Scales.of(distribution).shift(domain), Fraction(epsilon)
    assert float(shift) == pytest.approx(1, rel=1e-3)

    def least_delta(degrees):
        nu = degrees - 4
        if neighbours == "add-remove":
            return added_delta(nu, shift, exact)
        return min(exchanged_delta(nu, shift, exact, exact * Fraction(part, 50)) for part in range(1, 50))

    # the split of epsilon is searched on another grid here, so that two degrees are allowed for under replace
    assert least_delta(distribution.parameters["degrees"]) <= budget.delta * (1 + 1e-2)
    assert least_delta(distribution.parameters["degrees"] - (1 if neighbours == "add-remove" else 2)) > budget.delta
    assert distribution.sd("cross") > chosen_mechanism(design, budget, ReleaseOptions(mechanism="wishart"))[2].sd(
        "cross"
    )


def test_a_budget_that_needs_more_degrees_than_allowed_is_refused():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match=r"more degrees than the setting 'degrees' allows \(20\)"):
        discreet.release(
            "no such file.csv", design, epsilon=0.1, delta=1e-6, mechanism="wishart",
            settings={"fewest": True, "degrees": 20},
        )  # fmt: skip
