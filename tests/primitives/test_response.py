"""Randomised response: its exact distribution, its loss on every pair of neighbours, and what can be read off it."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DataError, PrivacyNotice, SpecError
from discreet.primitives import response as module
from discreet.primitives.response import (
    NotEstimable,
    Responses,
    randomised_response,
    response_epsilon,
    truth_probability,
)

# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9
QS = [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(0.9), Fraction(99, 100)]


def outcomes(answers, q, monkeypatch) -> dict[tuple[bool, ...], Fraction]:
    """Exact distribution of what is said, by walking every toss of the public function."""
    distribution: dict[tuple[bool, ...], Fraction] = {}
    for path in itertools.product([True, False], repeat=2 * len(answers)):
        tosses, weight = iter(path), Fraction(1)

        def coin(odds: Fraction, tosses=tosses) -> bool:
            nonlocal weight
            toss = next(tosses)
            weight *= odds if toss else 1 - odds
            return toss

        monkeypatch.setattr(module, "bernoulli", coin)
        said = randomised_response(answers, q=q).values
        # tosses that this path did not need stand for two equal paths each
        unused = len(list(tosses))
        distribution[said] = distribution.get(said, Fraction(0)) + weight / 2**unused
    return distribution


@pytest.mark.parametrize("q", QS)
def test_the_loss_on_all_neighbours_is_epsilon_exactly(q, monkeypatch):
    epsilon = response_epsilon(q)
    worst = Fraction(1)
    for answers in itertools.product([True, False], repeat=2):
        distribution = outcomes(answers, q, monkeypatch)
        assert sum(distribution.values()) == 1
        for person in range(2):
            neighbour = tuple(not a if k == person else a for k, a in enumerate(answers))
            other = outcomes(neighbour, q, monkeypatch)
            worst = max(worst, *(distribution[said] / other[said] for said in distribution))
    assert worst == (1 + q) / (1 - q)
    assert Fraction(epsilon) >= Fraction(_log(worst))
    # teeth: a millionth less would be a false promise
    assert q == 0 or epsilon * (1 - 1e-6) < _log(worst)


def _log(ratio: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, math.log(3), 1.0, 5.0, 30.0])
def test_q_from_epsilon_is_the_largest_double_that_keeps_it(epsilon):
    q = truth_probability(epsilon)
    assert _log((1 + q) / (1 - q)) <= Decimal(epsilon)
    more = Fraction(math.nextafter(float(q), 1.0))
    assert more == 1 or _log((1 + more) / (1 - more)) > Decimal(epsilon)


def test_a_huge_epsilon_still_leaves_a_coin():
    with pytest.warns(PrivacyNotice, match="WEAK PRIVACY"):
        asked = randomised_response([True], epsilon=1000.0, allow_weak_privacy=True)
    assert asked.q < 1
    assert asked.guarantee.epsilon == 1000.0


def test_drawn_responses_have_the_stated_distribution_and_a_wrong_q_is_rejected():
    said = sum(randomised_response([True] * 30_000, q=Fraction(1, 3)).values)
    assert stats.binomtest(said, 30_000, 2 / 3).pvalue > FALSE_ALARM
    assert stats.binomtest(said, 30_000, 0.63).pvalue < FALSE_ALARM
    assert stats.binomtest(sum(randomised_response([0] * 30_000, q=0.5).values), 30_000, 0.25).pvalue > FALSE_ALARM


def covers(n: int, q: Fraction, target: float) -> np.ndarray:
    """For each number of said yes, whether the public interval holds the target."""
    empty = randomised_response([True], q=q).guarantee
    intervals = [Responses((True,) * k + (False,) * (n - k), q, empty).estimate().interval for k in range(n + 1)]
    return np.array([low <= target <= high for low, high in intervals])


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_the_interval_covers_with_its_level_computed_not_sampled(q, share):
    n = 60
    said_yes = (1 - float(q)) / 2 + float(q) * share
    covered = covers(n, q, share)
    assert float(stats.binom.pmf(np.arange(n + 1), n, said_yes)[covered].sum()) >= 0.95
    # a table whose share of yes is fixed spreads less than a drawn one
    yes = round(n * share)
    distribution = np.convolve(
        stats.binom.pmf(np.arange(yes + 1), yes, (1 + float(q)) / 2),
        stats.binom.pmf(np.arange(n - yes + 1), n - yes, (1 - float(q)) / 2),
    )
    assert float(distribution[covered].sum()) >= 0.95


def test_coverage_has_teeth_and_the_estimate_is_unbiased():
    n, q, share = 60, Fraction(1, 2), 0.3
    said_yes = 0.25 + 0.5 * share
    distribution = stats.binom.pmf(np.arange(n + 1), n, said_yes)
    guarantee = randomised_response([True], q=q).guarantee
    estimates = [Responses((True,) * k + (False,) * (n - k), q, guarantee).estimate() for k in range(n + 1)]
    assert sum(p * e.unbiased for p, e in zip(distribution, estimates, strict=True)) == pytest.approx(share, abs=1e-12)
    # an interval for the share of said yes, used as if q were 1, misses the truth
    naive = [stats.binomtest(k, n).proportion_ci().low <= share <= stats.binomtest(k, n).proportion_ci().high
             for k in range(n + 1)]  # fmt: skip
    assert distribution[np.array(naive)].sum() < 0.75
    assert all(0 <= e.value <= 1 and 0 <= e.interval[0] <= e.interval[1] <= 1 for e in estimates)
    middle = estimates[24]
    assert middle.standard_error == pytest.approx(math.sqrt(0.4 * 0.6 / n) / 0.5)
    assert estimates[0].unbiased < 0 == estimates[0].value


def test_coins_alone_are_not_estimable():
    assert isinstance(randomised_response([True, False], q=0).estimate(), NotEstimable)
    assert randomised_response([True, False], q=0).guarantee.epsilon == 0


def test_plausible_deniability_is_bayes_rule():
    asked = randomised_response([True], q=0.5)
    r = 0.1
    assert asked.posterior(r) == pytest.approx(0.75 * r / (0.75 * r + 0.25 * (1 - r)), rel=1e-12)
    assert asked.posterior(r) <= 3 * r
    assert asked.posterior(r, response=False) == pytest.approx(0.25 * r / (0.25 * r + 0.75 * (1 - r)), rel=1e-12)
    assert asked.posterior(0) == 0
    assert asked.posterior(1) == 1
    with pytest.raises(SpecError, match="prior"):
        asked.posterior(1.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"q": 0.5, "epsilon": 1.0}, "exactly one"),
        ({"q": 1}, "below 1"),
        ({"q": -0.1}, "at least 0 and below 1"),
        ({"q": math.nan}, "at least 0 and below 1"),
        ({"q": 1e-12}, "0, or a number of at least 1e-09"),
        ({"q": True}, "expected a number"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        randomised_response([True], **arguments)


def test_bad_answers_are_refused_without_their_values():
    for answers in ([True, 7777], [0.5], "yes", 3, ["7777"]):
        with pytest.raises(DataError) as refused:
            randomised_response(answers, q=0.5)
        assert "7777" not in str(refused.value)
    with pytest.raises(SpecError, match="must have at least one entry, got none"):
        randomised_response([], q=0.5)
    assert len(randomised_response(np.array([True, False]), q=0.5).values) == 2
    for answers in (np.ones((2, 2), dtype=bool), np.array(True), {True}, np.ma.array([True, False], mask=[0, 1])):
        with pytest.raises(DataError, match=r"one-dimensional array|mask"):
            randomised_response(answers, q=0.5)
    with pytest.raises(SpecError, match="expected True or False for response, got 'no'"):
        randomised_response([True], q=0.5).posterior(0.1, response="no")
    with pytest.raises(SpecError, match="level"):
        randomised_response([True], q=0.5).estimate(level=95)
