"""From a budget to the noise of several Gaussian statistics that are released one after another.

Statistics may be chosen in the light of earlier ones: Gaussian mechanisms compose exactly whatever the order, and the
step from the continuous to the lattice law costs what gaussian.proof.md shows, summed over all variates. Other rules of
composition are there to be compared with. Proof: irls.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from discreet.design.domain import RowDomain
from discreet.losses.composition import split
from discreet.mechanisms.calibration.blocks import in_steps
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import ROUNDING, approximate, concentrated_mu, gaussian_mu
from discreet.releases import Calibration, NoiseLaw

# advanced composition is below basic only from some dozens of releases on; cdp is what Park & Welling call zcdp
# those that look at all releases together, so that statistics which cannot reach their maxima at once gain by it
JOINT_RULES: Final = ("exact", "zcdp", "cdp")


@dataclass(frozen=True, slots=True)
class Piece:
    """One statistic among those released: `times` times, and each release of it takes `entries` variates.

    Its sensitivity is the largest Euclidean change between neighbouring tables, in scaled units, and its share is that
    of mu^2 for all times together.
    """

    sensitivity: float
    share: float
    entries: int
    times: int = 1


Pieces = Mapping[str, Piece]


def pieces_law(domain: RowDomain, budget: PrivacyBudget, pieces: Pieces, rule: str = "exact") -> NoiseLaw:
    """The noise of every piece for a budget, calibrated by one of `losses.settings.RULES`; all of them keep the budget.

    `exact`, and `zcdp` also called `cdp`, split mu^2 or rho by the shares of the pieces, taken in proportion: mu^2 is
    the sum over pieces of times * (sensitivity / sigma)^2. `basic` and `advanced` give every single release the same
    epsilon and delta, and the least Gaussian noise for them.

    >>> domain = RowDomain(1, 0, 0, None, False, 16)
    >>> pieces = {"score": Piece(1.0, 1.0, 2, times=20)}
    >>> from discreet.losses.settings import RULES
    >>> [round(pieces_law(domain, PrivacyBudget(1.0, 1e-6), pieces, rule).sd("score"), 1) for rule in RULES]
    [18.9, 20.3, 20.3, 105.2, 82.6]
    """
    if rule == "exact":
        return _exact_law(domain, budget, pieces)  # [P:exact-composition]
    if rule in ("zcdp", "cdp"):
        mu = concentrated_mu(*approximate(budget))  # [P:zcdp-composition]
        total = _total_share(pieces)
        mus = {name: mu * math.sqrt(piece.share / (piece.times * total)) for name, piece in pieces.items()}
        return _law_of_mus(domain, pieces, mus, "discrete-zcdp")
    releases = sum(piece.times for piece in pieces.values())

    def law(mu: float) -> NoiseLaw:
        return _law_of_mus(domain, pieces, dict.fromkeys(pieces, mu), "composed")

    def one_release(epsilon: float, delta: float) -> tuple[float, float]:
        return split(rule, epsilon, delta, releases)

    # [P:split-gap-paid] [P:split-own-zcdp]
    mu, _ = gaussian_mu(budget, lambda mu: _variates(law(mu), pieces), one_release)
    return law(mu)


def _exact_law(domain: RowDomain, budget: PrivacyBudget, pieces: Pieces) -> NoiseLaw:
    """Noise under which all releases together have one mu, each piece its share of mu^2."""
    total = _total_share(pieces)

    def law(mu: float, calibration: Calibration) -> NoiseLaw:
        scaled = {
            name: piece.sensitivity * ROUNDING * math.sqrt(piece.times * total / piece.share) / mu
            for name, piece in pieces.items()
        }
        return _law(domain, scaled, calibration)

    mu, calibration = gaussian_mu(budget, lambda mu: _variates(law(mu, "gaussian"), pieces))
    return law(mu, calibration)


def _law_of_mus(domain: RowDomain, pieces: Pieces, mus: Mapping[str, float], calibration: Calibration) -> NoiseLaw:
    """Noise under which one release of each piece has its own mu."""
    scaled = {name: piece.sensitivity * ROUNDING / mus[name] for name, piece in pieces.items()}
    return _law(domain, scaled, calibration)


def _law(domain: RowDomain, scaled: Mapping[str, float], calibration: Calibration) -> NoiseLaw:
    steps = {name: in_steps(name, sigma, domain) for name, sigma in scaled.items()}
    return NoiseLaw(domain.grid_bits, steps, calibration)


def _total_share(pieces: Pieces) -> float:
    return math.fsum(piece.share for piece in pieces.values())


def _variates(law: NoiseLaw, pieces: Pieces) -> list[tuple[int, int]]:
    """How many variates of all releases have which standard deviation."""
    return [(piece.entries * piece.times, law.sigma[name]) for name, piece in pieces.items()]
