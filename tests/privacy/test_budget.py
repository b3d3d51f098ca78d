"""Budgets in their currencies: reading, splitting, converting, notices."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy
from discreet.errors import OptionError, SpecError
from discreet.privacy import gaussian_dp as gaussian
from discreet.privacy import gaussian_dp as zcdp
from discreet.privacy.budget import REFERENCE_DELTA, PrivacyBudget, check_strength

NOT_POSITIVE = [0, 0.0, -1.0, math.nan, math.inf, -math.inf, "1", None, True, 10**400, -(10**400), 1j, [1.0]]


@pytest.mark.parametrize("bad", NOT_POSITIVE)
def test_an_epsilon_that_is_no_amount_is_refused(bad):
    with pytest.raises(SpecError, match=r"epsilon: expected a .*, got .*choose an epsilon"):
        PrivacyBudget(bad)


@pytest.mark.parametrize("bad", [-1e-9, 1.0, 2, math.nan, math.inf, "0", None, False])
def test_a_delta_that_is_no_probability_is_refused(bad):
    with pytest.raises(
        SpecError,
        match=r"delta: expected a .*, got .*choose a delta well below one over the number of rows, such as 1e-6$",
    ):
        PrivacyBudget(1.0, bad)


def test_numpy_numbers_and_integers_become_floats():
    budget = PrivacyBudget(np.float32(2), np.int64(0))
    assert type(budget.epsilon) is float
    assert type(budget.delta) is float
    assert budget == PrivacyBudget(2)


@pytest.mark.parametrize("bad", NOT_POSITIVE)
def test_other_currencies_refuse_the_same(bad):
    with pytest.raises(SpecError, match=r"rho: expected a .*number"):
        PrivacyBudget.zcdp(bad)
    with pytest.raises(SpecError, match=r"mu: expected a .*number"):
        PrivacyBudget.gdp(bad)


BUDGETS = [PrivacyBudget(1.0), PrivacyBudget(0.5, 1e-6), PrivacyBudget.zcdp(0.1), PrivacyBudget.gdp(0.3)]


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_keeps_its_currency_through_json_pickle_and_copy(budget):
    assert PrivacyBudget.from_dict(json.loads(json.dumps(budget.to_dict()))) == budget
    assert pickle.loads(pickle.dumps(budget)) == budget
    assert copy.deepcopy(budget) == budget
    assert hash(copy.copy(budget)) == hash(budget)


def test_currencies_are_told_apart():
    assert [budget.currency for budget in BUDGETS] == ["approximate", "approximate", "zcdp", "gdp"]
    assert [(budget.rho, budget.mu) for budget in BUDGETS[1:]] == [(None, None), (0.1, None), (None, 0.3)]


def test_a_budget_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PrivacyBudget(1.0).epsilon = 2.0


def test_the_pair_of_another_currency_is_the_one_it_implies():
    budget = PrivacyBudget.gdp(0.3)
    assert budget.delta == REFERENCE_DELTA == 1e-6
    assert budget.epsilon == budget.epsilon_at(1e-6) == gaussian.epsilon_from(0.3, 1e-6)
    budget = PrivacyBudget.zcdp(0.1)
    assert budget.epsilon == budget.epsilon_at(1e-6) == zcdp.epsilon_from_rho(0.1, 1e-6)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({}, "unknown budget currency None"),
        ({"currency": "euro"}, "allowed: approximate, zcdp, gdp"),
        ({"currency": "approximate", "epsilon": 1.0}, "lacks delta"),
        ({"currency": "zcdp"}, "lacks rho"),
        ({"currency": "zcdp", "rho": 1.0, "mu": 1.0}, "unknown zcdp budget field 'mu'"),
        ({"currency": "gdp", "mu": 1.0, "sigma": 1.0}, "unknown budget field 'sigma'"),
        ({"currency": "gdp", "mu": "1"}, "expected a number, got '1'"),
        (
            {"currency": "approximate", "epsilon": math.nan, "delta": 0.0},
            "epsilon: expected a finite number above 0, got nan",
        ),
        (
            {"currency": "approximate", "epsilon": 1.0, "delta": 1.0},
            "delta: expected a number of at least 0 and below 1, got 1.0",
        ),
        ([], "table of named values"),
    ],
)
def test_a_budget_is_read_strictly(mapping, message):
    with pytest.raises(SpecError, match=message):
        PrivacyBudget.from_dict(mapping)


def test_gdp_mu_of_each_currency():
    assert PrivacyBudget.gdp(0.3).gdp_mu() == 0.3
    assert PrivacyBudget(1.0, 1e-6).gdp_mu() == gaussian.mu_from(1.0, 1e-6)
    mu = PrivacyBudget.zcdp(0.1).gdp_mu()
    assert Fraction(mu) ** 2 <= 2 * Fraction(0.1) < Fraction(math.nextafter(mu, 1.0)) ** 2


def test_a_gaussian_mechanism_needs_a_delta():
    with pytest.raises(SpecError, match=r"needs delta > 0, got .*; set a delta such as 1e-6$"):
        PrivacyBudget(1.0).gdp_mu()


def test_a_pair_promises_nothing_below_its_own_delta():
    budget = PrivacyBudget(1.0, 1e-6)
    assert budget.epsilon_at(1e-6) == budget.epsilon_at(1e-3) == 1.0
    with pytest.raises(SpecError, match="expected a delta of at least the budget's own delta"):
        budget.epsilon_at(1e-7)
    with pytest.raises(SpecError, match="delta: expected a number of at least 0 and below 1, got nan"):
        budget.epsilon_at(math.nan)


shares_of_one = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=8).map(
    lambda weights: [weight / sum(weights) for weight in weights]
)


@settings(deadline=None, max_examples=50)
@given(shares_of_one)
def test_the_parts_of_a_budget_compose_to_at_most_the_whole_and_nearly_all_of_it(shares):
    pair = PrivacyBudget(1.7, 1e-6).split(*shares)
    for total, whole in (
        (sum(Fraction(part.epsilon) for part in pair), 1.7),
        (sum(Fraction(part.delta) for part in pair), 1e-6),
        (sum(Fraction(part.rho) for part in PrivacyBudget.zcdp(0.3).split(*shares)), 0.3),
    ):
        assert Fraction(whole) * (1 - Fraction(1, 10**14)) < total <= Fraction(whole)
    parts = PrivacyBudget.gdp(0.7).split(*shares)
    assert 0.7 * (1 - 1e-14) < gaussian.compose_mu(*(part.mu for part in parts)) <= 0.7


def test_ten_tenths_are_a_whole_although_their_floats_exceed_it():
    parts = PrivacyBudget(1.0, 1e-6).split(*[0.1] * 10)
    assert sum(Fraction(0.1) for _ in range(10)) > 1
    assert sum(Fraction(part.epsilon) for part in parts) <= 1


def test_a_split_may_leave_something_over():
    assert PrivacyBudget(1.0).split(0.25) == (PrivacyBudget(0.25),)


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.0, 1e-12), (1.0 + 1e-14,)])
def test_more_than_the_whole_is_refused(shares):
    with pytest.raises(SpecError, match="expected shares with a sum of at most 1, got shares that sum to 1"):
        PrivacyBudget(1.0).split(*shares)


@pytest.mark.parametrize("bad", [0.0, -0.5, math.nan, "0.5", True])
def test_a_share_is_a_positive_number(bad):
    with pytest.raises(SpecError, match=r"share: expected a .*number"):
        PrivacyBudget(1.0).split(0.5, bad)


def test_a_split_needs_shares():
    with pytest.raises(SpecError, match="needs at least one share, got none"):
        PrivacyBudget(1.0).split()


@pytest.mark.parametrize(
    "budget", [PrivacyBudget(8.0, 1e-5), PrivacyBudget.gdp(1.0), PrivacyBudget.zcdp(0.5), PrivacyBudget(0.1)]
)
def test_an_ordinary_budget_has_no_notice(budget):
    assert check_strength(budget, allow_weak_privacy=False) == ()


@pytest.mark.parametrize("budget", [PrivacyBudget(8.1, 1e-6), PrivacyBudget.gdp(1.6), PrivacyBudget.zcdp(1.2)])
def test_a_weak_epsilon_has_one_loud_notice(budget):
    (notice,) = check_strength(budget, allow_weak_privacy=False)
    assert notice.startswith("WEAK PRIVACY: epsilon = 8.")


def test_the_notice_counts_the_odds():
    (notice,) = check_strength(PrivacyBudget(10.0, 1e-6), allow_weak_privacy=False)
    assert "22,026" in notice


def test_a_large_delta_has_a_notice():
    (notice,) = check_strength(PrivacyBudget(1.0, 1e-4), allow_weak_privacy=False)
    assert notice.startswith("delta = 0.0001 is large")


@pytest.mark.parametrize(
    "budget", [PrivacyBudget(20.1), PrivacyBudget(1e6), PrivacyBudget(1.0, 2e-3), PrivacyBudget.gdp(4.0)]
)
def test_next_to_no_privacy_needs_consent(budget):
    with pytest.raises(OptionError, match=r"if that is intended, pass allow_weak_privacy=True$") as caught:
        check_strength(budget, allow_weak_privacy=False)
    assert (caught.value.code, caught.value.option in ("epsilon", "delta")) == ("weak-privacy", True)
    assert len(check_strength(budget, allow_weak_privacy=True)) == 1


def test_twenty_is_still_accepted():
    (notice,) = check_strength(PrivacyBudget(20.0), allow_weak_privacy=False)
    assert "e^20" in notice


def test_the_room_costs_no_heavy_import():
    rooms = sorted(path.stem for path in Path(privacy.__file__).parent.glob("[a-z]*.py"))
    assert len(rooms) >= 5
    code = f"""
import sys
from discreet.privacy import {", ".join(rooms)}
print({{"numpy", "scipy", "dp_accounting"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
