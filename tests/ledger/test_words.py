"""What people read of a budget: never more left than the filter gives."""

from __future__ import annotations

import re

import pytest

from discreet.ledger.account import largest_gaussian, left_words, spent_epsilon
from discreet.ledger.filter import AMOUNT, RULES, Charge, Terms
from discreet.ledger.ledger import typical_loss
from discreet.privacy.gaussian_dp import epsilon_from_rho, mu_from
from discreet.privacy.spend import Loss


@pytest.mark.parametrize("rule", RULES)
def test_what_is_spent_grows_to_the_budget(rule):
    terms = Terms(rule, 1.0, 1e-6)
    loss = Loss.gaussian(0.4, 2e-7, mu=mu_from(0.4, 2e-7), tau=0.0)
    one, two = Charge.of(loss), Charge.of(loss) + Charge.of(loss)
    assert 0 == spent_epsilon(terms, Charge()) < spent_epsilon(terms, one) < spent_epsilon(terms, two) <= 1.0
    if rule == "basic":
        # the budget's delta is no longer there
        assert largest_gaussian(terms, Charge()) == 1.0
        assert largest_gaussian(terms, one) == 0
    else:
        assert largest_gaussian(terms, Charge()) > largest_gaussian(terms, one) > largest_gaussian(terms, two) > 0
    assert "mu^2" in left_words(terms, one) or rule != "gdp"


@pytest.mark.parametrize("rule", ["gdp", "zcdp"])
def test_what_is_named_as_left_is_taken(rule):
    terms = Terms(rule, 3.0, 1e-6)
    spent = Charge()
    assert "one Gaussian release of epsilon = 3 at delta = 1e-06, or releases without delta" in left_words(terms, spent)
    for _ in range(4):
        spent += Charge.of(typical_loss(0.7, 1e-7))
        found = re.match(r"one Gaussian release of epsilon = ([0-9.]+) at delta = 1e-06 \(", left_words(terms, spent))
        assert found is not None
        assert terms.route(spent, 4, Charge.of(typical_loss(float(found[1]), 1e-6))) == "sums"
    assert left_words(terms, spent + Charge.of(typical_loss(3.0, 1e-6))).startswith("nothing (")


def test_pure_requests_are_told_by_their_sum():
    assert spent_epsilon(Terms("gdp", 1.0, 1e-6), Charge.of(Loss.pure(0.5))) == 0.5
    words = left_words(Terms("gdp", 1.0, 1e-6), Charge.of(Loss.pure(0.3)))
    assert words.startswith("releases without delta up to a total epsilon of 0.7, and none with delta (mu^2 0")


def test_of_a_budget_that_is_pure_or_used_up_no_gaussian_release_is_left():
    assert largest_gaussian(Terms("basic", 1.0, 0.0), Charge()) == 0
    assert largest_gaussian(Terms("gdp", 1.0, 1e-6), Charge.of(Loss.approximate(1.0, 1e-6))) == 0
    used = Charge.of(Loss.pure(1.0))
    assert largest_gaussian(Terms("gdp", 1.0, 1e-6), used) == 0
    # what was taken as it stands is told as the whole budget at most
    assert spent_epsilon(Terms("gdp", 1.0, 1e-6), Charge.of(Loss.approximate(1.0, 1e-6))) == 1.0


@pytest.mark.parametrize("pieces", [1, 3, 9])
def test_what_is_spent_is_never_told_smaller_than_the_rule_proves(pieces):
    terms = Terms("zcdp", 1.0, 1e-6)
    spent = Charge.of(Loss.gaussian(0.1, 1e-9, mu=0.01, tau=0.0))
    for _ in range(pieces):
        spent = spent + Charge.of(Loss.pure(0.07))
    # pure pieces are rho-zCDP and no sqrt(2 rho)-Gaussian DP
    assert spent_epsilon(terms, spent) >= epsilon_from_rho(spent.rho / AMOUNT, 1e-6)
    full = Charge(rho=terms.rho, pure=False)
    assert spent_epsilon(terms, full) == pytest.approx(1.0, abs=1e-9)
