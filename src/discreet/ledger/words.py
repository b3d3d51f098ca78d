"""What is spent and what is left, as people read it."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Final

from discreet.exact.rounding import root_up, up
from discreet.ledger.chain import MergedAnchor
from discreet.ledger.filter import Charge, Terms
from discreet.ledger.units import AMOUNT, CHANCE
from discreet.privacy.gaussian import MU_LOWEST, epsilon_from
from discreet.privacy.zcdp import epsilon_from_rho

_NAMES: Final = {"mu2": "mu^2", "rho": "rho", "epsilon": "epsilon", "delta": "delta"}
_DIGITS: Final = 3


def steps_of(name: str) -> int:
    """How many steps one of these amounts has to the unit.

    >>> steps_of("delta") == CHANCE
    True
    """
    return CHANCE if name == "delta" else AMOUNT


def left_words(terms: Terms, spent: Charge) -> str:
    """What is left as examples of what is still taken, and what each sum still takes.

    >>> left_words(Terms("basic", 1.0, 1e-6), Charge(epsilon=25 * 10**10))
    'epsilon 0.75, delta 1e-06'
    >>> left_words(Terms("gdp", 1.0, 1e-6), Charge())[:53]
    'one Gaussian release of epsilon = 1 at delta = 1e-06,'
    """
    left = terms.left(spent)
    sums = ", ".join(f"{_NAMES[name]} {amount / steps_of(name):.6g}" for name, amount in left.items() if name in _NAMES)
    if terms.rule == "basic":
        return sums
    # a first request may take the whole budget as it stands
    gaussian = terms.epsilon if spent == Charge() else _rounded_down(largest_gaussian(terms, spent), _DIGITS)
    pure = _rounded_down(left.get("pure_epsilon", 0) / AMOUNT, 2 * _DIGITS)
    one = f"one Gaussian release of epsilon = {gaussian:g} at delta = {terms.delta:g}"
    several = f"releases without delta up to epsilon = {pure:g} together"
    if pure:
        examples = f"{one}, or {several}" if gaussian else f"{several}, and none with delta"
    else:
        examples = one if gaussian else "nothing"
    return f"{examples} ({sums})"


def _rounded_down(value: float, digits: int) -> float:
    """What people may type as it is shown and is still taken.

    >>> _rounded_down(1.6379, 3), _rounded_down(0.7, 6)
    (1.63, 0.7)
    """
    with localcontext(prec=digits, rounding=ROUND_FLOOR):
        return float(+Decimal(repr(value)))


def spent_epsilon(terms: Terms, spent: Charge) -> float:
    """Epsilon of everything so far at the budget's delta, for people; the filter does not use it.

    >>> spent_epsilon(Terms("basic", 1.0, 1e-6), Charge(epsilon=25 * 10**10))
    0.25
    """
    by_sum = spent.epsilon / AMOUNT
    if terms.rule == "basic" or (spent.pure and terms.within_pure(spent)):
        return by_sum
    if terms.rule == "zcdp":
        # a sum of rho is no sum of mu^2: a pure request has less of the one than of the other
        rho = up(Fraction(spent.rho, AMOUNT))
        return min(terms.epsilon, epsilon_from_rho(rho, terms.curve_delta)) if spent.rho else 0.0
    square = Fraction(spent.mu2, AMOUNT)
    return min(terms.epsilon, epsilon_from(root_up(square), terms.curve_delta)) if square else 0.0


def largest_gaussian(terms: Terms, spent: Charge) -> float:
    """Epsilon, at the budget's delta, of the largest Gaussian release that is still taken; 0 where none is.

    >>> round(largest_gaussian(Terms("gdp", 1.0, 1e-6), Charge()), 3)
    1.0
    """
    left = terms.left(spent)
    if terms.delta == 0 or left["delta"] == 0:
        return 0.0
    if terms.rule == "basic":
        return left["epsilon"] / AMOUNT if left["delta"] >= terms.delta_units else 0.0
    square = Fraction(left["mu2"] if terms.rule == "gdp" else 2 * left["rho"], AMOUNT)
    mu = root_up(square) if square else 0.0
    return epsilon_from(mu, terms.delta) if mu >= MU_LOWEST else 0.0


def anchor_words(anchor: str) -> str:
    """An anchor as people read it: of several curators without the anchor of each, any other as it is.

    >>> anchor_words("untracked")
    'untracked'
    >>> anchor_words(str(MergedAnchor("0" * 32, ("a", "b", "c"))))[:34]
    'the ledgers of 3 curators, session'
    """
    merged = MergedAnchor.parsed(anchor)
    if merged is None:
        return anchor
    return (
        f"the ledgers of {len(merged.anchors)} curators, session {merged.session}; each checks its own with: discreet "
        "ledger verify"
    )
