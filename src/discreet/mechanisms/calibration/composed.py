"""The noise of several Gaussian statistics by the accounting that a setting names. Proof: irls.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from discreet.design.domain import RowDomain
from discreet.mechanisms.calibration.blocks import ROUNDING, in_steps
from discreet.mechanisms.calibration.pieces import Piece, pieces_law
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian import mu_from
from discreet.privacy.lattice import LATTICE_SHARE
from discreet.privacy.textbook import advanced_composition
from discreet.privacy.zcdp import rho_from
from discreet.releases import Calibration, NoiseLaw

# advanced composition is below basic only from some dozens of releases on
RULES: Final = ("exact", "zcdp", "advanced", "basic")
# those that look at all releases together, so that statistics which cannot reach their maxima at once gain by it
JOINT_RULES: Final = ("exact", "zcdp")
# the largest epsilon of a piece that the advanced composition is asked about
_MOST: Final = 100.0
_HALVINGS: Final = 100


def composed_law(domain: RowDomain, budget: PrivacyBudget, pieces: Mapping[str, Piece], rule: str) -> NoiseLaw:
    """The noise of every piece for a budget, calibrated by one of `RULES`; all of them keep the budget.

    `exact` and `zcdp` split mu^2 or rho by the shares of the pieces. `basic` and `advanced` give every single release
    the same epsilon and delta, and the least Gaussian noise for them.

    >>> domain = RowDomain(1, 0, 0, None, False, 16)
    >>> pieces = {"score": Piece(1.0, 1.0, 2, times=20)}
    >>> [round(composed_law(domain, PrivacyBudget(1.0, 1e-6), pieces, rule).sd("score"), 1) for rule in RULES]
    [18.9, 20.3, 105.2, 82.6]
    """
    # it also refuses the budgets that no rule can keep
    exact = pieces_law(domain, budget, pieces)  # [P:exact-composition]
    if rule == "exact":
        return exact
    releases = sum(piece.times for piece in pieces.values())
    if rule == "zcdp":
        mu = math.sqrt(2 * rho_from(budget.epsilon, budget.delta)) / ROUNDING  # [P:zcdp-composition]
        total = math.fsum(piece.share for piece in pieces.values())
        parts = {name: mu * math.sqrt(piece.share / (piece.times * total)) for name, piece in pieces.items()}
        return _law(domain, pieces, parts, "discrete-zcdp")
    continuous = _equal(domain, pieces, mu_from(*split(rule, budget.epsilon, budget.delta, releases)))
    gap = _gap(continuous, pieces, budget.epsilon)
    if gap <= LATTICE_SHARE * budget.delta:
        rest = (budget.delta - gap) / ROUNDING
        return _equal(domain, pieces, mu_from(*split(rule, budget.epsilon, rest, releases)))  # [P:split-gap-paid]
    rho = rho_from(*split(rule, budget.epsilon, budget.delta, releases))
    return _equal(domain, pieces, math.sqrt(2 * rho) / ROUNDING)  # [P:split-own-zcdp]


def split(rule: str, epsilon: float, delta: float, releases: int) -> tuple[float, float]:
    """Epsilon and delta of each of so many releases that are together (epsilon, delta)-private by that rule.

    >>> [round(part, 7) for part in split("basic", 1.0, 1e-6, 10)]
    [0.1, 1e-07]
    """
    if rule == "basic":
        return epsilon / releases / ROUNDING, delta / releases / ROUNDING  # [P:basic-split]
    low, high = 0.0, min(epsilon, _MOST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if advanced_composition(middle, 0.0, releases, delta / 2)[0] * ROUNDING <= epsilon:  # [P:advanced-split]
            low = middle
        else:
            high = middle
    return low, delta / 2 / releases / ROUNDING


def _equal(domain: RowDomain, pieces: Mapping[str, Piece], mu: float) -> NoiseLaw:
    return _law(domain, pieces, dict.fromkeys(pieces, mu), "composed")


def _law(
    domain: RowDomain, pieces: Mapping[str, Piece], mus: Mapping[str, float], calibration: Calibration
) -> NoiseLaw:
    """Noise under which one release of each piece has its own mu."""
    steps = {name: in_steps(name, piece.sensitivity * ROUNDING / mus[name], domain) for name, piece in pieces.items()}
    return NoiseLaw(domain.grid_bits, steps, calibration)


def _gap(law: NoiseLaw, pieces: Mapping[str, Piece], epsilon: float) -> float:
    """What the lattice costs in delta; see gaussian.proof.md."""
    if epsilon > 700:
        return math.inf
    distance = math.fsum(piece.entries * piece.times / (16 * float(law.sigma[n]) ** 2) for n, piece in pieces.items())
    return (1 + math.exp(epsilon)) * distance * ROUNDING
