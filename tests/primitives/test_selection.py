"""Noisy max and the exponential mechanism: exact probabilities on neighbours, and the noise that is too small."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DataError, SpecError
from discreet.primitives import selection as module
from discreet.primitives.selection import exponential_mechanism, report_noisy_max

# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9


def win_probabilities(scores: list[int], scale: float) -> np.ndarray:
    """P(index) of the largest score plus discrete Laplace noise, ties to the first, by summing over integers."""
    sensitivity = int(60 * scale + max(scores) - min(scores)) + 2
    values = np.arange(min(scores) - sensitivity, max(scores) + sensitivity + 1)
    r = math.exp(-1 / scale)
    out = []
    for i, own in enumerate(scores):
        p = r ** np.abs(values - own) * (1 - r) / (1 + r)
        for j, other in enumerate(scores):
            if j == i:
                continue
            # the first wins ties: those before must be smaller, those behind at most equal
            top = values - other - (1 if j < i else 0)
            below = np.where(top >= 0, 1 - r ** (np.abs(top) + 1.0) / (1 + r), r ** np.abs(top) / (1 + r))
            p = p * below
        out.append(p.sum())
    return np.array(out)


def loss(one: list[int], other: list[int], scale: float) -> float:
    return float(np.abs(np.log(win_probabilities(one, scale) / win_probabilities(other, scale))).max())


def test_the_probabilities_sum_to_one_and_match_the_draws():
    scores, epsilon = [0, 5, 3], 0.5
    exact = win_probabilities(scores, 2 / epsilon)
    assert exact.sum() == pytest.approx(1, abs=1e-12)
    won = Counter(report_noisy_max(scores, 1, epsilon, step=1).index for _ in range(2000))
    observed = [won[i] for i in range(3)]
    assert stats.chisquare(observed, exact * 2000).pvalue > FALSE_ALARM
    wrong = win_probabilities(scores, 1 / epsilon)
    assert stats.chisquare(observed, wrong * 2000).pvalue < FALSE_ALARM
    # the fine grid has hardly any ties and hardly another distribution
    fine = Counter(report_noisy_max([0, 0], 1, epsilon).index for _ in range(1000))
    assert stats.binomtest(fine[0], 1000, 0.5).pvalue > FALSE_ALARM


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("monotone", [True, False])
def test_no_pair_of_neighbours_loses_more_than_epsilon_and_some_come_near(epsilon, monotone):
    draws = random.Random(17)
    scale = report_noisy_max([0], 1, epsilon, monotone=monotone, step=1).scale
    worst = 0.0
    for _ in range(150):
        scores = [draws.randint(0, 12) for _ in range(draws.randint(2, 4))]
        moves = [0, 1] if monotone else [-1, 0, 1]
        other = [score + draws.choice(moves) for score in scores]
        worst = max(worst, loss(scores, other, scale))
    gap = int(200 / epsilon)
    far = loss([0, gap], [0, gap + 1] if monotone else [-1, gap + 1], scale)
    assert max(worst, far) <= epsilon * (1 + 1e-9)
    assert far >= 0.95 * epsilon


def test_small_noise_is_right_for_counts_under_add_remove_and_twice_too_small_under_replace():
    """Erratum: the notes add Lap(1/epsilon) whatever the neighbours."""
    epsilon, gap = 1.0, 200
    scale = report_noisy_max([0], 1, epsilon, monotone=True, step=1).scale
    assert scale == 1.0
    assert 0.99 * epsilon <= loss([0, gap], [0, gap + 1], scale) <= epsilon
    # a person leaves one count and enters the other
    assert 1.98 * epsilon <= loss([1, gap], [0, gap + 1], scale) <= 2 * epsilon


def test_scores_on_ties_of_the_grid_are_charged_what_they_move():
    assert report_noisy_max([0.5], 0.5, 1.0, step=1).scale == 2.0
    assert report_noisy_max([0.5], 2.5, 1.0, step=1, monotone=True).scale == 3.0


def test_only_the_index_is_released():
    noisy = report_noisy_max([12, 7777, 40], 1, 1.0, monotone=True, neighbours="add-remove")
    assert noisy.index == 1
    assert "7777" not in repr(noisy)
    assert "every neighbour moves all scores the same way" in noisy.guarantee.conditions


@pytest.fixture
def exponents(monkeypatch):
    """The exact distribution of the exponential mechanism: what each candidate is accepted with."""

    def distribution(utilities, *arguments, **settings) -> list[Fraction]:
        found = []
        every = iter(range(len(utilities)))
        # each candidate is proposed once, and only the last is accepted
        monkeypatch.setattr(module, "below", lambda limit: next(every))
        monkeypatch.setattr(module, "bernoulli_exp", lambda e: found.append(e) or len(found) == len(utilities))
        exponential_mechanism(range(len(utilities)), utilities, *arguments, **settings)
        return found

    return distribution


def log_distribution(exponents: list[Fraction]) -> np.ndarray:
    powers = -np.array([float(e) for e in exponents])
    return powers - np.log(np.exp(powers).sum())


@pytest.mark.parametrize("monotone", [True, False])
def test_the_exponential_mechanism_keeps_epsilon_on_neighbours_and_comes_near_it(exponents, monotone):
    draws, epsilon, sensitivity = random.Random(23), 1.0, 0.5
    for _ in range(300):
        utilities = [draws.uniform(-3, 3) for _ in range(draws.randint(1, 6))]
        low = 0 if monotone else -sensitivity
        other = [u + draws.choice([low, draws.uniform(low, sensitivity), sensitivity]) for u in utilities]
        distributions = [
            log_distribution(exponents(u, sensitivity, epsilon, monotone=monotone)) for u in (utilities, other)
        ]
        assert np.abs(distributions[0] - distributions[1]).max() <= epsilon * (1 + 1e-12)
    many = 2000
    one = [0.0] * many
    other = [sensitivity] + [0.0 if monotone else -sensitivity] * (many - 1)
    distributions = [log_distribution(exponents(u, sensitivity, epsilon, monotone=monotone)) for u in (one, other)]
    assert 0.99 * epsilon <= np.abs(distributions[0] - distributions[1]).max() <= epsilon


def test_without_the_two_utilities_that_move_both_ways_lose_twice_epsilon(exponents):
    epsilon, many = 1.0, 2000
    distributions = [
        log_distribution(exponents(u, 1, epsilon, monotone=True)) for u in ([0] * many, [1] + [-1] * (many - 1))
    ]
    assert np.abs(distributions[0] - distributions[1]).max() >= 1.99 * epsilon


def test_where_the_normaliser_does_not_move_the_two_is_wasted(exponents):
    """Erratum: absolute error on a long line is the Laplace mechanism with half of its epsilon unused."""
    indices = range(-400, 401)
    distributions = [log_distribution(exponents([-abs(a - t) for t in indices], 1, 1.0)) for a in (0, 1)]
    assert np.abs(distributions[0] - distributions[1]).max() == pytest.approx(0.5, abs=1e-9)
    distributions = [log_distribution(exponents([-abs(a - t) for t in indices], 1, 1.0, monotone=True)) for a in (0, 1)]
    assert np.abs(distributions[0] - distributions[1]).max() == pytest.approx(1.0, abs=1e-9)


def test_draws_of_the_exponential_mechanism_have_the_stated_distribution():
    utilities, epsilon = [0, 1.5, 2, -1], 1.0
    powers = np.exp(np.array(utilities) * epsilon / 2)
    chosen = Counter(exponential_mechanism(list("abcd"), utilities, 1, epsilon).candidate for _ in range(4000))
    observed = [chosen[name] for name in "abcd"]
    assert stats.chisquare(observed, powers / powers.sum() * 4000).pvalue > FALSE_ALARM
    wrong = np.exp(np.array(utilities) * epsilon)
    assert stats.chisquare(observed, wrong / wrong.sum() * 4000).pvalue < FALSE_ALARM


@pytest.mark.parametrize(("function", "extra"), [(report_noisy_max, ()), (exponential_mechanism, (["a"],))])
def test_bad_arguments_are_refused(function, extra):
    for sensitivity, epsilon in itertools.product([0, -1, "x", math.inf], [1.0]):
        with pytest.raises(SpecError, match="sensitivity"):
            function(*extra, [1], sensitivity, epsilon)
    with pytest.raises(SpecError, match="epsilon"):
        function(*extra, [1], 1, 0)
    for monotone in ("no", 1, None, np.zeros(2)):
        with pytest.raises(SpecError, match="True or False"):
            function(*extra, [1], 1, 1.0, monotone=monotone)
    with pytest.raises(SpecError, match="neighbours"):
        function(*extra, [1], 1, 1, neighbours="swap")
    with pytest.raises(SpecError, match="must have at least one entry, got none"):
        function(*extra, [], 1, 1)
    with pytest.raises(DataError) as refused:
        function(*extra, ["7777"], 1, 1)
    assert "7777" not in str(refused.value)


def test_candidates_and_utilities_must_match():
    with pytest.raises(SpecError, match="expected 1 utilities, one for each candidate, got 2"):
        exponential_mechanism(["a"], [1, 2], 1, 1)
    with pytest.raises(DataError, match="must be a list or a one-dimensional array"):
        report_noisy_max(3, 1, 1)


def test_scores_that_move_one_way_are_not_taken_for_granted_under_replace():
    """The mistake of the class notes: one count falls while another rises."""
    with pytest.raises(SpecError, match="one score can fall while another rises; leave monotone out"):
        report_noisy_max([12, 900, 31], 1, 1.0, monotone=True, neighbours="replace")
    with pytest.raises(SpecError, match="one score can fall while another rises; leave monotone out"):
        exponential_mechanism(["a", "b"], [1, 2], 1, 1.0, monotone=True, neighbours="replace")


def test_a_utility_function_is_the_list_of_its_values(monkeypatch):
    rates = []
    monkeypatch.setattr(module, "bernoulli_exp", lambda x: rates.append(x) or True)
    ages = [3, 4, 9]

    def distance(data, candidate):
        return -abs(candidate - sum(data) / len(data))

    for utilities, data in ((distance, ages), (lambda age: distance(ages, age), None)):
        monkeypatch.setattr(module, "below", lambda how_many: 0)
        chosen = exponential_mechanism([1, 5, 7], utilities, 2, 1.0, data=data)
        assert (chosen.value, chosen.index) == (1, 0)
    exponential_mechanism([1, 5, 7], [distance(ages, age) for age in (1, 5, 7)], 2, 1.0)
    assert rates[0] == rates[1] == rates[2] > 0


def test_a_utility_function_that_fails_says_nothing_of_the_data():
    secret = 424_242

    def broken(data, candidate):
        raise ValueError(f"saw {data}")

    spent = []
    with pytest.raises(DataError, match="raised an error") as raised:
        exponential_mechanism([1, 2], broken, 1, 1.0, data=secret, spend=spent.append)
    assert str(secret) not in str(raised.value)
    assert raised.value.__context__ is None
    assert not spent
    with pytest.raises(DataError, match="finite number"):
        exponential_mechanism([1, 2], lambda candidate: math.nan, 1, 1.0)
    with pytest.raises(SpecError, match="not a function"):
        exponential_mechanism([1, 2], [1, 2], 1, 1.0, data=[1])

    def stopped(candidate):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exponential_mechanism([1, 2], stopped, 1, 1.0)
