"""The coins, the lattice noise and the error figures that every primitive stands on."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.mechanisms import sampler as chance


class _UndecidedError(Exception):
    def __init__(self, odds: Fraction) -> None:
        self.odds = odds


def chance_of_true(run, depth: int) -> tuple[Fraction, Fraction]:
    """Exact probability that `run(coin)` is true, by all outcomes of up to `depth` coins; and what is left open."""
    true, left = Fraction(0), Fraction(0)
    open_paths = [((), Fraction(1))]
    while open_paths:
        path, weight = open_paths.pop()
        tosses = iter(path)

        def coin(odds: Fraction, tosses=tosses) -> bool:
            for toss in tosses:
                return toss
            raise _UndecidedError(odds)

        try:
            true += weight * run(coin)
        except _UndecidedError as undecided:
            if len(path) == depth:
                left += weight
                continue
            for toss, odds in ((True, undecided.odds), (False, 1 - undecided.odds)):
                if odds:
                    open_paths.append(((*path, toss), weight * odds))
    return true, left


def test_a_coin_is_true_for_exactly_its_share_of_the_uniform_numbers(monkeypatch):
    for odds in (Fraction(0), Fraction(1), Fraction(3, 7), Fraction(0.1)):
        if odds.denominator > 1000:
            # the two numbers on either side of the border
            outcomes = {odds.numerator - 1: True, odds.numerator: False}
        else:
            outcomes = {number: number < odds.numerator for number in range(odds.denominator)}
        for number, expected in outcomes.items():
            asked = []
            monkeypatch.setattr(
                chance, "below", lambda limit, number=number, asked=asked: asked.append(limit) or number
            )
            assert chance.bernoulli(odds) == expected
            assert asked == [odds.denominator]


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(5)])
def test_the_exponential_coin_has_exactly_its_probability(exponent):
    true, left = chance_of_true(lambda coin: chance.bernoulli_exp(exponent, coin=coin), depth=26)
    assert left < Fraction(1, 10**7)
    # the exact probability lies between what is decided and what could still be
    assert float(true) - 1e-15 <= math.exp(-exponent) <= float(true + left) + 1e-15
    if exponent:
        assert not float(true) <= math.exp(-exponent * 1.001) <= float(true + left)
